"""`clew tour`: walks through an agent's work in the terminal, in a scratch data directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import open_clew
from clew.faces.cli.commands.demo import scratch_settings
from clew.faces.cli.output import say, show_json

if TYPE_CHECKING:
    from clew.faces.cli.story import Story

Stop = tuple[str, str, dict[str, Any]]


def register(app: typer.Typer) -> None:
    app.command()(tour)


def tour(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Go on by itself, without waiting for Enter.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stops and their answers as JSON.")] = False,
) -> None:
    """Walk through the loop: start, remember, recall, prove, close, come back. In a scratch data directory.

    Examples:

    - `clew tour` waits for Enter after each stop
    - `clew tour --yes` runs through
    """
    from clew.clock import system_clock
    from clew.faces.cli.story import RELAY, TEST, TOUCHED, Story, Week

    settings = scratch_settings((ctx.obj or {}).get("home"))
    clew = open_clew(settings)
    waits = not yes and not as_json and sys.stdin.isatty()
    shown: list[dict[str, Any]] = []
    try:
        story = Story(clew, settings.project_root, Week(system_clock()))
        story.write("relay.py", RELAY)
        story.write("test_relay.py", TEST)
        for text, name, arguments in stops(story, TOUCHED):
            answer = clew.dispatcher.call(name, arguments, story.agent("mira"))
            shown.append({"about": text, "call": name, "arguments": arguments, "answer": answer.text})
            if not as_json:
                _show(text, name, arguments, answer.text)
            if waits:
                typer.prompt("Enter goes on", default="", show_default=False, prompt_suffix=" ")
    finally:
        clew.close()
    if as_json:
        show_json({"home": str(settings.home), "stops": shown})
    else:
        say(f"That is the loop. `clew connect` gives it to your agents; delete {settings.home} when you are done.")


def stops(story: Story, changed: str) -> Iterator[Stop]:
    """Each stop's text and the call that shows it. Between stops this runs a test and changes a file."""
    yield (
        "Work begins with a task and its steps. A step may name the command that proves it.",
        "start",
        {
            "title": "The relay drops messages",
            "steps": ["mend the retry; test: python test_relay.py", "write it down"],
        },
    )
    yield (
        "What was decided is kept with its reason, when it happens.",
        "remember",
        {
            "kind": "decision",
            "text": "A failed delivery is retried with jitter",
            "why": "retries at once made a herd",
            "about": ["relay.py"],
        },
    )
    yield (
        "So is what was ruled out, which saves the next one from trying it again.",
        "remember",
        {
            "kind": "rejected",
            "text": "Raise the socket timeout to 60 seconds",
            "why": "it only hides the reset",
        },
    )
    yield (
        "Before a decision is made again, it is asked for: in any words.",
        "recall",
        {"query": "how do we retry a delivery that failed"},
    )
    yield "Silence is an answer too.", "recall", {"query": "favourite recipes for rhubarb cake"}
    yield "A claim without a run closes nothing by accident: it has to say so.", "close", {"step": "s:1"}
    story.prove("TASK-001", "s:0", "relay.py", "test_relay.py")
    yield (
        "Clew has just run `python test_relay.py` and kept what it saw. Now it closes.",
        "close",
        {"step": "s:0"},
    )
    story.write("relay.py", changed)
    yield "Somebody changed relay.py meanwhile: the proof is stale, and everybody is told.", "resume", {}


def _show(text: str, name: str, arguments: dict[str, Any], answer: str) -> None:
    from clew.registry.envelope import command

    say()
    say(text, "bold")
    say(f"> {command(name, arguments)}", "cyan")
    for line in answer.splitlines():
        say(f"  {line}")
