"""Notebooks and their cells in the store: rows, ids, order, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clew.canonical import Json
from clew.clock import iso_millis
from clew.errors import ClewError, suggest, unknown_id
from clew.ledger.notebooks.srcmd import PACKAGE, Book, Cell
from clew.registry.context import Context
from clew.store.rows import TableRow, change, find, insert, select
from clew.store.workspaces import declare_events

MAX_CELLS = 1000
EXECUTABLE = ("code", PACKAGE)

declare_events(
    {
        "notebook_created": "A notebook was created or loaded.",
        "notebook_cell_added": "A cell was added to a notebook.",
        "notebook_cell_updated": "A cell got other content.",
        "notebook_cell_deleted": "A cell was removed from a notebook; its runs stay stored.",
        "notebook_cell_ran": "A cell was run; the payload says how it ended.",
    }
)


@dataclass(frozen=True)
class Notebook(TableRow):
    TABLE: ClassVar[str] = "notebook"

    id: str
    title: str
    language: str
    tsconfig: str | None
    created_at_ms: int
    updated_at_ms: int

    def to_json(self, count: int) -> Json:
        return {
            "id": self.id,
            "title": self.title,
            "language": self.language,
            "cellCount": count,
            "createdAt": self.created_at_ms,
            "updatedAt": self.updated_at_ms,
        }


@dataclass(frozen=True)
class NotebookCell(TableRow):
    TABLE: ClassVar[str] = "notebook_cell"
    KEY: ClassVar[tuple[str, ...]] = ("notebook", "id")

    notebook: str
    id: str
    position: int
    type: str
    filename: str | None
    language: str | None
    content: str
    status: str = "idle"
    output: str | None = None
    error: str | None = None
    executed_at_ms: int | None = None

    @property
    def can_run(self) -> bool:
        return self.type in EXECUTABLE

    def to_json(self) -> Json:
        """A whole cell, with the seed's field names for its kind."""
        shared = {"id": self.id, "type": self.type, "content": self.content}
        if not self.can_run:
            return {**shared, "text": self.content}
        return {
            **shared,
            "filename": self.filename,
            "source": self.content,
            "status": self.status,
            "output": self.output,
            "error": self.error,
            "executedAt": iso_millis(self.executed_at_ms) if self.executed_at_ms else None,
            **({"language": self.language} if self.type == "code" else {}),
        }

    def to_short_json(self) -> Json:
        if not self.can_run:
            return {"id": self.id, "type": self.type, "text": self.content}
        return {
            "id": self.id,
            "type": self.type,
            "filename": self.filename,
            "language": self.language,
            "status": self.status,
            "hasOutput": bool(self.output),
            "hasError": bool(self.error),
        }


@dataclass(frozen=True)
class NotebookRun(TableRow):
    """A run of a cell with its output."""

    TABLE: ClassVar[str] = "notebook_run"
    FLAGS: ClassVar[frozenset[str]] = frozenset({"truncated"})

    id: int
    notebook: str
    cell: str
    started_at_ms: int
    duration_ms: int
    status: str
    exit_code: int | None
    stdout: str
    stderr: str
    truncated: bool
    source_digest: str
    output_digest: str


def notebook_named(ctx: Context, notebook: str) -> Notebook:
    found = find(ctx.tx, ctx.workspace, Notebook, notebook)
    if found is None:
        way = suggest("notebook_list", "Shows the notebooks there are.")
        raise unknown_id("notebook", notebook, "Copy the id from the list of notebooks.", [way])
    return found


def cells_of(ctx: Context, notebook: str) -> list[NotebookCell]:
    return select(ctx.tx, ctx.workspace, NotebookCell, "notebook = ? ORDER BY position, id", notebook)


def cell_named(ctx: Context, notebook: str, cell: str) -> NotebookCell:
    notebook_named(ctx, notebook)
    found = find(ctx.tx, ctx.workspace, NotebookCell, notebook, cell)
    if found is None:
        way = suggest("notebook_list_cells", "Shows the cells of this notebook.", "high", notebookId=notebook)
        raise unknown_id(f"cell of notebook {notebook}", cell, "Copy the id from the list of cells.", [way])
    return found


def find_run(ctx: Context, number: int) -> NotebookRun | None:
    return find(ctx.tx, ctx.workspace, NotebookRun, number)


def create_notebook(ctx: Context, title: str, book: Book) -> Notebook:
    id = f"NB-{ctx.ws.count('notebook'):03d}"
    notebook = Notebook(id, title, book.language, book.tsconfig, ctx.now_ms, ctx.now_ms)
    insert(ctx.tx, ctx.workspace, notebook)
    for position, cell in enumerate(book.cells):
        insert_cell(ctx, id, position, cell)
    ctx.emit("ledger", "notebook_created", id, {"title": title, "cells": len(book.cells)})
    return notebook


def insert_cell(ctx: Context, notebook: str, position: int, cell: Cell) -> NotebookCell:
    # From a counter of the workspace: the id of a deleted cell, which runs still refer to, is never reused.
    id = f"CELL-{ctx.ws.count('notebook_cell'):04d}"
    row = NotebookCell(notebook, id, position, cell.type, cell.filename, cell.language, cell.content)
    insert(ctx.tx, ctx.workspace, row)
    return row


def place_cell(ctx: Context, notebook: str, position: int, cell: Cell) -> NotebookCell:
    """Insert a cell at a position; the cells from there on move back by one."""
    sql = "UPDATE notebook_cell SET position = position + 1 WHERE workspace = ? AND notebook = ? AND position >= ?"
    ctx.tx.run(sql, ctx.workspace, notebook, position)
    row = insert_cell(ctx, notebook, position, cell)
    touch(ctx, notebook)
    return row


def touch(ctx: Context, notebook: str) -> None:
    change(ctx.tx, ctx.workspace, Notebook, [notebook], updated_at_ms=ctx.now_ms)


def book_of(ctx: Context, notebook: str) -> Book:
    about = notebook_named(ctx, notebook)
    cells = (Cell(cell.type, cell.content, cell.filename, cell.language) for cell in cells_of(ctx, notebook))
    return Book(about.language, tuple(cells), about.tsconfig)


def check_room(cells: list[NotebookCell]) -> None:
    if len(cells) >= MAX_CELLS:
        raise ClewError(
            "INVALID_INPUT",
            f"a notebook has at most {MAX_CELLS} cells",
            "Go on in a new notebook.",
            [{"kind": "range", "field": "notebookId", "le": MAX_CELLS}],
        )
