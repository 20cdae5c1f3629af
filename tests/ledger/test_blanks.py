"""Optional arguments filled with nothing count as left out: over every operation that the gateway leads to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from clew.app import Clew
from clew.contracts.thoughtbox.gateway import served, wire_name
from clew.registry.catalogue import OperationEntry
from clew.registry.lookup import find_operation
from tests.contract import lived_in
from tests.contract.wire import Here

BLANKS: tuple[Any, ...] = (0, "", [])
FETCHES = {"notebook_install_deps"}
"""It asks a registry, and its own tests give it one."""
IN_LISTS = {"keyMoments": {"thoughtNumber": 1}}
"""What an object inside of a list needs besides."""
MEANT = [(name, 0) for name in ("max_chars", "cursor", "includeMetadata", "resolveAnchors")]
"""0 that says something: the smallest budget, the beginning, no."""
ENTRIES = [entry for entry in served() if entry.name not in FETCHES]
Place = tuple[str, ...]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    home = tmp_path_factory.mktemp("blanks")
    clew = lived_in.open(Path(home), embedding_model="none")
    yield clew
    clew.close()


class Client:
    """One who has thought a little, in a workspace of its own."""

    def __init__(self, clew: Clew, workspace: str) -> None:
        self.route, self.workspace = Here(clew, "thoughtbox"), workspace
        self.send("start_new", newWork={"project": "p", "task": "t"}, cipher=True)
        self.session = json.loads(self.send("thought", thought="S1|O|slow", nextThoughtNeeded=True)[1])["sessionId"]
        self.send("notebook.create", name="N")
        self.send("notebook.add_cell", notebookId="NB-001", type="markdown", content="seen")
        self.send("knowledge.create_pattern", id="stale-statistics", title="T", description="d", content="c")
        self.send("knowledge.write_scratchpad", id="search-latency", title="T", content="c")

    def send(self, operation: str, /, **args: Any) -> tuple[bool, str]:
        given = {"operation": operation, "workspace": self.workspace, "args": args}
        heard = self.route.send("thoughtbox_gateway", given)
        return heard.ok, heard.text

    def answer(self, entry: OperationEntry, args: dict[str, Any]) -> tuple[bool, str]:
        known = {name: self.session if value == lived_in.SESSION else value for name, value in args.items()}
        return self.send(wire_name(entry), **known)

    def refusal(self, entry: OperationEntry, args: dict[str, Any]) -> str | None:
        ok, text = self.answer(entry, args)
        return None if ok else str(json.loads(text)["error"])


def optional_places(model: type[BaseModel], before: Place = ()) -> Iterator[Place]:
    for name, field in model.model_fields.items():
        place = (*before, field.alias or name)
        if not field.is_required():
            yield place
        for inner in inner_models(field.annotation):
            yield from optional_places(inner, place)


def inner_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from inner_models(part)


def filled(args: dict[str, Any], place: Place, blank: Any) -> dict[str, Any]:
    first, rest = place[0], place[1:]
    if not rest:
        return {**args, first: blank}
    inner = filled(IN_LISTS.get(first, {}), rest, blank)
    return {**args, first: [inner] if first in IN_LISTS else inner}


def places(entry: OperationEntry) -> list[Place]:
    """The optional arguments that the example does without."""
    found = optional_places(find_operation(entry.name).input)
    return [place for place in dict.fromkeys(found) if place[0] not in entry.example]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_optional_argument_filled_with_nothing_is_left_out(lived: Clew, entry: OperationEntry) -> None:
    client = Client(lived, f"one-{entry.name}")
    plain = {client.refusal(entry, entry.example)}
    for place in places(entry):
        for blank in BLANKS:
            told = client.refusal(entry, filled(entry.example, place, blank))
            # Once more without it: what was deleted by the first call is not there for the second.
            assert told is None or told in plain | {client.refusal(entry, entry.example)}, (place, blank)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.read_only], ids=lambda entry: entry.name)
def test_what_is_read_is_the_same(lived: Clew, entry: OperationEntry) -> None:
    client = Client(lived, f"read-{entry.name}")
    plain = client.answer(entry, entry.example)
    for place in places(entry):
        for blank in BLANKS:
            if (place[-1], blank) not in MEANT and place[0] not in IN_LISTS:
                assert client.answer(entry, filled(entry.example, place, blank)) == plain, (place, blank)


@pytest.mark.parametrize("blank", BLANKS, ids=repr)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_all_of_them_at_once_are_left_out(lived: Clew, entry: OperationEntry, blank: Any) -> None:
    client = Client(lived, f"all-{entry.name}-{BLANKS.index(blank)}")
    args = entry.example | {place[0]: blank for place in places(entry)}
    told = client.refusal(entry, args)
    assert told is None or told == client.refusal(entry, entry.example)


def test_what_is_needed_is_not_left_out(lived: Clew) -> None:
    client = Client(lived, "needed")
    for operation, args in (
        ("session.get", {"sessionId": ""}),
        ("thought", {"thought": "x", "nextThoughtNeeded": ""}),
        ("session.list", {"agentName": ""}),
        ("session.list", {"limit": -1}),
        ("session.list", {"status": "open"}),
        ("session.extract_learnings", {"sessionId": client.session, "keyMoments": [{"thoughtNumber": 0}]}),
    ):
        ok, text = client.send(operation, **args)
        assert not ok and json.loads(text)["code"] == "INVALID_PAYLOAD", operation


def test_zero_for_yes_or_no_means_no(lived: Clew) -> None:
    client = Client(lived, "zero")
    text = client.send("session.export", sessionId=client.session, format="markdown", includeMetadata=0)[1]
    assert "<!--" not in json.loads(text)["content"]


@pytest.mark.parametrize("nothing", [{"args": ""}, {"args": []}, {"subOperation": ""}, {"workspace": ""}], ids=str)
def test_arguments_of_the_gateway_itself_filled_with_nothing_are_left_out(lived: Clew, nothing: dict[str, Any]) -> None:
    heard = Here(lived, "thoughtbox").send("thoughtbox_gateway", {"operation": "get_state", **nothing})
    assert heard.ok and heard.text.startswith("Stage: 0")
