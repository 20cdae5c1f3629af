"""Several agents on one workspace: whatever each does, no other's focus moves and no other's step is closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from clew.registry import callers
from clew.registry.callers import KEPT_MS
from clew.registry.context import Context
from tests.conftest import Caller, TickingClock
from tests.records.test_work import connected

AGENTS = (("claude", "one"), ("claude", "two"), ("codex", "three"))
MOVES = (
    "start",
    "close",
    "close other's",
    "remember",
    "recall",
    "resume",
    "resume other's",
    "think",
    "seed focus",
    "note",
)
Move = tuple[int, str, int]


@dataclass
class Agent:
    """One connection, and what it must hold to be true."""

    call: Caller
    focus: str | None = None
    """The task that it started or named last when it closed a step."""
    started: list[str] = field(default_factory=list)


class Play:
    """Random calls of several agents, with the focus and the open steps that must follow from them."""

    def __init__(self, clew: Clew, workspace: str) -> None:
        self.workspace = workspace
        self.agents = [Agent(connected(clew, client, handle)) for client, handle in AGENTS]
        for agent in self.agents:
            agent.call.session.workspace_override = workspace
        self.open: dict[str, set[str]] = {}
        """Steps that are still open, by task."""

    def tasks(self) -> list[str]:
        return sorted(self.open)

    def run(self, who: int, move: str, number: int) -> None:
        agent, tasks = self.agents[who], self.tasks()
        other = tasks[number % len(tasks)] if tasks else None
        if move == "start":
            made = agent.call("start", title=f"Task {number}", steps=["one", "two"])
            agent.focus = made["task"]
            self.open[made["task"]] = {step["path"] for step in made["steps"]}
        elif move == "close":
            self._close(agent, agent.focus, {})
        elif move == "close other's" and other is not None:
            self._close(agent, other, {"task": other})
        elif move == "resume other's" and other is not None:
            agent.call("resume", task=other)
            # A task that was named is meant from then on, as long as something is left to do in it.
            agent.focus = other if self.open[other] else agent.focus
        elif move == "seed focus" and other is not None:
            agent.call("tasks_focus_set", task=other)
        elif move in ("remember", "note"):
            agent.call("remember", text=f"Said {number} by {who}", kind="rule" if move == "remember" else "note")
        elif move in ("recall", "resume", "think"):
            given = {"recall": {"query": f"Said {number}"}, "think": {"text": f"Thought {number}"}}.get(move, {})
            agent.call(move, **given)

    def _close(self, agent: Agent, task: str | None, named: dict[str, str]) -> None:
        answer = agent.call.answer("close", unproven="tried by hand", **named)
        if task is None or not self.open[task]:
            assert not answer.ok
            return
        result = answer.envelope["result"]
        assert result["task"] == task
        self.open[task].remove(result["step"])
        agent.focus = task

    def check(self) -> None:
        """Every focus is where its own agent put it, and only the named or focused steps were closed."""
        reader = self.agents[0].call
        for agent in self.agents:
            author = callers.client_author(reader.clew.database, agent.call.session, False)
            with Context(reader.clew.dispatcher, agent.call.session, self.workspace, author).reading() as ctx:
                assert callers.own_focus(ctx) == agent.focus
        for task, left in self.open.items():
            steps = reader("tasks_proofs", task=task)["steps"]
            assert {step["path"] for step in steps if not step["completed"]} == left


@pytest.mark.parametrize("engine", ["sqlite"])
def test_no_agent_moves_anothers_focus_or_closes_its_steps(make_clew: Callable[..., Clew]) -> None:
    clew, number = make_clew(), count()
    moves = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(MOVES), st.integers(0, 5)), min_size=4, max_size=16)

    @settings(max_examples=15)
    @given(moves)
    def check(made: list[Move]) -> None:
        play = Play(clew, f"play-{next(number)}")
        for who, move, chosen in made:
            play.run(who, move, chosen)
        play.check()

    check()


def test_an_agents_tools_write_to_the_branch_that_it_checked_out_itself(clew: Clew) -> None:
    one, two = connected(clew, "claude", "one"), connected(clew, "codex", "two")
    one("branch_create", name="trial")
    one("checkout", ref="trial")
    two("checkout", ref="main")
    mine = one("remember", text="Does it hold on the trial?", kind="question")["id"]
    theirs = two("remember", text="Does it hold on main?", kind="question")["id"]
    third = connected(clew, "gemini", "three")
    fresh = third("remember", text="Where am I?", kind="question")["id"]
    assert mine in {card["id"] for card in one("think_query", branch="trial")["cards"]}
    on_main = {card["id"] for card in two("think_query", branch="main")["cards"]}
    assert {theirs, fresh} <= on_main and mine not in on_main
    assert two("status")["checkout"] == "main", "the seeds' checkout is the workspace's"


def test_what_is_kept_of_callers_is_bounded_by_age_and_number(
    clew: Clew, clock: TickingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callers, "MOST_CALLERS", 20)
    first = connected(clew, "claude", "old")
    first("start", title="Long ago")
    clock.now_ms += KEPT_MS + 1000
    for number in range(25):
        connected(clew, "codex", f"c{number}")("notes_commit", content=f"note {number}")
    with Context(clew.dispatcher, first.session, "ws", None).reading() as ctx:
        kept = ctx.tx.all("SELECT agent, connection FROM caller_state WHERE workspace = 'ws'")
    assert len(kept) <= 21
    assert "old" not in {row["connection"] for row in kept}
    assert "c24" in {row["connection"] for row in kept}
