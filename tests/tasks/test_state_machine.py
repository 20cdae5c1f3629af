"""Random work by two clients: whatever they do in whatever order, what must hold holds."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from clew.app import Clew
from clew.registry.connection import Connection
from clew.registry.envelope import Answer

EXAMPLES = int(os.environ.get("CLEW_TEST_EXAMPLES", "12"))
TABLES = (
    "counter",
    "branch",
    "document",
    "entry",
    "reasoning_ref",
    "event",
    "item",
    "node",
    "edge",
    "work",
    "step",
    "task_node",
    "evidence",
    "evidence_checkpoint",
    "step_lease",
    "task_operation",
    "portal_cursor",
)
COUNTED = frozenset({"revision", "updated_at_ms"})
CHECKPOINTS = ("criteria", "tests", "security", "perf", "docs")
PATHS = st.sampled_from(["s:0", "s:1", "s:0.s:0"])
CLIENTS = st.sampled_from([0, 1])
VALUES = st.one_of(
    st.sampled_from(["gate", "all"]), st.dictionaries(st.sampled_from(CHECKPOINTS), st.booleans(), min_size=1)
)
PROOFS = st.sampled_from(
    [
        {"checks": ["CMD: make test"]},
        {"checks": ["CMD: <fill: command>"]},
        {"attachments": ["https://ci.test/1"]},
        {"items": [{"command": "make test", "exit_code": 1}]},
        {"items": [{"command": "make test", "exit_code": 0, "files": {"a.py": "sha256:1"}}]},
        {},
    ]
)
PATCHES = st.sampled_from(
    [
        {"op": "set", "field": "proof_tests_mode", "value": "require"},
        {"op": "set", "field": "proof_security_mode", "value": "require"},
        {"op": "set", "field": "proof_docs_mode", "value": "warn"},
        {"op": "unset", "field": "proof_tests_mode"},
        {"op": "append", "field": "success_criteria", "value": "more"},
        {"op": "remove", "field": "tests", "value": "absent"},
        {"op": "set", "field": "next_action", "value": "go"},
    ]
)
_numbers = itertools.count()


class Work(RuleBasedStateMachine):
    """One task under one plan, in a workspace of its own."""

    def __init__(self, clews: list[Clew]) -> None:
        super().__init__()
        self.clews = clews
        self.sessions = [Connection(toolset="full", agent_id="anna"), Connection(toolset="full", agent_id="bert")]
        self.workspace = f"w{next(_numbers)}"
        self.revisions: dict[str, int] = {}

    @initialize()
    def begin(self) -> None:
        steps = [{"title": f"Step {n}", "success_criteria": ["it holds"], "tests": ["make test"]} for n in range(2)]
        self.must("tasks_bootstrap", plan_title="Plan", task_title="Task", steps=steps)
        self.must("tasks_focus_set", task="TASK-001")
        self.must("tasks_decompose", parent="s:0", steps=[{"title": "Below", "success_criteria": ["it holds"]}])

    @rule(client=CLIENTS, parent=st.sampled_from([None, "s:0"]))
    def decompose(self, client: int, parent: str | None) -> None:
        steps = [{"title": "More", "success_criteria": ["it holds"]}]
        self.act(client, "tasks_decompose", parent=parent, steps=steps)

    @rule(client=CLIENTS, path=PATHS, tests=st.lists(st.sampled_from(["a", "b"]), max_size=1))
    def define(self, client: int, path: str, tests: list[str]) -> None:
        self.act(client, "tasks_define", path=path, tests=tests)

    @rule(client=CLIENTS, path=PATHS)
    def note(self, client: int, path: str) -> None:
        self.act(client, "tasks_note", path=path, note="seen")

    @rule(client=CLIENTS, path=PATHS, checkpoints=VALUES)
    def verify(self, client: int, path: str, checkpoints: Any) -> None:
        self.act(client, "tasks_verify", path=path, checkpoints=checkpoints)

    @rule(client=CLIENTS, path=PATHS)
    def done(self, client: int, path: str) -> None:
        self.act(client, "tasks_done", path=path)

    @rule(client=CLIENTS, path=PATHS, checkpoints=VALUES)
    def close(self, client: int, path: str, checkpoints: Any) -> None:
        self.act(client, "tasks_close_step", path=path, checkpoints=checkpoints)

    @rule(client=CLIENTS, path=PATHS, completed=st.booleans())
    def progress(self, client: int, path: str, completed: bool) -> None:
        self.act(client, "tasks_progress", path=path, completed=completed)

    @rule(client=CLIENTS, path=PATHS, blocked=st.booleans())
    def block(self, client: int, path: str, blocked: bool) -> None:
        self.act(client, "tasks_block", path=path, blocked=blocked)

    @rule(client=CLIENTS, path=PATHS, op=PATCHES)
    def patch(self, client: int, path: str, op: dict[str, Any]) -> None:
        self.act(client, "tasks_patch", path=path, ops=[op])

    @rule(client=CLIENTS, path=PATHS, proof=PROOFS, checkpoint=st.sampled_from(CHECKPOINTS))
    def capture(self, client: int, path: str, proof: dict[str, Any], checkpoint: str) -> None:
        self.act(client, "tasks_evidence_capture", path=path, checkpoint=checkpoint, **proof)

    @rule(client=CLIENTS, status=st.sampled_from(["DONE", "ACTIVE", "PARKED"]))
    def complete(self, client: int, status: str) -> None:
        self.act(client, "tasks_complete", status=status)

    @rule(client=CLIENTS, mode=st.sampled_from(["normal", "strict"]))
    def edit(self, client: int, mode: str) -> None:
        self.act(client, "tasks_edit", reasoning_mode=mode)

    @rule(client=CLIENTS, path=st.sampled_from(["s:2", "s:0.s:0", "s:0.s:1"]))
    def delete(self, client: int, path: str) -> None:
        self.act(client, "tasks_delete", path=path)

    @rule(client=CLIENTS, path=PATHS, ttl=st.sampled_from([1, 3]))
    def claim(self, client: int, path: str, ttl: int) -> None:
        self.act(client, "tasks_step_lease_claim", path=path, ttl_seq=ttl)

    @rule(client=CLIENTS, path=PATHS)
    def release(self, client: int, path: str) -> None:
        self.act(client, "tasks_step_lease_release", path=path)

    @rule(client=CLIENTS, path=PATHS)
    def add_node(self, client: int, path: str) -> None:
        self.act(client, "tasks_task_add", parent_step=path, title="Node")

    @rule(client=CLIENTS, way=st.sampled_from(["tasks_undo", "tasks_redo"]))
    def turn(self, client: int, way: str) -> None:
        self.act(client, way)

    @rule(client=CLIENTS, path=PATHS, atomic=st.booleans())
    def batch(self, client: int, path: str, atomic: bool) -> None:
        operations = [
            {"tool": "tasks_verify", "args": {"path": "s:0", "checkpoints": "gate"}},
            {"tool": "tasks_done", "args": {"path": path}},
        ]
        if atomic:
            self.act(client, "tasks_batch", atomic=True, operations=operations)
        else:
            self.call(client, "tasks_batch", operations=operations)

    @rule(client=CLIENTS, proof=st.sampled_from([None, "CMD: make test", "CMD: <fill: command>"]), note=st.booleans())
    def close_by_macro(self, client: int, proof: str | None, note: bool) -> None:
        self.act(client, "tasks_macro_close_step", proof=proof, note="seen" if note else None)

    @rule(client=CLIENTS)
    def finish(self, client: int) -> None:
        self.act(client, "tasks_macro_finish", final_note="done")

    @rule(client=CLIENTS)
    def undo_then_redo(self, client: int) -> None:
        before = self.contents()
        if self.act(client, "tasks_undo").ok:
            answer = self.call(client, "tasks_redo")
            assert answer.ok, answer.envelope["error"]
            assert self.contents() == before

    @invariant()
    def done_steps_are_confirmed_and_proven(self) -> None:
        linked = self.rows("evidence_checkpoint")
        for step in self.rows("step"):
            if not step["completed"]:
                continue
            mine = [row for row in linked if row["entity"] == step["id"]]
            for name in CHECKPOINTS:
                required = step.get(f"proof_{name}_mode") == "require"
                if name in {"criteria", "tests"} or required or any(row["checkpoint"] == name for row in mine):
                    assert step[f"{name}_confirmed"], (step["path"], name)
                if required:
                    assert any(row["checkpoint"] == name and row["proves"] for row in mine), (step["path"], name)

    @invariant()
    def revisions_never_go_back(self) -> None:
        for work in self.rows("work"):
            assert work["revision"] >= self.revisions.get(work["id"], 0)
            self.revisions[work["id"]] = work["revision"]

    @invariant()
    def every_event_is_in_the_trace_once(self) -> None:
        events = [f"evt_{row['seq']:016d}" for row in self.rows("event") if row["topic"] == "tasks"]
        traced = [row["source"] for row in self.rows("entry") if row["source"] and row["doc"].endswith("-trace")]
        assert sorted(traced) == sorted(events)

    @invariant()
    def nothing_says_done_before_its_steps(self) -> None:
        open_steps = any(not step["completed"] for step in self.rows("step"))
        done = any(work["status"] == "DONE" for work in self.rows("work"))
        assert not (open_steps and done)

    def act(self, client: int, name: str, **arguments: Any) -> Answer:
        """Call; when the call fails, not a byte may have changed."""
        before = self.everything()
        answer = self.call(client, name, **arguments)
        if not answer.ok:
            assert answer.envelope["error"]["code"] != "INTERNAL", answer.envelope["error"]
            assert self.everything() == before, answer.envelope["error"]
        return answer

    def call(self, client: int, name: str, **arguments: Any) -> Answer:
        given = {key: value for key, value in arguments.items() if value is not None}
        return self.clews[client].dispatcher.call(name, {"workspace": self.workspace, **given}, self.sessions[client])

    def must(self, name: str, **arguments: Any) -> None:
        answer = self.call(0, name, **arguments)
        assert answer.ok, answer.envelope["error"]

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.clews[0].database.read() as tx:
            return tx.all(f"SELECT * FROM {table} WHERE workspace = ?", self.workspace)

    def everything(self) -> list[str]:
        with self.clews[0].database.read() as tx:
            dumped = [f"{tx.one('SELECT * FROM workspace WHERE id = ?', self.workspace)}"]
            for table in TABLES:
                found = tx.all(f"SELECT * FROM {table} WHERE workspace = ?", self.workspace)
                dumped += sorted(f"{table} {row}" for row in found)
        return dumped

    def contents(self) -> list[str]:
        """What plans, tasks, steps and nodes say, without what only counts changes."""
        kept = []
        for table in ("work", "step", "task_node"):
            for row in self.rows(table):
                kept.append(f"{table} { {name: value for name, value in row.items() if name not in COUNTED} }")
        return sorted(kept)


def test_whatever_two_clients_do_what_must_hold_holds(make_clew: Callable[..., Clew]) -> None:
    clews = [make_clew(), make_clew()]
    run_state_machine_as_test(
        lambda: Work(clews),  # type: ignore[arg-type]  # a factory is called as the class would be
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            deadline=None,
            derandomize=EXAMPLES == 12,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
