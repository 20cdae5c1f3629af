"""resume: one call after which an agent that has forgotten everything can go on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew.app import Clew
from clew.records import relevance
from clew.registry.connection import Connection
from clew.registry.context import Context
from clew.surroundings import clew_command
from tests.conftest import Caller
from tests.hook_events.hooked import Hooked
from tests.records.projects import build, build_crowd, write_block
from tests.records.test_work import at_page
from tests.tasks.test_receipts import prove as seen

STEPS = [
    {"title": "parser", "success_criteria": ["every row is read"], "tests": ["pytest -q"]},
    {"title": "merge", "success_criteria": ["the last file wins"], "tests": ["pytest -q"]},
]


def connect(clew: Clew, client: str, handle: str) -> Caller:
    call = Caller(clew)
    call.session = Connection(toolset="full", client=client, handle=handle)
    return call


@pytest.fixture
def agent(clew: Clew) -> Iterator[Caller]:
    call = connect(clew, "claude", "one")
    call("tasks_create", title="Tools")
    call("tasks_create", title="envmerge", parent="PLAN-001", steps=STEPS)
    yield call


@pytest.mark.parametrize("engine", ["sqlite"])
def test_what_ten_generated_tasks_need_is_in_one_resume(clew: Clew, engine: str) -> None:
    needed = shown = 0
    for seed in range(10):
        call, fresh = connect(clew, "claude", f"s{seed}"), connect(clew, "claude", f"later{seed}")
        call.session.workspace_override = fresh.session.workspace_override = f"ws{seed}"
        project = build(call, f"ws{seed}", seed)
        assert project.count == 40
        text = fresh.answer("resume", task=project.task, max_chars=2000).text
        assert len(text) <= 2000
        assert "now s:1" in text and "test: pytest -q" in text and "1 of 3 done: 1 unproven (s:0)" in text
        needed += len(project.needed)
        shown += sum(f" {id} " in text for id in project.needed)
    assert shown / needed >= 0.95, f"{shown} of {needed}"


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("size", [10, 40, 200])
def test_what_is_about_the_current_step_is_shown_of_a_project_of_any_size(clew: Clew, engine: str, size: int) -> None:
    crowd = build_crowd(connect(clew, "claude", "one"), "ws", size)
    text = connect(clew, "codex", "two").answer("resume", task=crowd.task).text
    shown = {id for id in crowd.about_step | crowd.rules if f" {id} " in text}
    assert len(text) <= 4000
    assert len(shown & crowd.about_step) >= 0.9 * len(crowd.about_step), text
    assert shown >= crowd.rules, text
    # No record about the step is cut within a sentence.
    lines = [line for line in text.splitlines() if any(f" {id} " in line for id in crowd.about_step)]
    assert not [line for line in lines if re.search(r"\w…", line)], text
    everything = connect(clew, "codex", "three").answer("resume", task=crowd.task, all=True).text
    assert "more: " not in everything and everything.count(" (case ") == len(crowd.about_step) - 1


def test_files_that_an_agent_edited_say_what_the_step_is_about(clew: Clew) -> None:
    agent = connect(clew, "claude", "one")
    agent("start", title="Speed", steps=["look where time is lost", "make it faster; test: pytest -q"])
    for number in range(30):
        agent(
            "remember",
            kind="decision",
            text=f"Module {number} keeps its own clock, number {number}",
            about=f"src/m{number}.py",
        )
    agent("close", step="s:0", unproven="read only")
    Hooked(clew).edits("src/m3.py", "import time")
    text = connect(clew, "codex", "two").answer("resume", task="TASK-001", max_chars=1_200).text
    assert "Module 3 keeps its own clock" in text
    assert "last session: edited src/m3.py (claude, just now)" in text
    first = text.partition("\ndecisions (")[2].splitlines()[1]
    assert first.startswith("  D-4 Module 3 ")


def test_every_other_open_task_is_named_in_one_line(clew: Clew) -> None:
    agent = connect(clew, "claude", "one")
    for title in ("Importer", "Exporter", "Report"):
        agent("start", title=title, steps=["one", "two"])
    agent("close", task="TASK-002", step="s:0", unproven="prose")
    agent("start", title="Canceled one")
    agent("tasks_delete", task="TASK-004")
    agent("start", title="TASK-003", steps=["three"])
    lines = agent.answer("resume").text.splitlines()
    others = next(line for line in lines if line.startswith("other open tasks: "))
    assert others == "other open tasks: TASK-002 Exporter (1/2); TASK-001 Importer (0/2)"


def test_claimed_steps_are_named_and_leased_ones_too(clew: Clew) -> None:
    agent, other = connect(clew, "claude", "one"), connect(clew, "codex", "two")
    agent("start", title="Importer", steps=["one; test: pytest -q", "two", "three"])
    agent("close", step="s:0", proof={"command": "pytest -q", "exit_code": 0})
    other("tasks_step_lease_claim", task="TASK-001", path="s:2")
    text = agent.answer("resume").text
    assert "1 of 3 done: 1 claimed (s:0)" in text
    assert "then s:2 three (claimed by codex-1)" in text
    assert "last proof TASK-001 s:0: pytest -q -> exit 0, claimed (just now)" in text


def test_recall_about_a_file_lists_what_concerns_it(clew: Clew) -> None:
    agent = connect(clew, "claude", "one")
    agent("remember", kind="decision", text="Dates are day first", why="banks", about="ledgerlite/importer.py")
    agent("remember", kind="lesson", text="ledgerlite/importer.py loses the last line without a newline")
    agent("remember", kind="question", text="Which encoding do exports have?", about=["ledgerlite/importer.py"])
    agent("remember", kind="decision", text="Sums are integers", about="ledgerlite/big_importer.py")
    agent("remember", kind="fact", text="The exporter writes UTF-8", about="ledgerlite/exporter.py")
    agent(
        "retract",
        id=agent("remember", kind="fact", text="It reads XML", about="ledgerlite/importer.py")["id"],
        why="no",
    )

    def about(**given: Any) -> list[str]:
        return [hit["_id"] for hit in agent("recall", **given)["results"]]

    assert about(about="ledgerlite/importer.py") == ["CARD-1", "L-1", "D-1"]
    assert about(about="importer.py") == ["CARD-1", "L-1", "D-1"]
    assert set(about(about="ledgerlite/")) == {"CARD-1", "L-1", "D-1", "D-2", "F-1"}
    assert about(about="ledgerlite/importer.py", history=True)[-1] == "F-2"
    assert about(about="ledgerlite/importer.py", kinds=["decision"]) == ["D-1"]
    assert about(about="ledgerlite/importer.py", query="what order do dates have?")[0] == "D-1"
    assert "D-2" not in about(about="importer.py", query="are sums integers?")
    lines = Caller(clew, "agent").lines("recall", about="nowhere.py")
    assert lines == ["nothing is kept about nowhere.py"]
    assert agent.error("recall")["code"] == "INVALID_INPUT"


def test_a_fresh_connection_sees_what_its_client_worked_on(clew: Clew, agent: Caller) -> None:
    agent("tasks_create", title="other", parent="PLAN-001", steps=STEPS[:1])
    started = agent("start", title="Third", steps=["one; test: pytest -q"])["task"]
    text = connect(clew, "claude", "two").answer("resume").text
    assert text.startswith(f"{started} Third")
    prove = clew_command(f"prove --task {started} -- pytest -q")
    run = f"next: {prove} (in a shell), then close step=s:0"
    assert f"{run} task={started}" in text, "another connection's focus is named, never assumed"
    assert agent.answer("resume").text.endswith(run)


def test_resume_moves_and_writes_nothing(clew: Clew, agent: Caller) -> None:
    with Context(clew.dispatcher, agent.session, "ws", None).reading() as ctx:
        before = (ctx.ws.seq, ctx.ws.event_seq, ctx.ws.focus, ctx.tx.all("SELECT * FROM caller_state"))
    first, second = agent.answer("resume", task="TASK-001"), agent.answer("resume", task="TASK-001")
    assert first.text == second.text and first.structured is None
    with Context(clew.dispatcher, agent.session, "ws", None).reading() as ctx:
        assert (ctx.ws.seq, ctx.ws.event_seq, ctx.ws.focus, ctx.tx.all("SELECT * FROM caller_state")) == before


def test_others_deeds_and_doubts_are_told(clew: Clew, agent: Caller) -> None:
    codex = connect(clew, "codex", "x")
    codex("tasks_close_step", task="TASK-001", path="s:0", checkpoints="all")
    fact = agent("think_card", target="TASK-001", card={"type": "evidence", "title": "It is fast"})["card_id"]
    chosen = agent("think_card", target="TASK-001", card={"type": "decision", "title": "Use it"})["card_id"]
    agent(
        "graph_apply", target="TASK-001", ops=[{"op": "edge_upsert", "from": chosen, "rel": "depends_on", "to": fact}]
    )
    agent("think_set_status", target="TASK-001", targets=[fact], status="retracted")
    text = agent.answer("resume").text
    assert "since you were here: codex-1 closed TASK-001 s:0 (unproven)" in text
    assert f"{chosen} Use it (suspect: rests on {fact}" in text
    assert "1 of 2 done: 1 unproven (s:0)" in text


def test_without_a_task_it_lists_the_work(clew: Clew, agent: Caller) -> None:
    agent("tasks_create", title="other", parent="PLAN-001", steps=STEPS[:1])
    text = connect(clew, "gemini", "y").answer("resume").text
    assert "2 open tasks" in text and "TASK-001 envmerge (PLAN-001) 0/2" in text
    assert text.splitlines()[-1].startswith("next: resume task=TASK-")
    assert "TASK-002" in agent.answer("resume", task="PLAN-001").text


def test_the_json_form_says_the_same(agent: Caller) -> None:
    answer = agent.answer("resume", fmt="json")
    assert answer.envelope["result"]["text"] == agent.answer("resume").text


def test_records_that_were_not_read_are_counted(clew: Clew, agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "MOST_READ", 3)
    with Context(clew.dispatcher, agent.session, "ws", "generator").writing() as ctx:
        for number in range(6):
            write_block(ctx, "decision", number, f"choice {number}")
        write_block(ctx, "decision", 6, "given up", Status="revoked")
    text = agent.answer("resume", task="TASK-001").text
    assert "decisions (2 of 6)" in text and "more: 4 decisions" in text


def test_what_was_noted_about_the_step_in_hand_stands_in_its_line(clew: Clew) -> None:
    first = connect(clew, "claude", "one")
    first("start", title="Merge", steps=["reader", "writer"])
    first("remember", kind="note", text="half done: main() crashes on args.limit", step="s:0")
    first("remember", kind="note", text="The user is away until Monday")
    text = connect(clew, "codex", "two").answer("resume").text
    assert "now s:0 reader: noted: half done: main() crashes on args.limit" in text
    assert "The user is away until Monday" in text
    first("close", step="s:0", unproven="tried by hand")
    text = connect(clew, "codex", "three").answer("resume").text
    assert "now s:1 writer" in text and text.count("half done: main() crashes") == 1


def test_where_room_is_short_a_topic_does_not_stand_for_what_was_decided(clew: Clew) -> None:
    agent = connect(clew, "claude", "one")
    agent("start", title="Merge", steps=["reader"])
    tail = "and every caller that was not moved over keeps to the older one for as long as it runs, whatever it is"
    for number in range(8):
        text = f"Part {number} takes its time from wall clock {number}, {tail} that asks for part {number} of the day"
        agent("remember", kind="decision", text=text, title=f"Clock {number}")
    told = agent.answer("resume", max_chars=1000).text
    assert all(f"D-{number + 1} Part {number} takes its time from wall clock" in told for number in range(8))
    assert tail not in told


def test_after_the_last_task_what_is_unproven_and_open_is_still_told(clew: Clew) -> None:
    first = connect(clew, "claude", "one")
    first("start", title="Merge", steps=["reader; test: pytest -q", "writer; test: make check", "docs"])
    first("remember", text="May two files define one key?", kind="question")
    first("close", proof={"command": "pytest -q", "exit_code": 0})
    first("close", unproven="no compiler here")
    first("close", unproven="prose")
    first("remember", text="Keys are upper case", kind="rule")
    text = connect(clew, "codex", "two").answer("resume").text
    assert "0 open tasks" in text and "unproven (1)" in text
    assert "TASK-001 3 steps: 1 claimed (s:0); s:1 writer unproven: no compiler here; s:2 docs unproven: prose" in text
    assert "May two files define one key?" in text and "Keys are upper case" in text


def test_many_unproven_steps_of_the_past_are_counted_and_push_out_no_rule(clew: Clew) -> None:
    call = connect(clew, "claude", "one")
    call("start", title="Old", steps=[f"step number {number} of a long task" for number in range(40)])
    for _ in range(40):
        call("close", unproven="it was long ago")
    for number in range(10):
        call("remember", text=f"Rule {number}: the module of this number is read before it is changed", kind="rule")
    text = connect(clew, "codex", "two").answer("resume").text
    assert "TASK-001 40 steps: " in text and "and 37 more" in text and "rules (10)" in text


def test_an_empty_workspace_names_those_that_hold_something(clew: Clew) -> None:
    call = connect(clew, "claude", "one")
    call("remember", text="Keys are upper case", kind="rule", workspace="acme/api")
    text = call.answer("resume").text
    assert "This workspace is empty; others here: acme/api (" in text
    assert "Keys are upper case" in call.answer("resume", workspace="acme/api").text
    assert [row["workspace"] for row in call("workspace_list")["workspaces"]] == ["acme/api"]
    call("remember", text="Values are trimmed", kind="rule")
    assert "others here" not in call.answer("resume").text


def test_a_locked_server_names_no_other_workspace(make_clew: Callable[..., Clew]) -> None:
    connect(make_clew(), "claude", "one")("remember", text="Keys are upper case", kind="rule", workspace="acme/api")
    locked = connect(make_clew(workspace_lock=True), "claude", "two")
    assert "acme/api" not in locked.answer("resume").text and locked("workspace_list")["count"] == 0


def test_a_run_of_the_open_step_is_told_and_changes_what_is_next(clew: Clew, agent: Caller) -> None:
    seen(clew, "TASK-001", "s:0", "pytest -q", 1)
    text = agent.answer("resume", task="TASK-001").text
    assert "now s:0 parser: every row is read; test: pytest -q; so far FAILED: pytest -q -> exit 1" in text
    assert f"next: {clew_command('prove --task TASK-001 -- pytest -q')}" in text
    seen(clew, "TASK-001", "s:0", "pytest -q")
    text = agent.answer("resume", task="TASK-001").text
    assert "so far PROVEN: pytest -q -> exit 0" in text and text.endswith("next: close step=s:0")


DECIDED = [
    "The file that is named last wins over those before it; equal values of env files are no conflict",
    "A key that stands twice in one of the env files is told with the numbers of both its lines",
    "Comments in env files stay with the key that follows them, because people explain values above them",
    "Interpolation in env files is done after the merge, so a variable may be set in another of them",
    "Values of env files in single quotes are taken as they stand; a backslash means nothing in them",
    "The exit code is 2 for a conflict of env files and 1 for one that cannot be parsed at all",
    "The merged env files are sorted by key and end with one newline, which keeps diffs of them small",
    "The parser of env files works on bytes and decodes values at the end, to tell the place of a bad byte",
    "Windows line ends of env files are accepted, and written back where they were found",
    "Secrets of env files are masked in messages by the name of their key: TOKEN, KEY or PASSWORD",
    "The library for env files has no dependencies; only its command line uses argparse",
]


def crowd(agent: Caller, other: Caller) -> None:
    """A task with more than a resume can tell: rules, decisions, questions, lessons and proposals of another agent."""
    # A person's, so that replacing them waits for a person.
    person = at_page(agent.clew)
    decided = [person("remember", text=text, kind="decision", task="TASK-001")["id"] for text in DECIDED]
    for number in range(6):
        rule = f"Rule {number} of the project is about as long as most rules that people give their agents are"
        agent("remember", text=rule, kind="rule")
    for number in range(4):
        agent("remember", text=f"Question {number} about env files that nobody has answered so far?", kind="question")
        agent(
            "remember", text=f"Lesson {number}: env files of old projects hold bytes that are no UTF-8", kind="lesson"
        )
    for number in range(4):
        text = f"Proposal {number}: what was decided about env files is to be done in quite another way from now on"
        other("remember", text=text, kind="decision", replaces=[decided[number]])
    other("governance", review="all")
    for number in range(4):
        text = f"Suggestion {number}: env files are also to be read from place {number} when the user asks for it"
        other("remember", text=text, kind="decision", task="TASK-001")


@pytest.mark.parametrize("engine", ["sqlite"])
def test_proposals_leave_the_decisions_in_force_at_least_half_of_the_room(clew: Clew, agent: Caller) -> None:
    crowd(agent, connect(clew, "codex", "two"))
    for limit in range(1_700, 2_500, 100):
        text = connect(clew, "claude", "later").answer("resume", task="TASK-001", max_chars=limit).text
        records = text.partition("\ndecisions (")[2].partition("\nwaits: ")[0].splitlines()[1:]
        in_force = [line for line in records if line.startswith("  D-") and " proposed: Sugg" not in line]
        # The lines of the decisions in force, however their proposals are told, without what is told of these.
        told = sum(len(line.partition(" -> ")[0]) for line in in_force)
        assert 2 * told >= sum(map(len, records)), text
        assert len(in_force) >= (6 if limit >= 2_000 else 4), text


@pytest.mark.parametrize("engine", ["sqlite"])
def test_with_room_a_proposal_is_told_beside_what_it_would_replace(clew: Clew, agent: Caller) -> None:
    crowd(agent, connect(clew, "codex", "two"))
    text = connect(clew, "claude", "later").answer("resume", task="TASK-001", max_chars=8_000).text
    assert text.count(" proposed: Proposal ") == 4 and text.count(" proposed: Suggestion ") == 4
    assert sum(said[:40] in text for said in DECIDED) == len(DECIDED)
