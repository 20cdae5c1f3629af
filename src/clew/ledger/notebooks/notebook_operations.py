"""The notebook operations except running: create, load, list, edit cells, export."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, invalid
from clew.ids import confined
from clew.ledger.inputs import Id, LedgerBounded, LedgerInput, grouped
from clew.ledger.notebooks import books, srcmd
from clew.ledger.notebooks.books import Notebook, NotebookCell
from clew.ledger.notebooks.runtimes import ENDINGS, language_of
from clew.ledger.notebooks.srcmd import TEMPLATES
from clew.memory.files.directory import is_memory
from clew.registry.budget import Budget, Clip, Trim
from clew.registry.context import Context
from clew.registry.operation import Name, Text, Title, View, operation
from clew.secrets import redact_text
from clew.store.rows import delete, load, update

MAX_FILE = 2_000_000
NotebookId = Annotated[Id, Field(description="Notebook id, such as NB-001.")]
CellId = Annotated[Id, Field(description="Cell id, such as CELL-0002.")]


class NotebookCreate(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {"title": "name"}

    name: Annotated[Title, Field(min_length=1, description="Title of the notebook.")]
    template: Annotated[Literal["blank", "sequential-feynman"], Field(description="What it starts with.")] = "blank"
    language: Annotated[
        Literal["javascript", "typescript", "python"], Field(description="Of code cells whose file name says nothing.")
    ] = "typescript"


@grouped("notebook_create", writes=True, example={"name": "Lock timing"})
def notebook_create(ctx: Context, args: NotebookCreate) -> Json:
    """Create a notebook of prose and code that is kept with its results."""
    title = args.name.strip()
    if not title or "\n" in title:
        raise invalid("name", "must be one line of text", "Give the notebook a title.", kind="non_empty")
    book = TEMPLATES[args.template](title, args.language)
    return _answer(ctx, books.create_notebook(ctx, title, book))


class Load(LedgerInput):
    path: Annotated[Name | None, Field(min_length=1, description="A .src.md file below the project directory.")] = None
    content: Annotated[Text | None, Field(min_length=1, description="The text of a .src.md file.")] = None


@grouped(
    "notebook_load",
    writes=True,
    mode="own",
    example={"content": '<!-- srcbook:{"language":"javascript"} -->\n\n# Loaded\n'},
)
def notebook_load(ctx: Context, args: Load) -> Json:
    """Load a notebook from a .src.md file or its text."""
    if (args.path is None) == (args.content is None):
        raise ClewError(
            "INVALID_INPUT",
            "give either path or content",
            "Leave one of them out." if args.path else "Give the text as content, or the name of a file as path.",
            [{"kind": "choose_one", "fields": ["path", "content"]}],
        )
    book = srcmd.decode(args.content if args.content is not None else _read(ctx, str(args.path)))
    if len(book.cells) > books.MAX_CELLS:
        raise invalid("content", f"more than {books.MAX_CELLS} cells")
    title = next((cell.content for cell in book.cells if cell.type == "title"), "Untitled notebook")
    # Read and decoded before this, so that the lock is held only while cells are written.
    with ctx.writing() as bound:
        return _answer(bound, books.create_notebook(bound, title[:1000], book))


def _read(ctx: Context, path: str) -> str:
    file = confined(ctx.files, path)
    if not file.is_file():
        raise ClewError("NOT_FOUND", f"no file {file}", f"Name a file below {ctx.files}.")
    if file.stat().st_size > MAX_FILE:
        raise invalid("path", f"the file is larger than {MAX_FILE} bytes")
    try:
        return redact_text(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise ClewError("IO_ERROR", f"{file}: {problem}", "Give a readable UTF-8 file.") from problem


class List(LedgerBounded):
    limit: Annotated[int, Field(ge=1, le=200, description="Most notebooks to list.")] = 50


@operation(
    "notebook_list",
    aliases=("notebook.list",),
    budget=Budget((Trim("notebooks", drop="last", count="count", more="hasMore"),), 16_000),
)
def notebook_list(ctx: Context, args: List) -> Json:
    """List notebooks, the last changed first."""
    sql = (
        "SELECT notebook.*, (SELECT count(*) FROM notebook_cell WHERE notebook_cell.workspace = notebook.workspace"
        " AND notebook_cell.notebook = notebook.id) AS cells FROM notebook WHERE workspace = ?"
        " ORDER BY updated_at_ms DESC, id DESC LIMIT ?"
    )
    rows = ctx.tx.all(sql, ctx.workspace, args.limit + 1)
    shown = [load(Notebook, row).to_json(row["cells"]) for row in rows[: args.limit]]
    return {"success": True, "notebooks": shown, "count": len(shown), "hasMore": len(rows) > len(shown)}


class AddCell(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {"cellType": "type"}

    notebook_id: NotebookId
    type: Annotated[Literal["title", "markdown", "code"], Field(description="Kind of cell.")]
    content: Annotated[Text, Field(min_length=1, description="Heading, Markdown or code.")]
    filename: Annotated[
        Name | None, Field(description="Of a code cell; its ending says the language. Default: a free cellN name.")
    ] = None
    after_cell_id: Annotated[Id | None, Field(description="Put it behind this cell; default: at the end.")] = None
    position: Annotated[int | None, Field(ge=0, le=100_000, description="Or at this place, counted from 0.")] = None


@grouped(
    "notebook_add_cell", writes=True, example={"notebookId": "NB-001", "type": "code", "content": "console.log(6 * 7)"}
)
def notebook_add_cell(ctx: Context, args: AddCell) -> Json:
    """Add a title, Markdown or code cell."""
    notebook = books.notebook_named(ctx, args.notebook_id)
    cells = books.cells_of(ctx, notebook.id)
    books.check_room(cells)
    cell = books.place_cell(ctx, notebook.id, _position(args, cells), _new_cell(args, notebook.language, cells))
    ctx.emit("ledger", "notebook_cell_added", notebook.id, {"cell": cell.id, "type": cell.type})
    return {"success": True, "cell": {"id": cell.id, "type": cell.type, "filename": cell.filename}}


def _new_cell(args: AddCell, language: str, cells: list[NotebookCell]) -> srcmd.Cell:
    if args.type != "code":
        if args.filename is not None:
            raise invalid("filename", "only a code cell has one", "Leave it out.")
        if args.type == "title" and "\n" in args.content:
            raise invalid("content", "a title is one line")
        return srcmd.Cell(args.type, args.content)
    taken = {cell.filename for cell in cells if cell.filename}
    name = srcmd.check_filename(args.filename) if args.filename else _free_name(taken, language)
    if name in taken:
        raise invalid("filename", f"{name} is the name of another cell", "Choose another name.")
    return srcmd.Cell("code", args.content, name, language_of(name))


def _free_name(taken: set[str], language: str) -> str:
    return next(name for number in range(1, 10_000) if (name := f"cell{number}.{ENDINGS[language]}") not in taken)


def _position(args: AddCell, cells: list[NotebookCell]) -> int:
    if args.after_cell_id is not None:
        found = [cell.position for cell in cells if cell.id == args.after_cell_id]
        if not found:
            raise invalid("afterCellId", f"no cell {args.after_cell_id[:60]} in this notebook")
        return found[0] + 1
    # The caller's position counts existing cells; stored positions have gaps from deleted cells.
    if args.position is not None and args.position < len(cells):
        return cells[args.position].position
    return max((cell.position for cell in cells), default=-1) + 1


class UpdateCell(LedgerInput):
    notebook_id: NotebookId
    cell_id: CellId
    content: Annotated[Text, Field(min_length=1, description="New content.")]


@grouped(
    "notebook_update_cell",
    writes=True,
    idempotent=True,
    example={"notebookId": "NB-001", "cellId": "CELL-0001", "content": "A better title"},
)
def notebook_update_cell(ctx: Context, args: UpdateCell) -> Json:
    """Change a cell's content; what it printed before no longer counts as its result."""
    cell = books.cell_named(ctx, args.notebook_id, args.cell_id)
    if cell.type == "title" and "\n" in args.content:
        raise invalid("content", "a title is one line")
    # The same content again keeps the result of the last run.
    if cell.content != args.content:
        fresh = replace(cell, content=args.content, status="idle", output=None, error=None, executed_at_ms=None)
        update(ctx.tx, ctx.workspace, fresh)
        books.touch(ctx, args.notebook_id)
        ctx.emit("ledger", "notebook_cell_updated", args.notebook_id, {"cell": args.cell_id})
    return {"success": True, "cell": {"id": cell.id, "type": cell.type}}


class CellPlace(LedgerBounded):
    notebook_id: NotebookId
    cell_id: CellId


@grouped("notebook_delete_cell", writes=True, destructive=True, example={"notebookId": "NB-001", "cellId": "CELL-0002"})
def notebook_delete_cell(ctx: Context, args: CellPlace) -> Json:
    """Remove a cell; its runs stay in the history."""
    cell = books.cell_named(ctx, args.notebook_id, args.cell_id)
    delete(ctx.tx, ctx.workspace, cell)
    books.touch(ctx, args.notebook_id)
    payload = {"cell": cell.id, "type": cell.type, "filename": cell.filename, "content": cell.content}
    ctx.emit("ledger", "notebook_cell_deleted", args.notebook_id, payload)
    return {"success": True, "cell": {"id": cell.id, "type": cell.type}}


CELL_BUDGET = Budget(
    tuple(Clip(f"cell.{name}", most) for most in (4000, 400, 60) for name in ("output", "source", "content")),
    60_000,
    keep=("cell",),
)


@grouped("notebook_get_cell", budget=CELL_BUDGET, example={"notebookId": "NB-001", "cellId": "CELL-0001"})
def notebook_get_cell(ctx: Context, args: CellPlace) -> Json:
    """Show a whole cell with its last result and its runs."""
    cell = books.cell_named(ctx, args.notebook_id, args.cell_id)
    sql = (
        "SELECT id, started_at_ms, duration_ms, status, exit_code FROM notebook_run"
        " WHERE workspace = ? AND notebook = ? AND cell = ? ORDER BY id DESC LIMIT 10"
    )
    runs = ctx.tx.all(sql, ctx.workspace, args.notebook_id, args.cell_id)
    return {"success": True, "cell": cell.to_json(), "runs": runs}


class NotebookPlace(LedgerBounded):
    notebook_id: NotebookId


@operation(
    "notebook_list_cells",
    aliases=("notebook.list_cells",),
    budget=Budget((Trim("cells", drop="last", count="count"),), 30_000),
    example={"notebookId": "NB-001"},
)
def notebook_list_cells(ctx: Context, args: NotebookPlace) -> Json:
    """List a notebook's cells in order."""
    notebook = books.notebook_named(ctx, args.notebook_id)
    cells = [cell.to_short_json() for cell in books.cells_of(ctx, notebook.id)]
    return {"success": True, "notebookId": notebook.id, "cells": cells, "count": len(cells)}


class NotebookExport(LedgerInput):
    notebook_id: NotebookId
    path: Annotated[
        Name | None, Field(min_length=1, description="Also write it here, below the project directory.")
    ] = None


@grouped(
    "notebook_export", writes=True, mode="own", idempotent=True, example={"notebookId": "NB-001"}, view=View(whole=True)
)
def notebook_export(ctx: Context, args: NotebookExport) -> Json:
    """Export a notebook as .src.md text, and as a file when a path is given."""
    with ctx.reading() as bound:
        text = srcmd.encode(books.book_of(bound, args.notebook_id))
    result: Json = {"success": True, "content": text}
    if args.path is not None:
        result["path"] = _write(ctx, args.path, text)
    return result


def _write(ctx: Context, path: str, text: str) -> str:
    if not path.endswith(".src.md"):
        raise invalid("path", "must end with .src.md")
    file = confined(ctx.files, path)
    if is_memory(ctx, file):
        raise invalid("path", "lies in the folder of memory", "Give a path outside of it.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, text)
    except OSError as problem:
        raise ClewError("IO_ERROR", f"{file}: {problem}", "Give a path that can be written.") from problem
    return str(file)


def _replace(file: Path, text: str) -> None:
    """Write a file whole, through a temporary file with an unpredictable name.

    With a predictable name, an attacker could plant a link that redirects the text.
    """
    number, fresh = tempfile.mkstemp(".new", f".{file.name}.", file.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as out:
            out.write(text)
        # mkstemp lets only the owner read the file.
        Path(fresh).chmod(0o644)
        Path(fresh).replace(file)
    except OSError:
        Path(fresh).unlink(missing_ok=True)
        raise


def _answer(ctx: Context, notebook: Notebook) -> Json:
    count = len(books.cells_of(ctx, notebook.id))
    return {"success": True, "notebookId": notebook.id, "notebook": notebook.to_json(count)}
