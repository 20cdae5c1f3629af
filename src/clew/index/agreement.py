"""Whether the search index says what the data says. Everything is written in one transaction with what it stands for,
so that nothing here should ever be found; `clew doctor` looks all the same."""

from __future__ import annotations

from clew.store.database import Transaction

_ASKED = {
    "items that no search can find": (
        "SELECT count(*) FROM item WHERE workspace = ? AND NOT EXISTS"
        " (SELECT 1 FROM item_terms WHERE item_terms.id = item.id AND item_terms.terms IS NOT NULL)"
    ),
    "entries of the index whose item is gone": (
        "SELECT count(*) FROM item_terms WHERE workspace = ? AND terms IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM item WHERE item.id = item_terms.id)"
    ),
    "packs that reach beyond the last change": (
        "SELECT count(*) FROM index_pack WHERE workspace = ? AND high >"
        " (SELECT coalesce(max(change), 0) FROM item_terms WHERE item_terms.workspace = index_pack.workspace)"
    ),
    "models that are ahead of the index": (
        "SELECT count(*) FROM vector_progress WHERE workspace = ? AND change >"
        " (SELECT coalesce(max(change), 0) FROM item_terms WHERE item_terms.workspace = vector_progress.workspace)"
    ),
    "items that a model passed over": (
        "SELECT count(*) FROM vector_progress JOIN item_terms ON item_terms.workspace = vector_progress.workspace"
        " AND item_terms.change <= vector_progress.change WHERE vector_progress.workspace = ?"
        " AND item_terms.terms IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_vector"
        " WHERE item_vector.model = vector_progress.model AND item_vector.id = item_terms.id)"
    ),
}


def disagreements(tx: Transaction, workspace: str) -> list[str]:
    """What does not fit together, each with how many; empty when all is well."""
    found = {what: int(tx.value(sql, workspace)) for what, sql in _ASKED.items()}
    return [f"{count} {what}" for what, count in found.items() if count]
