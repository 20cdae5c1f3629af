"""Disputed and suspect records carry the same label in recall, resume, open, lists and views. On both engines."""

from clew.app import Clew
from tests.conftest import Caller
from tests.records.test_work import connected

ONE, OTHER = "The ledger uses SQLite as its database", "The ledger does not use SQLite as its database"


def shown(agent: Caller, id: str, query: str) -> dict[str, str]:
    """What each reader says of a record, in one line."""
    full = Caller(agent.clew)
    lists = {row["id"]: row["label"] for row in full("record_list", limit=200)["records"]}
    return {
        "recall": next(line for line in agent.lines("recall", query=query) if line.startswith(f"{id} ")),
        "resume": next(line for line in agent.lines("resume") if line.strip().startswith(f"{id} ")),
        "open": agent.lines("open", id=id)[0],
        "list": lists[id],
        "view": str(full("record_view", id=id)["label"]),
    }


def disputed(clew: Clew) -> tuple[Caller, str, str]:
    agent = connected(clew, "coder", "one")
    first = agent("remember", kind="decision", text=ONE, why="small")["id"]
    second = agent("remember", kind="decision", text=OTHER, why="big")
    person = Caller(clew)
    if second["proposal"]:
        person("approve_apply", proposal_id=second["proposal"], dry_run=False)
    return agent, first, second["id"]


def test_a_dispute_is_seen_by_every_reader_until_somebody_decides(clew: Clew) -> None:
    agent, first, second = disputed(clew)
    for id, other, text in ((first, second, ONE), (second, first, OTHER)):
        for reader, line in shown(agent, id, text).items():
            assert f"disputed with {other}" in line, reader
    assert f"disputed with {second}: {OTHER}" in agent.lines("open", id=first)
    person = Caller(clew)
    person.session = person.person
    person("retract", id=second, why="it was a mistake")
    assert all("disputed" not in line for line in shown(agent, first, ONE).values())


def test_one_dispute_is_one_item_of_the_inbox(clew: Clew) -> None:
    disputed(clew)
    full = Caller(clew)
    full("scan")
    items = full("inbox_list")["items"]
    assert [item["kind"] for item in items] == ["contradiction"], items


def test_a_record_whose_ground_fell_is_suspect_to_every_reader(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    fact = agent("remember", kind="fact", text="The disk is on NFS")["id"]
    middle = agent("remember", kind="decision", text="Lock with files", why="NFS", rests_on=[fact])["id"]
    text = "Poll the lock every second"
    last = agent("remember", kind="decision", text=text, why="no events", rests_on=[middle])["id"]
    agent("retract", id=fact, why="It is local")
    for reader, line in shown(agent, last, text).items():
        assert f"suspect: rests on {fact} (withdrawn)" in line, reader
    assert any(f"by {middle} > {fact}" in line for line in agent.lines("open", id=last))
    hit = Caller(clew)("recall", query=text)["results"][0]
    assert hit["suspect"] == {"rests_on": fact, "path": [last, middle, fact]}
    agent("restore", id=fact)
    assert all("suspect" not in line for line in shown(agent, last, text).values())


def test_a_premise_that_was_replaced_names_what_replaced_it(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    fact = agent("remember", kind="fact", text="The build takes four minutes")["id"]
    text = "Builds run at night"
    rule = agent("remember", kind="decision", text=text, why="slow", rests_on=[fact])["id"]
    newer = agent("remember", kind="fact", text="Since May a build takes one minute", replaces=[fact])["id"]
    for reader, line in shown(agent, rule, text).items():
        assert f"suspect: rests on {fact} (replaced by {newer})" in line, reader


def test_what_does_not_hold_is_found_by_those_only_who_ask_for_the_past(clew: Clew) -> None:
    agent = connected(clew, "coder", "one")
    old = agent("remember", kind="decision", text="Importers wait one second", why="simple")["id"]
    new = agent("remember", kind="decision", text="Importers wait with jitter", why="fair", replaces=[old])["id"]
    gone = agent("remember", kind="decision", text="Importers wait on Sundays", why="rest")["id"]
    agent("retract", id=gone, why="no")
    found = [hit["_id"] for hit in Caller(clew)("recall", query="how long do importers wait")["results"]]
    assert found[0] == new and not {old, gone} & set(found)
    past = agent.lines("recall", query="how long do importers wait", history=True)
    assert any(line.startswith(f"{old} (decision, replaced by {new}") for line in past)
    assert any(line.startswith(f"{gone} (decision, withdrawn") for line in past)
