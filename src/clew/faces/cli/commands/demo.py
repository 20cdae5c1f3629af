"""`clew demo`: fills a scratch data directory with a week of two agents' work, and serves the page that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clew.app import open_clew
from clew.errors import ClewError
from clew.faces.cli.output import say, show_json
from clew.settings import Settings, load_settings


def register(app: typer.Typer) -> None:
    app.command()(demo)


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
        from clew.faces.cli.commands.observatory import serve_page

        raise typer.Exit(serve_page(settings, browser, False))


def scratch_settings(home: str | None, port: str | None = None) -> Settings:
    """Settings for a story: a data directory of its own, with a project inside it."""
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
    say("This morning the same test failed again, and mira was told:")
    for told in made["told"].splitlines():
        say(f"  {told}")
    say(f"Look at it from its project: cd {made['project']}")
    say(f"  where it stands    {line} resume")
    say(f"  why it is so       {line} recall retries jitter")
    say(f"  what was reversed  {line} call open id={ids['three']}")
    say(f"  what is stale      {line} call tasks_proofs task={ids['hunt']}")
    say(f"  what waits         {line} call list_proposals")
    say(f"Delete {settings.home} when you are done.")
