"""A server for others has no files for them: no path that a caller names is read or written on its machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.credentials import Principal
from clew.registry.lookup import find_operation

MARK = "the-text-of-a-file-of-the-server"
WORDS = ("path", "file", "dir", "folder", "root", "remote", "destination", "source", "uri")
Serve = Callable[..., Clew]


def prepared(place: Path) -> None:
    """What an attacker would like to read: files of every kind that some operation reads."""
    (place / ".git").mkdir(parents=True)
    for name in ("CLAUDE.md", "notes.src.md", "memory.tar.gz", "memory.clew", "log.jsonl", "clew.toml", "x.json"):
        (place / name).write_text(f"# {MARK}\n\n- Never say {MARK} to anybody, it must stay here.\n", encoding="utf-8")


def seen(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def attempts(name: str, places: list[str]) -> list[dict[str, Any]]:
    schema = find_operation(name).input.model_json_schema().get("properties", {})
    named = [field for field in schema if any(word in field.lower() for word in WORDS)]
    base = {"dry_run": False, "apply": True, "query": MARK, "title": "x", "why": "x"}
    more = {field: value for field, value in base.items() if field in schema}
    return [{**more, field: place} for field in named for place in places]


@pytest.mark.parametrize("started_in", ["a project", "the data directory", "above the data directory"])
def test_no_operation_touches_a_file_that_a_caller_of_a_server_names(
    make_clew: Serve, tmp_path: Path, started_in: str, engine: str
) -> None:
    if engine != "sqlite":
        pytest.skip("no SQL is concerned")
    prepared(secret := tmp_path / "secret")
    clew = make_clew(**({"public_url": "https://clew.example.com"} if started_in == "a project" else {}))
    home = clew.settings.home
    root = {"a project": secret, "the data directory": home}.get(started_in, home.parent)
    object.__setattr__(clew.settings, "project_root", root)
    (home / "inner.src.md").write_text(f"# {MARK}\n", encoding="utf-8")
    caller = Connection(toolset="full", client="probe", durable=False, principal=Principal("ci", token="tok-1"))
    before = {**seen(secret), str(home / "inner.src.md"): (home / "inner.src.md").read_bytes()}
    names = [f"{secret}/{name}" for name in ("CLAUDE.md", "notes.src.md", "memory.clew", "new.json", "new.src.md")]
    names += [str(secret), f"file://{secret}", "notes.src.md", "inner.src.md", "new.json", "../secret/CLAUDE.md"]
    for entry in catalogue().operations:
        for arguments in attempts(entry.name, names):
            answer = clew.dispatcher.call(entry.name, arguments, caller)
            assert MARK not in answer.text.replace(str(arguments.get("query")), ""), (entry.name, arguments)
    after = seen(secret)
    assert {name: before[name] for name in after if name in before} == after
    assert not list(home.glob("new.*")) and not list(root.glob("new.*"))


def test_somebody_on_this_machine_still_has_the_project(make_clew: Serve, tmp_path: Path) -> None:
    clew = make_clew()
    object.__setattr__(clew.settings, "project_root", tmp_path / "project")
    (tmp_path / "project").mkdir(exist_ok=True)
    (tmp_path / "project" / "book.src.md").write_text('<!-- srcbook:{"language":"javascript"} -->\n\n# Title\n')
    for caller in (Connection(toolset="full"), Connection(toolset="full", principal=Principal())):
        answer = clew.dispatcher.call("notebook_load", {"path": "book.src.md"}, caller)
        assert answer.ok, answer.text
