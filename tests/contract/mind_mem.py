"""A workspace as Mind-Mem makes it, and its validator, both written from the recorded rules of that program."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

DECISIONS, TASKS = "decisions/DECISIONS.md", "tasks/TASKS.md"
EDITS = "intelligence/proposed/EDITS_PROPOSED.md"
RECEIPT = "20261115-211343"
STATE: dict[str, Any] = {
    "governance_mode": "propose",
    "version": "2.1",
    "auto_apply_low_risk": False,
    "flip_gate_week1_clean": False,
    "last_scan": "2026-11-15T20:00:00Z",
    "last_snapshot": None,
    "last_briefing": None,
    "proposal_budget": {"per_run": 3, "per_day": 6, "backlog_limit": 30, "per_week": 20},
    "rate_limit": {"max_auto_supersede_per_run": 3, "cascade_allowed": False},
    "last_apply_ts": "2026-11-15T21:13:43Z",
    "defer_cooldown_days": 7,
    "kpi": {"recall_hit_rate": None},
    "counters": {"contradictions_open": 0, "proposals_today": 2},
}
_FIELDS = {
    "D": ["Date", "Status", "Scope", "Statement", "Rationale", "Supersedes", "Tags", "Sources"],
    "T": [
        "Date",
        "Title",
        "Status",
        "Priority",
        "Project",
        "Due",
        "Owner",
        "Context",
        "Next",
        "Dependencies",
        "Sources",
        "History",
    ],
    "INC": ["Date", "Title", "Impact", "Summary", "RootCause", "Fix", "Prevention", "Sources"],
}
_STATUSES = {"D": ("active", "superseded", "revoked"), "T": ("todo", "doing", "blocked", "done", "canceled")}
_VALUES = {
    "D": {"Scope": r"global|(project|channel):\S+", "Supersedes": r"none|D-\d{8}-\d{3}", "Tags": r".+"},
    "T": {"Priority": r"P[0-3]", "Owner": r"user|bot"},
}
_IDS = {
    DECISIONS: r"D-\d{8}-\d{3}",
    TASKS: r"T-\d{8}-\d{3}",
    "entities/projects.md": r"PRJ-[a-z0-9-]+",
    "entities/people.md": r"PER-[a-z0-9-]+",
    "entities/tools.md": r"TOOL-[a-z0-9-]+",
    "entities/incidents.md": r"INC-\d{8}-[a-z0-9-]+",
}
_MENTION = re.compile(
    r"\b(?:D-\d{8}-\d{3}|T-\d{8}-\d{3}|INC-\d{8}-[a-z0-9-]+|PRJ-[a-z0-9-]+|PER-[a-z0-9-]+|TOOL-[a-z0-9-]+)\b"
)


def decision(id: str, statement: str, **fields: str) -> str:
    known = {"Date": f"{id[2:6]}-{id[6:8]}-{id[8:10]}", "Status": "active", "Scope": "global", "Statement": statement}
    rest = {"Rationale": "measured", "Supersedes": "none", "Tags": "a, b"}
    lines = [f"{name}: {value}" for name, value in {**known, **rest, **fields}.items()]
    return "\n".join([f"[{id}]", *lines, "Sources:", "- log"])


def task(id: str, title: str, **fields: str) -> str:
    known = {"Date": "2026-08-01", "Title": title, "Status": "todo", "Priority": "P1", "Project": "none", "Due": "none"}
    rest = {"Owner": "bot", "Context": "follows D-20260801-001", "Next": "none", "Dependencies": "none"}
    lines = [f"{name}: {value}" for name, value in {**known, **rest, **fields}.items()]
    return "\n".join([f"[{id}]", *lines, "Sources:", "- log", "History:", "- 2026-08-01: made"])


def fingerprint(type: str, target: str, ops: list[dict[str, str]]) -> str:
    """Sixteen digits of SHA-256 over sorted JSON of some parts of each operation."""
    parts = [
        {**{n: op.get(n) for n in ("op", "file", "target")}, **{n: op.get(n, "") for n in ("value", "patch", "status")}}
        for op in ops
    ]
    whole = json.dumps({"type": type, "target": target, "ops": parts}, sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def proposal(id: str, type: str, target: str, *ops: dict[str, str], status: str = "staged") -> str:
    lines = [f"[{id}]", f"ProposalId: {id}", f"Type: {type}", f"TargetBlock: {target}", "Risk: low", "Evidence:"]
    lines += ["- measured", "Rollback: by receipt", f"Fingerprint: {fingerprint(type, target, list(ops))}"]
    lines += [f"Status: {status}", "FilesTouched:", *(f"- {file}" for file in sorted({op["file"] for op in ops}))]
    for op in ops:
        lines += ["Ops:"] if op is ops[0] else []
        for name, value in op.items():
            start = "- " if name == "op" else "  "
            if "\n" in value:
                lines += [f"{start}{name}: |", *(f"    {line}" for line in value.split("\n"))]
            else:
                lines.append(f"{start}{name}: {value}")
    return "\n".join(lines)


def read_ops(text: str) -> list[dict[str, str]]:
    """The operations of a proposal as Mind-Mem reads them: every literal is a patch, a blank line ends them all."""
    found: list[dict[str, str]] = []
    literal = False
    for line in text.partition("\nOps:\n")[2].split("\n"):
        if literal and line.startswith("    "):
            found[-1]["patch"] = f"{found[-1]['patch']}\n{line[4:]}" if "patch" in found[-1] else line[4:]
        elif not line.strip():
            break
        elif start := re.match(r"\s*-\s*op:\s*(\S+)\s*$", line):
            found.append({"op": start.group(1)})
        elif part := re.match(r"\s{2,}([a-z_]+):\s+(.+)$", line):
            literal = part.group(2).strip() == "|"
            found[-1].update({} if literal else {part.group(1): part.group(2).strip()})
    return found


def op(kind: str, file: str, target: str = "", **parts: str) -> dict[str, str]:
    return {"op": kind, "file": file, **({"target": target} if target else {}), **parts}


STAGED = (
    proposal(
        "P-20261115-102",
        "edit",
        "D-20260801-002",
        op("update_field", DECISIONS, "D-20260801-002", field="Statement", value="Invoices go out on Tuesdays"),
    ),
    proposal(
        "P-20261115-103",
        "edit",
        "T-20260801-001",
        op("set_status", TASKS, "T-20260801-001", status="done", history='"2026-11-15: finished"'),
    ),
    proposal(
        "P-20261115-104",
        "edit",
        "T-20260801-001",
        op("append_list_item", TASKS, "T-20260801-001", list="Sources", item='"log of today"'),
    ),
    proposal(
        "P-20261115-105",
        "decision",
        "D-20260801-003",
        op(
            "supersede_decision",
            DECISIONS,
            "D-20260801-003",
            patch=decision("D-20261115-002", "Sessions live in PostgreSQL", Supersedes="D-20260801-003"),
        ),
    ),
    proposal(
        "P-20261115-106",
        "edit",
        "D-20260801-004",
        op("insert_after_block", DECISIONS, "D-20260801-004", patch=decision("D-20261115-003", "Quokka replaces it")),
    ),
    proposal(
        "P-20261115-107",
        "decision",
        "D-20261115-004",
        op("append_block", DECISIONS, patch=decision("D-20261115-004", "Backups run at night")),
    ),
)


def make_workspace(root: Path) -> None:
    """Init, four decisions, a task, one applied proposal with receipt and snapshot, six staged ones."""
    head = "# FILE\n\n> Schema: as the program writes it\n\n---\n"
    said = ("Use PostgreSQL for billing", "Invoices go out on Mondays", "Sessions live in Redis", "Okapi is deprecated")
    first = [decision(f"D-20260801-{number:03d}", text) for number, text in enumerate(said, 1)]
    added = decision("D-20261115-001", "Deploys happen from CI")
    applied = proposal("P-20261115-101", "decision", "D-20261115-001", op("append_block", DECISIONS, patch=added),
                       status="applied")  # fmt: skip
    files = {
        **dict.fromkeys(_IDS, head),
        **{f"intelligence/{name}.md": head for name in ("CONTRADICTIONS", "DRIFT", "IMPACT", "BRIEFINGS", "SIGNALS")},
        **{f"intelligence/proposed/{name}_PROPOSED.md": head for name in ("DECISIONS", "TASKS")},
        DECISIONS: _file(head, [*first, added]),
        TASKS: _file(head, [task("T-20260801-001", "Migrate billing tables")]),
        EDITS: _file(head, [applied, *STAGED]),
        "memory/intel-state.json": json.dumps(STATE, indent=2) + "\n",
        "memory/maint-state.json": '{\n  "last_run": null\n}\n',
        "mind-mem.json": json.dumps({"version": "1.0.3", "recall": {"backend": "bm25"}}, indent=2),
        "MEMORY.md": "# Memory Protocol v1.0\n",
        "summaries/weekly/.gitkeep": "",
        f"intelligence/applied/{RECEIPT}/{DECISIONS}": _file(head, first),
        f"intelligence/applied/{RECEIPT}/APPLY_RECEIPT.md": (
            f"[AR-{RECEIPT}]\nDate: 2026-11-15\nProposal: P-20261115-101\nAction: append_block\nResult: in_progress\n"
            f"Snapshot: {RECEIPT}\nRisk: low\nTargetBlock: D-20261115-001\nFilesTouched:\n- {DECISIONS}\n"
            "RollbackPlan: receipt\nStatus: in_progress\nDelta:\n- created: ['new']\nDIFF:\n  --- a\nResult: applied\n"
        ),
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def _file(head: str, blocks: list[str]) -> str:
    return head + "".join(f"\n{block}\n\n---\n" for block in blocks)


def issues(root: Path) -> list[str]:
    """What Mind-Mem's validator refuses in a workspace; a single one keeps it from applying anything."""
    needed = [*_IDS, "memory/maint-state.json", "memory/intel-state.json", "MEMORY.md", "mind-mem.json"]
    found = [f"{path} is missing" for path in needed if not (root / path).is_file()]
    if found:
        return found
    if "Memory Protocol v1.0" not in (root / "MEMORY.md").read_text(encoding="utf-8"):
        found.append("MEMORY.md lacks its protocol line")
    defined: set[str] = set()
    for path, shape in _IDS.items():
        found += _file_issues(root / path, shape, defined)
    for folder in ("decisions", "tasks", "entities", "summaries"):
        for file in sorted((root / folder).rglob("*.md")):
            lines = [line for line in file.read_text(encoding="utf-8").split("\n") if "> Schema:" not in line]
            found += [f"{name} is not defined" for name in _MENTION.findall("\n".join(lines)) if name not in defined]
    return found


def _file_issues(file: Path, shape: str, defined: set[str]) -> list[str]:
    text = file.read_text(encoding="utf-8")
    parts = re.split(r"^\[([A-Z]+-[^\]]+)\]\s*$", text, flags=re.MULTILINE)
    found = []
    for id, body in zip(parts[1::2], parts[2::2], strict=True):
        defined.add(id)
        prefix = id.split("-")[0]
        fields = dict(re.findall(r"^([A-Z][A-Za-z]+):[ \t]*(.*)$", body.split("\n---")[0], flags=re.MULTILINE))
        found += [] if re.fullmatch(shape, id) else [f"{id} is malformed"]
        found += [f"{id} lacks {name}" for name in _FIELDS.get(prefix, ()) if name not in fields]
        found += [
            f"{id} has {name} {fields[name]}"
            for name, form in _VALUES.get(prefix, {}).items()
            if name in fields and not re.fullmatch(form, fields[name])
        ]
        if prefix in _STATUSES and fields.get("Status") not in _STATUSES[prefix]:
            found.append(f"{id} has status {fields.get('Status')}")
        if prefix == "T" and not re.search(r"^- \d{4}-\d{2}-\d{2}", body.partition("History:")[2], flags=re.MULTILINE):
            found.append(f"{id} has no dated history")
        if prefix in _FIELDS and not re.search(r"Sources:[ \t]*\n- \S", body):
            found.append(f"{id} has no sources")
    ids = parts[1::2]
    return found + [f"{id} is used twice" for id in sorted({id for id in ids if ids.count(id) > 1})]
