"""Taking erased texts out of the history, whose turns are compressed so that SQL cannot look into them."""

from __future__ import annotations

from dataclasses import replace

from clew.history.turn_store import all_turns, keep_again
from clew.history.turns import HistoryTurn, packed
from clew.history.words import matching
from clew.store.database import Transaction
from clew.store.erasing import ChangedRow, Erasure, packed_texts
from clew.store.redaction import Redactor
from clew.store.rows import find_many
from clew.store.workspaces import find_workspace

MOST_FOUND = 100_000


@packed_texts("history")
def erase_in_turns(tx: Transaction, workspace: str, redactor: Redactor, done: Erasure, dry: bool) -> None:
    found = find_workspace(tx, workspace)
    if found is None:
        return
    probes = redactor.probes
    if probes is None:
        turns = list(all_turns(tx, workspace))
    else:
        numbers = matching(tx, workspace, found["number"], " ".join(probes), MOST_FOUND)
        turns = find_many(tx, workspace, HistoryTurn, numbers)
    for turn in turns:
        words = turn.words
        left = redactor.without(words)
        if left == words:
            continue
        cleaned = replace(turn, text=packed(left))
        done.add("history_turn", ChangedRow({"number": turn.number}, {"number": turn.number}))
        if not dry:
            keep_again(tx, workspace, found["number"], cleaned)
