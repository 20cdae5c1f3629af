"""The columns with texts: the key of each table, its columns with written text, and which rows belong to a record.

Erasing a record iterates over this table, so a column that is missing here would keep a text permanently. A test
compares it with the schema of both engines: each column that can contain a text is listed here, or among those that
never do.
"""

from __future__ import annotations

from typing import NamedTuple


class TextTable(NamedTuple):
    key: tuple[str, ...]
    """The primary key without the workspace."""
    texts: tuple[str, ...]


def _of(key: str, texts: str) -> TextTable:
    return TextTable(tuple(key.split()), tuple(texts.split()))


TEXT_TABLES: dict[str, TextTable] = {
    "agent_deed": _of("number", "subject error error_key place names"),
    "agent_session": _of("id", "pending checkpoint"),
    "anchor": _of("id", "title description refs"),
    "block": _of("id seq", "text fields problems mark"),
    "block_file": _of("path", "preamble problems"),
    "branch": _of("id", "name"),
    "cited_code": _of("path first_line last_line digest", "text"),
    "decision_word": _of("word sharp id", "word"),
    "dead_end": _of("number", "command error error_key place names remedy by_what"),
    "edge": _of("seq", "meta"),
    "entry": _of("seq", "title meta content"),
    "event": _of("seq", "payload"),
    "evidence": _of("id", "text body command"),
    "garden_version": _of("seq", "body"),
    "graph_conflict": _of("id", "resolution base theirs ours"),
    "guard": _of("id", "fields"),
    "guard_override": _of("number", "why action"),
    "history_session": _of("id", "title"),
    "history_turn": _of("number", "files error error_key"),
    "inbox_later": _of("id kind", "why"),
    "item": _of("id", "title body tags speaker"),
    "job": _of("id", "title summary"),
    "job_brief": _of("job", "prompt meta"),
    "job_event": _of("seq", "message refs meta"),
    "ledger_chain": _of("session chain", "label"),
    "ledger_session": _of("id", "title description tags words place extra"),
    "node": _of("seq", "tags title text meta folded"),
    "notebook": _of("id", "title tsconfig"),
    "notebook_cell": _of("notebook id", "filename content output error"),
    "notebook_run": _of("id", "stdout stderr"),
    "pattern": _of("id", "title description content tags"),
    "place": _of("id", "gap problems"),
    "plain_file": _of("path seq", "text"),
    "proof_receipt": _of("id", "text command output_tail"),
    "receipt": _of("ts", "changes"),
    "record_link": _of("from_id rel to_id", "why"),
    "reflog": _of("seq", "message"),
    "request": _of("id", "answer"),
    "retraction": _of("id seq", "why"),
    "runner_lease": _of("runner", "meta"),
    "scratchpad": _of("id", "title content"),
    "step": _of("id", "title success_criteria tests blockers next_action stop_criteria block_reason"),
    "sync_change": _of("origin seq", "body"),
    "task_node": _of(
        "id", "title description context blockers dependencies next_steps problems risks success_criteria"
    ),
    "task_operation": _of("seq", "payload before_content after_content"),
    "thought": _of("session chain number", "critique extra"),
    "tombstone": _of("mark", "mark statement reason"),
    "unanswered": _of("question", "question"),
    "work": _of(
        "id",
        "title description context domain phase component assignee tags contract contract_data checklist",
    ),
}

DERIVED = frozenset(
    {
        *("item_past", "item_terms", "item_vector"),
        *("node_tag", "ledger_tag", "verdict", "history_edit", "history_words"),
    }
)
"""Derived from texts: rebuilt or removed with their source."""

OWNED: dict[str, tuple[tuple[str, str], ...]] = {
    "block": (("block", "id = ?"),),
    "card": (("node", "id = ?"),),
    "entry": (("entry", "seq = ?"),),
    "thought": (
        ("thought", "chain = '' AND session || ':' || number = ?"),
        ("thought", "session || ':' || chain || ':' || number = ?"),
        ("node", "id = ?"),
    ),
    "session": (
        ("ledger_session", "id = ?"),
        ("ledger_chain", "session = ?"),
        ("thought", "session = ?"),
        ("node", "id LIKE CAST(? AS TEXT) || ':%'"),
    ),
    "task": (
        ("work", "id = ?"),
        ("step", "task = ?"),
        ("task_node", "task = ?"),
        ("evidence", "owner = ?"),
        ("proof_receipt", "owner = ?"),
        ("task_operation", "task = ?"),
    ),
    "step": (
        ("step", "id = ?"),
        ("evidence", "entity = ?"),
        ("proof_receipt", "entity = ?"),
        ("task_operation", "entity = ?"),
    ),
    "evidence": (("evidence", "id = ?"), ("proof_receipt", "evidence = ?")),
    "receipt": (("proof_receipt", "id = ?"),),
    "job": (("job", "id = ?"), ("job_brief", "job = ?"), ("job_event", "job = ?")),
    "anchor": (("anchor", "id = ?"),),
    "notebook": (("notebook", "id = ?"), ("notebook_cell", "notebook = ?"), ("notebook_run", "notebook = ?")),
    "pattern": (("pattern", "id = ?"), ("garden_version", "id = ?")),
    "scratchpad": (("scratchpad", "id = ?"), ("garden_version", "id = ?")),
}
"""The rows that are a record's own, by the kind of record; every `?` is the record's id (of an entry its number)."""
OWNED["plan"] = OWNED["task"]

SAME_NUMBER = {"thought": ("entry",)}
"""Tables whose row with the same `seq` duplicates the text."""

ABOUT: tuple[tuple[str, str], ...] = (
    ("retraction", "id = ?"),
    ("record_link", "from_id = ?"),
    ("inbox_later", "id = ?"),
    ("guard_override", "id = ?"),
)
"""Rows about a record of any kind; each is emptied with it."""

REMOVED: tuple[tuple[str, str], ...] = (
    ("guard", "id = ?"),
    ("decision_word", "id = ?"),
    ("ledger_tag", "session = ?"),
)
"""Rows without a use once the record's text is gone."""
