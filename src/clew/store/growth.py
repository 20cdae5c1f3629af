"""The growth of a store: bytes by kind, and rows that may be deleted when they are old.

Everything a person may want stays unless a person decides otherwise. Rows on which answers depend permanently have no
age limit: events contain the authors of records and the chain of digests, receipts the data for a rollback,
`item_past` the past versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clew.store.database import Transaction

KINDS: Mapping[str, tuple[str, ...]] = {
    "records": ("block", "block_file", "place", "plain_file", "tombstone", "retraction", "record_link", "cited_code"),
    "contradictions": ("decision_word", "verdict", "judgement_queue"),
    "guards": ("guard", "guard_override"),
    "receipts": ("receipt", "proof_receipt"),
    "events": ("event", "write_log", "request"),
    "reasoning": (
        *("branch", "document", "entry", "reasoning_ref", "node", "node_tag", "edge", "anchor", "anchor_alias"),
        *("graph_merged", "graph_conflict", "log_cut", "reflog", "note_tag"),
    ),
    "tasks": (
        *("work", "step", "task_node", "evidence", "evidence_checkpoint", "step_lease", "portal_cursor"),
        *("job", "job_brief", "job_event", "runner_lease"),
    ),
    "task log": ("task_operation",),
    "thoughts": (
        *("ledger_session", "ledger_tag", "ledger_chain", "thought", "thought_link", "pattern", "garden_version"),
        "scratchpad",
    ),
    "notebooks": ("notebook", "notebook_cell"),
    "notebook runs": ("notebook_run",),
    "agent sessions": ("agent_session", "agent_told", "agent_deed", "dead_end", "caller_state"),
    "transcripts": ("history_session", "history_turn", "history_edit", "history_words"),
    "search index": ("item", "item_terms", "item_link", "node_grams"),
    "past of the index": ("item_past",),
    "vectors": ("item_vector", "vector_progress"),
    "exchange": ("sync_change", "sync_record", "sync_conflict", "sync_state"),
    "use": ("item_use", "item_pair", "figure", "unanswered", "inbox_later"),
    "store": ("workspace", "counter", "meta", "credential", "mcp_session"),
}


class Aged(NamedTuple):
    """Rows that no answer uses when they are old, with the column that records when they were written."""

    table: str
    column: str


AGED: Mapping[str, Aged] = {
    "task log": Aged("task_operation", "ts_ms"),
    "notebook runs": Aged("notebook_run", "started_at_ms"),
    "agent sessions": Aged("agent_session", "seen_ms"),
    "use": Aged("unanswered", "last_ms"),
}


def by_kind(tables: Mapping[str, int]) -> dict[str, int]:
    """Converts bytes of tables to bytes of kinds, the largest first. A full-text index has several tables."""
    found: dict[str, int] = {}
    for table, size in tables.items():
        kind = _kind_of(table)
        found[kind] = found.get(kind, 0) + size
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _kind_of(table: str) -> str:
    known = {name: kind for kind, names in KINDS.items() for name in names}
    if table in known:
        return known[table]
    return next((kind for name, kind in known.items() if table.startswith(f"{name}_")), "store")


def old_rows(tx: Transaction, workspace: str, kinds: Iterable[str], before_ms: int) -> dict[str, int]:
    """The number of older rows of these kinds."""
    found = {}
    for kind in kinds:
        table, column = AGED[kind]
        sql = f"SELECT count(*) FROM {table} WHERE workspace = ? AND {column} < ?"
        found[kind] = int(tx.value(sql, workspace, before_ms))
    return found


def drop_old_rows(tx: Transaction, workspace: str, kinds: Iterable[str], before_ms: int) -> None:
    for kind in kinds:
        table, column = AGED[kind]
        tx.run(f"DELETE FROM {table} WHERE workspace = ? AND {column} < ?", workspace, before_ms)
