"""Generated projects of 40 records each: what a task needs of them, and what belongs to other work."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from clew.memory import blocks
from clew.memory.kinds import KINDS
from clew.registry.context import Context
from tests.conftest import Caller

AREAS = ("parser", "merge", "storage", "search", "export", "billing", "login", "report")
RULES = (
    "errors are one line, file and line first, never a traceback",
    "docstrings are one imperative line of at most 120 columns",
    "run python3 -m pytest -q; bare pytest is not on PATH",
    "no new dependency without asking the user",
    "commit messages are in the imperative",
)
SAYINGS = ("keeps one writer at a time", "fails on the first bad line", "sorts its keys", "caches nothing on disk")


@dataclass
class Project:
    task: str
    needed: set[str] = field(default_factory=set)
    count: int = 0


def prefix_of(kind: str) -> str:
    return next(prefix for prefix, known in KINDS.items() if known.name == kind)


def write_block(ctx: Context, kind: str, number: int, statement: str, **fields: str) -> str:
    id = f"{prefix_of(kind)}-20260101-{number:03d}"
    lines = {"Date": "2026-01-01", "Status": "active", "Statement": statement, **fields}
    text = f"[{id}]\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())
    blocks.write(ctx, id, text, origin="test")
    return id


def build(call: Caller, workspace: str, seed: int) -> Project:
    """Forty records: 5 rules, 10 decisions and rejections and 2 questions that touch the task, and 23 that do not."""
    rng = random.Random(seed)
    area, *others = rng.sample(AREAS, 5)
    module = f"src/{area}.py"
    steps = [
        {"title": f"{area} reads rows", "success_criteria": [f"{module} reads every row"], "tests": ["pytest -q"]},
        {"title": f"{area} writes rows", "success_criteria": [f"{module} writes every row"], "tests": ["pytest -q"]},
        {"title": "README", "success_criteria": ["usage is shown"]},
    ]
    plan = call("tasks_create", title=f"Project {seed}")["id"]
    task = call("tasks_create", title=f"{area}: rows in and out", parent=plan, steps=steps)["id"]
    other = call("tasks_create", title=f"{others[0]}: something else", parent=plan, steps=steps[:1])["id"]
    project = Project(str(task))
    with Context(call.clew.dispatcher, call.session, workspace, "generator").writing() as ctx:
        for number, rule in enumerate(rng.sample(RULES, 5)):
            kind = "preference" if number % 2 else "rule"
            project.needed.add(write_block(ctx, kind, number, rule))
        for number in range(6):
            about = {"Sources": module} if number % 2 else {"Tags": area}
            kind = "rejected" if number > 3 else "decision"
            says = f"{area} {rng.choice(SAYINGS)} ({seed}.{number})"
            project.needed.add(write_block(ctx, kind, number, says, **about))
        for number in range(6, 21):
            away = rng.choice(others)
            write_block(ctx, rng.choice(["decision", "rejected"]), number, f"{away} {rng.choice(SAYINGS)} ({number})")
    for number in range(4):
        status = "rejected" if number == 3 else "open"
        card = {"type": "decision", "status": status, "title": f"way {number} of the rows", "text": "it is simpler"}
        project.needed.add(call("think_card", target=task, card=card)["card_id"])
    for number in range(2):
        card = {"type": "question", "title": f"what does the user want at border {number}?"}
        project.needed.add(call("think_card", target=task, card=card)["card_id"])
    for number in range(8):
        card = {"type": ("decision", "question")[number % 2], "title": f"elsewhere {number}", "text": others[0]}
        call("think_card", target=other, card=card)
    call("tasks_close_step", task=task, path="s:0", checkpoints="all")
    project.count = 5 + 6 + 15 + 4 + 2 + 8
    return project


@dataclass
class Crowd:
    """A project with a current step: what is about the step's files, the rules, and all the rest."""

    task: str
    about_step: set[str] = field(default_factory=set)
    rules: set[str] = field(default_factory=set)


SUBJECTS = {
    "exporter": "writes one CSV file for each month and never overwrites one that a person has opened",
    "report": "sums are shown per category; the month that is not over yet is marked as such",
    "config": "settings are read once at start, and an unknown key is an error with the nearest known one",
    "storage": "all amounts are kept as integers of cents, because floats lost a cent in the first trial",
    "cli": "every command prints what it changed and exits with 2 for wrong arguments",
    "budget": "a budget belongs to a category and a month; what is left over is not carried on",
}
ABOUT_IMPORTER = (
    "Dates in bank exports are day first; a date that cannot be read stops the import with its line number.",
    "Duplicate rows are recognised by account, date, amount and text. Two equal purchases on one day are asked about.",
    "The importer never guesses an encoding: UTF-8 first, then the one that the user named, else an error.",
    "Amounts with a comma are read by the account's locale and not by looking at the first row.",
    "pandas was tried for reading exports and given up: it starts slowly and hides the line of a bad value.",
    "The whole file is imported in one transaction, so that a bad line leaves nothing half imported.",
)


def build_crowd(call: Caller, workspace: str, size: int) -> Crowd:
    """A ledger program whose current step is its CSV importer, with so many records in all."""
    steps = [
        {"title": "read the configuration", "success_criteria": ["defaults are documented"]},
        {"title": "CSV importer", "success_criteria": ["a bank export is read"], "tests": ["pytest -q"]},
        {"title": "monthly report", "success_criteria": ["sums are right"]},
    ]
    plan = call("tasks_create", title="Ledger")["id"]
    task = call("tasks_create", title="ledgerlite: first release", parent=plan, steps=steps)["id"]
    call("tasks_close_step", task=task, path="s:0", checkpoints="all")
    crowd = Crowd(str(task))
    near, rules = max(3, min(14, size // 8)), max(2, min(9, size // 10))
    with Context(call.clew.dispatcher, call.session, workspace, "generator").writing() as ctx:
        for number in range(near - 1):
            kind = ("decision", "lesson", "fact", "rejected")[number % 4]
            says = f"{ABOUT_IMPORTER[number % len(ABOUT_IMPORTER)]} (case {number})"
            named = {"About": "ledgerlite/importer.py"} if number % 3 else {"Rationale": "see ledgerlite/importer.py"}
            crowd.about_step.add(write_block(ctx, kind, number, says, **named))
        for number in range(rules):
            kind = "preference" if number % 3 == 2 else "rule"
            says = f"{RULES[number % len(RULES)]}; agreed on in review {number}"
            crowd.rules.add(write_block(ctx, kind, 100 + number, says))
        # What is about other modules was written last, as it mostly is when one comes back to a module.
        for number in range(size - near - rules):
            module = list(SUBJECTS)[number % len(SUBJECTS)]
            kind = ("decision", "fact", "decision", "lesson", "rejected")[number % 5]
            says = f"The {module} of the ledger: {SUBJECTS[module]} ({number}). Seen in the release of spring."
            write_block(ctx, kind, 200 + number, says, About=f"ledgerlite/{module}.py", Task=str(task))
    question = call(
        "remember",
        kind="question",
        task=task,
        text="What if an export has two header lines?",
        about="ledgerlite/importer.py",
    )
    crowd.about_step.add(question["id"])
    return crowd
