"""Runs single calls in children that are killed at a chosen point: `kill -9` inside an operation, as often as wanted.

Each line of input is a call: settings, name, arguments, the clock, and after how many steps the child dies (none: it
lives). Each line of output tells the answer, if the child acknowledged one, and how many steps it took.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

PREPARED = (
    "clew.memory.governance.review",
    "clew.memory.governance.submission",
    "clew.memory.contradictions.detection",
    "clew.memory.contradictions.resolutions",
    "clew.reasoning.workspace",
    "clew.store.sqlite",
    "clew.store.postgres",
)
"""Modules that every call needs: imported once here instead of in every child."""


class Countdown:
    """Counts function calls and returns, Python's and C's; the last one is never finished."""

    def __init__(self, after: int | None) -> None:
        self.after = after
        self.steps = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        self.steps += 1
        if self.steps == self.after:
            os.kill(os.getpid(), signal.SIGKILL)


def run(task: dict[str, Any]) -> dict[str, Any]:
    settings = load_settings(task["flags"], {}, Path.cwd())
    clew = open_clew(settings, lambda: int(task["now_ms"]))
    clew.dispatcher.call("status", {}, Connection(toolset="full"))
    countdown = Countdown(task["after"])
    sys.setprofile(countdown)
    answer = clew.dispatcher.call(task["name"], task["arguments"], Connection(toolset="full"))
    sys.setprofile(None)
    return {"ok": answer.ok, "envelope": answer.envelope, "steps": countdown.steps}


def in_child(task: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as told:
            told.write(json.dumps(run(task)))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as heard:
        text = heard.read()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or text, f"the child ended with {status}"
    return {"killed": killed, **(json.loads(text) if text else {})}


def main() -> None:
    for name in PREPARED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(in_child(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
