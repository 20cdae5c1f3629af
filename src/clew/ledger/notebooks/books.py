"""Notebooks and their cells in the store: rows, ids, order, and their JSON."""

from __future__ import annotations

from clew.canonical import Json
from clew.clock import iso_millis
from clew.errors import ClewError, suggest, unknown_id
from clew.ledger.notebooks.srcmd import PACKAGE, Book, Cell
from clew.registry.context import Context
from clew.store.database import Row
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


def notebook_named(ctx: Context, notebook: str) -> Row:
    row = ctx.tx.one("SELECT * FROM notebook WHERE workspace = ? AND id = ?", ctx.workspace, notebook)
    if row is None:
        raise unknown_id(
            "notebook",
            notebook,
            "Copy the id from the list of notebooks.",
            [suggest("notebook_list", "Shows the notebooks there are.")],
        )
    return row


def cells_of(ctx: Context, notebook: str) -> list[Row]:
    sql = "SELECT * FROM notebook_cell WHERE workspace = ? AND notebook = ? ORDER BY position, id"
    return ctx.tx.all(sql, ctx.workspace, notebook)


def cell_named(ctx: Context, notebook: str, cell: str) -> Row:
    notebook_named(ctx, notebook)
    sql = "SELECT * FROM notebook_cell WHERE workspace = ? AND notebook = ? AND id = ?"
    row = ctx.tx.one(sql, ctx.workspace, notebook, cell)
    if row is None:
        raise unknown_id(
            f"cell of notebook {notebook}",
            cell,
            "Copy the id from the list of cells.",
            [suggest("notebook_list_cells", "Shows the cells of this notebook.", "high", notebookId=notebook)],
        )
    return row


def find_run(ctx: Context, number: int) -> Row | None:
    """A run of a cell with its output."""
    return ctx.tx.one("SELECT * FROM notebook_run WHERE workspace = ? AND id = ?", ctx.workspace, number)


def create_notebook(ctx: Context, title: str, book: Book) -> Row:
    row: Row = {
        "workspace": ctx.workspace,
        "id": f"NB-{ctx.ws.count('notebook'):03d}",
        "title": title,
        "language": book.language,
        "tsconfig": book.tsconfig,
        "created_at_ms": ctx.now_ms,
        "updated_at_ms": ctx.now_ms,
    }
    ctx.tx.run(f"INSERT INTO notebook ({', '.join(row)}) VALUES (?, ?, ?, ?, ?, ?, ?)", *row.values())
    for position, cell in enumerate(book.cells):
        insert_cell(ctx, row["id"], position, cell)
    ctx.emit("ledger", "notebook_created", row["id"], {"title": title, "cells": len(book.cells)})
    return row


# Ids come from a counter of the workspace, so that the id of a deleted cell, which runs still name, is not used again.
def insert_cell(ctx: Context, notebook: str, position: int, cell: Cell) -> Row:
    row: Row = {
        "workspace": ctx.workspace,
        "notebook": notebook,
        "id": f"CELL-{ctx.ws.count('notebook_cell'):04d}",
        "position": position,
        "type": cell.type,
        "filename": cell.filename,
        "language": cell.language,
        "content": cell.content,
        "status": "idle",
    }
    ctx.tx.run(f"INSERT INTO notebook_cell ({', '.join(row)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *row.values())
    return row


def place_cell(ctx: Context, notebook: str, position: int, cell: Cell) -> Row:
    """Insert a cell at a position; the cells from there on move back by one."""
    ctx.tx.run(
        "UPDATE notebook_cell SET position = position + 1 WHERE workspace = ? AND notebook = ? AND position >= ?",
        ctx.workspace,
        notebook,
        position,
    )
    row = insert_cell(ctx, notebook, position, cell)
    touch(ctx, notebook)
    return row


def touch(ctx: Context, notebook: str) -> None:
    sql = "UPDATE notebook SET updated_at_ms = ? WHERE workspace = ? AND id = ?"
    ctx.tx.run(sql, ctx.now_ms, ctx.workspace, notebook)


def book_of(ctx: Context, notebook: str) -> Book:
    row = notebook_named(ctx, notebook)
    cells = [Cell(c["type"], c["content"], c["filename"], c["language"]) for c in cells_of(ctx, notebook)]
    return Book(row["language"], tuple(cells), row["tsconfig"])


def check_room(cells: list[Row]) -> None:
    if len(cells) >= MAX_CELLS:
        raise ClewError(
            "INVALID_INPUT",
            f"a notebook has at most {MAX_CELLS} cells",
            "Go on in a new notebook.",
            [{"kind": "range", "field": "notebookId", "le": MAX_CELLS}],
        )


def notebook_json(row: Row, count: int) -> Json:
    return {
        "id": row["id"],
        "title": row["title"],
        "language": row["language"],
        "cellCount": count,
        "createdAt": row["created_at_ms"],
        "updatedAt": row["updated_at_ms"],
    }


def cell_json(row: Row) -> Json:
    """A whole cell, with the seed's field names for its kind."""
    shared = {"id": row["id"], "type": row["type"], "content": row["content"]}
    if row["type"] not in EXECUTABLE:
        return {**shared, "text": row["content"]}
    return {
        **shared,
        "filename": row["filename"],
        "source": row["content"],
        "status": row["status"],
        "output": row["output"],
        "error": row["error"],
        "executedAt": iso_millis(row["executed_at_ms"]) if row["executed_at_ms"] else None,
        **({"language": row["language"]} if row["type"] == "code" else {}),
    }


def short_cell(row: Row) -> Json:
    if row["type"] not in EXECUTABLE:
        return {"id": row["id"], "type": row["type"], "text": row["content"]}
    return {
        "id": row["id"],
        "type": row["type"],
        "filename": row["filename"],
        "language": row["language"],
        "status": row["status"],
        "hasOutput": bool(row["output"]),
        "hasError": bool(row["error"]),
    }
