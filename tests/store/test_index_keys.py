"""A store from before the keys of the search index began with the workspace: nothing of it is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from clew.app import open_clew
from clew.settings import load_settings
from clew.store.database import Transaction

BEFORE = 31
OLDER = """
import json, pathlib, sys
from clew.store import migrations
place, before = json.loads(sys.argv[1]), int(sys.argv[2])
known = {number: text for number, text in migrations.migrations().items() if number <= before}
migrations.migrations, migrations.latest = lambda: known, lambda: max(known)
from clew.app import open_clew
from clew.settings import load_settings
clew = open_clew(load_settings(place, {}, pathlib.Path(place["home"]).parent))
with clew.database.write() as tx:
    for number, name in enumerate(("web", "payroll"), 1):
        given = (f"N-{number}", "note", number, number, f"text of {name}", "digest")
        tx.run("INSERT INTO workspace (id, number, seq, event_seq, created_at_ms, updated_at_ms)"
               " VALUES (?, ?, 1, 0, 1, 1)", name, number)
        tx.run("INSERT INTO item (id, workspace, ref, source, seq, ts_ms, body, digest)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?)", number, name, *given)
        tx.run("INSERT INTO item_terms (id, workspace, change, stale, terms) VALUES (?, ?, 1, 0, 'text')", number, name)
        tx.run("INSERT INTO item_link (id, workspace, relation, target) VALUES (?, ?, 'mentions', 'D-1')", number, name)
        tx.run("INSERT INTO item_vector (workspace, model, id, number, digest, scale, data)"
               " VALUES (?, 'm', ?, 1, 'd', 1, ?)", name, number, b"12")
        if tx.engine == "postgres":
            tx.run("INSERT INTO history_words (number, words) VALUES (?, to_tsvector('english', ?))",
                   (number << 40) + 7, f"words of {name}")
clew.close()
"""
TABLES = ("item", "item_terms", "item_link", "item_vector")


def test_an_older_store_keeps_its_index(tmp_path: Path, engine: str, request: Any) -> None:
    place = {"home": str(tmp_path / "home"), "workspace": "web", "embedding_model": "none"}
    if engine == "postgres":
        place["database_url"] = request.getfixturevalue("empty_postgres_url")
    subprocess.run([sys.executable, "-c", OLDER, json.dumps(place), str(BEFORE)], check=True)
    clew = open_clew(load_settings(place, {}, tmp_path))
    with clew.database.read() as tx:
        for table in TABLES:
            found = tx.all(f"SELECT id, workspace FROM {table} ORDER BY id")
            assert found == [{"id": 1, "workspace": "web"}, {"id": 2, "workspace": "payroll"}], table
        assert tx.value("SELECT body FROM item WHERE workspace = ? AND id = ?", "payroll", 2) == "text of payroll"
        assert first_of_each_key(tx) == {"workspace"}
        if engine == "postgres":
            words = tx.all("SELECT workspace, number & 255 AS turn FROM history_words ORDER BY number")
            assert words == [{"workspace": "web", "turn": 7}, {"workspace": "payroll", "turn": 7}]
    clew.close()


def first_of_each_key(tx: Transaction) -> set[str]:
    """The first column of each unique index of the search index's tables."""
    if tx.engine == "sqlite":
        sql = (
            "SELECT info.name FROM pragma_index_list(?) list JOIN pragma_index_info(list.name) info"
            ' WHERE list."unique" = 1 AND info.seqno = 0'
        )
    else:
        sql = (
            "SELECT attname AS name FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]"
            " WHERE indisunique AND indrelid = CAST(? AS regclass)"
        )
    return {row["name"] for table in TABLES for row in tx.all(sql, table)}
