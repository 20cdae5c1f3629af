"""A store that is removed, replaced or restored while clients are connected: each of them is told, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clew.app import Clew
from clew.store import link
from clew.store.migrations import latest
from tests.conftest import Caller
from tests.records.test_work import connected


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look at their files each time instead of once a second."""
    monkeypatch.setattr(link, "READ_CHECK_SECONDS", -1.0)


def replace_store(clew: Clew) -> None:
    """As somebody who deletes the file, or restores an empty database."""
    url = clew.settings.database_url
    if url is None:
        for path in clew.settings.home.glob("clew.db*"):
            path.unlink()
        return
    with psycopg.connect(url, autocommit=True) as server:
        names = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        server.execute("; ".join(f"DELETE FROM {name}" for (name,) in names))
        server.execute("INSERT INTO meta (key, value) VALUES ('schema_version', %s)", (str(latest()),))


def codes(caller: Caller, name: str, **arguments: Any) -> list[str]:
    """What a call warns of; one that notices the replacement itself is refused, so it is repeated."""
    answer = caller.answer(name, **arguments)
    if not answer.ok and answer.envelope["error"]["code"] == "STORE_UNAVAILABLE":
        answer = caller.answer(name, **arguments)
    assert answer.ok, answer.envelope["error"]
    return [item["code"] for item in answer.envelope["warnings"]]


def test_every_client_of_a_replaced_store_is_told_once(clew: Clew) -> None:
    reader, writer = connected(clew, "reader", "one"), connected(clew, "writer", "two")
    for caller in (reader, writer):
        caller("remember", kind="note", text=f"kept by {caller.session.client}")
    replace_store(clew)
    assert codes(reader, "resume") == ["STORE_REPLACED"]
    assert "STORE_REPLACED" not in codes(reader, "resume")
    assert "STORE_REPLACED" in codes(writer, "remember", kind="note", text="written afterwards")
    assert "STORE_REPLACED" not in codes(writer, "resume")


def test_a_client_that_joins_afterwards_is_told_nothing(clew: Clew) -> None:
    connected(clew, "writer", "one")("remember", kind="note", text="kept")
    replace_store(clew)
    newcomer = connected(clew, "newcomer", "two")
    assert codes(newcomer, "resume") == []
    assert "STORE_REPLACED" not in codes(newcomer, "remember", kind="note", text="the first note")


def test_a_refused_first_write_is_no_replacement(clew: Clew) -> None:
    caller = connected(clew, "writer", "one")
    assert caller.error("close", id="s:0")
    assert codes(caller, "resume") == []


def test_thinking_goes_on_in_a_new_session_after_a_restore(make_clew: Callable[..., Clew], tmp_path: Path) -> None:
    running = make_clew(database_url=None)
    thinker = connected(running, "thinker", "one")
    thinker("remember", kind="note", text="older than the backup")
    running.database.backup(tmp_path / "before.db")
    gone = thinker("think", text="The cache is stale.")["session"]
    make_clew(database_url=None).database.restore(tmp_path / "before.db")
    assert codes(thinker, "think", text="Reads of another process are stale.") == ["SESSION_GONE"]
    after = thinker("think", text="Only those.")
    assert after["number"] == 2 and after["session"] != gone


def test_a_session_that_was_named_is_not_replaced_silently(clew: Clew) -> None:
    thinker = connected(clew, "thinker", "one")
    session = thinker("think", text="The cache is stale.")["session"]
    thinker("session_delete", sessionId=session)
    assert thinker.error("think", text="more", session=session)["code"] == "SESSION_NOT_FOUND"
