"""`clew bench`: how good recall is, measured on this machine."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.faces.cli.output import complain, progress_line, say, show_json, show_table

if TYPE_CHECKING:
    from clew.recall.locomo import Conversation

COLUMNS = ("recall@1", "recall@5", "recall@10", "recall@20", "any@10", "mrr@10")


def register(app: typer.Typer) -> None:
    app.callback()(bench)
    app.command()(recall)


def bench() -> None:
    """Measure how good Clew is.

    Example: `clew bench recall --locomo locomo10.json`
    """


def recall(
    locomo: Annotated[
        Path | None, typer.Option("--locomo", help="The LoCoMo file; default: the variable CLEW_LOCOMO.")
    ] = None,
    semantic: Annotated[bool, typer.Option(help="Also measure with the embedding model, when there is one.")] = True,
    peers: Annotated[bool, typer.Option(help="Also measure others on the same turns.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure retrieval on LoCoMo: which share of the evidence turns is among the first results.

    One item for each turn, one workspace for each conversation, the question as it stands, the default settings.

    Examples:

    - `clew bench recall --locomo locomo10.json`
    - `clew bench recall --locomo locomo10.json --no-peers --json`
    """
    from clew.errors import ClewError
    from clew.recall.locomo import read_conversations

    path = locomo or (Path(os.environ["CLEW_LOCOMO"]) if os.environ.get("CLEW_LOCOMO") else None)
    if path is None:
        raise ClewError(
            "INVALID_INPUT",
            "no LoCoMo file is given",
            "Get locomo10.json from the LoCoMo repository of Snap Research (CC BY-NC 4.0); say --locomo PATH.",
        )
    conversations = read_conversations(path)
    measured = _ours(conversations, semantic)
    if peers:
        measured["peers"] = _others(conversations)
    show_json(measured) if as_json else _show(measured)


def _ours(conversations: list[Conversation], semantic: bool) -> dict[str, Any]:
    from clew.recall.model import NONE, installed_model

    model = os.environ.get("CLEW_EMBEDDING_MODEL", "")
    found: dict[str, Any] = {"lexical": _measure(conversations, NONE)}
    if semantic and model != NONE and (model or installed_model()):
        found["semantic"] = _measure(conversations, model)
    return found


def _measure(conversations: list[Conversation], model: str) -> dict[str, Any]:
    from clew.recall.locomo import tally
    from clew.recall.model import NONE
    from clew.recall.trial import embed_all, filled, searches

    with filled(conversations, model) as clew, progress_line() as progress:
        if model != NONE:
            embed_all(clew, conversations, progress)
        asking, seconds = searches(clew, conversations)
        report = tally(conversations, asking).report()
    return {**report, "ms_p50": round(statistics.median(seconds) * 1000, 2)}


def _others(conversations: list[Conversation]) -> dict[str, Any]:
    from clew.recall.locomo import tally
    from clew.recall.peers import missing, peers, searches_of

    found: dict[str, Any] = {}
    for name, peer in peers().items():
        try:
            found[name] = tally(conversations, searches_of(peer, conversations)).report()
        except Exception as problem:
            found[name] = {"error": f"{type(problem).__name__}: {problem}"}
    for line in missing():
        complain(f"not measured, because it is not installed: {line}")
    return found


def _show(measured: dict[str, Any]) -> None:
    rows = {f"Clew, {arm}": measured[arm] for arm in ("lexical", "semantic") if arm in measured}
    rows |= measured.get("peers", {})
    show_table(("what", *COLUMNS), [_cells(name, row) for name, row in rows.items()])
    for arm in ("lexical", "semantic"):
        if arm in measured:
            say()
            say(f"Clew, {arm}, by category; {measured[arm]['ms_p50']} ms a question", "bold")
            kinds = measured[arm]["by_category"]
            show_table(("category", *COLUMNS), [_cells(name, row) for name, row in kinds.items()])


def _cells(name: str, row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (name, row["error"], *("" for _ in COLUMNS[1:]))
    return (name, *(f"{row[column]:.3f}" for column in COLUMNS))
