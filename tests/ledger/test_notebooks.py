"""Notebooks: kept durably, run in a sandbox, exported and loaded without loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.app import Clew
from clew.ledger.notebooks.srcmd import PACKAGE, Book, Cell, decode, encode
from clew.registry.catalogue import catalogue
from tests.conftest import Caller
from tests.ledger.cells import made, ran

deno = pytest.importorskip("deno")


def test_a_cell_is_run_and_its_result_is_kept(call: Caller, make_clew: Callable[..., Clew]) -> None:
    notebook, cells = made(call, "const x: number = 6; console.log(x * 7)")
    done = call("notebook_run_cell", notebookId=notebook, cellId=cells[0])
    assert (done["success"], done["output"], done["error"]) == (True, "42\n", None)
    assert done["execution"]["exitCode"] == 0
    kept = Caller(make_clew())("notebook_get_cell", notebookId=notebook, cellId=cells[0])
    assert (kept["cell"]["status"], kept["cell"]["output"]) == ("completed", "42\n")
    assert len(kept["runs"]) == 1


def test_a_failing_cell_is_an_answer_not_an_error(call: Caller) -> None:
    done = ran(call, "throw new Error('no luck')")
    assert done["success"] is False
    assert "no luck" in done["error"]
    assert "base64" not in done["error"], "the trace names the file, not the address"


def test_a_python_cell_prints_and_shows_the_worth_of_its_last_line(call: Caller) -> None:
    notebook = call("notebook_create", name="Figures", language="python")["notebookId"]
    cell = call("notebook_add_cell", notebookId=notebook, type="code", content="xs = [2, 4]\nprint('sum')\nsum(xs)")
    assert cell["cell"]["filename"] == "cell1.py"
    done = call("notebook_run_cell", notebookId=notebook, cellId=cell["cell"]["id"])
    assert (done["success"], done["output"], done["error"]) == (True, "sum\n6\n", None)
    failed = ran(call, "def half(x):\n    return 1 / x\nhalf(0)", "python")
    assert failed["error"].startswith("Traceback")
    assert "ZeroDivisionError" in failed["error"]


def test_languages_may_be_mixed_in_a_notebook_and_its_file(call: Caller) -> None:
    notebook = call("notebook_create", name="Both")["notebookId"]
    for name, code in (("sum.py", "print(1 + 1)"), ("sum.js", "console.log(1 + 1)")):
        call("notebook_add_cell", notebookId=notebook, type="code", filename=name, content=code)
    text = call("notebook_export", notebookId=notebook)["content"]
    assert "###### sum.py\n\n```python\nprint(1 + 1)\n```" in text
    loaded = call("notebook_load", content=text)["notebookId"]
    cells = [cell for cell in call("notebook_list_cells", notebookId=loaded)["cells"] if cell["type"] == "code"]
    assert [cell["language"] for cell in cells] == ["python", "javascript"]
    for cell in cells:
        assert call("notebook_run_cell", notebookId=loaded, cellId=cell["id"])["output"] == "2\n"


def test_a_result_is_proof_for_a_step(call: Caller) -> None:
    done = ran(call, "console.log('proven')")
    assert re.match(r"CMD: notebook_run_cell notebookId=NB-001 cellId=CELL-\d+ # run 1, exit 0", done["receipt"])
    call("tasks_bootstrap", plan_title="P", task_title="T", steps=[{"title": "s", "success_criteria": ["c"]}])
    evidence = {"task": "TASK-001", "path": "s:0", "checkpoint": "tests"}
    for forged in (
        done["receipt"].replace("run 1,", "run 77,"),
        done["receipt"].replace("NB-001", "NB-999"),
        re.sub(r"sha256:\w{8}", "sha256:00000000", done["receipt"]),
    ):
        assert call.error("tasks_evidence_capture", **evidence, checks=[forged])["code"] == "INVALID_INPUT"
    assert call("tasks_proofs", task="TASK-001")["steps"][0]["state"] == "unproven"
    call("tasks_evidence_capture", **evidence, checks=[done["receipt"]])
    proof = call("tasks_proofs", task="TASK-001")["steps"][0]
    assert (proof["state"], proof["grade"]) == ("proven", "seen"), "Clew ran the cell itself"


def test_changing_a_cell_makes_its_result_void(call: Caller) -> None:
    notebook, cells = made(call, "console.log(1)")
    call("notebook_run_cell", notebookId=notebook, cellId=cells[0])
    call("notebook_update_cell", notebookId=notebook, cellId=cells[0], content="console.log(2)")
    cell = call("notebook_get_cell", notebookId=notebook, cellId=cells[0])["cell"]
    assert (cell["status"], cell["output"]) == ("idle", None)


def test_cells_may_import_each_other_by_name_but_not_in_a_circle(call: Caller) -> None:
    notebook = call("notebook_create", title="Modules")["notebookId"]
    for name, code in (
        ("util.ts", "export const twice = (n: number) => n * 2"),
        ("main.ts", 'import { twice } from "./util.ts"; console.log(twice(21))'),
        ("a.ts", 'import "./b.ts"'),
        ("b.ts", 'import "./a.ts"'),
    ):
        call("notebook_add_cell", notebookId=notebook, cellType="code", filename=name, content=code)
    cells = {
        cell["filename"]: cell["id"]
        for cell in call("notebook_list_cells", notebookId=notebook)["cells"]
        if "filename" in cell
    }
    assert call("notebook_run_cell", notebookId=notebook, cellId=cells["main.ts"])["output"] == "42\n"
    assert "circle" in call.error("notebook_run_cell", notebookId=notebook, cellId=cells["a.ts"])["message"]


def test_cells_stand_in_the_order_that_was_asked_for(call: Caller) -> None:
    notebook = call("notebook_create", name="Order")["notebookId"]
    first = call("notebook_add_cell", notebookId=notebook, type="markdown", content="one")["cell"]["id"]
    call("notebook_add_cell", notebookId=notebook, type="markdown", content="three")
    call("notebook_add_cell", notebookId=notebook, type="markdown", content="two", afterCellId=first)
    call("notebook_add_cell", notebookId=notebook, type="markdown", content="zero", position=2)
    texts = [cell.get("text") for cell in call("notebook_list_cells", notebookId=notebook)["cells"]]
    assert texts == ["Order", None, "zero", "one", "two", "three"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"type": "code", "content": "1", "filename": "../x.ts"}, "filename"),
        ({"type": "code", "content": "1", "filename": "package.json"}, "filename"),
        ({"type": "title", "content": "two\nlines"}, "content"),
        ({"type": "markdown", "content": "x", "filename": "x.ts"}, "filename"),
        ({"type": "markdown", "content": "x", "afterCellId": "CELL-9999"}, "afterCellId"),
        ({"type": "poem", "content": "x"}, "type"),
    ],
)
def test_a_refused_cell_leaves_no_trace(call: Caller, arguments: dict[str, Any], field: str) -> None:
    notebook = call("notebook_create", name="Strict")["notebookId"]
    assert field in call.error("notebook_add_cell", notebookId=notebook, **arguments)["message"]
    assert call("notebook_list_cells", notebookId=notebook)["count"] == 2


def test_both_templates_come_back_from_their_export(call: Caller) -> None:
    for template in ("blank", "sequential-feynman"):
        notebook = call("notebook_create", name="A subject", template=template)["notebookId"]
        text = call("notebook_export", notebookId=notebook)["content"]
        again = call("notebook_load", content=text)["notebookId"]
        assert call("notebook_export", notebookId=again)["content"] == text


def test_files_are_confined_to_the_project(call: Caller, tmp_path: Path) -> None:
    notebook = call("notebook_create", name="Files")["notebookId"]
    written = call("notebook_export", notebookId=notebook, path="notes/files.src.md")["path"]
    assert Path(written).is_relative_to(tmp_path)
    assert call("notebook_load", path="notes/files.src.md")["notebook"]["title"] == "Files"
    for path in ("../outside.src.md", "/etc/outside.src.md", "notes/files.txt"):
        assert call.error("notebook_export", notebookId=notebook, path=path)["code"] == "INVALID_INPUT"
    assert call.error("notebook_load", path="notes/missing.src.md")["code"] == "NOT_FOUND"


def test_an_export_follows_no_planted_link(call: Caller, tmp_path: Path) -> None:
    """A repository may hold links under every name that can be foreseen."""
    project = Path(
        call("notebook_export", notebookId=call("notebook_create", name="N")["notebookId"], path="a.src.md")["path"]
    )
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("precious")
    for name in (".b.src.md.new", ".b.src.md.tmp", "b.src.md.new"):
        (project.parent / name).symlink_to(outside)
    call("notebook_export", notebookId="NB-001", path="b.src.md")
    assert outside.read_text() == "precious"
    assert not (project.parent / "b.src.md").is_symlink()
    assert not catalogue().find("notebook_export").read_only  # type: ignore[union-attr]


text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)
markdown = st.one_of(
    text,
    st.sampled_from(
        ["# heading", "a\n# b", "###### f", "\n\nx\n\n", "", "<!-- cell:markdown lines=3 -->", "```\nx\n```"]
    ),
)
code = st.one_of(text, st.sampled_from(["`", "```", "````\n```", "# not a title", "\n", ""]))
names = st.from_regex(r"[a-z]{1,8}\.(ts|js)", fullmatch=True)
cells = st.one_of(
    st.builds(lambda t: Cell("title", t), text),
    st.builds(lambda t: Cell("markdown", t), markdown),
    st.builds(lambda t, n: Cell("code", t, n, "typescript"), code, names),
    st.builds(lambda t: Cell(PACKAGE, t, PACKAGE), code),
)
book = st.builds(lambda c, t: Book("typescript", tuple(c), t), st.lists(cells, max_size=6), st.none() | text)


@given(book)
def test_export_then_import_is_the_identity(original: Book) -> None:
    assert decode(encode(original)) == original


@given(st.text(max_size=200))
def test_any_text_is_loaded_or_refused_in_words(given_text: str) -> None:
    from clew.errors import ClewError

    try:
        found = decode('<!-- srcbook:{"language":"javascript"} -->\n' + given_text)
    except ClewError as error:
        assert error.code == "INVALID_INPUT"
    else:
        assert decode(encode(found)) == found


def test_a_cell_cannot_run_twice_at_once(clew: Clew, call: Caller) -> None:
    notebook, made_cells = made(call, "console.log(1)")
    with clew.database.write() as tx:
        now = clew.dispatcher.clock()
        tx.run("UPDATE notebook_cell SET status = 'running', executed_at_ms = ? WHERE id = ?", now, made_cells[0])
    assert call.error("notebook_run_cell", notebookId=notebook, cellId=made_cells[0])["code"] == "CONFLICT"


def test_through_the_gateway_in_both_shapes(call: Caller) -> None:
    gate = "thoughtbox_gateway"
    call(gate, operation="start_new", cipher=True)
    flat = call(gate, operation="notebook", subOperation="create", name="Flat")
    nested = call(
        gate, operation="notebook", args={"operation": "create", "args": {"title": "Nested", "language": "javascript"}}
    )
    assert flat["notebook"]["title"] == "Flat"
    assert nested["notebook"]["language"] == "javascript"
