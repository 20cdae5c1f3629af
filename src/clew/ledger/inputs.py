"""Shared parts of the ledger's operations: camelCase argument names, common argument types, titles and slugs."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from clew.errors import shorten
from clew.registry.budget import Budget, Trim
from clew.registry.operation import Bounded, Input, Operation, operation

Id = Annotated[str, Field(min_length=1, max_length=128)]
Words = Annotated[str, Field(max_length=1000)]
SessionTitle = Annotated[str, Field(min_length=1, max_length=1000)]
Tag = Annotated[str, Field(min_length=1, max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=100)]
Number = Annotated[int, Field(ge=1, le=999_999_999)]
Kind = Literal[
    "H", "E", "C", "Q", "R", "P", "O", "A", "X",
    "hypothesis", "evidence", "conclusion", "question", "revision", "plan", "observation", "assumption", "rejection",
]  # fmt: skip
Cursor = Annotated[int | None, Field(ge=0, le=2**53 - 1, description="Continue after this; from next_cursor.")]
Limit = Annotated[int, Field(ge=1, le=500, description="Most to return.")]
SessionRef = Annotated[Id, Field(description="Session id.")]
MaybeSession = Annotated[Id | None, Field(description="Session id; default: the connection's session.")]


EXAMPLE = {"sessionId": "00000000-0000-4000-8000-000000000000"}
GROUPS = ("session", "notebook", "mental_models", "knowledge")


def grouped(name: str, *others: str, **declared: Any) -> Operation:
    """An operation that belongs to a group: `session_list` is also called `session.list`."""
    group = next(group for group in GROUPS if name.startswith(f"{group}_"))
    dotted = f"{group}.{name.removeprefix(f'{group}_')}"
    return operation(name, aliases=(dotted, *others), **declared)


class LedgerInput(Input):
    model_config = ConfigDict(alias_generator=to_camel)

    synonyms: ClassVar[dict[str, str]] = {"session_id": "sessionId"}
    blank_is_nothing: ClassVar[bool] = True


class OneSession(LedgerInput):
    session_id: SessionRef


class CallersSession(LedgerInput):
    session_id: MaybeSession = None


class NoInput(LedgerInput):
    pass


class LedgerBounded(Bounded):
    """Beside our names it takes the budget's own."""

    model_config = ConfigDict(alias_generator=lambda name: name if name == "max_chars" else to_camel(name))

    synonyms: ClassVar[dict[str, str]] = {"session_id": "sessionId", "maxChars": "max_chars"}
    blank_is_nothing: ClassVar[bool] = True


class ListPage(LedgerBounded):
    """A part of a list by offset."""

    limit: Annotated[int, Field(ge=1, le=100)] = 20
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


def list_budget(items: str) -> Budget:
    """The steps for a list: truncate its end, but keep the first item as long as possible."""
    return Budget(
        tuple(Trim(items, drop="last", floor=floor, count="count", more="hasMore") for floor in (1, 0)),
        16_000,
        keep=("total",),
    )


TITLE = 80
_SENTENCE = re.compile(r"(.+?[.!?…])(?:\s|$)", re.DOTALL)


def first_sentence(text: str) -> str:
    """The first sentence of the first line that is not empty, shortened to a title."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    found = _SENTENCE.match(line)
    # Up to three characters are a list number such as "1.", not a sentence.
    sentence = found.group(1) if found and len(found.group(1)) > 3 else line
    return shorten(sentence.rstrip("."), TITLE)


def slug(text: str, limit: int = 64) -> str:
    """Convert the text to lower-case letters, digits and hyphens; empty if it has none of these."""
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")
