"""Nodes and edges: one version each, as a dataclass, as a table row and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.canonical import Json, as_json, canonical_or_none
from clew.reasoning.visibility import CARD_TYPES as CARD_TYPES
from clew.store.rows import TableRow

_VERSION = {"last_seq": "seq", "last_ts_ms": "ts_ms"}
"""A version is identified by the seq of the entry with which it was written."""


@dataclass(frozen=True, slots=True)
class Node(TableRow):
    """One version of a node, identified by `last_seq`."""

    TABLE = "node"
    KEY = ("seq",)
    LISTS = frozenset({"tags"})
    OBJECTS = frozenset({"meta"})
    FLAGS = frozenset({"deleted"})
    COLUMNS = _VERSION

    id: str
    type: str
    title: str | None
    text: str | None
    status: str | None
    tags: tuple[str, ...]
    meta: Json | None
    deleted: bool
    last_seq: int
    last_ts_ms: int

    def content(self) -> tuple[Any, ...]:
        """All fields in which two versions can differ in meaning."""
        return (self.type, self.title, self.text, self.status, self.tags, canonical_or_none(self.meta), self.deleted)


@dataclass(frozen=True, slots=True)
class Edge(TableRow):
    TABLE = "edge"
    KEY = ("seq",)
    OBJECTS = frozenset({"meta"})
    FLAGS = frozenset({"deleted"})
    COLUMNS = _VERSION

    from_id: str
    rel: str
    to_id: str
    meta: Json | None
    deleted: bool
    last_seq: int
    last_ts_ms: int

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.from_id, self.rel, self.to_id)

    def content(self) -> tuple[Any, ...]:
        return (canonical_or_none(self.meta), self.deleted)


def node_json(node: Node) -> Json:
    return as_json(node)


def edge_json(edge: Edge) -> Json:
    ends = {"from": edge.from_id, "rel": edge.rel, "to": edge.to_id}
    return {**ends, **as_json(edge, "from_id", "rel", "to_id")}


def folded(title: str | None, text: str | None) -> str:
    """The text that a text filter searches. Folded in Python, because SQLite's lower() knows only ASCII."""
    return f"{title or ''}\n{text or ''}".casefold()
