"""Looking kinds up: by name or synonym, by the prefix of a block, by what the search index holds of a record.

Kinds are declared in `builtin`. A plugin adds more: each Python file in the folder `kinds` of the data directory is
imported when this module is, and declares its kinds with `add`. They belong to the data: every server of it knows them.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from clew.kinds import builtin
from clew.kinds.kind import BLOCK, CARD, Kind, KindFamily
from clew.kinds.state import State, Verdict
from clew.kinds.statuses import CLOSED, DONE, MEANING, MERGED, OPEN, RESOLVED

FOLDER = "kinds"
_all: list[Kind] = []
_by_name: dict[str, Kind] = {}
_by_prefix: dict[str, Kind] = {}
_by_shelf: dict[tuple[str, str], list[Kind]] = {}


def add(kind: Kind) -> Kind:
    """Declare a kind; a name, synonym or prefix that is taken is refused."""
    if kind.prefix in _by_prefix and kind.prefix:
        raise ValueError(f"two kinds have ids that begin with {kind.prefix}-")
    _all.append(kind)
    _by_shelf.setdefault((kind.store, kind.name), []).append(kind)
    if kind.prefix:
        _by_prefix[kind.prefix] = kind
    for word in kind.words if kind.is_remembered or kind.family is KindFamily.WORK else ():
        if _by_name.setdefault(word, kind) is not kind:
            raise ValueError(f"{word!r} means a {_by_name[word].name} already")
    return kind


def all_kinds() -> tuple[Kind, ...]:
    return tuple(_all)


def kind_named(word: str) -> Kind | None:
    """The kind that a name, plural or synonym means."""
    return _by_name.get(word)


def words() -> dict[str, Kind]:
    """Every word that means a kind."""
    return dict(_by_name)


def names(*families: KindFamily) -> tuple[str, ...]:
    return tuple(kind.name for kind in _all if kind.family in families)


def remembered_kinds() -> tuple[str, ...]:
    """The names of the kinds that `remember` keeps."""
    return tuple(kind.name for kind in _all if kind.is_remembered)


def by_prefix() -> dict[str, Kind]:
    """The kinds of blocks by what their ids begin with."""
    return dict(_by_prefix)


def durable_kinds() -> tuple[Kind, ...]:
    return tuple(kind for kind in _all if kind.is_durable)


def kind_of_item(source: str, kind: str | None) -> Kind | None:
    """The kind of something that the search index holds under this source and kind."""
    found = _by_shelf.get((source, kind or ""))
    if found is not None:
        return found[0]
    if source in (CARD, BLOCK):
        return _by_name.get(kind or "")
    return next((known for known in _all if known.store == source), None)


def state_of_item(source: str, kind: str | None, status: str | None) -> State:
    """What the status of something in the search index means."""
    several = _by_shelf.get((source, kind or ""), ())
    word = (status or "").strip().lower()
    found = next((known for known in several if word in known.states), None) or kind_of_item(source, kind)
    if found is None:
        return MEANING.get(word, State.IN_FORCE)
    return found.state(status, source)


def shown_label(source: str, kind: str | None, verdict: Verdict) -> str:
    """What a line about a record says of it. What happened or was thought does not hold; it only may be withdrawn."""
    known = kind_of_item(source, kind)
    if known is None or known.family in (KindFamily.WORK, KindFamily.ENTITY, KindFamily.BOOKKEEPING):
        return ", ".join(verdict.doubts)
    if known.family in (KindFamily.HAPPENED, KindFamily.THINKING) and verdict.state is State.IN_FORCE:
        return ", ".join(verdict.doubts)
    return verdict.label


CLOSED_CARD = (CLOSED, DONE, RESOLVED, MERGED)
"""Statuses by which a card of any kind was settled; an accepted hypothesis is not closed."""


def is_active_card(kind: str, status: str | None) -> bool:
    """Whether a card still counts for reasoning: it holds and is not closed."""
    closed = (status or OPEN).lower() in CLOSED_CARD
    return not closed and not state_of_item(CARD, kind, status).is_over


def state_of(kind: str, status: str | None) -> State:
    """What a status means for a record of a kind, by the kind's name."""
    found = _by_name.get(kind) or next((known for known in _all if known.name == kind), None)
    return found.state(status) if found is not None else MEANING.get((status or "").lower(), State.IN_FORCE)


def plugins() -> dict[str, int]:
    """The files of plugins, and when each was changed last."""
    # The environment itself: kinds are known before settings are read.
    home = os.environ.get("CLEW_HOME", "").strip() or "~/.clew"
    files = sorted(Path(home).expanduser().joinpath(FOLDER).glob("*.py"))
    return {str(path): path.stat().st_mtime_ns for path in files}


def _plug_in(path: str) -> None:
    """Import a plugin's file. One that cannot be read ends the process: to go on would lose its records."""
    spec = importlib.util.spec_from_file_location(f"clew_kinds_{Path(path).stem}", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


for _kind in builtin.KINDS:
    add(_kind)
PLUGGED_IN = plugins()
for _file in PLUGGED_IN:
    _plug_in(_file)
