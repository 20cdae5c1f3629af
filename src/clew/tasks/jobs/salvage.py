"""Refs that stand in a text though nobody listed them: receipts, commands, ids. Nothing is executed or looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from clew.ids import ANCHOR, JOB, PLAN, TASK
from clew.tasks.jobs.job import MAX_REF, MAX_REFS
from clew.tasks.receipts import plain_line, salvaged

_URL = re.compile(r"https?://[^\s<>\"'`)\]]+", re.IGNORECASE)
_ID = re.compile(
    rf"(?<![\w:@-])(?:CARD-[\w-]+|{TASK.pattern}|{PLAN.pattern}|{JOB.pattern}(?:@\d+)?"
    rf"|(?:notes|trace|mindpack)@\d+|{ANCHOR.pattern})",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"[$>]\s+")
_PATH = re.compile(r"[^\s]*/[^\s]*|[\w-]+\.[a-zA-Z]{1,5}")

_TARGETS = "all bench build check ci clean docs fmt format install lint release run test tests typecheck verify"
_EXECUTABLES = {
    "bun": "add build install run test x",
    "cargo": "bench build check clippy doc fmt install nextest run test",
    "deno": "bench check compile fmt lint run task test",
    "docker": "build compose exec images inspect logs ps pull push run",
    "git": "add apply bisect blame branch checkout cherry-pick clone commit diff fetch grep log merge pull push rebase"
    " reset rev-parse revert show stash status switch tag",
    "go": "build fmt generate get install mod run test tool vet",
    "helm": "install lint list rollback template test uninstall upgrade",
    "just": _TARGETS,
    "kubectl": "apply create delete describe diff exec get logs rollout",
    "make": _TARGETS,
    "node": "",
    "npm": "audit ci exec install pack publish run test",
    "pnpm": "add build exec install lint run test",
    "pytest": "",
    "python": "",
    "python3": "",
    "rg": "",
    "terraform": "apply destroy fmt init plan validate",
    "yarn": "add build install lint run test",
}
_SUBCOMMANDS = {name: frozenset(words.split()) for name, words in _EXECUTABLES.items()}
"""Executables that a line may begin with, and the arguments that need no flag or path to be believed."""


def with_salvage(text: str, refs: list[str], job_id: str) -> list[str]:
    """The refs of a text: those given, else (when there is none beside the job's own id) those found in it.

    The job's own id comes last, for navigation; it never counts as proof.
    """
    own = [ref for ref in refs if ref.upper() != job_id]
    found = own or list(salvage(text, job_id))
    return [*found[: MAX_REFS - 1], job_id]


def salvage(text: str, job_id: str = "") -> Iterator[str]:
    """Receipts first, then addresses, commands and ids, each once and short enough to keep."""
    found = [*salvaged(text), *_addresses(text), *_commands(text), *_ids(text, job_id)]
    yield from list(dict.fromkeys(ref[:MAX_REF] for ref in found))[:MAX_REFS]


def is_proof(ref: str) -> bool:
    """Whether a ref leads to evidence: neither a job nor an area of the system does."""
    folded = ref.strip().lower()
    return bool(folded) and not folded.startswith(("job-", "a:"))


def proofs(refs: Iterable[str]) -> list[str]:
    return [ref for ref in refs if is_proof(ref)]


def is_command(line: str) -> bool:
    """A known executable with an argument that is one beyond doubt. `just keep going` is a sentence."""
    words = line.split()
    if len(words) < 2 or words[0] not in _SUBCOMMANDS:
        return False
    argument = words[1].rstrip(".,;:!?")
    return (
        argument in _SUBCOMMANDS[words[0]]
        or (argument.startswith("-") and len(argument) > 1)
        or _PATH.fullmatch(argument) is not None
    )


def _addresses(text: str) -> list[str]:
    return [f"LINK: {address.rstrip('.,;:!?')}" for address in _URL.findall(text)]


def _commands(text: str) -> Iterator[str]:
    for raw in text.splitlines():
        line = _PROMPT.sub("", plain_line(raw), count=1).strip("`").strip()
        if is_command(line):
            yield f"CMD: {line}"


def _ids(text: str, job_id: str) -> Iterator[str]:
    for found in _ID.findall(_URL.sub(" ", text)):
        ref = _canonical(found)
        if ref != job_id:
            yield ref


def _canonical(id: str) -> str:
    """Ids in the case in which they are stored; the tail of a card's id is the author's own."""
    head, sign, tail = id.partition("-")
    if head.upper() == "CARD":
        return f"CARD{sign}{tail}"
    return id.upper() if head.upper() in {"TASK", "PLAN", "JOB"} else id.lower()
