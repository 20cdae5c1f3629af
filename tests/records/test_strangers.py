"""What strangers met who were given nothing but the ten tools, and expected otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.app import Clew
from clew.surroundings import clew_command
from tests.conftest import Caller
from tests.records.test_work import at_page, connected
from tests.tasks.portal import paste

RULE = "Only the standard library; no third party packages, not even for tests"


@pytest.fixture
def agent(clew: Clew) -> Caller:
    return connected(clew, "coder", "one")


def test_a_decision_answers_a_question_in_one_call(agent: Caller) -> None:
    question = agent("remember", text="Should heights be in feet too?", kind="question")["id"]
    lines = agent.lines(
        "remember", text="Heights are metres only.", kind="decision", why="One unit.", replaces=question
    )
    assert lines[0] == "D-1 decision kept, findable now" and f"replaces {question}" in lines
    opened = agent.lines("open", id=question)
    assert opened[0].startswith(f"{question} (question, answered by D-1)")
    assert opened[1] == "answered by D-1: Heights are metres only." and opened[2].startswith("why: One unit. (")
    assert agent.lines("recall", query="open questions") == ["no question is kept that holds"]


def test_a_card_takes_the_place_of_a_block_and_the_file_says_so(agent: Caller) -> None:
    fact = agent("remember", text="The staging cluster has four nodes", kind="fact")["id"]
    agent("remember", text="Does staging have four nodes or five?", kind="question", replaces=fact)
    assert "replaced by" in agent.lines("open", id=fact)[0]


def test_a_kind_is_listed_and_an_id_is_found(agent: Caller) -> None:
    for number in range(7):
        agent("remember", text=f"Boat {number} has a red light at the bow of its own", kind="fact")
    agent("remember", text=RULE, kind="rule")
    question = agent("remember", text="Where is the harbour master?", kind="question")["id"]
    assert [line.split()[0] for line in agent.lines("recall", query="What are our rules?")] == ["R-1"]
    facts = agent.lines("recall", query="facts")
    assert [line.split()[0] for line in facts[:5]] == ["F-7", "F-6", "F-5", "F-4", "F-3"] and facts[5] == "and 2 older"
    assert agent.lines("recall", query=question)[0].startswith(f"{question} (question, open")
    silent = agent.lines("recall", query="zebra stripes", kinds=["question"])
    assert silent[0] == "no words fit; the newest of the kind:" and silent[1].startswith(question)


def test_a_new_record_names_those_about_the_same_thing(agent: Caller) -> None:
    agent("remember", text=RULE, kind="rule", why="It must run on a bare python.")
    lines = agent.lines("remember", text="Third party packages are fine where they help tests", kind="lesson")
    assert any(line.startswith(("see also R-1: ", "nearly repeats R-1: ")) for line in lines)
    assert len(agent.lines("remember", text="The ferry sails at noon", kind="fact")) == 1


def test_a_step_is_opened_by_its_path_and_tells_what_it_asks_for(clew: Clew, agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader; every line is read; test: pytest -q", "writer"])
    agent("close", proof={"command": "pytest -q", "exit_code": 0}, note="Tabs count as blanks.")
    lines = agent.lines("open", id="s:0")
    assert lines[0].endswith("(step, done): reader") and "s:0 of TASK-001" in lines
    assert {"done when: every line is read", "test: pytest -q", "note: Tabs count as blanks."} <= set(lines)
    assert any(line.startswith("proof: CLAIMED: pytest -q -> exit 0") for line in lines)
    assert connected(clew, "other", "two").lines("open", id="TASK-001 s:1")[0].endswith("(step, open): writer")


def test_steps_are_added_as_they_are_started(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader"])
    assert agent.lines("start", task="TASK-001", steps=["writer; test: make test"]) == [
        "TASK-001: 1 step added",
        "s:1 writer",
    ]
    agent(
        "op_call",
        name="tasks_decompose",
        arguments={"task": "TASK-001", "steps": ["docs", {"name": "release", "criteria": "tagged"}]},
    )
    outline = agent.lines("open", id="TASK-001")
    assert [line.split(":")[1].split()[1] for line in outline if line.startswith("s:")] == [
        "reader",
        "writer",
        "docs",
        "release",
    ]
    refused = agent.error("start", task="TASK-001")
    assert refused["code"] == "INVALID_INPUT" and refused["message"].startswith("steps: TASK-001 is there already")


def test_a_client_that_comes_back_is_still_the_author_of_its_records(clew: Clew, agent: Caller) -> None:
    kept = agent("remember", text="The table is a CSV file", kind="decision", why="A trial.")["id"]
    again = connected(clew, "coder", "two")
    again("remember", text="Something else entirely", kind="fact")
    assert again("retract", id=kept, why="It was only a trial.")["status"] == "revoked"
    other = at_page(clew)("remember", text="Lamps are lit at dusk", kind="decision", why="So it is.")["id"]
    assert connected(clew, "somebody", "three")("retract", id=other, why="Not mine.")["status"] == "proposed"


def test_the_author_of_a_record_is_the_client_whichever_connection_it_was(clew: Clew, agent: Caller) -> None:
    agent("remember", text="Start times are UTC", kind="fact")
    again = connected(clew, "coder", "two")
    again("remember", text="End times are UTC", kind="fact")
    again("remember", text="Which zone do users see?", kind="question")
    told = "\n".join(
        again.lines("recall", query="which zone do users see") + again.lines("recall", query="start times")
    )
    assert ", coder): Which zone" in told and ", coder): Start times" in told and "coder-" not in told
    assert [again("open", id=id)["block"]["fields"]["Author"] for id in ("F-1", "F-2")] == ["coder", "coder"]
    events = Caller(clew)("events_list", types=["block_written"])["events"]
    assert [event["agent"] for event in events] == ["coder-2", "coder-1"], "events keep the connection"


def test_what_waits_falls_with_the_record_it_was_about(agent: Caller) -> None:
    agent("remember", text="All services use PostgreSQL as their database", kind="decision", why="One to run.")
    second = agent("remember", text="No service uses PostgreSQL as its database", kind="decision", why="Cost.")
    assert second["state"] == "proposed" and "waits: 1 proposal" in "\n".join(agent.lines("resume"))
    agent("retract", id=second["id"], why="It was never meant.")
    assert "waits:" not in "\n".join(agent.lines("resume"))


def test_a_record_falls_with_its_proposal(agent: Caller) -> None:
    agent("remember", text="All services use PostgreSQL as their database", kind="decision", why="One to run.")
    second = agent("remember", text="No service uses PostgreSQL as its database", kind="decision", why="Cost.")
    assert agent("retract", id=second["proposal"], why="It was never meant.")["status"] == "withdrawn"
    assert "(decision, withdrawn)" in agent.lines("open", id=second["id"])[0]
    told = "\n".join(agent.lines("resume"))
    assert "No service uses" not in told and "waits:" not in told
    agent("undo")
    assert "(decision, proposed)" in agent.lines("open", id=second["id"])[0]


def test_kinds_without_a_question_are_listed(agent: Caller) -> None:
    agent("remember", text="The mast is 12 m high", kind="fact")
    agent("remember", text="Which paint?", kind="question")
    assert [line.split()[0] for line in agent.lines("recall", kinds=["fact", "question"])] == ["CARD-1", "F-1"]


def test_resume_tells_reasons_what_would_replace_what_and_checks_that_wait(clew: Clew, agent: Caller) -> None:
    agent("remember", text=RULE, kind="rule", why="It must run on a bare python.", guard={"paths": ["x"], "must": "y"})
    at_page(clew)("remember", text="The file named last wins", kind="decision", why="Shells do so.")
    connected(clew, "somebody", "two")(
        "remember", text="The file named first wins", kind="decision", why="Safer.", replaces="D-1"
    )
    told = "\n".join(agent.lines("resume"))
    assert f"{RULE}. Why: It must run on a bare python." in told
    assert "D-1 The file named last wins -> D-2 proposed: The file named first wins. Why: Safer." in told
    assert f"check of R-1 ({clew_command('guards approve R-1')})" in told


def test_a_run_that_is_disowned_leaves_its_step_as_it_was(clew: Clew, agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader"])
    agent(
        "op_call", name="tasks_evidence_capture", arguments={"task": "TASK-001", "path": "s:0", "checks": ["make it"]}
    )
    receipt = agent("op_read", name="tasks_proofs", arguments={"task": "TASK-001"})["steps"][0]["receipt"]
    agent("retract", id=receipt, why="It was another project's run.")
    now = agent("op_read", name="tasks_proofs", arguments={"task": "TASK-001"})["steps"][0]
    assert now["state"] != "failed"
    assert "FAILED" not in "\n".join(agent.lines("resume", task="TASK-001"))


def test_what_was_rejected_while_thinking_stands_in_resume(agent: Caller) -> None:
    agent("start", title="Speed up the importer", steps=["measure"])
    agent("think", text="Threads may help the importer", kind="hypothesis")
    agent("think", text="Threads do not help the importer: the lock of the parser is held", kind="rejection")
    agent("think", text="Processes cannot share the cache", kind="rejection")
    agent("think", text="They can, by shared memory", kind="observation", revises=3)
    told = "\n".join(agent.lines("resume"))
    assert "REJECTED" in told and "Threads do not help the importer" in told
    assert "Processes cannot share" not in told, "a rejection that was revised no longer holds"


def test_a_task_that_is_done_goes_on_with_more_steps(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader"])
    agent("close", step="s:0", unproven="prose only")
    bare = agent.answer("start", title="TASK-001")
    assert "TASK-001 is done already" in bare.text and "they open it again" in bare.text
    lines = agent.lines("start", title="TASK-001", steps=["writer; test: make test"])
    assert lines[0] == "TASK-001 opened again: 1 step added" and lines[1] == "s:1 writer"
    assert agent.lines("resume")[0].startswith("TASK-001 Parse") and "now s:1 writer" in "\n".join(
        agent.lines("resume")
    )


def test_a_task_that_was_canceled_is_begun_anew_in_the_words_of_the_tools(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader"])
    agent("retract", id="TASK-001", why="The files are gone")
    answer = agent.answer("start", title="TASK-001", steps=["writer"])
    assert "TASK-001 Parse was canceled" in answer.text and "op_call" not in answer.text
    first = answer.envelope["suggestions"][0]
    assert agent(first["target"], **first["params"])["task"] == "TASK-002"


def test_a_step_that_was_canceled_and_closed_later_shows_the_state_that_holds(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader", "writer"])
    agent("retract", id="s:1", why="nobody writes")
    assert agent.lines("open", id="s:1")[-2].startswith("canceled: nobody writes (")
    agent("close", step="s:1", unproven="done by the way")
    lines = agent.lines("open", id="s:1")
    assert "(step, done): writer" in lines[0] and not any(line.startswith(("blocked", "canceled")) for line in lines)
    assert any(line.startswith("before that canceled: nobody writes (") for line in lines)
    agent("retract", id="s:0", why="nobody reads")
    path = {"task": "TASK-001", "path": "s:0"}
    agent("op_call", name="tasks_block", arguments={**path, "blocked": False})
    assert "before that canceled: nobody reads (" in "\n".join(agent.lines("open", id="s:0"))


def test_a_canceled_step_is_told_as_canceled_and_stands_in_nobodys_way(clew: Clew, agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader", "writer", "docs"])
    other = connected(clew, "codex", "two")
    other("resume", task="TASK-001")
    other("remember", kind="fact", text="Files are small")
    agent("retract", id="s:0", why="nobody reads")
    lines = agent.lines("resume")
    assert lines[1].endswith("0 of 3 done: 1 canceled (s:0)")
    assert lines[2].startswith("now s:1 writer") and "then s:2 docs" in lines
    assert not any("BLOCKED" in line or "blocked" in line for line in lines)
    assert any("coder-1 canceled TASK-001 s:0" in line for line in other.lines("resume", task="TASK-001"))
    shown = agent.lines("open", id="TASK-001")
    assert "s:0 reader: canceled" in shown and not any("blocked" in line for line in shown)
    assert "(step, canceled): reader" in agent.lines("open", id="s:0")[0]
    assert agent("inbox_list")["items"] == []
    assert agent("op_read", name="tasks_radar", arguments={})["radar"]["blockers"] == []
    plan = agent("op_read", name="tasks_radar", arguments={"plan": "PLAN-001"})["radar"]
    assert plan["blockers"] == []
    agent("close", unproven="tried by hand")
    agent("close", unproven="tried by hand")
    lines = agent.lines("resume")
    assert any(line.startswith("now s:0 reader: ") and "canceled: nobody reads" in line for line in lines)
    paste(agent, lines[-1].removeprefix("next: ").partition(", which")[0])
    assert agent.lines("resume", task="TASK-001")[1].startswith("2 of 2 done")


def test_a_blocked_step_is_still_told_as_blocked(agent: Caller) -> None:
    agent("start", title="Parse", steps=["reader", "writer"])
    agent("op_call", name="tasks_block", arguments={"task": "TASK-001", "path": "s:0", "reason": "no disk"})
    assert any(line.startswith("now s:0 reader") and "BLOCKED: no disk" in line for line in agent.lines("resume"))
    assert [item["id"][:4] for item in agent("inbox_list")["items"]] == ["STEP"]


def test_an_older_record_does_not_claim_to_replace_what_came_after_it(agent: Caller) -> None:
    agent("remember", kind="rule", text="Every public function has a docstring")
    agent("remember", kind="rule", text="Public functions need docstrings")
    at_page(agent.clew)("retract", id="R-2", why="the same as R-1", replaced_by="R-1")
    agent("remember", kind="decision", text="The file named last wins")
    agent("remember", kind="decision", text="The file named first wins", why="shells do so", replaces="D-1")
    told = {name: "\n".join(agent.lines(name, **given)) for name, given in VIEWS.items()}
    assert "kept in place of R-2: the same as R-1" in told["open"]
    assert "R-1 Every public function has a docstring (kept in place of R-2)" in told["resume"]
    assert "(kept in place of R-2: Public functions need docstrings)" in told["recall"]
    assert "D-2 The file named first wins (replaces D-1)" in told["resume"]
    assert "Supersedes: D-1" in agent.lines("open", id="D-2")


VIEWS: dict[str, dict[str, Any]] = {"open": {"id": "R-1"}, "resume": {}, "recall": {"query": "docstrings"}}


def test_any_operation_answers_an_agent_in_text(agent: Caller) -> None:
    agent("start", title="Speed up", steps=["measure"])
    made = agent.answer("op_call", name="branch_create", arguments={"name": "trial"})
    assert made.structured is None and made.text.startswith("branch: name=trial base_branch=main")
    listed = agent.lines("op_read", name="branch_list")
    assert any("name=trial" in line for line in listed)
    noted = agent.lines("op_call", name="notes_commit", arguments={"content": "One line\nand another"})
    assert "    and another" in noted
    whole = agent.answer("op_read", name="branch_list", arguments={"fmt": "json"})
    assert whole.envelope == json.loads(whole.text)


def test_a_cut_answer_in_text_names_the_call_that_gives_the_rest(agent: Caller) -> None:
    for number in range(4):
        agent("op_call", name="branch_create", arguments={"name": f"trial-{number}"})
    lines = agent.lines("op_read", name="branch_list", arguments={"limit": 2})
    (on,) = [line for line in lines if line.startswith("next: ")]
    assert on == 'next: op_read arguments={"limit":4} name=branch_list'


def test_a_search_for_operations_can_be_paged_to_its_end(agent: Caller) -> None:
    seen: list[str] = []
    arguments: dict[str, Any] = {"query": "show the branches"}
    while True:
        lines = agent.lines("op_search", **arguments)
        seen += [line.partition(":")[0] for line in lines if not line.startswith(("and ", "op_search with"))]
        on = [line for line in lines if line.startswith("and ")]
        if not on:
            break
        assert on[0].partition(": ")[2].startswith("op_search offset=")
        arguments["offset"] = int(on[0].partition("offset=")[2].split()[0])
    found = agent("op_search", query="show the branches", limit=50, detail="names")
    assert len(seen) == len(set(seen)) == found["total"] > 8
    assert seen[:50] == [item["name"] for item in found["operations"]]
