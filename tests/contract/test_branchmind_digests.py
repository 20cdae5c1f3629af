"""What a BranchMind store holds and what Clew answers after the import have equal digests, kind by kind.

The one side is read from the rows of the source, the other by calling operations, as a client would.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.app import Clew
from clew.contracts.branchmind.adopted_log import own_meta
from tests.contract.branchmind_store import WORKSPACE, write_full_store
from tests.contract.local_calls import call

Rows = list[dict[str, Any]]
ROOM = 900_000
EVENT = ("seq", "ts_ms", "kind", "event_id", "event_type", "task_id", "path")
NOTE = ("seq", "ts_ms", "kind", "title", "format", "content", "meta")


def digest(rows: list[Any]) -> str:
    lines = sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def named(cursor: apsw.Cursor, row: tuple[Any, ...]) -> Any:
    return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}


class Source:
    """The rows of the original's store."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.row_trace = named
        self.bases = {row["name"]: row for row in self.rows("branches")}

    def rows(self, table: str, order: str = "rowid") -> Rows:
        return list(self.connection.execute(f"SELECT * FROM {table} ORDER BY {order}"))

    def places(self, table: str) -> set[tuple[str, str]]:
        return {(row["branch"], row["doc"]) for row in self.rows(table)}

    def sees(self, branch: str, row: dict[str, Any]) -> bool:
        """Whether a branch shows what was written: its own, and its base's up to the cutoff."""
        if row["branch"] == branch:
            return True
        base = self.bases.get(branch)
        return base is not None and row["branch"] == base["base_branch"] and row["seq"] <= base["base_seq"]

    def newest(self, table: str, branch: str, doc: str, key: Callable[[dict[str, Any]], Any]) -> Rows:
        """Of each thing in a graph the version that a branch sees, unless it is a deletion."""
        seen: dict[Any, dict[str, Any]] = {}
        for row in self.rows(table, "seq"):
            if row["doc"] == doc and self.sees(branch, row):
                own = seen.get(key(row))
                # What the branch itself wrote wins, whatever its base wrote later.
                if own is None or row["branch"] == branch or own["branch"] != branch:
                    seen[key(row)] = row
        return [row for row in seen.values() if not row["deleted"]]


class Imported:
    """The same through operations."""

    def __init__(self, clew: Clew) -> None:
        self.clew = clew

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return call(self.clew, name, workspace=WORKSPACE, **arguments)

    def pages(self, name: str, field: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        cursor = None
        while True:
            page = self(name, cursor=cursor, limit=200, max_chars=ROOM, **arguments)
            yield from page[field]
            cursor = page["pagination"]["next_cursor"]
            if cursor is None:
                return


@pytest.fixture
def both(clew: Clew, engine: str, tmp_path: Path) -> tuple[Source, Imported]:
    """Ten thousand cards on the embedded engine; on the other one enough to page."""
    path = tmp_path / "branchmind_rust.db"
    write_full_store(path, cards=10_000 if engine == "sqlite" else 300)
    call(clew, "import_branchmind", path=str(path))
    return Source(path), Imported(clew)


def test_everything_has_equal_digests_on_both_sides(both: tuple[Source, Imported]) -> None:
    source, imported = both
    reasoning = (branches, documents, entries, nodes, edges)
    for compare in (*reasoning, plans, tasks, steps, task_nodes, evidence, jobs, events):
        before, after = compare(source, imported)
        assert len(before) == len(after) > 0, compare.__name__
        if digest(before) != digest(after):
            pytest.fail(f"{compare.__name__}: {difference(before, after)}")
    written = imported("tasks_jobs_message", job="JOB-002", message="Go on.")["event"]["seq"]
    assert written > max(row["seq"] for table in ("doc_entries", "job_events") for row in source.rows(table))


def difference(before: list[Any], after: list[Any]) -> str:
    """The first rows that differ, for whoever reads the failure."""
    one, other = ({json.dumps(row, sort_keys=True) for row in side} for side in (before, after))
    return f"\nsource: {sorted(one - other)[:3]}\nimport: {sorted(other - one)[:3]}"


def branches(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("name", "base_branch", "base_seq", "created_at_ms")
    before = [[row[name] for name in names] for row in source.rows("branches")]
    listed = imported("branch_list", limit=500, max_chars=ROOM)["branches"]
    return before, [[row[name] for name in names] for row in listed if row["base_branch"]]


def documents(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("doc", "kind", "created_at_ms")
    before = [[row["branch"], *(row[name] for name in names)] for row in source.rows("documents")]
    known = {(row[0], row[1]) for row in before}
    shown = [
        [branch, *(row[name] for name in names)]
        for branch in sorted({place[0] for place in known})
        for row in imported("docs_list", ref=branch, max_chars=ROOM)["docs"]
    ]
    return before, [row for row in shown if (row[0], row[1]) in known]


def entries(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    """Notes, trace and the log of the graph, each document as each branch shows it."""
    written = source.rows("doc_entries", "seq")
    before, after = [], []
    for branch, doc in sorted(source.places("documents") & source.places("doc_entries")):
        before += [[branch, doc, *said(row)] for row in written if row["doc"] == doc and source.sees(branch, row)]
        shown = imported.pages("show", "entries", branch=branch, doc=doc)
        # A note about a step that the source kept apart stands among the notes of its task, above all of the source.
        after += [[branch, doc, *told(row)] for row in shown if row["seq"] <= written[-1]["seq"]]
    return before, after


def said(row: dict[str, Any]) -> list[Any]:
    if row["kind"] == "event":
        return [row["seq"], row["ts_ms"], "event", row["source_event_id"], *(row[name] for name in EVENT[4:])]
    meta = json.loads(row["meta_json"]) if row["meta_json"] else None
    return [*(row[name] for name in NOTE[:-1]), meta]


def told(row: dict[str, Any]) -> list[Any]:
    return [row.get(name) for name in (EVENT if row["kind"] == "event" else NOTE)]


def nodes(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    before, after = [], []
    for branch, doc in sorted(source.places("graph_node_versions")):
        for row in source.newest("graph_node_versions", branch, doc, lambda row: row["node_id"]):
            tags = [tag for tag in (row["tags"] or "").split("\n") if tag]
            meta = own_meta(json.loads(row["meta_json"])) if row["meta_json"] else None
            fields = (row["node_type"], row["title"], row["text"], row["status"], sorted(tags), meta)
            before.append([branch, doc, row["node_id"], *fields, row["seq"], row["ts_ms"]])
        for node in imported.pages("graph_query", "nodes", branch=branch, doc=doc, include_edges=False):
            fields = (node["type"], node["title"], node["text"], node["status"], sorted(node["tags"]), node["meta"])
            after.append([branch, doc, node["id"], *fields, node["last_seq"], node["last_ts_ms"]])
    return before, [row for row in after if not projected(row, source)]


def projected(row: list[Any], source: Source) -> bool:
    """What the import adds: plans, tasks and steps that the source had not put into the graph."""
    return row[3] in ("plan", "task", "step") and row[-2] > source.rows("doc_entries", "seq")[-1]["seq"]


def edges(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    before, after = [], []
    for branch, doc in sorted(source.places("graph_edge_versions")):
        for row in source.newest("graph_edge_versions", branch, doc, lambda r: (r["from_id"], r["rel"], r["to_id"])):
            meta = json.loads(row["meta_json"]) if row["meta_json"] else None
            before.append([branch, doc, row["from_id"], row["rel"], row["to_id"], meta])
        ends = sorted({id for row in source.rows("graph_edge_versions") for id in (row["from_id"], row["to_id"])})
        for edge in imported("graph_query", branch=branch, doc=doc, ids=ends, edges_limit=1000)["edges"]:
            after.append([branch, doc, edge["from"], edge["rel"], edge["to"], edge["meta"]])
    return before, after


def plans(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("id", "revision", "title", "contract", "status", "created_at_ms", "updated_at_ms")
    before = [[row[name] for name in names] for row in source.rows("plans")]
    opened = [imported("open", id=row["id"])["target"] for row in source.rows("plans")]
    return before, [[row[name] for name in names] for row in opened]


def tasks(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("id", "revision", "title", "status", "reasoning_mode", "created_at_ms", "updated_at_ms", "priority")
    before = [[row[name] for name in names] + [row["parent_plan_id"]] for row in source.rows("tasks")]
    opened = [imported("open", id=row["id"])["target"] for row in source.rows("tasks")]
    return before, [[row[name] for name in names] + [row["parent"]] for row in opened]


STEP = ("title", "completed", "completed_at_ms", "created_at_ms", "updated_at_ms", "blocked", "block_reason")
CONFIRMED = tuple(f"{name}_confirmed" for name in ("criteria", "tests", "security", "perf", "docs"))


def steps(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    lists = (("step_criteria", "success_criteria"), ("step_tests", "tests"), ("step_blockers", "blockers"))
    before, after = [], []
    for row in source.rows("steps"):
        lines = [[item["text"] for item in source.rows(t) if item["step_id"] == row["step_id"]] for t, _ in lists]
        flags = [bool(row[name]) if name in ("completed", "blocked") else row[name] for name in STEP]
        before.append([row["step_id"], *flags, *(bool(row[name]) for name in CONFIRMED), lines])
    for step in imported("tasks_resume", task="TASK-001", max_chars=ROOM)["steps"]:
        lines = [list(step[field]) for _, field in lists]
        after.append([step["step_id"], *(step[name] for name in (*STEP, *CONFIRMED)), lines])
    return before, after


def task_nodes(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("node_id", "title", "status", "priority", "description")
    before = [[row[name] for name in names] for row in source.rows("task_nodes")]
    opened = imported("open", id="STEP-00000001")
    return before, [[node[name] for name in names] for node in opened["nodes"]]


def evidence(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    before: list[Any] = [
        [row[name] for name in ("kind", "command", "stdout", "exit_code", "content")]
        for row in source.rows("evidence_artifacts")
    ]
    before += [["check", row["check_text"]] for row in source.rows("evidence_checks")]
    before += [["attachment", row["attachment"]] for row in source.rows("evidence_attachments")]
    return before, [kept(imported("open", id=f"EV-{number:03d}")["evidence"]) for number in range(1, len(before) + 1)]


def kept(item: dict[str, Any]) -> list[Any]:
    if item["kind"] in ("check", "attachment"):
        return [item["kind"], item["text"]]
    return [item["body"].get(name) for name in ("kind", "command", "stdout", "exit_code", "content")]


def jobs(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    """With prompt, meta and the whole thread; `JOB-002@21` opens what it opened."""
    names = ("revision", "status", "title", "kind", "priority", "summary", "created_at_ms", "updated_at_ms")
    parts = ("seq", "ts_ms", "kind", "message", "percent")
    before, after = [], []
    for row in source.rows("jobs"):
        told = [event for event in source.rows("job_events", "seq") if event["job_id"] == row["id"]]
        thread = [[*(event[name] for name in parts), json.loads(event["refs"])] for event in told]
        before.append([row["id"], *(row[name] for name in names), row["prompt"], json.loads(row["meta_json"]), thread])
        asked = {"include_prompt": True, "include_meta": True, "include_events": True, "max_events": 200}
        shown = imported("tasks_jobs_open", job=row["id"], **asked, max_chars=ROOM)
        events = sorted(shown["events"], key=lambda event: event["seq"])
        thread = [[*(event[name] for name in parts), event["refs"]] for event in events]
        after.append([row["id"], *(shown["job"][name] for name in names), shown["prompt"], shown["meta"], thread])
        for event in told:
            assert imported("open", id=f"{row['id']}@{event['seq']}")["event"]["message"] == event["message"]
    return before, after


def events(source: Source, imported: Imported) -> tuple[list[Any], list[Any]]:
    names = ("ts_ms", "task_id", "path", "event_type")
    written = source.rows("events", "seq")
    before = [
        [f"evt_{row['seq']:016d}", *(row[name] for name in names), json.loads(row["payload_json"])] for row in written
    ]
    shown = imported("tasks_delta", limit=500, max_chars=ROOM)["events"][: len(written)]
    return before, [
        [row["event_id"], row["ts_ms"], row["task"], row["path"], row["type"], row["payload"]] for row in shown
    ]
