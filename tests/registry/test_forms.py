"""No operation that writes keeps a form that nobody filled in, and what it suggests holds only what was said."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from clew.registry.blank_forms import CARD_FORMS, EVERYTHING, NOTE_FORMS, VERBATIM, is_unfilled
from clew.registry.catalogue import import_everything
from clew.registry.operation import Operation, declared
from tests.conftest import Caller
from tests.suggestions import run_suggestions

FORM = "CMD: <fill: what you ran>"
UNCHECKED = {"workspace", "fmt", "request_id"}


@pytest.fixture(scope="module")
def writing() -> dict[str, Operation]:
    import_everything()
    return {name: found for name, found in declared().items() if found.writes and found.module.startswith("clew.")}


def test_what_is_exempt_is_there(writing: dict[str, Operation]) -> None:
    for name, arguments in VERBATIM.items():
        assert set(arguments) <= {EVERYTHING, *writing[name].input.model_fields}, name


def test_every_text_of_every_operation_that_writes_is_looked_at(call: Caller, writing: dict[str, Operation]) -> None:
    passed, refused = [], 0
    for name, found in writing.items():
        for field, info in found.input.model_fields.items():
            exempt = {field, EVERYTHING} & set(VERBATIM.get(name, ()))
            if exempt or field in UNCHECKED or not _takes_text(info.annotation):
                continue
            error = call.answer(name, **{**found.example, info.alias or field: FORM}).envelope["error"]
            if error is None:
                passed.append(f"{name}.{field}")
            refused += error is not None and any(hint["kind"] == "form" for hint in error["hints"])
    assert passed == []
    assert refused > 200, "most are refused for the form, the others for their type or an id before it"


def _takes_text(annotation: Any) -> bool:
    return annotation is str or any(_takes_text(part) for part in get_args(annotation))


def test_a_template_unchanged_is_a_form(call: Caller) -> None:
    for _, text in CARD_FORMS.values():
        assert call.error("notes_commit", content=text)["hints"][0]["kind"] == "form"
    for form in NOTE_FORMS.values():
        for note in (form, [(heading, "") for heading, _ in form]):
            text = "\n\n".join(f"## {heading}\n{body}" for heading, body in note)
            assert call.error("notes_commit", content=text)["hints"][0]["kind"] == "form"
    assert not is_unfilled("## Goal\nParse .env files")
    assert not is_unfilled("Fill in the missing <field>")


SAID: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "notes_commit": ({"content": "Runs on 3.11\nRisks: <fill: risks>"}, {"content": "Runs on 3.11"}),
    "remember": (
        {"text": "The last file wins", "kind": "decision", "why": "< FILL in"},
        {"text": "The last file wins", "kind": "decision"},
    ),
    "think_card": (
        {"card": {"type": "test", "title": "Count them", "text": FORM, "meta": {"run": {"cmd": FORM}}}},
        {"card": {"type": "test", "title": "Count them"}},
    ),
    "tasks_macro_start": (
        {"task_title": "Read files", "description": FORM, "steps": [{"title": "A", "success_criteria": ["ok", FORM]}]},
        {"task_title": "Read files", "steps": [{"title": "A", "success_criteria": ["ok"]}]},
    ),
    "knowledge_write_scratchpad": (
        {"id": "p", "title": "To do", "content": f"Ship it\n{FORM}"},
        {"content": "Ship it"},
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_the_first_suggestion_says_what_was_said(call: Caller, name: str) -> None:
    given, said = SAID[name]
    answer = call.answer(name, **given)
    way = answer.envelope["suggestions"][0]
    assert (way["target"], {**way["params"], **said}) == (name, way["params"])
    assert "<" not in str(way["params"])
    run_suggestions(call.clew, answer, call.session)


def test_a_card_that_leads_back_from_a_subgoal_is_no_form(call: Caller) -> None:
    question = call("think_card", card={"type": "question", "title": "Which cache?"})["card_id"]
    goal = call("think_subgoal_open", question_id=question)["subgoal_id"]
    for card in (FORM, {"title": "Answer", "text": FORM}, '{"title": "Answer", "text": "\\u003cfill: it>"}'):
        answer = call.answer("think_subgoal_close", subgoal_id=goal, return_card=card)
        assert not answer.ok and "nobody filled in" in answer.envelope["error"]["message"]
        run_suggestions(call.clew, answer, call.session)
        call.session.toolset = "full"
    call("think_subgoal_close", subgoal_id=goal, return_card={"title": "Answer", "text": "The page cache."})


def test_what_happened_is_kept_as_it_happened(call: Caller) -> None:
    call("tasks_macro_start", task_title="T", steps=[{"title": "A", "success_criteria": ["ok"]}])
    kept = call("tasks_receipt_record", command="grep -r '<fill' src", exit_code=1, output_tail="src/a.py: <fill: x>")
    assert kept["receipt"]["command"] == "grep -r '<fill' src"
    error = call.error("op_call", name="notes_commit", arguments={"content": FORM})
    assert error["hints"][0]["kind"] == "form", "what is called looks itself"
