"""Focus, checkout and last-seen belong to an agent and its connection; every named client is an author."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.registry import callers
from clew.registry.callers import client_author, client_family
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller


def connect(clew: Clew, client: str | None, handle: str, **more: Any) -> Caller:
    call = Caller(clew)
    call.session = Connection(toolset="full", client=client, handle=handle, **more)
    return call


@contextmanager
def writing(call: Caller) -> Iterator[Context]:
    dispatcher = call.clew.dispatcher
    agent = call.session.agent_id or client_author(dispatcher.database, call.session, True)
    with Context(dispatcher, call.session, "ws", agent).writing() as ctx:
        yield ctx


def authors(call: Caller) -> list[str | None]:
    with writing(call) as ctx:
        rows = ctx.tx.all("SELECT agent FROM event WHERE workspace = 'ws' AND topic = 'tasks' ORDER BY seq")
        return [row["agent"] for row in rows]


def test_a_client_that_names_itself_is_an_author_with_the_number_of_its_session(clew: Clew) -> None:
    first, second = connect(clew, "Claude Code", "one"), connect(clew, "Claude Code", "two")
    for call in (first, second, first):
        call("tasks_create", title="Plan")
    assert authors(first) == ["claude-code-1", "claude-code-2", "claude-code-1"]


def test_an_agent_id_is_the_author_whatever_the_client(clew: Clew) -> None:
    call = connect(clew, "codex", "one", agent_id="builder")
    call("tasks_create", title="Plan")
    assert authors(call) == ["builder"]


def test_reading_numbers_nobody(clew: Clew) -> None:
    reader = connect(clew, "codex", "one")
    reader("tasks_context")
    assert reader.session.number is None
    short = connect(clew, "clew-cli", "", durable=False)
    short("tasks_create", title="Plan")
    assert authors(short) == ["clew-cli"]


def test_news_are_what_came_after_the_last_connection_of_the_client(clew: Clew) -> None:
    before, other = connect(clew, "claude", "one"), connect(clew, "codex", "x")
    before("tasks_create", title="Mine")
    other("tasks_create", title="Theirs")
    again = connect(clew, "claude", "two")
    with Context(clew.dispatcher, again.session, "ws", None).reading() as ctx:
        left = callers.unseen_since(ctx)
        assert left is not None and left < ctx.ws.event_seq
    again("tasks_create", title="Mine too")
    with writing(again) as ctx:
        assert callers.unseen_since(ctx) == left, "what came in between stays news, however much this one writes"
    stranger = connect(clew, "gemini", "three")
    with Context(clew.dispatcher, stranger.session, "ws", None).reading() as ctx:
        assert callers.unseen_since(ctx) is None


def test_a_new_connection_reads_what_its_client_left_and_acts_on_nothing(clew: Clew) -> None:
    with writing(connect(clew, "claude", "one")) as ctx:
        callers.set_own_focus(ctx, "TASK-001")
        callers.set_own_checkout(ctx, 7)
    with writing(connect(clew, "claude", "two")) as ctx:
        assert callers.own_focus(ctx) is None and callers.own_checkout(ctx) is None
        last = callers.last_state(ctx)
        assert last is not None and (last.focus, last.checkout) == ("TASK-001", 7)


@pytest.mark.parametrize("engine", ["sqlite"])
def test_no_caller_moves_the_focus_of_another(make_clew: Callable[..., Clew]) -> None:
    clew = make_clew()
    calls = [connect(clew, client, handle) for client in ("claude", "codex") for handle in ("a", "b")]
    calls += [connect(clew, "claude", handle, agent_id="builder") for handle in ("c", "d")]

    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["TASK-001", "TASK-002", None])), max_size=12))
    def check(moves: list[tuple[int, str | None]]) -> None:
        expected: dict[int, str | None] = {}
        for who, focus in moves:
            with writing(calls[who]) as ctx:
                callers.set_own_focus(ctx, focus)
            expected[who] = focus
            for other, wanted in expected.items():
                with writing(calls[other]) as ctx:
                    assert callers.own_focus(ctx) == wanted

    check()


@pytest.mark.parametrize("name", ["Visual Studio Code", "x" * 200, "Ünïcode", "...", "a.b", None])
def test_every_client_name_gives_an_agent_id_or_none(name: str | None) -> None:
    from clew.ids import AGENT

    family = client_family(Connection(client=name))
    assert not family or AGENT.fullmatch(f"{family}-123456789012")
