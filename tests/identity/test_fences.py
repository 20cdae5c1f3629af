"""Three principals with four sets of scopes beside two workspaces: nothing is read or written across, by any operation,
resource, prompt or completion. tests/identity/test_routes.py asks the same of the routes of a server.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import Clew
from clew.canonical import canonical
from clew.errors import ClewError
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.connection import Connection
from clew.registry.credentials import Principal, Scope
from tests.conftest import Caller
from tests.contract import lived_in

OTHERS, OWN, CANARY = "payroll-7", "web", "zebrafish"
SCOPES: tuple[frozenset[Scope], ...] = (
    frozenset({"read"}),
    frozenset({"write"}),
    frozenset({"read", "write"}),
    frozenset({"read", "write", "approve", "admin"}),
)
NAMES = ("intern", "ci", "@ann")
LONG = frozenset({"model_pull", "model_use", "notebook_install_deps", "notebook_run_cell"})
"""They download or run something, and say nothing of a workspace but their own."""


def marked(value: Any) -> Any:
    """The same with the canary in every piece of prose."""
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return f"{value} {CANARY}" if isinstance(value, str) and " " in value else value


@pytest.fixture(scope="module")
def clew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    home = tmp_path_factory.mktemp("fences")
    found = lived_in.open(home, embedding_model="none")
    for workspace in (OTHERS, OWN):
        call = Caller(found)
        more = [
            ("remember", {"text": f"Salaries are paid on day {len(workspace)}", "kind": kind})
            for kind in ("decision", "rule", "fact", "lesson", "question", "note")
        ]
        for name, arguments in (("init", {}), *lived_in.HISTORY, *more):
            given = marked(arguments) if workspace == OTHERS else arguments
            answer = call.answer(name, **{**given, "workspace": workspace})
            assert answer.ok, (name, answer.envelope["error"])
    yield found
    found.close()


def state(clew: Clew, workspace: str, tables: str = "") -> dict[str, str]:
    """A digest of what a workspace holds, by table and file."""
    found = {}
    with clew.database.read() as tx:
        names = [row["name"] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            columns = {row["name"] for row in tx.all(f"PRAGMA table_info({name})")}
            key = "workspace" if "workspace" in columns else "id" if name == "workspace" else ""
            if key and name.startswith(tables):
                rows = sorted(map(repr, tx.tuples(f"SELECT * FROM {name} WHERE {key} = ?", workspace)))
                found[name] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    for file in sorted((clew.settings.home / "workspaces" / workspace).rglob("*")) if not tables else ():
        if file.is_file():
            found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def variants(entry: OperationEntry, ids: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The example of an operation, aimed at the other workspace in every way that its arguments allow."""
    yield entry.name, entry.example
    yield entry.name, {**entry.example, "workspace": OTHERS}
    yield "op_call", {"name": entry.name, "arguments": {**entry.example, "workspace": OTHERS}}
    yield "op_call", {"name": entry.name, "arguments": entry.example, "workspace": OTHERS}
    for name, schema in entry.input_schema.get("properties", {}).items():
        kinds = {form.get("type") for form in (schema, *schema.get("anyOf", ()))}
        for id in (OTHERS, *ids) if "string" in kinds else ():
            yield entry.name, {**entry.example, name: id}
        if "array" in kinds:
            yield entry.name, {**entry.example, name: [OTHERS, *ids]}


def ids_of(clew: Clew) -> list[str]:
    """Ids that only the other workspace has."""
    call = Caller(clew)
    session = call("session_list", workspace=OTHERS, limit=1)["sessions"][0]["id"]
    return [session]


def answered(clew: Clew, principal: Principal, name: str, arguments: dict[str, Any]) -> str:
    connection = Connection("full", durable=False, client="probe", principal=principal, person=principal.decides)
    answer = clew.dispatcher.call(name, arguments, connection)
    return canonical([answer.envelope, answer.text, answer.lines])


# First: later tests leave the name in what they search for.
@pytest.mark.parametrize("name", NAMES)
def test_no_operation_names_a_workspace_that_the_token_does_not(clew: Clew, name: str) -> None:
    principal = Principal(name, SCOPES[-1], (OWN,), "tok-1")
    for entry in catalogue().operations:
        if entry.name not in LONG:
            assert OTHERS not in answered(clew, principal, entry.name, entry.example), entry.name


@pytest.mark.parametrize(("name", "scopes"), list(itertools.product(NAMES, SCOPES)))
def test_no_operation_reads_or_writes_across(clew: Clew, name: str, scopes: frozenset[Scope]) -> None:
    principal = Principal(name, scopes, (OWN,), "tok-1")
    before, mine = state(clew, OTHERS), state(clew, OWN, "event")
    ids, found = ids_of(clew), []
    for entry in catalogue().operations:
        for called, arguments in variants(entry, ids) if entry.name not in LONG else ():
            told = answered(clew, principal, called, arguments)
            if CANARY in told:
                found.append((called, arguments, told[:2000]))
    after = state(clew, OTHERS)
    assert not found, (len(found), found[:3])
    assert after == before, {key for key in after.keys() | before.keys() if after.get(key) != before.get(key)}
    if "write" not in scopes:
        assert state(clew, OWN, "event") == mine, "a token that may only read has written"


@pytest.mark.parametrize(("name", "scopes"), list(itertools.product(NAMES, SCOPES)))
def test_no_resource_prompt_or_completion_reads_across(clew: Clew, name: str, scopes: frozenset[Scope]) -> None:
    session, before = ids_of(clew)[0], state(clew, OTHERS)
    values = {"sessionId": session, "thoughtNumber": "1", "query": "salaries", "start": "1", "end": "5", "type": "H"}
    for override in (None, OTHERS):
        connection = Connection("full", override, durable=False, client="probe")
        connection.principal = Principal(name, scopes, (OWN,), "tok-1")
        for told in spoken(clew, connection, {**values, "id": "1", "tag": OTHERS, "model": "x"}):
            assert CANARY not in told, told[:2000]
    assert state(clew, OTHERS) == before


def spoken(clew: Clew, connection: Connection, values: dict[str, str]) -> Iterator[str]:
    dispatcher = clew.dispatcher
    for entry in catalogue().resources:
        uri = entry.uri
        for key, value in values.items():
            uri = uri.replace("{" + key + "}", value)
        yield said(lambda uri=uri: dispatcher.read_resource(uri, connection).text)
        for argument in values:
            yield said(lambda uri=entry.uri, name=argument: dispatcher.complete("resource", uri, name, "", connection))
    for prompt in catalogue().prompts:
        given = {argument["name"]: values.get(argument["name"], "salaries") for argument in prompt.arguments}
        yield said(lambda prompt=prompt, given=given: str(dispatcher.get_prompt(prompt.name, given, connection)))
        for argument in given:
            yield said(lambda ref=prompt.name, name=argument: dispatcher.complete("prompt", ref, name, "", connection))


def said(ask: Any) -> str:
    try:
        return str(ask())
    except ClewError as refusal:
        return str(refusal.to_dict())


def test_the_canary_is_there_to_be_found(clew: Clew, tmp_path: Path) -> None:
    """Somebody who may see it does: otherwise the tests above prove nothing."""
    connection = Connection("full", durable=False, principal=Principal("boss", frozenset({"read"}), (OTHERS,), "tok-2"))
    seen = 0
    for entry in catalogue().operations:
        if entry.read_only and entry.name not in LONG:
            seen += CANARY in clew.dispatcher.call(entry.name, entry.example, connection).text
    assert seen > 30
