"""Secrets that do not come as arguments: in files, imports, outputs of cells, answers of models, hooks, questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.faces.hooks import spool
from clew.registry.connection import InputReply
from tests.conftest import Caller
from tests.contract import branchmind_store
from tests.hook_events.hooked import Hooked
from tests.secret_samples import SAMPLES
from tests.stored import everything_stored

TEXT, SECRET = SAMPLES["github"]
TOLD = f"curl -H 'Authorization: Bearer {SECRET}' https://x.example"


@pytest.fixture
def stored(clew: Clew, database_flags: dict[str, Any], tmp_path: Path) -> Iterator[Callable[[], str]]:
    def look() -> str:
        clew.close()
        return everything_stored(database_flags, tmp_path / "memory")

    yield look


@pytest.fixture
def clew(make_clew: Callable[..., Clew], tmp_path: Path) -> Clew:
    return make_clew(memory_dir=tmp_path / "memory")


def file_with(folder: Path, text: str) -> Path:
    files = [path for path in folder.rglob("*.md") if ".clew" not in path.parts]
    return next(path for path in files if text in path.read_text())


def test_a_file_that_a_person_edits(call: Caller, tmp_path: Path, stored: Callable[[], str]) -> None:
    call("remember", kind="decision", text="Deploys go out on Mondays.")
    file = file_with(tmp_path / "memory", "Deploys go out")
    file.write_text(file.read_text().replace("Mondays.", f"Mondays, with {SECRET}."))
    call("recall", query="Which day do deploys go out?")
    assert "Mondays, with <redacted>" in file.read_text()
    assert SECRET.lower() not in stored()


def test_a_secret_put_back_into_a_file(call: Caller, tmp_path: Path, stored: Callable[[], str]) -> None:
    call("remember", kind="decision", text=f"Deploys go out with {SECRET}.")
    file = file_with(tmp_path / "memory", "Deploys go out")
    file.write_text(file.read_text().replace("<redacted>", SECRET))
    call("recall", query="deploys")
    assert SECRET not in file.read_text()
    assert SECRET.lower() not in stored()


def test_an_imported_thoughtbox_directory(call: Caller, tmp_path: Path, stored: Callable[[], str]) -> None:
    session = "11111111-1111-4111-8111-111111111111"
    base = tmp_path / "thoughtbox" / "projects" / "_default"
    folder = base / "sessions" / "2026-01" / session
    folder.mkdir(parents=True)
    head = {"id": session, "title": f"Keys {SECRET}", "tags": [], "createdAt": "2026-01-01T00:00:00.000Z"}
    (folder / "manifest.json").write_text(
        json.dumps({"id": session, "version": "1.0.0", "thoughtFiles": ["001.json"], "metadata": head})
    )
    data = {"thought": TOLD, "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}
    (folder / "001.json").write_text(json.dumps({"id": f"{session}:1", "data": data, "odd": {"api_key": SECRET}}))
    (base / "memory").mkdir()
    entity = {"type": "entity", "id": "e1", "name": f"Token {SECRET}", "entityType": "Insight", "label": "x"}
    (base / "memory" / "graph.jsonl").write_text(json.dumps(entity) + "\n")
    call.session.local = True
    found = call("import_thoughtbox", path=str(tmp_path / "thoughtbox"))
    assert found["sessions"], found
    assert SECRET.lower() not in stored()


def test_an_imported_branchmind_store(call: Caller, tmp_path: Path, stored: Callable[[], str]) -> None:
    place = tmp_path / "old.db"
    writer = branchmind_store.Writer(place)
    writer.add("workspaces", workspace="acme", created_at_ms=1)
    meta = json.dumps({"token": SECRET})
    for row in ({"title": "Keys", "content": TOLD}, {"title": SECRET, "content": "x"}):
        given = {"workspace": "acme", "branch": "main", "doc": "notes", "ts_ms": 1, "kind": "note", "format": "text"}
        writer.add("doc_entries", **given, **row, meta_json=meta)
    call.session.local = True
    assert call("import_branchmind", path=str(place))["workspaces"]
    assert SECRET.lower() not in stored()


def test_what_a_cell_prints(call: Caller, stored: Callable[[], str]) -> None:
    book = call("notebook_create", name="Keys", language="python")["notebook"]["id"]
    source = f"print({SECRET[:4]!r} + {SECRET[4:]!r})"
    cell = call("notebook_add_cell", notebookId=book, type="code", filename="a.py", content=source)["cell"]["id"]
    ran = call("notebook_run_cell", notebookId=book, cellId=cell)
    assert ran["output"].strip() == "<redacted>", ran
    assert SECRET.lower() not in stored()


def test_a_notebook_from_a_file(call: Caller, tmp_path: Path, stored: Callable[[], str]) -> None:
    (tmp_path / "book.src.md").write_text(
        f'<!-- srcbook:{{"language":"javascript"}} -->\n\n# Keys\n\nThe key is {SECRET} here.\n'
    )
    call("notebook_load", path="book.src.md")
    assert SECRET.lower() not in stored()


def test_the_answer_of_a_model(call: Caller, stored: Callable[[], str]) -> None:
    call.session.sampler = lambda asked, seconds: InputReply(f"Do not use {SECRET}.", "critic")
    answer = call("thought", thought="We use a key.", nextThoughtNeeded=True, critique=True)
    assert "<redacted>" in json.dumps(answer)
    assert SECRET.lower() not in stored()


def test_what_hooks_tell(clew: Clew, stored: Callable[[], str]) -> None:
    hook = Hooked(clew)
    hook.start()
    hook.ask(f"Why does {TOLD} fail?")
    hook.runs(TOLD, 1, f"Error: {SECRET} was refused\n  at main.py:3")
    hook.edits(f"keys/{SECRET}.txt", text=TOLD, before=SECRET)
    hook.about_to(command=TOLD)
    hook.runs(TOLD, 0, "fine")
    hook("stop")
    hook("session-end")
    assert SECRET.lower() not in stored()


def test_the_spool_of_hooks(tmp_path: Path) -> None:
    home = tmp_path / "home"
    event = {"event": "post-tool", "session": "s", "command": TOLD, "paths": [f"{SECRET}.txt"], "text": SECRET}
    assert spool.append(str(home), str(tmp_path), event)
    assert SECRET not in "".join(path.read_text() for path in home.rglob("*") if path.is_file())


def test_a_question_without_an_answer(clew: Clew, call: Caller, stored: Callable[[], str]) -> None:
    call("remember", kind="decision", text="Deploys go out on Mondays.")
    call("recall", query=f"Who owns {SECRET}?")
    clew.dispatcher.read_resource(f"mind-mem://recall/{SECRET} owner", call.session)
    assert "unanswered" in call("insight")
    assert SECRET.lower() not in stored()
