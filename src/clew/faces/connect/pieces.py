"""What is written for a client, piece by piece: the server's entry, hooks, a switch, or a file of our own.

A piece knows how to insert itself into the text of a file, how to remove itself, and its state there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from clew.faces.connect.config_formats import Format, Hollow, value_at
from clew.faces.connect.jsonc import Path as Keys
from clew.faces.connect.jsonc import Unreadable
from clew.faces.connect.servers import DISTRIBUTION, HOOK, NAME, Entry, is_ours, merged

State = Literal["missing", "stale", "current"]


class Piece(Protocol):
    @property
    def file(self) -> Path: ...
    @property
    def what(self) -> str:
        """What a person would call it: server, hooks, skill."""

    def written(self, text: str) -> str:
        """The text with this piece, updated if an older one is there."""

    def taken(self, text: str) -> str:
        """The text without it, whatever its age."""

    def state(self, text: str) -> State: ...

    def hollows(self, text: str) -> list[Hollow]:
        """The containers that this piece makes or fills, as they are before."""

    def own_hollows(self, text: str) -> list[Hollow]:
        """The containers that are surely of our making, where nothing was recorded."""

    def refilled(self, text: str, hollow: Hollow) -> str: ...

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the file but what a new one begins with."""


@dataclass(frozen=True)
class _Edited:
    """A piece of a file that belongs to the client."""

    file: Path
    format: Format
    skeleton: Entry = field(default_factory=dict)
    """What a new file must contain in addition."""

    def own_hollows(self, text: str) -> list[Hollow]:
        return []

    def refilled(self, text: str, hollow: Hollow) -> str:
        (key, *deeper), begun = hollow[0] or ("",), self.skeleton
        if key in begun and not deeper and set(self._read(text)) <= set(begun):
            return self.format.drop(text, hollow[0])  # an empty file was begun for us, and is empty again
        return self.format.refill(text, hollow)

    def _begun_hollows(self, text: str) -> list[Hollow]:
        return [] if self._read(text) else [((key,), None) for key in self.skeleton]

    def is_bare(self, text: str) -> bool:
        return bool(self.format.read(text) in ({}, self.skeleton))

    def _begun(self, text: str) -> str:
        """A file that has nothing in it yet gets what it must hold."""
        data = self._read(text)
        for key, value in self.skeleton.items() if not data else ():
            text = self.format.put(text, (key,), value)
        return text

    def _read(self, text: str) -> Any:
        data = self.format.read(text)
        if not isinstance(data, dict):
            raise Unreadable("the document is not an object")
        return data


@dataclass(frozen=True)
class ServerPiece(_Edited):
    """The entry in a client's table of servers."""

    table: Keys = ("mcpServers",)
    entry: Entry = field(default_factory=dict)
    what: str = "server"

    def written(self, text: str) -> str:
        name, old = self._present(text)
        path = (*self.table, name)
        if old is None:
            return self.format.put(self._begun(text), path, self.entry)
        new = merged(old, self.entry)
        # Key by key instead of the whole entry: comments and order of what the user wrote stay.
        for key in [key for key in old if key not in new]:
            text = self.format.drop(text, (*path, key))
        for key in [key for key in new if new[key] != old.get(key)]:
            text = self.format.put(text, (*path, key), new[key])
        return text

    def taken(self, text: str) -> str:
        for name in self.names(text):
            text = self.format.drop(text, (*self.table, name))
        return text

    def state(self, text: str) -> State:
        _, old = self._present(text)
        if old is None:
            return "missing"
        return "current" if merged(old, self.entry) == old else "stale"

    def hollows(self, text: str) -> list[Hollow]:
        return [*self.format.hollows(text, (*self.table, NAME)), *self._begun_hollows(text)]

    def own_hollows(self, text: str) -> list[Hollow]:
        """A table of servers that holds ours alone."""
        names, table = self.names(text), value_at(self._read(text), self.table)
        return [(self.table, None)] if names and set(table) == set(names) else []

    def names(self, text: str) -> list[str]:
        """The names of Clew's entries in the table; its own name first."""
        table = value_at(self._read(text), self.table)
        if table is None:
            return []
        if not isinstance(table, dict):
            raise Unreadable(f"{'.'.join(map(str, self.table))} is not an object")
        return sorted((name for name, entry in table.items() if is_ours(name, entry)), key=lambda name: name != NAME)

    def _present(self, text: str) -> tuple[str, Entry | None]:
        names = self.names(text)
        if names:
            return names[0], value_at(self._read(text), (*self.table, names[0]))
        if value_at(self._read(text), (*self.table, NAME)) is not None:
            raise Unreadable(f"another server is called {NAME!r} there; rename it first")
        return NAME, None


@dataclass(frozen=True)
class Hooks(_Edited):
    """Our entries in the lists of a client's hooks, next to those of others."""

    events: dict[str, list[Entry]] = field(default_factory=dict)
    table: Keys = ("hooks",)
    what: str = "hooks"

    def written(self, text: str) -> str:
        text = self._begun(text)
        for event in self._events(text):
            before, wanted = text, self.events.get(event, [])
            text = self._arranged(text, event, wanted)
            if text != before and not value_at(self._read(text), (*self.table, event)):
                text = self.format.drop(text, (*self.table, event))  # an event that an older Clew asked for
        return text

    def taken(self, text: str) -> str:
        for event in self._events(text):
            text = self._arranged(text, event, [])
        return text

    def state(self, text: str) -> State:
        there = {event: found for event in self._events(text) if (found := self._ours(text, event))}
        if not there:
            return "missing"
        return "current" if there == self.events else "stale"

    def hollows(self, text: str) -> list[Hollow]:
        found = {hollow: None for event in self.events for hollow in self.format.hollows(text, (*self.table, event, 0))}
        return sorted((*found, *self._begun_hollows(text)), key=lambda hollow: -len(hollow[0]))

    def own_hollows(self, text: str) -> list[Hollow]:
        """The lists of hooks that hold ours alone, and the table that holds no others."""
        alone = [event for event in self._events(text) if self._is_alone(text, event)]
        lists: list[Hollow] = [((*self.table, event), None) for event in alone]
        table = value_at(self._read(text), self.table) or {}
        return [*lists, (self.table, None)] if alone and set(alone) == set(table) else lists

    def _is_alone(self, text: str, event: str) -> bool:
        items = value_at(self._read(text), (*self.table, event))
        return bool(items) and isinstance(items, list) and all(calls_us(item) for item in items)

    def _events(self, text: str) -> list[str]:
        table = value_at(self._read(text), self.table)
        if table is not None and not isinstance(table, dict):
            raise Unreadable(f"{'.'.join(map(str, self.table))} is not an object")
        return list(dict.fromkeys((*(table or {}), *self.events)))

    def _ours(self, text: str, event: str) -> list[Entry]:
        items = value_at(self._read(text), (*self.table, event))
        return [item for item in items if calls_us(item)] if isinstance(items, list) else []

    def _arranged(self, text: str, event: str, wanted: list[Entry]) -> str:
        """Our entries of one event are exactly the wanted ones, in the positions of older ones."""
        text = self._without_mixed(text, event)
        path = (*self.table, event)
        items = value_at(self._read(text), path) or []
        if not isinstance(items, list):
            raise Unreadable(f"{'.'.join(map(str, path))} is not a list")
        places = [number for number, item in enumerate(items) if calls_us(item)]
        if [items[number] for number in places] == wanted:
            return text
        for number, entry in zip((*places, *range(len(items), len(items) + len(wanted))), wanted, strict=False):
            text = self.format.put(text, (*path, number), entry)
        # From the end, so that the numbers of the earlier ones stay right.
        for number in reversed(places[len(wanted) :]):
            text = self.format.drop(text, (*path, number))
        return text

    def _without_mixed(self, text: str, event: str) -> str:
        """Our handler is moved out of a group with foreign handlers: a group is ours as a whole or not at all."""
        groups = value_at(self._read(text), (*self.table, event))
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(inner, list) or calls_us(group):
                continue
            for place in reversed([place for place, handler in enumerate(inner) if calls_us(handler)]):
                text = self.format.drop(text, (*self.table, event, number, "hooks", place))
        return text


def calls_us(entry: Any) -> bool:
    """Whether a hook, or every hook of a group, starts `clew-hook`."""
    if not isinstance(entry, dict):
        return False
    inner = entry.get("hooks")
    if isinstance(inner, list):
        return bool(inner) and all(calls_us(handler) for handler in inner)
    return any(HOOK in str(entry.get(key, "")) for key in ("command", "bash", "powershell", "commandWindows"))


@dataclass(frozen=True)
class Switch(_Edited):
    """A setting that a client needs for ours to work; set where it is absent, and never against the user's word."""

    path: Keys = ()
    value: Any = True
    what: str = "setting"

    def written(self, text: str) -> str:
        return self.format.put(text, self.path, self.value) if self.state(text) == "missing" else text

    def taken(self, text: str) -> str:
        """Stays, unless it was noted that we set it (`refilled`): it may be the user's own."""
        return text

    def state(self, text: str) -> State:
        # Any value counts, also one that turns it off: that is the user's word.
        return "missing" if value_at(self._read(text), self.path) is None else "current"

    def hollows(self, text: str) -> list[Hollow]:
        return [(self.path, None), *self.format.hollows(text, self.path)]

    def refilled(self, text: str, hollow: Hollow) -> str:
        if hollow == (self.path, None) and value_at(self._read(text), self.path) == self.value:
            return self.format.drop(text, self.path)
        return self.format.refill(text, hollow)


@dataclass(frozen=True)
class AllowRule(_Edited):
    """A rule in a client's list of what it does without asking."""

    path: Keys = ()
    rule: str = ""
    what: str = "allow rule"

    def written(self, text: str) -> str:
        rules = self._rules(text)
        return text if self.rule in rules else self.format.put(self._begun(text), (*self.path, len(rules)), self.rule)

    def taken(self, text: str) -> str:
        rules = self._rules(text)
        return self.format.drop(text, (*self.path, rules.index(self.rule))) if self.rule in rules else text

    def state(self, text: str) -> State:
        return "current" if self.rule in self._rules(text) else "missing"

    def hollows(self, text: str) -> list[Hollow]:
        return [*self.format.hollows(text, (*self.path, 0)), *self._begun_hollows(text)]

    def own_hollows(self, text: str) -> list[Hollow]:
        """The list that holds our rule alone."""
        return [(self.path, None)] if self._rules(text) == [self.rule] else []

    def _rules(self, text: str) -> list[Any]:
        rules = value_at(self._read(text), self.path)
        if rules is not None and not isinstance(rules, list):
            raise Unreadable(f"{'.'.join(map(str, self.path))} is not a list")
        return rules or []


@dataclass(frozen=True)
class Own:
    """A whole file that is ours, known by the name of the distribution in it."""

    file: Path
    text: str
    what: str

    def written(self, text: str) -> str:
        if text.strip() and not self._is_ours(text):
            raise Unreadable("a file that Clew did not write is there; move it away first")
        return self.text

    def taken(self, text: str) -> str:
        return "" if self._is_ours(text) else text

    def state(self, text: str) -> State:
        if not text:
            return "missing"
        return "current" if text == self.text else "stale"

    def hollows(self, text: str) -> list[Hollow]:
        return []

    def own_hollows(self, text: str) -> list[Hollow]:
        return []

    def refilled(self, text: str, hollow: Hollow) -> str:
        return text

    def is_bare(self, text: str) -> bool:
        return not text

    def _is_ours(self, text: str) -> bool:
        return text == self.text or DISTRIBUTION in text or HOOK in text


def own_json(file: Path, value: Any, what: str) -> Own:
    return Own(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n", what)
