"""Status words stand in one table: no other module spells one, in Python or on the page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.kinds import statuses
from clew.kinds.catalogue import all_kinds, state_of, state_of_item
from clew.kinds.state import State, Suspicion, Verdict
from clew.kinds.statuses import MEANING

SOURCE = Path(__file__).parents[2] / "src" / "clew"
PAGE = SOURCE / "faces" / "web" / "static" / "js"
WORDS = {value for name, value in vars(statuses).items() if name.isupper() and isinstance(value, str)}
UNMISTAKABLE = {"superseded", "retracted", "revoked", "disproved", "disowned", "rolled_back"}
"""Words that nothing but a status uses; the others are also kinds, groups, verbs and names of arguments."""
OTHER_MEANING: dict[str, tuple[str, ...]] = {
    # what became of each candidate of an import, of a request or of a token
    "faces/cli/commands/backfill.py": ("proposed", "rejected"),
    "importers/backfill.py": ("proposed", "rejected"),
    "ledger/critique.py": ("failed",),
    "contracts/thoughtbox/gateway.py": ("failed",),
    "faces/cli/commands/identity.py": ("revoked",),
    # what other programs write
    "importers/sources/backlog_md.py": ("done", "closed", "archived"),
    "importers/sources/beads.py": ("open", "blocked", "deferred"),
    "importers/sources/decision_records.py": ("superseded", "deprecated"),
    "importers/sources/task_master.py": ("done", "completed"),
    "memory/drift.py": ("todo", "pending"),
    # how a reference was resolved, and how a run of a cell ended
    "ledger/exchange/session_documents.py": ("resolved",),
    "ledger/notebooks/runs.py": ("running",),
    "ledger/notebooks/sandbox.py": ("completed",),
    # groups of lines, verbs, counts and fields
    "records/brief_fit.py": ("rejected", "open", "proposed"),
    "records/activity.py": ("disproved",),
    "records/digest.py": ("rejected", "proposed", "closed", "reopened", "parked", "canceled", "completed"),
    "tasks/steps.py": ("completed", "blocked"),
    "tasks/views/news.py": ("failed",),
    "tasks/views/outlook.py": ("active", "backlog", "parked", "done"),
    "tasks/views/state_line.py": ("active", "backlog", "parked", "done"),
}
"""Words that mean something else in a module."""


def spelled(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and text of every place that spells a status, except in a published schema or example."""
    tree = ast.parse(source)
    published = [node for node in ast.walk(tree) if _is_published(node)]
    typed = {id(part) for node in published for part in ast.walk(node)}
    for node in ast.walk(tree):
        for word in _words_of(node):
            if id(word) not in typed:
                yield word.lineno, str(word.value), ast.unparse(node)[:90]


def _is_published(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "example"
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"


def _words_of(node: ast.AST) -> list[ast.Constant]:
    """The words that a node spells as statuses: in a collection, a comparison, or under a name that says so."""
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        found = [item for item in node.elts if _is_word(item)]
        return found if len(found) > 1 else []  # type: ignore[return-value]
    if isinstance(node, ast.Compare) and "status" in ast.unparse(node).lower():
        return _inside(node.left, *node.comparators)
    if isinstance(node, ast.Call) and _is_about_status(node):
        return _inside(*node.args)
    if isinstance(node, ast.keyword) and node.arg in ("status", "was"):
        return _inside(node.value)
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return _inside(node.value) if any("status" in ast.unparse(target).lower() for target in targets) else []
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return _inside(*(value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "status"))
    if isinstance(node, ast.FunctionDef):
        named = [*node.args.posonlyargs, *node.args.args][-len(node.args.defaults) or None :]
        given = [
            *zip(named, node.args.defaults, strict=False),
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
        ]
        return _inside(*(default for argument, default in given if argument.arg == "status" and default is not None))
    return [node] if isinstance(node, ast.Constant) and node.value in UNMISTAKABLE else []


def _is_about_status(call: ast.Call) -> bool:
    """`set_status(item, ...)`, and `set_field(text, "Status", ...)`."""
    named = ast.unparse(call.func).rpartition(".")[2].lower()
    return "status" in named or any(isinstance(one, ast.Constant) and one.value == "Status" for one in call.args)


def _inside(*nodes: ast.AST) -> list[ast.Constant]:
    """Words that these are or hold, but for names of fields and arguments of calls."""
    found: list[ast.Constant] = []
    for node in nodes:
        if _is_word(node):
            found.append(node)  # type: ignore[arg-type]
        elif isinstance(node, ast.IfExp | ast.BoolOp | ast.Tuple | ast.Set | ast.List):
            found += _inside(*ast.iter_child_nodes(node))
    return found


def _is_word(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in WORDS


def test_no_python_module_spells_a_status() -> None:
    wrong = [
        f"{name}:{line} {word} in {text}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := str(path.relative_to(SOURCE))) and path.parent.name != "kinds"
        for line, word, text in spelled(path.read_text(encoding="utf-8"))
        if word not in OTHER_MEANING.get(name, ())
    ]
    assert not wrong, "use clew.kinds (state_of, or a name from statuses):\n  " + "\n  ".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        'GONE = {"superseded", "rejected"}',
        'if block.status == "active": pass',
        'blocks.current(ctx, status="proposed")',
        'mark(item, "disowned")',
        'mark_status(ctx, proposal, "expired")',
        'set_field(text, "Status", "rejected")',
        'row = {"status": "active"}',
        'status = "done" if step.completed else "open"',
        'def of(status: str = "open"): pass',
    ],
)
def test_the_rule_itself(line: str) -> None:
    assert list(spelled(line))


def test_a_status_in_a_published_schema_is_no_knowledge_of_its_own() -> None:
    assert not list(spelled('status: Literal["staged", "rolled_back"]'))


_SPELLED_ON_PAGE = tuple(
    re.compile(pattern)
    for pattern in (
        r"""[sS]tatus\)?\s*[!=]==?\s*["']([\w-]+)["']""",
        r"""["']([\w-]+)["']\s*[!=]==?\s*[\w.?]*[sS]tatus\b""",
        r"""\bstatus\s*[:=]\s*["']([\w-]+)["']""",
        r"""case\s+["']([\w-]+)["']""",
    )
)
_ARRAY = re.compile(r"\[[^\[\]]*\]")
_QUOTED = re.compile(r"""["']([\w-]+)["']""")


def spelled_on_the_page(source: str) -> Iterator[str]:
    code = re.sub(r"^\s*(//|\*).*$", "", source, flags=re.MULTILINE)
    yield from (word for form in _SPELLED_ON_PAGE for word in form.findall(code) if word in WORDS)
    yield from (word for word in _QUOTED.findall(code) if word in UNMISTAKABLE)
    for found in _ARRAY.finditer(code):
        words = [word for word in _QUOTED.findall(found.group()) if word in WORDS]
        asked = code[found.end() :].startswith((".includes", ".some", ".indexOf"))
        if len(words) > 1 and (asked or code[: found.start()].endswith("new Set(")):
            yield found.group()


@pytest.mark.parametrize(
    "line",
    [
        'if (row.status === "active") return;',
        'if ("done" == task.status) return;',
        'call("list_blocks", { status: "active" });',
        'switch (status) { case "blocked": break; }',
        'const over = new Set(["rejected", "expired"]);',
        'const over = ["rejected", "expired"].includes(word);',
        "mark('superseded');",
    ],
)
def test_the_rule_for_the_page_itself(line: str) -> None:
    assert list(spelled_on_the_page(line))


def test_no_page_module_spells_a_status() -> None:
    wrong = {
        str(path.relative_to(PAGE)): found
        for path in sorted(PAGE.rglob("*.js"))
        if path.name not in ("facts.js", "lifecycle.js")
        and (found := list(spelled_on_the_page(path.read_text(encoding="utf-8"))))
    }
    assert not wrong, f"use STATUS from facts.js or stateOf from lifecycle.js: {wrong}"


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: f"{kind.store}-{kind.name}")
def test_every_status_of_a_kind_means_a_state(kind) -> None:  # type: ignore[no-untyped-def]
    assert set(kind.live) <= {*kind.states, *MEANING}
    assert all(kind.state(status) is state for status, state in kind.states.items())


@pytest.mark.parametrize(
    ("store", "kind", "status", "state"),
    [
        ("block", "decision", "active", State.IN_FORCE),
        ("block", "decision", "superseded", State.REPLACED),
        ("block", "rejected", "active", State.IN_FORCE),
        ("block", "rejected", "rejected", State.WITHDRAWN),
        ("block", "fact", "pending-review", State.PROPOSED),
        ("block", "proposal", "applied", State.SETTLED),
        ("card", "decision", "open", State.IN_FORCE),
        ("card", "decision", "rejected", State.IN_FORCE),
        ("card", "hypothesis", "open", State.OPEN),
        ("card", "hypothesis", "disproved", State.WITHDRAWN),
        ("card", "question", "resolved", State.SETTLED),
        ("task", "task", "CANCELED", State.WITHDRAWN),
        ("task", "task", "ACTIVE", State.OPEN),
        ("task", "step", "done", State.SETTLED),
        ("evidence", None, "disowned", State.WITHDRAWN),
        ("thought", "H", None, State.IN_FORCE),
        ("block", "decision", "whatever a person wrote", State.IN_FORCE),
    ],
)
def test_what_a_status_means(store: str, kind: str | None, status: str | None, state: State) -> None:
    assert state_of_item(store, kind, status) is state


def test_work_that_begins_is_open_whatever_its_status() -> None:
    assert state_of("task", "TODO") is state_of("job", "RUNNING") is State.OPEN


def test_labels_are_the_same_words_everywhere() -> None:
    assert Verdict(State.IN_FORCE).label == "in force"
    assert Verdict(State.REPLACED, replaced_by="D-7").label == "replaced by D-7"
    assert Verdict(State.SETTLED, settled_by="D-25").label == "answered by D-25"
    doubtful = Verdict(State.IN_FORCE, disputed_with=("D-5",), suspect=Suspicion("F-1", "withdrawn"), stale_proof=True)
    assert doubtful.label == "in force, disputed with D-5, suspect: rests on F-1 (withdrawn), stale proof"
