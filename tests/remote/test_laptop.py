"""A laptop without a database, whose memory is kept by a team's server behind TLS with an authority of its own."""

from __future__ import annotations

import json
from typing import Any

from clew.faces.hooks.client_events import UNCHECKED
from clew.faces.hooks.spool import has_any
from clew.guarded_places import read_place
from tests.faces.resident.shims import Shim
from tests.faces.web.server import Server
from tests.remote.conftest import SHARED, WORKSPACE, Laptop, Team
from tests.waiting import until

FORCE = "git push --force"
GUARD = {"commands": ["git push * --force"], "action": "deny", "message": "Use --force-with-lease."}


def result(laptop: Laptop, name: str, /, **arguments: Any) -> Any:
    ran = laptop.clew("call", name, "--json", json.dumps(arguments))
    assert ran.code == 0, ran.err
    found = ran.json
    return found.get("result", found)


def approver(team: Team) -> str:
    return team.token("@ines", "read", "write", "approve")


def guarded(laptop: Laptop, guard: dict[str, Any] = GUARD) -> str:
    """A rule of the team whose guard a person has approved."""
    rule = result(laptop, "remember", text="A shared branch is never rewritten", kind="rule", guard=guard)["id"]
    done = laptop.clew("guards", "approve", str(rule), CLEW_PERSON_TOKEN=approver(laptop.team))
    assert done.code == 0, done.err
    # As clients do; the first session on a machine learns there what the server guards.
    until(lambda: laptop.agent().fire("session-start", source="startup") and place_is_noted(laptop))
    return str(rule)


def place_is_noted(laptop: Laptop) -> bool:
    place = read_place(str(laptop.home), str(laptop.project))
    return place is not None and place.is_strict


def test_what_one_laptop_keeps_is_read_by_the_team_and_nothing_is_kept_on_it(laptop: Laptop, team: Team) -> None:
    assert laptop.clew("remember", "-k", "decision", "Retries use exponential backoff").code == 0
    assert "exponential backoff" in laptop.clew("recall", "retries backoff").out
    laptop.clew("start", "Parse env files", "-s", "parser")
    assert "Parse env files" in laptop.clew("resume").out
    kept = team.server.call("recall", {"authorization": f"Bearer {SHARED}"}, query="backoff", workspace=WORKSPACE)
    assert "exponential backoff" in json.dumps(kept["result"])
    assert laptop.has_no_store()


def test_a_guard_of_the_server_refuses_on_the_laptop(laptop: Laptop) -> None:
    rule = guarded(laptop)
    heard = laptop.agent().wants(FORCE)
    assert heard.decision == "deny" and rule in heard.reason
    assert laptop.agent().wants("git push --force-with-lease").decision == ""
    assert laptop.has_no_store()


def test_with_the_server_down_what_a_guard_refuses_is_put_before_the_user(laptop: Laptop, team: Team) -> None:
    guarded(laptop)
    team.proxy.cut()
    heard = laptop.agent(seconds=None).wants(FORCE)
    assert (heard.decision, heard.reason) == ("ask", UNCHECKED["reason"])
    assert laptop.agent(seconds=None).fire("prompt", prompt="What about retries?").context == ""


def test_a_run_on_the_laptop_proves_a_step_and_closes_it(laptop: Laptop) -> None:
    laptop.clew("start", "Parse env files", "-s", "parser; test: python3 test_parser.py")
    proven = laptop.clew("prove", "--", "python3", "test_parser.py")
    assert proven.code == 0 and "is proven" in proven.err
    assert laptop.clew("close").code == 0
    receipt = result(laptop, "tasks_proofs", task="TASK-001")["steps"]
    assert [(row["state"], row["completed"]) for row in receipt] == [("proven", True)]


def test_a_proof_and_what_hooks_saw_while_the_server_was_down_come_later(laptop: Laptop, team: Team) -> None:
    laptop.clew("start", "Parse env files", "-s", "parser; test: python3 test_parser.py")
    laptop.agent().fire("session-start", source="startup")
    team.proxy.cut()
    kept = laptop.clew("prove", "--", "python3", "test_parser.py")
    assert kept.code == 0 and "sent to it later" in kept.err, kept.err
    laptop.agent().runs("terraform plan", error="main.tf:3: error: no such name")
    assert has_any(str(laptop.home))
    team.proxy.fix()
    until(lambda: laptop.clew("status").code == 0 and not has_any(str(laptop.home)))
    assert not (laptop.home / "spool" / "refused.jsonl").exists()
    [step] = result(laptop, "tasks_proofs", task="TASK-001")["steps"]
    assert step["state"] == "proven"
    laptop.agent().fire("pre-compact", trigger="auto")
    assert "terraform plan" in laptop.agent().fire("session-start", source="compact").context
    assert laptop.has_no_store()


def test_people_approve_with_a_token_of_their_own_and_agents_do_not(laptop: Laptop, team: Team) -> None:
    first = result(laptop, "remember", text="Carts are kept in Redis", kind="rule")["id"]
    again = result(laptop, "remember", text="Orders are kept in PostgreSQL", kind="rule", replaces=[first])
    proposal = again["proposal"]
    assert proposal in laptop.clew("inbox").out
    refused = laptop.clew("approve", proposal)
    assert refused.code != 0 and "person" in refused.err
    weak = laptop.clew("approve", proposal, CLEW_PERSON_TOKEN=team.token("bot", "read", "write"))
    assert weak.code == 1 and "no valid token of a person" in weak.err
    assert laptop.clew("approve", proposal, CLEW_PERSON_TOKEN=approver(team)).code == 0
    events = laptop.clew("call", "events_list", "types=proposal_applied").json["events"]
    assert [event["agent"] for event in events] == ["@ines"]


def test_a_server_that_is_not_reached_or_not_trusted_is_said_so(laptop: Laptop, team: Team) -> None:
    untrusted = laptop.clew("recall", "retries", CLEW_CA_FILE="")
    assert untrusted.code == 3 and "CLEW_CA_FILE" in untrusted.err
    revoked = laptop.clew("recall", "retries", CLEW_TOKEN_FILE="", CLEW_TOKEN="clew_" + "wrong")
    assert revoked.code == 1 and "does not know this token" in revoked.err
    assert "https" in laptop.clew("recall", "x", CLEW_SERVER="http://clew.example.com").err
    local = laptop.clew("backup", "copy.db")
    assert local.code == 1 and "Run it on the server" in local.err
    team.proxy.cut()
    down = laptop.clew("remember", "-k", "note", "kept nowhere")
    assert down.code == 3 and "does not answer" in down.err


def test_a_token_for_another_workspace_reads_nothing_of_this_one(laptop: Laptop, team: Team) -> None:
    laptop.clew("remember", "-k", "decision", "Retries use exponential backoff")
    laptop.token = team.token("intern", workspaces=("web",))
    refused = laptop.clew("recall", "backoff")
    assert refused.code == 1 and "WORKSPACE_NOT_ALLOWED" in refused.err


def test_a_run_that_a_hook_saw_on_the_laptop_proves_the_step(laptop: Laptop) -> None:
    with Shim(laptop.home, cwd=laptop.project, **laptop.environ(), CLEW_WORKSPACE="") as client:
        client.open(clientInfo={"name": "claude-code", "version": "1"})
        client.call("start", title="Parse env files", steps=["parser; test: python3 test_parser.py"])
    agent = laptop.agent()
    until(lambda: "Parse env files" in agent.fire("session-start", source="compact").context)
    agent.runs("python3 test_parser.py", "")
    [step] = result(laptop, "tasks_proofs", task="TASK-001")["steps"]
    assert step["state"] == "proven"
    [receipt] = step["repeat"]
    assert "parser.py" in result(laptop, "open", id=receipt)["receipt"]["files"]


def test_a_guard_of_files_sees_what_a_command_means_on_the_laptop(laptop: Laptop) -> None:
    (laptop.project / "migrations").mkdir()
    (laptop.project / "migrations" / "0001.sql").write_text("SELECT 1;\n")
    guard = {"paths": ["migrations/*.sql"], "action": "deny", "message": "Migrations stay."}
    guarded(laptop, guard)
    for command in ("rm migrations/0*", "rm -rf migrations", f"rm {laptop.project}/migrations/0001.sql"):
        assert laptop.agent().wants(command).decision == "deny", command
    assert laptop.agent().wants("rm -rf build").decision == ""
    edit = {"file_path": str(laptop.project / "migrations/0001.sql"), "old_string": "1", "new_string": "2"}
    assert laptop.agent().tool("pre-tool", "Edit", edit).decision == "deny"


def test_an_mcp_client_on_the_laptop_speaks_to_the_server_through_clew_serve(laptop: Laptop, team: Team) -> None:
    with Shim(laptop.home, cwd=laptop.project, **laptop.environ(), CLEW_WORKSPACE="") as client:
        client.open()
        client.call("remember", text="Retries use exponential backoff", kind="decision")
        client.call("start", title="Parse env files", steps=["parser"])
        assert "Parse env files" in str(client.call("resume"))
        team.server.stop()
        refused = client.ask("tools/call", name="recall", arguments={"query": "backoff"})["result"]
        assert refused["isError"] and "does not answer" in str(refused)
        port = team.server.address.rpartition(":")[2]
        again = {"CLEW_TOKEN": SHARED, "CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false"}
        team.server = Server(team.home, port, laptop.place, **again)
        assert "exponential backoff" in str(client.call("recall", query="backoff"))
        assert "TASK-001" in str(client.call("resume")), "the connection is still itself"
    assert laptop.has_no_store()


def test_connect_writes_where_the_server_is_and_where_the_token_lies_but_not_the_token(laptop: Laptop) -> None:
    shown = laptop.clew("connect", "claude", "--print", "--json").out
    for told in ("CLEW_SERVER", "CLEW_CA_FILE", "CLEW_TOKEN_FILE"):
        assert told in shown
    assert laptop.token not in shown


def test_the_server_can_be_named_in_the_data_directory_with_a_file_for_the_token(laptop: Laptop, team: Team) -> None:
    environ = laptop.environ()
    lines = [
        f'server = "{team.proxy.address}"',
        f'ca_file = "{team.authority}"',
        f'token_file = "{laptop.place}/token"',
    ]
    (laptop.home / "clew.toml").write_text("\n".join(lines))
    assert "ok server" in " ".join(laptop.clew("doctor", **dict.fromkeys(environ, "")).out.split())
    (laptop.project / "clew.toml").write_text(f'token_file = "{laptop.place}/token"')
    assert "no setting" in laptop.clew("status").err
