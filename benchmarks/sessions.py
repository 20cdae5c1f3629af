"""Transcripts of coding clients: how fast they become searchable, and whether the right session is found.

A home is generated in the formats of four clients. `speed`: megabytes of transcript per second of processor time, a
second run over the same files, and the peak of memory, each in a separate process. `recall`: questions in the shape
of SWE-ContextBench (what did a past session do to this file, about this error, for an issue like this one); any@5 is
the share of questions whose session is among the first five, for Clew and for plain BM25 over whole sessions.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.history.transcripts import claude, codex, copilot, gemini

from benchmarks.recall.bm25 import bm25_scores
from benchmarks.report import Report

MEGABYTES = 200
WRITERS = (claude, codex, gemini, copilot)
AREAS = (
    "lease",
    "queue",
    "parser",
    "cache",
    "router",
    "ledger",
    "signer",
    "planner",
    "schema",
    "socket",
    "replay",
    "quota",
)
PARTS = ("store", "worker", "client", "format", "clock", "index", "merge", "retry", "limits", "wire")
SYMPTOMS = (
    ("hangs when the disk is full", "blocks forever once no space is left"),
    ("loses the last entry after a restart", "drops the newest item when the process comes back"),
    ("counts an item twice", "reports a duplicate"),
    ("raises on an empty body", "fails when nothing was sent"),
    ("ignores the timezone", "treats local time as UTC"),
    ("is slow with ten thousand rows", "takes minutes for large tables"),
    ("accepts a negative size", "does not validate sizes below zero"),
    ("leaks a file handle", "keeps files open"),
)
ERRORS = (
    "KeyError: '{0}-{1}'",
    "{0}Expired: {0} {1} of {2}-7 is taken",
    "ValueError: {2} {1} is out of range",
    "TimeoutError: {0} {2} gave up after {1} s",
)


@dataclass(frozen=True)
class PastSession:
    id: str
    file: str
    error: str
    symptom: int
    area: str
    part: str


def past_sessions(count: int, chance: random.Random) -> list[PastSession]:
    places = [(area, part) for area in AREAS for part in PARTS]
    found = []
    for number in range(count):
        area, part = chance.choice(places)
        error = chance.choice(ERRORS).format(area.title(), chance.randrange(1000), part)
        found.append(
            PastSession(f"s-{number}", f"src/{area}/{part}.py", error, chance.randrange(len(SYMPTOMS)), area, part)
        )
    return found


def listing(chance: random.Random, lines: int) -> str:
    """Output of commands: file names and words of other sessions."""
    return "\n".join(
        f"tests/{chance.choice(AREAS)}/test_{chance.choice(PARTS)}.py"
        f"::test_{chance.choice(AREAS)}_{chance.randrange(99)} PASSED"
        for _ in range(lines)
    )


def write_session(home: Path, project: Path, session: PastSession, chance: random.Random, lines: int) -> None:
    """A session in the format of Claude Code, with the facts of its questions in the usual places."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True, exist_ok=True)
    test = f"pytest -q tests/{session.area}"
    steps: list[tuple[str, Any]] = [
        ("user", f"The {session.area} {session.part} {SYMPTOMS[session.symptom][0]}. Find out why and correct it."),
        ("assistant", [use("Bash", {"command": "git log --stat"}, 1)]),
        ("user", [result(listing(chance, lines), 1)]),
        ("assistant", [use("Bash", {"command": test}, 2)]),
        ("user", [result(f"Exit code 1\n{listing(chance, lines)}\nE   {session.error}\n1 failed", 2)]),
        (
            "assistant",
            [
                use(
                    "Edit",
                    {"file_path": f"{project}/{session.file}", "new_string": f"# {chance.choice(PARTS)}\nreturn None"},
                    3,
                )
            ],
        ),
        ("user", [result("ok", 3)]),
        ("assistant", [use("Bash", {"command": test}, 4)]),
        ("user", [result(f"{listing(chance, lines)}\n12 passed", 4)]),
        (
            "assistant",
            [{"type": "text", "text": f"The {session.part} of {session.area} is corrected; its test passes."}],
        ),
    ]
    with (folder / f"{session.id}.jsonl").open("w") as file:
        for number, (role, content) in enumerate(steps):
            line = {
                "type": role,
                "uuid": f"{session.id}-{number}",
                "cwd": str(project),
                "message": {"role": role, "content": content},
            }
            file.write(json.dumps(line).replace('"tool-', f'"{session.id}-tool-') + "\n")


def use(name: str, arguments: dict[str, str], number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"tool-{number}", "name": name, "input": arguments}


def result(text: str, number: int) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": f"tool-{number}",
        "content": text,
        "is_error": text.startswith("Exit"),
    }


def questions(sessions: Sequence[PastSession], chance: random.Random) -> list[tuple[str, str, set[str]]]:
    """Kind, question, and the sessions that answer it."""
    found = []
    for session in sessions:
        same = {
            "file": {item.id for item in sessions if item.file == session.file and item.symptom == session.symptom},
            "error": {item.id for item in sessions if without_numbers(item.error) == without_numbers(session.error)},
            "issue": {item.id for item in sessions if item.file == session.file and item.symptom == session.symptom},
        }
        symptom = SYMPTOMS[session.symptom]
        asked = {
            "file": f"{session.file}: {symptom[0]}",
            "error": f"E   {re.sub(r'[0-9]+', str(chance.randrange(1000)), session.error)}",
            "issue": f"{session.part} in {session.area}: {symptom[1]}. See {session.file}",
        }
        found += [(kind, asked[kind], same[kind]) for kind in asked]
    return found


def without_numbers(error: str) -> str:
    return re.sub(r"\d+", "N", error)


def recall(count: int, asked: int) -> dict[str, Any]:
    from clew.app import open_clew
    from clew.registry.connection import Connection
    from clew.settings import load_settings

    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place, "person"), Path(place, "relay")
        (project / ".git").mkdir(parents=True)
        os.environ["HOME"] = str(home)
        sessions = past_sessions(count, chance)
        for session in sessions:
            write_session(home, project, session, chance, 40)
        texts = {path.stem: said_in(path) for path in home.rglob("*.jsonl")}
        ids, plain_scores = list(texts), bm25_scores(list(texts.values()))
        clew = open_clew(load_settings({"home": Path(place, "data"), "embedding_model": "none"}, {}, project))
        caller = Connection(toolset="full", local=True)
        clew.dispatcher.call("history_import", {"dry_run": False}, caller)
        found: dict[str, list[tuple[bool, bool]]] = {}
        for kind, question, gold in chance.sample(questions(sessions, chance), asked):
            answer = clew.dispatcher.call("history_search", {"query": question, "limit": 5}, caller)
            ours = {hit["session"].partition(":")[2] for hit in answer.envelope["result"]["hits"]}
            plain = [ids[int(at)] for at in (-plain_scores(question)).argsort(kind="stable")[:5]]
            found.setdefault(kind, []).append((bool(gold & ours), bool(gold & set(plain))))
        clew.close()
    every = [pair for pairs in found.values() for pair in pairs]
    return {
        name: (
            round(sum(ours for ours, _ in pairs) / len(pairs), 3),
            round(sum(plain for _, plain in pairs) / len(pairs), 3),
        )
        for name, pairs in {**found, "all": every}.items()
    }


def said_in(path: Path) -> str:
    return "\n".join(str(json.loads(line)["message"]["content"]) for line in path.read_text().splitlines())


IMPORT = """
import json, os, resource, sys, time
from pathlib import Path
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
clew = open_clew(load_settings({"home": Path(sys.argv[1]), "embedding_model": "none"}, {}, Path(sys.argv[2])))
before, begun = time.process_time(), time.monotonic()
answer = clew.dispatcher.call("history_import", {"dry_run": False}, Connection(toolset="full", local=True))
print(json.dumps({"cpu": time.process_time() - before, "clock": time.monotonic() - begun,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    "added": sum(item["added"] for item in answer.envelope["result"]["clients"])}))
clew.close()
"""


def speed(megabytes: int) -> dict[str, Any]:
    chance = random.Random(3)
    with tempfile.TemporaryDirectory(dir=os.environ.get("CLEW_BENCH_PLACE")) as place:
        home, project = Path(place, "person"), Path(place, "relay")
        (project / ".git").mkdir(parents=True)
        size = fill(home, project, megabytes, chance)
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", IMPORT, str(Path(place, "data")), str(project)],
                    env={**os.environ, "HOME": str(home)},
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for _ in range(2)
        ]
        store = sum(path.stat().st_size for path in Path(place, "data").rglob("*") if path.is_file())
    return {
        "megabytes": round(size / 1e6),
        "turns": runs[0]["added"],
        "megabytes_per_cpu_second": round(size / 1e6 / runs[0]["cpu"], 1),
        "cpu_seconds": round(runs[0]["cpu"], 1),
        "second_run_seconds": round(runs[1]["cpu"], 2),
        "peak_megabytes": runs[0]["memory"],
        "store_megabytes": round(store / 1e6),
    }


def fill(home: Path, project: Path, megabytes: int, chance: random.Random) -> int:
    """Sessions of four clients with as much output as real ones have, each a different text."""
    sessions = iter(past_sessions(1_000_000, chance) if megabytes > 2000 else past_sessions(20_000, chance))
    size = 0
    for number, session in enumerate(sessions):
        if number % 20 == 0:
            for writer in WRITERS:
                writer(home, project, f"{session.id}-{writer.__name__}")
        write_session(home, project, session, chance, chance.randrange(40, 1200))
        if number % 20 == 19:
            size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
            if size >= megabytes * 1e6:
                break
    return size


def main(quick: bool = False) -> None:
    report = Report("sessions", "Transcripts of coding clients: speed of reading, and recall beside plain BM25")
    report.row(**speed(20 if quick else MEGABYTES))
    for kind, (ours, plain) in recall(*(100, 60) if quick else (400, 400)).items():
        report.row(questions=kind, any_at_5=ours, plain_bm25=plain)
    report.save()
