"""Who may change what: rules and preferences are the user's, a person's records that person's, the rest the agents'."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clew.app import Clew
from clew.registry.connection import Connection
from tests.conftest import Caller
from tests.people import decide, person


def agent(clew: Clew, client: str, session: str = "") -> Caller:
    caller = Caller(clew)
    caller.session = Connection(toolset="full", client=client, handle=session or client)
    return caller


@pytest.mark.parametrize("kind", ["rule", "preference"])
def test_an_agent_only_proposes_to_change_a_rule_even_its_own(clew: Clew, kind: str) -> None:
    one = agent(clew, "one")
    rule = one("remember", text="Commit messages are in English", kind=kind)["id"]
    for caller in (one, agent(clew, "one"), agent(clew, "two")):
        replacing = caller(
            "remember", text=f"Commit messages are in Latin, says {caller.session.handle}", kind=kind, replaces=[rule]
        )
        assert replacing["state"] == "proposed"
        withdrawn = caller("retract", id=rule, why="nobody reads them")
        assert withdrawn["status"] == "proposed" and withdrawn["waits_for"]
        assert one("open", id=rule)["status"] == "active"
    assert decide(clew, "approve_apply", proposal_id=withdrawn["waits_for"], dry_run=False).ok
    assert one("open", id=rule)["status"] == "retracted"
    assert one("restore", id=rule)["waits_for"], "nor does an agent bring back what a person withdrew"


@pytest.mark.parametrize("kind", ["decision", "fact", "lesson"])
def test_any_agent_changes_what_an_agent_wrote(clew: Clew, kind: str) -> None:
    one, two = agent(clew, "one"), agent(clew, "two")
    first = one("remember", text="The parser reads a line at a time", kind=kind)["id"]
    second = two("remember", text="The parser reads whole files", kind=kind, replaces=[first])
    assert second["state"] == "kept" and one("open", id=first)["status"] == "superseded"
    assert one("retract", id=second["id"], why="It is too slow")["waits_for"] is None
    assert one("open", id=second["id"])["status"] != "active"


def test_what_a_person_wrote_edited_or_approved_is_the_persons(clew: Clew) -> None:
    one = agent(clew, "one")
    written = decide(clew, "remember", text="Releases are cut on Tuesdays", kind="decision", fmt="json").envelope[
        "result"
    ]["id"]
    proposed = one("propose_update", block_type="decision", statement="Logs are kept for ten days")
    decide(clew, "approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    for id in (written, proposed["block_id"]):
        assert one("retract", id=id, why="no")["waits_for"]
        assert one("remember", text=f"Something else than {id}", kind="decision", replaces=[id])["state"] == "proposed"
        assert one("open", id=id)["status"] == "active"
    answer = clew.dispatcher.call("retract", {"id": written, "why": "On Wednesdays"}, person("@bo"))
    assert answer.envelope["result"]["waits_for"] is None, "a person changes it at once"


def test_what_waits_is_withdrawn_by_its_own_agent_only(clew: Clew) -> None:
    one, two = agent(clew, "one"), agent(clew, "two")
    one("remember", text="Carts are kept in Redis", kind="decision")
    waiting = one("remember", text="Carts are not kept in Redis", kind="decision")["id"]
    assert two("retract", id=waiting, why="no")["waits_for"]
    assert one("open", id=waiting)["status"] == "proposed"
    assert agent(clew, "one")("retract", id=waiting, why="no")["waits_for"] is None


@pytest.mark.parametrize("kind", ["rule", "preference"])
def test_undo_and_restore_are_no_way_around_a_person(make_clew: Callable[..., Clew], tmp_path: Path, kind: str) -> None:
    """What waited and was undone never held; what is the user's is neither undone nor brought back after a removal."""
    clew = make_clew(memory_dir=tmp_path)
    one = agent(clew, "one")
    held = one("remember", text="Never push to the main branch", kind=kind)["id"]
    waiting = one("remember", text="Push to the main branch whenever you like", kind=kind, replaces=[held])
    assert waiting["state"] == "proposed"
    one("undo")
    assert "never held" in one.error("restore", id=waiting["id"])["message"]
    assert agent(clew, "one", "later").error("undo", event=held)["details"]["rule"] == "person"
    assert one("open", id=held)["status"] == "active"
    file = next(path for path in tmp_path.rglob("*.md") if f"[{held}]" in path.read_text())
    file.write_text(file.read_text().partition(f"[{held}]")[0])
    assert one("open", id=held)["status"] == "removed"
    assert one.error("restore", id=held)["details"]["rule"] == "person"
    assert decide(clew, "restore", id=held).ok and one("open", id=held)["status"] == "active"


@pytest.mark.parametrize("kind", ["rule", "preference"])
def test_the_session_that_kept_a_rule_may_undo_that(clew: Clew, kind: str) -> None:
    one = agent(clew, "one")
    held = one("remember", text="Never push to the main branch", kind=kind)["id"]
    one("undo")
    assert one("open", id=held)["status"] == "removed"
