"""Forty mistakes of agents on a small project, and what each should become: accepted, or mended by the first
suggestion. Written before the answers were looked at; none is taken from a trial."""

from __future__ import annotations

from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

from clew.app import Clew
from clew.registry.catalogue import catalogue
from tests.conftest import Caller
from tests.records.test_work import connected


class Mistake(NamedTuple):
    tool: str
    given: dict[str, Any]
    meant: str
    """The tool that does what was meant."""
    keeps: dict[str, Any] = {}
    """Arguments that the call which does it must have."""


FIRST = [
    # tools that do not exist
    Mistake("search", {"query": "log format"}, "recall", {"query": "log format"}),
    Mistake("recal", {"query": "log format"}, "recall", {"query": "log format"}),
    Mistake("rember", {"text": "Files end with a line feed", "kind": "fact"}, "remember", {"kind": "fact"}),
    Mistake("add_task", {"title": "Ship it"}, "start", {"title": "Ship it"}),
    Mistake("forget", {"id": "F-1", "why": "measured wrong"}, "retract", {"id": "F-1"}),
    Mistake("get", {"id": "D-1"}, "open", {"id": "D-1"}),
    Mistake("complete_step", {"step": "s:0", "unproven": "by hand"}, "close", {"step": "s:0"}),
    # ids that are nearly right
    Mistake("open", {"id": "D1"}, "open", {"id": "D-1"}),
    Mistake("open", {"id": "D-l"}, "open", {"id": "D-1"}),
    Mistake("open", {"id": "TASK-01"}, "open"),
    Mistake("open", {"id": "task 1"}, "open", {"id": "TASK-001"}),
    Mistake("retract", {"id": "F1", "why": "measured wrong"}, "retract", {"id": "F-1"}),
    Mistake("retract", {"id": "fact-1", "why": "measured wrong"}, "retract", {"id": "F-1"}),
    Mistake("close", {"step": "reader", "unproven": "read by hand"}, "close"),
    Mistake("close", {"step": "s0", "unproven": "read by hand"}, "close"),
    Mistake("close", {"step": "1", "unproven": "read by hand"}, "close"),
    # Which task or step is meant only the caller can say: what there is, is shown.
    Mistake("close", {"task": "TASK-009", "step": "s:0", "unproven": "read by hand"}, "open"),
    Mistake("close", {"step": "s:12", "unproven": "read by hand"}, "open"),
    Mistake("resume", {"task": "TASK-9"}, "resume"),
    Mistake("resume", {"task": "the parser"}, "resume"),
    # values of the wrong kind
    Mistake("resume", {"max_chars": -1}, "resume"),
    Mistake("resume", {"max_chars": 10_000_000}, "resume"),
    Mistake("recall", {"query": "log", "limit": 5000}, "recall", {"query": "log"}),
    Mistake("recall", {"query": "log", "kinds": ["decison"]}, "recall", {"kinds": ["decision"]}),
    Mistake("recall", {"query": "log", "kinds": "decisions, facts"}, "recall"),
    Mistake("recall", {"query": "log", "as_of": "the day before the release"}, "recall", {"query": "log"}),
    Mistake("start", {"title": "Ship", "steps": {"1": "tag", "2": "push"}}, "start", {"title": "Ship"}),
    Mistake("start", {"title": "Ship", "steps": [{"step": "tag"}]}, "start", {"title": "Ship"}),
    Mistake("start", {"steps": ["tag", "push"]}, "start"),
    Mistake("close", {"step": "s:0", "proof": {"command": "pytest -q"}}, "close", {"step": "s:0"}),
    Mistake("close", {"step": "s:0", "proof": {"command": "pytest -q", "exit_code": "ok"}}, "close"),
    Mistake("remember", {"text": "Use LF", "kind": "todo"}, "start"),
    Mistake("remember", {"text": "Use LF", "kind": "decison"}, "remember", {"kind": "decision"}),
    Mistake("remember", {"text": "Use LF", "kind": "decision", "replaces": "D-l"}, "remember"),
    Mistake("remember", {"text": "Use LF", "kind": "decision", "review_by": "soon"}, "remember"),
    # arguments that nobody declared
    Mistake("remember", {"text": "Use LF", "kind": "decision", "priority": "high"}, "remember", {"text": "Use LF"}),
    Mistake("recall", {"query": "log", "since": "2026-01-01"}, "recall", {"query": "log"}),
    Mistake("think", {"text": "The cache is stale", "confidence": 0.7}, "think", {"text": "The cache is stale"}),
    Mistake("op_call", {"name": "tasks_list"}, "tasks_context"),
    Mistake("op_read", {"name": "retract", "arguments": {"id": "F-1", "why": "no"}}, "retract", {"id": "F-1"}),
]


SECOND = [
    # names of other memories' tools
    Mistake("save", {"text": "Files end with LF", "kind": "fact"}, "remember", {"text": "Files end with LF"}),
    Mistake("query", {"q": "log"}, "recall", {"query": "log"}),
    Mistake("memory_search", {"query": "log format"}, "recall", {"query": "log format"}),
    Mistake("delete", {"id": "F-1"}, "open", {"id": "F-1"}),
    Mistake("finish", {"step": "s:0", "unproven": "looked at it"}, "close", {"step": "s:0"}),
    Mistake("note", {"text": "The buffer has 4 kB"}, "remember"),
    Mistake("plan", {"title": "Writer", "steps": ["a", "b"]}, "start", {"title": "Writer"}),
    Mistake("approve", {"id": "D-1"}, "open", {"id": "D-1"}),
    # what is no id, in the place of one
    Mistake("open", {"id": "D 2"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "#2"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "decision 2"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "s:9"}, "resume"),
    Mistake("open", {"id": "src/logs/reader.py"}, "recall", {"about": ["src/logs/reader.py"]}),
    Mistake("retract", {"id": "D-02", "why": "wrong"}, "retract", {"id": "D-2"}),
    Mistake("retract", {"id": "four years of logs", "why": "wrong"}, "recall", {"query": "four years of logs"}),
    Mistake("open", {"ids": ["D-1", "D-2"]}, "open", {"id": "D-1"}),
    Mistake("remember", {"text": "x is y", "kind": "fact", "rests_on": "F1"}, "remember", {"rests_on": ["F-1"]}),
    Mistake("resume", {"task": "TASK-7"}, "resume", {"task": "TASK-001"}),
    # arguments of other tools
    Mistake("close", {"id": "s:1", "unproven": "by eye"}, "close", {"step": "s:1"}),
    Mistake("close", {"step": "reader", "unproven": "by eye"}, "close", {"step": "s:0"}),
    Mistake("remember", {"content": "Lines are short", "type": "fact"}, "remember"),
    Mistake("remember", {"text": "Lines are short", "kind": "bug"}, "remember", {"kind": "note"}),
    Mistake(
        "remember",
        {"text": "Lines are short", "kind": "decison", "why": "Screens", "about": ["src"]},
        "remember",
        {"kind": "decision", "why": "Screens", "about": ["src"]},
    ),
    Mistake("remember", {"text": "Keep it raw", "kind": "decision", "supersedes": "D-1"}, "remember"),
    Mistake("remember", {"text": "Drop it", "kind": "decision", "review_by": "after the release"}, "remember"),
    Mistake("recall", {"text": "log", "top_k": 3}, "recall"),
    Mistake("recall", {"query": "log", "as_of": "last tuesday"}, "recall"),
    Mistake("recall", {"file": "src/logs/reader.py"}, "recall"),
    Mistake("recall", {"query": "log", "kinds": ["ruel"], "history": True}, "recall", {"history": True}),
    Mistake("start", {"name": "Writer", "todo": ["a", "b"]}, "start"),
    Mistake("start", {"title": "Writer", "steps": []}, "start"),
    Mistake("think", {"text": "Maybe the encoding", "kind": "guess"}, "think", {"text": "Maybe the encoding"}),
    Mistake("think", {"text": "No", "revises": 77}, "think", {"text": "No"}),
    Mistake("resume", {"limit": 10}, "resume"),
    Mistake("resume", {"max_chars": "lots"}, "resume"),
    Mistake("undo", {"id": "D-1"}, "undo"),
    Mistake("close", {"step": "s:0", "proof": {"cmd": "pytest -q", "code": 0}}, "close"),
    Mistake("op_call", {"operation": "tasks_context", "args": {}}, "tasks_context"),
    Mistake("op_search", {"q": "list tasks"}, "op_search"),
    Mistake("op_read", {"name": "remember", "args": {"text": "Use LF", "kind": "fact"}}, "remember"),
]
"""Forty more, of another reader of the tool list."""


THIRD = [
    # names of tools that nobody declared
    Mistake("lookup", {"query": "log"}, "recall", {"query": "log"}),
    Mistake("get_context", {}, "resume"),
    Mistake("memorize", {"text": "The limit is 60 a minute", "kind": "fact"}, "remember", {"kind": "fact"}),
    Mistake("update_record", {"id": "D-1", "text": "Logs are CSV"}, "remember", {"replaces": ["D-1"]}),
    Mistake("mark_done", {"step": "s:0", "unproven": "by eye"}, "close", {"step": "s:0"}),
    Mistake("cancel_task", {"task": "TASK-001"}, "open", {"id": "TASK-001"}),
    Mistake("list_tasks", {}, "tasks_context"),
    Mistake("history", {"id": "D-1"}, "block_history", {"block_id": "D-1"}),
    Mistake("undo_last", {}, "undo"),
    # ids with something around them, or of no kind
    Mistake("open", {"id": "decision D-1"}, "open", {"id": "D-1"}),
    Mistake("open", {"id": "d_1"}, "open", {"id": "D-1"}),
    Mistake("open", {"id": "D-1."}, "open", {"id": "D-1"}),
    Mistake("open", {"id": "Q-1"}, "recall", {"kinds": ["question"]}),
    Mistake("open", {"record": "D-1"}, "open"),
    Mistake("open", {}, "resume"),
    Mistake("retract", {"id": "R1", "why": "outdated"}, "retract", {"id": "R-1"}),
    Mistake("retract", {"id": "D-1"}, "open", {"id": "D-1"}),
    Mistake("retract", {"ids": ["D-1"], "reason": "wrong"}, "retract", {"id": "D-1"}),
    Mistake("retract", {"id": "D-9", "why": "wrong"}, "open"),
    Mistake("remember", {"text": "EUR", "kind": "decision", "replaces": "Q-1"}, "recall", {"kinds": ["question"]}),
    Mistake("remember", {"text": "x is y", "kind": "fact", "rests_on": "F1,D-2"}, "remember"),
    Mistake("remember", {"text": "x is y", "kind": "fact", "step": "s:7"}, "resume"),
    # arguments in other words and forms
    Mistake("remember", {"text": "Use LF", "kind": "decision", "expires": "2027-01-01"}, "remember"),
    Mistake("remember", {"text": "Use LF", "kind": ["decision"]}, "remember"),
    Mistake("remember", {"text": "Use LF", "about": '["src/a.py", "src/b.py"]'}, "remember"),
    Mistake("remember", {"text": "Use LF", "review_by": "in a couple of months"}, "remember"),
    Mistake("recall", {"query": "log", "before": "2026-12-01"}, "recall"),
    Mistake("recall", {"query": "log", "path": "src/a.py"}, "recall"),
    Mistake("start", {"task": "Import", "steps": "- read\n- convert\n- write"}, "start"),
    Mistake("start", {"title": "Import", "steps": '["read", "convert"]'}, "start"),
    Mistake("start", {"title": "Import", "priority": "high"}, "start", {"title": "Import"}),
    Mistake("close", {"step": "s:0", "proof": '{"command": "pytest -q", "exit_code": 0}'}, "close"),
    Mistake("close", {"step": "s:0"}, "open"),
    Mistake("close", {"step": "TASK-001/s:1", "unproven": "by eye"}, "close"),
    Mistake("close", {"steps": ["s:0", "s:1"], "unproven": "by eye"}, "close", {"step": "s:0"}),
    Mistake("think", {"thought": "Rounding", "kind": "hunch"}, "think", {"text": "Rounding"}),
    Mistake("resume", {"task": "logs"}, "resume"),
    Mistake("op_read", {"name": "recall", "query": "log"}, "recall"),
    Mistake("op_read", {"name": "block_history", "arguments": {"id": "D-1"}}, "block_history"),
    Mistake("op_call", {"name": "restore", "arguments": '{"record": "D-1"}'}, "restore"),
]
"""Forty of a third reader, of whom the answers of 2026-11-19 mended 27."""


FOURTH = [
    # tools of other memory servers
    Mistake(
        "create_entities",
        {"entities": [{"name": "billing", "entityType": "service", "observations": ["runs on port 8080"]}]},
        "remember",
        {"text": "billing service runs on port 8080"},
    ),
    Mistake("add_memory", {"content": "CI runs on Linux"}, "remember", {"text": "CI runs on Linux"}),
    Mistake("mem_add", {"text": "60 a minute", "category": "fact"}, "remember", {"kind": "fact"}),
    Mistake("search_nodes", {"query": "utc"}, "recall", {"query": "utc"}),
    Mistake("read_graph", {}, "record_list"),
    Mistake("list_memories", {}, "record_list"),
    Mistake("open_nodes", {"names": ["D-2"]}, "open", {"id": "D-2"}),
    Mistake("get_memory", {"memory_id": "D-2"}, "open", {"id": "D-2"}),
    Mistake("delete_memory", {"memory_id": "F-1", "reason": "wrong"}, "retract", {"id": "F-1", "why": "wrong"}),
    Mistake("delete_all_memories", {}, "op_search"),
    Mistake("store_memory", {"content": "8080", "metadata": {"type": "fact"}}, "remember", {"kind": "fact"}),
    Mistake("write_note", {"title": "Port", "content": "8080", "folder": "n"}, "remember", {"title": "Port"}),
    Mistake("update_memory", {"memory_id": "D-2", "content": "Berlin time"}, "remember", {"replaces": ["D-2"]}),
    Mistake("get_rules", {}, "recall", {"kinds": ["rule"]}),
    Mistake("log_decision", {"text": "Use zstd", "why": "fast"}, "remember", {"kind": "decision"}),
    Mistake("record_decision", {"decision": "Use zstd", "rationale": "fast"}, "remember", {"kind": "decision"}),
    Mistake("finish_task", {"task": "TASK-001"}, "open", {"id": "TASK-001"}),
    # what is said in the place of an id
    Mistake("open", {"id": "DEC-2"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "D-2, D-1"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "Times are in UTC"}, "open", {"id": "D-2"}),
    Mistake("open", {"id": "Parse logs"}, "open", {"id": "TASK-001"}),
    Mistake("retract", {"id": "Times are in UTC", "why": "wrong"}, "retract", {"id": "D-2"}),
    Mistake("retract", {"id": ["D-2", "D-1"], "why": "wrong"}, "retract", {"id": "D-2"}),
    Mistake("resume", {"task": "1"}, "resume", {"task": "TASK-001"}),
    Mistake("remember", {"text": "x", "kind": "fact", "task": "Parse logs"}, "remember", {"task": "TASK-001"}),
    # values in other forms
    Mistake("remember", {"fact": "The port is 8080"}, "remember"),
    Mistake("remember", {"text": "x", "kind": "fact", "why": {"reason": "old machines"}}, "remember"),
    Mistake("remember", {"text": ["CI is slow", "CI is on Linux"], "kind": "fact"}, "remember"),
    Mistake("remember", {"text": "x", "kind": "fact", "about": {"file": "ci.yml"}}, "remember"),
    Mistake("remember", {"text": "x", "kind": "fact", "review_by": "31.12.2026"}, "remember"),
    Mistake("remember", {"text": "x", "kind": "fact", "step": "writer"}, "remember"),
    Mistake("recall", {"query": ["logs", "archive"]}, "recall"),
    Mistake("recall", {"query": "log", "filter": {"kind": "decision"}}, "recall"),
    Mistake("recall", {"id": "D-2"}, "recall"),
    Mistake("start", {"goal": "Ship it", "tasks": ["tag", "push"]}, "start"),
    Mistake("start", {"title": "Ship", "steps": [{"title": "tag", "status": "todo"}]}, "start", {"title": "Ship"}),
    Mistake("close", {"step": "writer", "status": "done", "unproven": "by eye"}, "close", {"step": "writer"}),
    Mistake("op_call", {"name": "tasks_block", "arguments": {"step": "s:1", "reason": "no disk"}}, "tasks_block"),
    Mistake("op_call", {"name": "tasks_edit", "arguments": {"id": "TASK-001", "title": "Parse"}}, "tasks_edit"),
    Mistake("op_read", {"name": "block_history", "arguments": "D-2"}, "block_history"),
]
"""Forty of a fourth reader, of whom the answers of 2026-11-20 first mended 12."""


def project(clew: Clew, number: int) -> Caller:
    """A small project of one agent, in a workspace of its own."""
    agent = connected(clew, "coder", f"c{number}")
    agent.session.workspace_override = f"mistake-{number}"
    agent("remember", kind="decision", text="Logs are JSON lines", why="Every tool reads them")
    agent("remember", kind="decision", text="Times are in UTC", why="Servers differ")
    agent("remember", kind="rule", text="No new dependency without asking")
    agent("remember", kind="fact", text="The archive holds four years of logs")
    agent("start", title="Parse logs", steps=["reader; test: pytest -q", "writer", "docs"])
    return agent


def outcome(agent: Caller, mistake: Mistake) -> str:
    """`accepted` or `mended`; else what is wrong with the first suggestion."""
    answer = agent.answer(mistake.tool, **mistake.given)
    if answer.ok:
        return "accepted"
    ways = answer.envelope["suggestions"]
    return _tried(agent, mistake, ways[0]["target"], ways[0]["params"]) if ways else "no suggestion"


def _tried(agent: Caller, mistake: Mistake, tool: str, params: dict[str, Any]) -> str:
    """The suggestion as it stands: it obeys the published schemas, does what was meant, and succeeds."""
    routed = tool in ("op_call", "op_read")
    name, arguments = (params.get("name", ""), params.get("arguments", {})) if routed else (tool, params)
    wrong = [*faults(tool, params, "agent"), *(faults(name, arguments, "full") if routed else ())]
    if wrong:
        return f"against the schema: {tool} {params}: {wrong}"
    if name != mistake.meant or any(arguments.get(key) != value for key, value in mistake.keeps.items()):
        return f"not what was meant: {tool} {params}"
    again = agent.answer(tool, **params)
    return "mended" if again.ok else f"fails: {tool} {params}: {again.text[:90]}"


def faults(tool: str, arguments: dict[str, Any], toolset: str) -> list[str]:
    """What in a call the published schema of its tool does not allow."""
    entry = next((entry for entry in catalogue().listed(toolset) if entry.name == tool), None)
    if entry is None:
        return [f"{tool} is not listed"]
    return [error.message for error in Draft202012Validator(entry.input_schema).iter_errors(arguments)]
