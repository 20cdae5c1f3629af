"""Bundles and sync at the shell."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from clew.app import open_clew
from clew.registry.credentials import Grant, make_token
from clew.settings import load_settings
from tests.faces.cli.conftest import Shell


def as_person(clew: Shell) -> dict[str, str]:
    """The variable by which a person's own token answers for them."""
    with closing(open_clew(load_settings({"home": clew.home}, {}, clew.home))) as store, store.database.write() as tx:
        secret = make_token(tx, Grant("@ines", ("read", "write", "approve")), store.dispatcher.clock(), "@ines")[1]
    return {"CLEW_PERSON_TOKEN": secret}


def test_memory_is_exported_verified_and_exchanged(clew: Shell, tmp_path: Path) -> None:
    clew("remember", "Retry with jitter", "--kind", "decision")
    exported = clew("export", "bundle", "memory.clew")
    assert "1 changes of" in exported.out
    head = exported.out.split("head ")[1].split(":")[0]
    assert f"head {head}" in clew("verify", "bundle", "memory.clew").out
    person, shared = as_person(clew), str(tmp_path / "shared")
    assert clew("import", "bundle", "memory.clew", "--json", env=person).json["result"]["received"] == 0
    assert "1 sent" in clew("sync", shared, env=person).out
    assert "0 sent" in clew("sync", shared).out, "a place that a person chose may be used by a timer"
    path = clew.directory / "memory.clew"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    broken = clew("verify", "bundle", "memory.clew")
    assert broken.code == 1 and "BROKEN memory.clew" in broken.out
    assert clew("import", "bundle", "memory.clew").code != 0


def test_an_agent_takes_in_nothing_that_it_may_have_written(clew: Shell, tmp_path: Path) -> None:
    clew("remember", "Retry with jitter", "--kind", "decision")
    clew("export", "bundle", "memory.clew")
    clew("export", "memory", "memory.tar.gz")
    for words in (["import", "bundle", "memory.clew"], ["import", "memory", "memory.tar.gz"], ["sync", str(tmp_path)]):
        refused = clew(*words)
        assert refused.code == 1
        assert "is for a person" in refused.err, refused.err
