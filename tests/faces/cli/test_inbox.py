"""`clew inbox, approve, reject`: what waits is listed with its command, and a person at a terminal answers it."""

from __future__ import annotations

import json

from tests.faces.cli.conftest import Shell
from tests.faces.cli.test_guards import answered


def proposed(clew: Shell, text: str, replaces: str) -> dict[str, str]:
    """A record that waits, because it takes the place of what another agent kept."""
    env = {"CLEW_AGENT_ID": "codex"}
    told = clew("remember", "-k", "rule", text, "--replaces", replaces, "--json", env=env).json["result"]
    assert told["state"] == "proposed"
    return {"record": told["id"], "proposal": told["proposal"]}


def rule(clew: Shell, text: str) -> str:
    kept = clew("remember", "-k", "rule", text, "--json", env={"CLEW_AGENT_ID": "claude"}).json["result"]
    return str(kept["id"])


def status(clew: Shell, id: str) -> str:
    return str(clew("call", "block_history", f"block_id={id}", "--json").json["result"]["status"])


def test_what_waits_is_listed_with_the_command_that_answers_it(clew: Shell) -> None:
    workspace = clew("inbox", "--json").json["result"]["workspace"]
    assert clew("inbox").out == f"You're all caught up in workspace {workspace}.\n"
    assert clew("inbox", "--later").out == f"Nothing was put off in workspace {workspace}.\n"
    waiting = proposed(clew, "Ring the bell every ten minutes in fog", rule(clew, "Ring the bell every hour in fog"))
    shown = clew("inbox").out
    assert waiting["proposal"] in shown and f"clew approve {waiting['proposal']}" in shown
    assert clew("inbox", "--json").json["result"]["counts"] == {"proposal": 1}
    resumed = clew("resume").out
    assert f"clew approve {waiting['proposal']}" in resumed


def test_a_person_approves_at_a_terminal_and_an_agent_in_its_shell_cannot(clew: Shell) -> None:
    old = rule(clew, "Ring the bell every hour in fog")
    waiting = proposed(clew, "Ring the bell every ten minutes in fog", old)
    for words in (("approve", waiting["proposal"]), ("reject", waiting["proposal"], "--reason", "no")):
        refused = clew(*words, stdin="y\n")
        assert refused.code != 0 and "person at a terminal" in refused.err
    assert status(clew, waiting["record"]) == "proposed"
    # The record's own id is enough: one proposal waits for it.
    assert answered(clew, "approve", waiting["record"]) == 0
    assert (status(clew, waiting["record"]), status(clew, old)) == ("active", "superseded")
    again = clew("approve", waiting["proposal"])
    assert again.code != 0 and "clew inbox" in again.err


def test_what_a_person_rejects_stays_rejected_with_the_reason(clew: Shell) -> None:
    old = rule(clew, "Ring the bell every hour in fog")
    waiting = proposed(clew, "Ring the bell every ten minutes in fog", old)
    assert answered(clew, "reject", waiting["proposal"], "--reason", "the keeper sleeps") == 0
    assert status(clew, old) == "active"
    assert "the keeper sleeps" in json.dumps(clew("open", waiting["proposal"], "--json").json)
    fact = clew("call", "share_fact", "text=The lamp burns oil", "--json").json["result"]["fact_id"]
    assert f"clew approve {fact}" in clew("inbox").out
    assert answered(clew, "approve", fact) == 0
    assert status(clew, fact) == "accepted"


def test_a_dispute_is_decided_with_both_sides_shown(clew: Shell) -> None:
    old = rule(clew, "Ring the bell every hour in fog")
    text = "Do not ring the bell every hour in fog"
    env = {"CLEW_AGENT_ID": "codex"}
    new = clew("remember", "-k", "rule", text, "--why", "the harbour sleeps", "--json", env=env).json["result"]
    assert new["state"] == "proposed"
    assert f"clew decide {new['proposal']} replace" in clew("inbox").out
    refused = clew("approve", new["id"])
    assert refused.code != 0 and f"clew decide {new['id']}" in refused.err
    unasked = clew("decide", new["id"], "replace", stdin="y\n")
    assert unasked.code != 0 and "person at a terminal" in unasked.err
    assert "Ring the bell every hour" in unasked.out and "the harbour sleeps" in unasked.out
    assert answered(clew, "decide", new["id"], "replace") == 0
    assert (status(clew, new["id"]), status(clew, old)) == ("active", "superseded")


def test_a_disputed_proposal_may_be_rejected(clew: Shell) -> None:
    old = rule(clew, "Ring the bell every hour in fog")
    new = clew("remember", "-k", "rule", "Do not ring the bell every hour in fog", "--json").json["result"]
    assert answered(clew, "reject", new["proposal"], "--reason", "the fog is thick") == 0
    assert (status(clew, new["id"]), status(clew, old)) == ("rejected", "active")


def test_the_digest_is_printed_in_sentences(clew: Shell) -> None:
    rule(clew, "Keep every *.log for a year")
    assert "- set the rule “Keep every *.log for a year”" in clew("digest", "--since", "today").out
    assert "- set the rule *Keep every" in clew("digest", "--since", "1 hour", "--markdown").out
    refused = clew("digest", "--since", "the other day")
    assert refused.code != 0 and "since" in refused.err
