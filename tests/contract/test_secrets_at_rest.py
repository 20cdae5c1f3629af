"""No secret that a caller sends reaches anything that is stored, whichever operation it is sent to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew
from clew.registry.catalogue import OperationEntry, catalogue
from clew.settings import load_settings
from tests.conftest import Caller
from tests.contract import lived_in
from tests.secret_samples import AT_REST, SAMPLES
from tests.stored import everything_stored

WRITING = [entry for entry in catalogue().operations if not entry.read_only]
TEXTS = [SAMPLES[name][0].format(SAMPLES[name][1]) for name in AT_REST]
SECRETS = [SAMPLES[name][1] for name in AT_REST]
AT_ONCE = 6
SHORT = SAMPLES["github"][1]
"""On one line, and no longer than a name may be."""
MADE = "made-by-the-test"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("lived-in")
    lived_in.build(home)
    return home


def variants(entry: OperationEntry, example: dict[str, Any], text: str) -> Iterator[dict[str, Any]]:
    """The example with a text added to each of its own texts in turn, and in each argument that it leaves out."""
    for path in places(example):
        yield planted(example, path, text)
    for name, schema in entry.input_schema.get("properties", {}).items():
        if name not in example and name not in ("workspace", "fmt"):
            yield {**example, name: of_kind(schema, text)}
    yield {**example, "meta": {"note": text, "deep": [{text[:200]: text}]}}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def planted(value: Any, path: tuple[Any, ...], text: str) -> Any:
    if not path:
        return f"{value} {text}"
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = planted(changed[path[0]], path[1:], text)
    return changed


def of_kind(schema: dict[str, Any], text: str) -> Any:
    kinds = {option.get("type") for option in [schema, *schema.get("anyOf", [])]}
    if "string" in kinds:
        return text
    return [text] if "array" in kinds else {"note": text}


def send(call: Caller, entry: OperationEntry, example: dict[str, Any]) -> bool:
    """Sends every secret in every argument, and tells whether the operation accepted one."""
    took = False
    together = ["\n".join(TEXTS[start : start + AT_ONCE]) for start in range(0, len(TEXTS), AT_ONCE)]
    for at, text in enumerate([*together, SHORT]):
        for number, arguments in enumerate(variants(entry, example, text)):
            answer = call.answer(entry.name, **arguments, request_id=f"{MADE}-{entry.name}-{at}-{number}")
            assert answer.ok or answer.envelope["error"]["code"] != "INTERNAL", (entry.name, answer.text)
            assert not found_in(answer.text), entry.name
            took = took or (answer.ok and "SECRET_MASKED" in str(answer.envelope["warnings"]))
    return took


def found_in(text: str) -> set[str]:
    """The secrets of which the text holds the whole, or a piece as the index would keep it."""
    lowered = text.lower()
    return {secret for secret in SECRETS for piece in pieces(secret) if piece in lowered}


def pieces(secret: str) -> set[str]:
    return {piece for piece in {secret.lower(), *re.split(r"[^a-z0-9]+", secret.lower())} if len(piece) >= 10}


@pytest.mark.parametrize("entry", WRITING, ids=lambda entry: entry.name)
def test_a_writing_operation_stores_no_secret(entry: OperationEntry, built: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(built, home)
    clew = lived_in.open(home)
    call = Caller(clew)
    example = entry.example
    if entry.name not in lived_in.ELSEWHERE:
        example = lived_in.prepared(call, entry.name, entry.example)
    send(call, entry, example)
    clew.close()
    assert not found_in(everything_stored({"home": home}))


def test_no_writing_operation_stores_a_secret_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    """All of them one after another in one store, and a dump of all tables."""
    flags = {"home": tmp_path / "home", "database_url": postgres_url, "embedding_model": "none"}
    clew = open_clew(load_settings({"workspace": "ws", "workspace_lock": False, **flags}, {}, tmp_path))
    call = Caller(clew)
    for name, arguments in lived_in.HISTORY:
        call(name, **arguments)
    took = {entry.name for entry in WRITING if send(call, entry, entry.example)}
    clew.close()
    stored = everything_stored(flags)
    assert len(took) >= 50 and MADE in stored
    assert not found_in(stored)
