"""`clew model`: shows the embedding model in use, and changes it while searches go on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.commands.status import facts
from clew.faces.cli.output import progress_line, say, show_json, show_table
from clew.faces.cli.root import call, opened, settings_of

AS_JSON = typer.Option("--json", help="Answer in JSON.")


def register(app: typer.Typer) -> None:
    app.callback()(model)
    app.command()(show)
    app.command()(use)
    app.command()(pull)


def model() -> None:
    """Show, choose or fetch the embedding model.

    Example: `clew model use ~/models/arctic-embed-s`
    """


def show(ctx: typer.Context, as_json: Annotated[bool, AS_JSON] = False) -> None:
    """Show the model that serves, how many vectors it has made and how many wait.

    Example: `clew model show`
    """
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "index_stats", {})
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    vectors = answer.envelope["result"]["vectors"]
    show_json(vectors) if as_json else show_table(("fact", "value"), facts(vectors))


def use(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="Directory with an .onnx file and tokenizer.json; `installed`; `none`.")],
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Embed everything with another model, then let it serve. Searches go on meanwhile.

    Interrupted, it goes on where it ended when called again.

    Examples:

    - `clew model use ~/models/arctic-embed-s`
    - `clew model use installed` goes back to the one that comes with Clew
    - `clew model use none` ranks by words alone
    """
    _switch(ctx, "model_use", {"path": path}, as_json)


def pull(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="arctic-s, arctic-xs or bge-small.")],
    digest: Annotated[str | None, typer.Option(help="SHA-256 that the model's file must have.")] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Fetch a model by name, then use it. Files that are not what they are pinned to are refused.

    Example: `clew model pull arctic-s`
    """
    _switch(ctx, "model_pull", {"name": name, "digest": digest}, as_json)


def _switch(ctx: typer.Context, name: str, given: dict[str, Any], as_json: bool) -> None:
    with opened(settings_of(ctx)) as clew, progress_line() as progress:
        answer = call(clew, name, given, progress)
    if not answer.ok or as_json:
        raise typer.Exit(show_answer(answer, as_json))
    result = answer.envelope["result"]
    say(f"{result['model'] or 'no model'} serves; {result.get('embedded', 0)} items were embedded")
