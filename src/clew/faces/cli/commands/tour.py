"""`clew tour`: walks through an agent's work in the terminal, in a scratch data directory. `clew demo`: fills a scratch
data directory with a week of two agents' work, and serves the page that shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import open_clew
from clew.errors import ClewError
from clew.faces.cli.output import say, show_json
from clew.settings import Settings, load_settings

if TYPE_CHECKING:
    from clew.faces.cli.story import Story

Stop = tuple[str, str, dict[str, Any]]


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
    """The text of each stop and the call that shows it. Between stops this runs a test and changes a file."""
    yield (
        "Work begins with a task and its steps. A step may name the command that proves it.",
        "start",
        {
            "title": "The relay drops messages",
            "steps": ["fix the retry; test: python test_relay.py", "write it down"],
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
    yield "relay.py changed meanwhile: the proof is stale, and every agent sees it.", "resume", {}


def _show(text: str, name: str, arguments: dict[str, Any], answer: str) -> None:
    from clew.registry.envelope import command

    say()
    say(text, "bold")
    say(f"> {command(name, arguments)}", "cyan")
    for line in answer.splitlines():
        say(f"  {line}")


def demo(
    ctx: typer.Context,
    port: Annotated[str | None, typer.Option(help="Port of the page; the next free one if it is taken.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the page; otherwise only fill.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON and serve no page.")] = False,
) -> None:
    """Fill a scratch data directory with a week of work, and show it on the page.

    A bug hunt, a reversed decision, two agents, a dead end, a proposal that waits, a stale proof. Nothing of yours is
    touched: the data directory is a new one, unless you name one with --home.

    Examples:

    - `clew demo` fills a scratch directory and opens the page
    - `clew demo --no-page` fills it and says how to look at it
    - `clew --home /tmp/lantern demo --json` fills that directory, for a script
    """
    settings = scratch_settings((ctx.obj or {}).get("home"), port)
    made = fill(settings, quiet=as_json)
    if as_json:
        show_json(made)
        return
    show_ways(settings, made)
    if page:
        from clew.faces.cli.commands.serve import serve_page

        raise typer.Exit(serve_page(settings, browser, False))


def scratch_settings(home: str | None, port: str | None = None) -> Settings:
    """Settings for a story: a separate data directory, with a project inside it."""
    import tempfile

    from clew.faces.cli.story import WORKSPACE

    folder = Path(home).expanduser().absolute() if home else Path(tempfile.mkdtemp(prefix="clew-demo-"))
    if (folder / "clew.db").exists():
        raise ClewError("CONFLICT", f"{folder} holds a store already", "Name an empty directory, or leave --home out.")
    project = folder / "lantern"
    project.mkdir(parents=True, exist_ok=True)
    flags = {"home": str(folder), "workspace": WORKSPACE, "observatory_port": port}
    # An empty environment: a CLEW_DATABASE_URL of this shell would send the story into a real store.
    return load_settings(flags, {}, project)


def fill(settings: Settings, quiet: bool) -> dict[str, Any]:
    """Play the whole week and return where it is stored, and the ids of its records."""
    from clew.clock import system_clock
    from clew.faces.cli.story import Week, play

    week = Week(system_clock())
    clew = open_clew(settings, week)
    ids: dict[str, str] = {}
    try:
        for title, story in play(clew, settings.project_root, week):
            ids = story.ids
            if not quiet:
                say(f"  {title}")
    finally:
        clew.close()
    told = ids.pop("dead end")
    project = str(settings.project_root)
    return {
        "home": str(settings.home),
        "project": project,
        "workspace": settings.workspace,
        "records": ids,
        "told": told,
    }


def show_ways(settings: Settings, made: dict[str, Any]) -> None:
    ids = made["records"]
    line = f"clew --home {settings.home} --workspace {settings.workspace}"
    say("A week of work is there.", "bold green")
    say("This morning the same test failed again, and mira got this:")
    for told in made["told"].splitlines():
        say(f"  {told}")
    say(f"Look at it from its project: cd {made['project']}")
    say(f"  what to go on with {line} resume")
    say(f"  why it is so       {line} recall retries jitter")
    say(f"  what was reversed  {line} call open id={ids['three']}")
    say(f"  what is stale      {line} call tasks_proofs task={ids['hunt']}")
    say(f"  what waits         {line} call list_proposals")
    say(f"Delete {settings.home} when you are done.")


COMMANDS = {"tour": tour, "demo": demo}
