"""recall as an agent calls it: narrowed to kinds, with or without what no longer holds."""

from __future__ import annotations

import pytest

from clew.app import Clew
from clew.project_files import take_snapshot
from tests.conftest import Caller
from tests.records.test_work import at_page, connected
from tests.tasks.test_receipts import covering, prove

SAID = {
    "rule": "Retries of the importer are counted",
    "lesson": "Retries of the importer hide slow disks",
    "question": "May retries of the importer be endless",
    "evidence": "Retries of the importer fell by half",
    "thought": "Retries of the importer look like load",
}


@pytest.fixture
def agent(clew: Clew) -> Caller:
    caller = connected(clew, "coder", "one")
    caller("start", title="Retries of the importer", steps=["retries of the importer"])
    for kind, text in SAID.items():
        caller("remember", text=text, kind=kind)
    return caller


def kinds(lines: list[str]) -> set[str]:
    return {line.partition("(")[2].partition(",")[0] for line in lines}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["rule"], {"rule"}),
        (["rules", "gotcha"], {"rule", "lesson"}),
        ("question", {"question"}),
        (["evidence", "thought"], {"evidence", "thought"}),
        (["task", "step"], {"task", "step"}),
    ],
)
def test_a_search_is_narrowed_to_kinds_in_the_words_people_use(
    agent: Caller, asked: str | list[str], found: set[str]
) -> None:
    assert kinds(agent.lines("recall", query="retries of the importer", kinds=asked)) == found


def test_an_unknown_kind_is_refused_with_the_nearest(agent: Caller) -> None:
    answer = agent.answer("recall", query="retries of the importer", kinds=["lesons", "rule"])
    assert not answer.ok
    way = answer.envelope["suggestions"][0]
    assert way["params"]["kinds"] == ["lesson", "rule"]
    assert kinds(agent.lines(way["target"], **way["params"])) == {"rule", "lesson"}


def test_history_shows_what_was_replaced_in_its_place(agent: Caller) -> None:
    old = agent("remember", text="Importers wait one second", kind="decision", why="simple")["id"]
    new = agent("remember", text="Importers wait with jitter", kind="decision", why="fair", replaces=old)["id"]
    now = agent.lines("recall", query="Importers wait one second", kinds=["decision"])
    assert now[0].startswith(f"{new} (decision, in force") and f"(replaces {old}: Importers wait one second" in now[0]
    assert not any(line.startswith(f"{old} ") for line in now)
    past = agent.lines("recall", query="Importers wait one second", kinds=["decision"], history=True)
    assert past[0].startswith(f"{old} (decision, replaced by {new}, ")
    assert any(line.startswith(f"{new} (decision, in force") for line in past)


def test_a_kind_that_is_asked_for_shows_what_holds_in_place_of_what_was_replaced(agent: Caller) -> None:
    person = at_page(agent.clew)
    old = agent("remember", text="Importers sleep nine seconds between tries", kind="rule")["id"]
    new = person("remember", text="Backoff grows by itself", kind="decision", why="fair", replaces=old)["id"]
    taken = agent("remember", text="Importers sleep on Sundays", kind="rule")["id"]
    person("retract", id=taken, why="it was a joke")
    query = "Importers sleep nine seconds"
    now = agent.lines("recall", query=query, kinds=["rule"])
    assert now[0].startswith(f"{new} (decision, in force") and f"(replaces {old}: " in now[0]
    assert not any(line.startswith((f"{old} ", f"{taken} ")) for line in now)
    past = agent.lines("recall", query=query, kinds=["rule"], history=True)
    assert {old, taken} <= {line.split()[0] for line in past}


def test_what_is_known_stands_before_steps_and_proofs(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("start", title="Which Python version the tool needs", steps=["check which Python version it needs"])
    coder("close", proof={"command": "python -m pytest -k version", "exit_code": 0})
    fact = coder("remember", kind="fact", text="Python 3.11 is needed, for fromisoformat takes a trailing Z since then")
    found = coder.lines("recall", query="which Python version")
    assert found[0].startswith(fact["id"])
    assert {"step", "task"} & kinds(coder.lines("recall", query="which step checks the Python version"))


def test_work_is_found_where_nothing_is_known(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("remember", kind="rule", text="Lanterns are lit at dusk")
    coder("start", title="Move the harbour crane", steps=["grease the harbour crane"])
    assert kinds(coder.lines("recall", query="harbour crane")) <= {"task", "step", "plan"}
    assert coder.lines("recall", query="harbour crane")[0].startswith(("TASK-", "STEP-"))


def test_an_author_is_who_wrote_and_not_whom_the_text_names(clew: Clew) -> None:
    coder = connected(clew, "coder", "one")
    coder("remember", kind="decision", text="Output is JSON lines", why="User: it is fed to a collector.")
    coder("remember", kind="note", text="Person: the output may be compressed")
    for line in coder.lines("recall", query="what is the output"):
        assert ", coder" in line.partition(")")[0]


def test_what_would_be_replaced_says_so_until_a_person_decides(clew: Clew) -> None:
    coder, reviewer = connected(clew, "coder", "one"), connected(clew, "reviewer", "two")
    old = at_page(clew)("remember", kind="decision", text="Times are read in the local zone", why="People read them.")
    args = {"text": "Times are read in UTC alone", "why": "Logs come from everywhere.", "replaces": old["id"]}
    new = reviewer("remember", kind="decision", **args)
    assert new["state"] == "proposed"
    line = next(line for line in coder.lines("recall", query="local zone of times") if line.startswith(old["id"]))
    assert f"{new['id']} is proposed in its place, and waits for a person: Times are read in UTC alone" in line
    refused = coder.error("retract", id=old["id"], why="The reviewer is right.", replaced_by=new["id"])
    assert refused["code"] == "CONFLICT" and f"clew approve {new['id']}" in refused["recovery"]
    assert coder("open", id=old["id"], fmt="json")
    assert "in force" in coder.lines("open", id=old["id"])[0]


PROJECT = {
    "Clock": ("Time is taken from a callable that is passed in", "state outlives the process"),
    "State layout": ("Each limiter has a file of its own", "one lock for all was slow"),
    "Crash-safe writes": ("A temporary file is renamed over the old state", "a reader never sees half of it"),
    "Limit format": ("A number may stand before a short unit", "ten in thirty seconds could not be said"),
    "Exact window": ("The window keeps a log of all hits", "two counters were approximate"),
    "Docstrings": ("Docstrings are required of public functions", ""),
    "Default": ("The bucket is the default algorithm", "its state is of constant size"),
}


@pytest.fixture
def keeper(clew: Clew) -> Caller:
    caller = connected(clew, "coder", "one")
    for title, (text, why) in PROJECT.items():
        caller("remember", kind="decision", title=title, text=text, **({"why": why} if why else {}))
    return caller


def test_a_line_tells_title_what_and_why_apart(keeper: Caller) -> None:
    (line, *_) = keeper.lines("recall", query="which clock is used")
    what = "Clock: Time is taken from a callable that is passed in. Why: state outlives the process"
    assert line == f"D-1 (decision, in force, today, coder): {what}"
    (line, *_) = keeper.lines("recall", query="docstrings of public functions")
    assert line.endswith("): Docstrings are required of public functions"), "the title begins the text"
    listed = keeper.lines("recall", query="our decisions")
    assert listed[0].endswith("Default: The bucket is the default algorithm. Why: its state is of constant size")


def test_hits_behind_a_clear_one_are_short_and_those_far_behind_are_only_named(keeper: Caller) -> None:
    asked = {"query": "the temporary file that is renamed over the state", "limit": 10}
    hits = keeper("recall", **asked)["results"]
    lines = keeper.lines("recall", **asked)
    behind = {hit["_id"]: hits[0]["score"] - hit["score"] for hit in hits}
    named = [line.partition(" ")[0] for line in lines if not line.startswith("also, weakly related: ")]
    far = [id for id, gap in behind.items() if gap > 4.5]
    assert named == [id for id, gap in behind.items() if gap <= 4.5] and named[0] == "D-3" and far
    assert lines[-1] == f"also, weakly related: {', '.join(far)}"
    for line in lines[:-1]:
        assert (", weak): " in line) == (behind[line.partition(" ")[0]] > 2), line
    assert all(len(line) < 180 for line in lines if ", weak)" in line)


def test_candidates_are_not_passed_off_as_an_answer(keeper: Caller) -> None:
    for query in ("who pays for the clock", "how many readers quit"):
        answer = keeper("recall", query=query)
        assert answer["confidence"] == "weak" and answer["results"], query
        lines = keeper.lines("recall", query=query)
        assert lines[0] == "nothing clearly answers this; the nearest:"
        assert 2 <= len(lines) <= 5 and all(", weak): " in line for line in lines[1:4])
    assert not keeper.lines("recall", query="limit format")[0].startswith("nothing")


def test_a_step_says_how_far_it_is_proven_now(keeper: Caller) -> None:
    root = keeper.clew.settings.project_root
    (root / "reader.py").write_text("x = 1\n")
    keeper("start", title="Read", steps=["parser of lines; keeps quotes; test: make test", "printer"])
    prove(keeper.clew, "TASK-001", "s:0", **covering(take_snapshot(root, ["reader.py"])))
    keeper("close", step="s:0")
    told = "parser of lines (s:0 of TASK-001); done when: keeps quotes; test: make test"
    ask = {"query": "step parser of lines"}
    assert keeper.lines("recall", **ask)[0] == f"STEP-00000001 (step, done, seen, today): {told}"
    (root / "reader.py").write_text("x = 2 + 3\n")
    assert keeper.lines("recall", **ask)[0].startswith("STEP-00000001 (step, done, seen, stale, today): ")
    assert any(line.startswith("TASK-001 (task, TODO 1/2") for line in keeper.lines("recall", query="task Read"))


def test_stale_proofs_of_the_task_that_ended_last_are_told_where_work_begins(keeper: Caller) -> None:
    root = keeper.clew.settings.project_root
    (root / "reader.py").write_text("x = 1\n")
    for title in ("Read", "Write"):
        keeper("start", title=title, steps=["parser; test: make test"])
        task = "TASK-001" if title == "Read" else "TASK-002"
        prove(keeper.clew, task, "s:0", **covering(take_snapshot(root, ["reader.py"])))
        keeper("close", task=task, step="s:0")
    assert not any("stale" in line for line in keeper.lines("resume"))
    (root / "reader.py").write_text("x = 2 + 3\n")
    told = [line for line in keeper.lines("resume") if "stale" in line]
    assert len(told) == 1 and told[0].strip().startswith("TASK-002 1 step: 1 stale (s:0); "), told
    assert "prove --task TASK-002 --again --stale" in told[0]


def test_what_is_only_proposed_has_replaced_nothing(keeper: Caller) -> None:
    first = keeper("remember", text="Ties of words are broken by length", kind="decision", why="Simple.")
    text = "Ties of words are broken by alphabet"
    held = at_page(keeper.clew)("remember", text=text, kind="decision", replaces=first["id"])
    other = connected(keeper.clew, "codex", "two")
    wish = other("remember", text="Ties of words are broken by first use", kind="decision", replaces=held["id"])
    assert (held["state"], wish["state"]) == ("kept", "proposed")
    found = {hit["_id"]: hit for hit in keeper("recall", query="ties of words broken by length")["results"]}
    assert [old["_id"] for old in found[held["id"]]["replaces"]] == [first["id"]]
    assert "replaces" not in found.get(wish["id"], {})
    lines = keeper.lines("recall", query="ties of words broken by length")
    assert lines[0].startswith(held["id"]), "what holds stands above what is only proposed"
