"""The story that `clew demo` and `clew tour` play: a week of work in a small project, through public operations.

Two agents hunt a bug, reverse a decision, run into a dead end, contradict each other and leave a proposal that waits
for a person. A proof becomes stale because its file changes after it. The last scene is an hour old. The files are real
and the tests are run; only the days are made up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.errors import ClewError
from clew.registry.connection import Connection
from clew.registry.envelope import Answer

WORKSPACE = "demo/lantern"
_DAY = 86_400_000
_HOUR = 3_600_000

RELAY = '''\
"""Passes messages of the lanterns on."""

import random

ATTEMPTS = 3


def pause(attempt: int) -> float:
    return 0.0


def deliver(send, message):
    for attempt in range(ATTEMPTS):
        if send(message):
            return True
    return False
'''
FIXED = RELAY.replace("ATTEMPTS = 3", "ATTEMPTS = 5").replace("return 0.0", "return random.uniform(0, 2**attempt)")
TOUCHED = FIXED.replace("2**attempt", "1.5**attempt")
TEST = """\
from relay import deliver

answers = iter([False, False, True])
assert deliver(lambda message: next(answers), "lamp 7 is lit")
print("1 passed")
"""
COMMAND = "python -m pytest tests/test_relay.py"
ERROR = (
    "tests/test_relay.py:9: in test_load\n    relay.deliver(send, message)\nrelay.py:14: in deliver\n"
    "E   ConnectionResetError: [Errno 104] Connection reset by peer\n1 failed in 0.41s"
)


@dataclass
class Week:
    """A clock for the store that the scenes set, so that the records are dated over seven days."""

    end_ms: int
    now_ms: int = 0

    # A second for each reading: records of one scene get different times, in the order they were made.
    def __call__(self) -> int:
        self.now_ms += 1_000
        return self.now_ms

    def at(self, day: int, hour: int) -> None:
        """Move the clock to an hour of a day; `day` 0 is today. The clock never goes back and never beyond now."""
        # Hour 24 of day 0 is now, so the last scene of the week ends at the present.
        wanted = self.end_ms + day * _DAY - (24 - hour) * _HOUR
        self.now_ms = max(self.now_ms, min(wanted, self.end_ms))


@dataclass
class Story:
    """Plays scenes against one Clew, as one of two agents. `ids` maps short names to the records' ids."""

    clew: Clew
    root: Path
    week: Week
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._hook_calls = 0
        self._agents = {
            name: Connection(toolset="agent", agent_id=name, client=client, handle=f"demo-{name}", local=True)
            for name, client in (("mira", "claude-code"), ("otto", "codex"))
        }

    def agent(self, name: str) -> Connection:
        return self._agents[name]

    def call(self, who: str, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call one operation and return its result; a refusal is a mistake in the story and raises."""
        answer = self.clew.dispatcher.call(name, {"fmt": "json", **arguments}, self._agents[who])
        return _result(answer, name)

    def keep(self, label: str, who: str, kind: str, text: str, why: str | None = None, **more: Any) -> None:
        kept = self.call(who, "remember", kind=kind, text=text, why=why, **more)
        self.ids[label] = str(kept["id"])

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, encoding="utf-8")

    def prove(self, task: str, path: str, *files: str) -> None:
        """Really run the project's test and record the result, as `clew prove` does."""
        from clew.project_files import FilesBefore
        from clew.runner.child import ChildLimits
        from clew.runner.witness import observe, receipt_arguments

        before = FilesBefore(self.root, files)

        limits = ChildLimits(60, 5, 0, 1 << 20)
        with Path(os.devnull).open("rb") as nothing:
            seen = observe(
                [sys.executable, "test_relay.py"], self.root, dict(os.environ), nothing, limits, lambda: None
            )
        # The receipt names the command that a person would type, not the path of this interpreter.
        arguments = {**receipt_arguments(seen, self.root, files, before), "command": "python test_relay.py"}
        witness = Connection(toolset="full", client="clew-prove", durable=False, local=True, witness="prove")
        answer = self.clew.dispatcher.call("tasks_receipt_record", {"task": task, "path": path, **arguments}, witness)
        _result(answer, "tasks_receipt_record")

    def hook(self, event: str, session: str, **what: Any) -> str:
        """Report an event as `clew-hook` would; returns what Clew says to the agent."""
        hook = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
        self._hook_calls += 1
        event_args = {
            "client": "claude",
            "event": event,
            "session": session,
            "tool_id": f"demo-{self._hook_calls}",
            **what,
        }
        return str(_result(self.clew.dispatcher.call("hook_event", event_args, hook), "hook_event")["say"])


def _result(answer: Answer, name: str) -> dict[str, Any]:
    if not answer.ok:
        error = answer.envelope["error"]
        raise ClewError("INTERNAL", f"the story stopped at {name}: {error['message']}", error.get("recovery"))
    found: dict[str, Any] = answer.envelope["result"]
    return found


AREAS = (
    {"id": "a:relay", "title": "Relay", "kind": "component", "description": "Passes messages of the lanterns on.",
     "refs": ["relay.py", "test_relay.py"]},
    {"id": "a:status", "title": "Status page", "kind": "boundary", "depends_on": ["a:relay"],
     "description": "Shows which lamps are lit, and what was delivered."},
)  # fmt: skip

Scene = tuple[str, Callable[[Story], None]]


def _the_bug(story: Story) -> None:
    story.week.at(-6, 9)
    story.write("relay.py", RELAY)
    story.write("test_relay.py", TEST)
    steps = [
        "reproduce the loss; test: python test_relay.py",
        "find the cause",
        "fix it; test: python test_relay.py",
        "write down what we learned",
    ]
    story.call("mira", "anchors_bootstrap", anchors=list(AREAS))
    story.ids["hunt"] = story.call("mira", "start", title="The relay drops messages under load", steps=steps)["task"]
    story.keep("herd", "mira", "hypothesis", "Two workers share one connection, and one of them closes it")
    story.keep(
        "three", "mira", "decision", "A failed delivery is retried three times at once", "the queue is short",
        about=["relay.py"],
    )  # fmt: skip
    story.week.at(-6, 15)
    story.prove(story.ids["hunt"], "s:0", "relay.py", "test_relay.py")
    story.call("mira", "close", task=story.ids["hunt"], step="s:0")


def _the_dead_end(story: Story) -> None:
    story.week.at(-5, 10)
    session = "demo-tuesday"
    story.hook("session-start", session, source="startup")
    story.hook("tool-failed", session, tool="command", command=COMMAND, exit_code=1, output=ERROR)
    change = {"before": "send(message)", "text": "send(message, connection=fresh())"}
    story.hook("post-tool", session, tool="edit", paths=["relay.py"], **change)
    story.hook("post-tool", session, tool="command", command=COMMAND, exit_code=0, output="1 passed in 0.30s")
    story.keep(
        "timeout", "mira", "rejected", "Raise the socket timeout to 60 seconds",
        "it hides the reset: the queue grew to 4,000 messages before anyone noticed", about=["relay.py"],
    )  # fmt: skip


def _the_second_agent(story: Story) -> None:
    story.week.at(-4, 11)
    steps = ["an endpoint for the status", "show it on the page; test: npm test"]
    story.ids["page"] = story.call("otto", "start", title="Show the delivery status on the page", steps=steps)["task"]
    story.keep("port", "otto", "fact", "The status endpoint of the staging relay listens on port 8642")
    proof = {"command": "curl -fsS localhost:8642/status", "exit_code": 0}
    story.call("otto", "close", task=story.ids["page"], step="s:0", proof=proof)
    story.keep("colour", "otto", "preference", "Status colours are shown by shape too, for people who do not see red")


def _the_reversal(story: Story) -> None:
    story.week.at(-3, 9)
    story.keep(
        "jitter", "mira", "decision", "A failed delivery is retried up to five times, with jitter",
        "three at once made a herd: all lanterns came back in the same second", replaces=story.ids["three"],
        about=["relay.py"],
    )  # fmt: skip
    story.call(
        "mira", "close", task=story.ids["hunt"], step="s:1", proof={"command": "python load.py 200", "exit_code": 0}
    )
    story.write("relay.py", FIXED)
    story.prove(story.ids["hunt"], "s:2", "relay.py", "test_relay.py")
    story.call("mira", "close", task=story.ids["hunt"], step="s:2")
    story.keep("lesson", "mira", "lesson", "A retry without jitter is a second outage", about=["relay.py"])


def _the_proposal(story: Story) -> None:
    story.week.at(-2, 16)
    made = story.call(
        "otto",
        "propose_update",
        block_type="decision",
        statement="Every message gets an id from the lantern, so that a second delivery is recognised",
        rationale="retries deliver some messages twice",
    )
    story.ids["proposal"] = str(made["proposal_id"])


def _the_stale_proof(story: Story) -> None:
    """Otto thinks before changing the pause: one way is followed to its end, another one is given up."""
    story.week.at(-1, 14)
    for kind, text in REASONING:
        story.call("otto", "think", kind=kind, text=text)
    for number, (kind, text) in enumerate(OTHER_WAY):
        start = {"branch_from": 4} if number == 0 else {}
        story.call("otto", "think", kind=kind, text=text, branch="fixed-pause", **start)
    story.call("otto", "think", kind="revision", text="Not every lamp: those on the pier only.", revises=1)
    story.write("relay.py", TOUCHED)
    story.keep(
        "pause", "otto", "decision", "The pause grows by 1.5 with each attempt", "lamps on the pier came back late",
        about=["relay.py"], rests_on=[story.ids["jitter"]],
    )  # fmt: skip


REASONING = (
    ("question", "Why do lamps on the pier come back a minute late after a reset?"),
    ("observation", "The log shows five attempts with pauses of 1, 2, 4, 8 and 16 seconds."),
    ("hypothesis", "The pause doubles, so the fifth attempt waits longer than the lamp stays awake."),
    ("evidence", "A lamp sleeps after 12 seconds without a message; 3 of 40 were asleep at the fifth attempt."),
    ("plan", "Let it grow by 1.5: 1, 1.5, 2.2, 3.4 and 5 seconds, all within 12."),
    ("evidence", "200 lamps in the load test: none asleep, and no herd."),
    ("conclusion", "The pause grows by 1.5; the jitter stays."),
)
THIS_MORNING = (
    ("question", "The test fails at the reset again: did the new pause change the order?"),
    ("observation", "It fails in 1 of 8 runs, and only after relay.py was touched on Saturday."),
    ("assumption", "The test answers in a fixed order; deliver() asks once for each attempt."),
    ("hypothesis", "A reset between two attempts counts twice, so the third answer is never asked for."),
    ("plan", "Count the attempts in the test, and reset the connection after the first."),
)
OTHER_WAY = (
    ("hypothesis", "A fixed pause of 2 seconds would also stay below 12."),
    ("evidence", "With a fixed pause the 200 lamps come back in the same second again."),
    ("rejection", "No fixed pause: it is the herd that jitter was to end."),
)


def _this_morning(story: Story) -> None:
    """An hour ago: the same test fails again, and the two agents no longer agree."""
    story.week.at(0, 22)
    said = story.hook("tool-failed", "demo-sunday", tool="command", command=COMMAND, exit_code=1, output=ERROR)
    story.ids["dead end"] = said
    story.call("mira", "resume", task=story.ids["hunt"])
    story.call("mira", "recall", query="Why is a failed delivery retried with jitter?")
    story.call("otto", "recall", query="Who is on call in the harbour office at night?")
    story.keep(
        "cached",
        "mira",
        "decision",
        "Status pages are cached for 60 seconds",
        "the relay answers slowly",
        about=["a:status"],
    )
    story.keep(
        "fresh",
        "otto",
        "decision",
        "Status pages are not cached",
        "a lamp that went out was shown as lit",
        about=["a:status"],
    )
    story.keep(
        "open", "mira", "question", "How long may a message wait before the harbour office must know?",
        task=story.ids["hunt"],
    )  # fmt: skip
    story.week.at(0, 23)
    for kind, text in THIS_MORNING:
        story.call("mira", "think", kind=kind, text=text)


WEEK: tuple[Scene, ...] = (
    ("Monday: messages get lost, and mira starts to hunt", _the_bug),
    ("Tuesday: a dead end, and a way that was ruled out", _the_dead_end),
    ("Wednesday: otto works on something else", _the_second_agent),
    ("Thursday: a decision is reversed, and the bug is fixed", _the_reversal),
    ("Friday: a proposal waits for you", _the_proposal),
    ("Saturday: a file changes after it was proven", _the_stale_proof),
    ("Sunday: mira comes back, and contradicts otto", _this_morning),
)


def play(clew: Clew, root: Path, week: Week) -> Iterator[tuple[str, Story]]:
    """Play the scenes in order; a title is yielded when its scene is over."""
    root.mkdir(parents=True, exist_ok=True)
    story = Story(clew, root, week)
    for title, scene in WEEK:
        scene(story)
        yield title, story
