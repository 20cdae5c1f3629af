"""Categories: blocks sorted by their words into a few subjects. Whole words count, never parts of one."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import orjson

from clew.errors import shorten
from clew.index.terms import terms
from clew.memory import plain
from clew.memory.blocks import headline
from clew.memory.category_words import OF_KIND, UNCATEGORIZED, WORDS
from clew.memory.grammar import Value, listed, one_line
from clew.memory.kinds import prefix_of
from clew.memory.marks import normal_words
from clew.registry.context import Context
from clew.store.database import Database, Row

SETTINGS = "mind-mem.json"
SEARCHED = ("Statement", "Title", "Name", "Description", "Summary", "Subject", "Rationale", "Purpose", "Role")
NEEDED = 2
TAG_POINTS = 3
NAME_POINTS = 3
KIND_POINTS = 2
SAID_CHARS = 200

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Categories:
    """The categories in order, and those that each keyword belongs to."""

    names: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    said: str
    status: str
    date: str
    folder: str
    tags: str


Sorted = dict[str, list[Entry]]


def defined(ctx: Context) -> Categories:
    """The ten of every workspace, and those that `mind-mem.json` adds under categories.extra_categories."""
    keywords = {name: words.split() for name, words in WORDS.items()}
    for name, words in _extra(ctx).items():
        keywords[name] = [*keywords.get(name, []), *words]
    found: dict[str, list[str]] = {}
    for name, words in keywords.items():
        for stem in dict.fromkeys(stem for word in [name, *words] for stem in terms(word)):
            found.setdefault(stem, []).append(name)
    return Categories(tuple(keywords), {stem: tuple(names) for stem, names in found.items()})


def _extra(ctx: Context) -> dict[str, list[str]]:
    """Named with their keywords, or just named."""
    text = plain.text(ctx, SETTINGS)
    try:
        settings = orjson.loads(text) if text else {}
        given = settings.get("categories", {}).get("extra_categories", {})
        named = given.items() if isinstance(given, dict) else [(name, []) for name in given]
        return {_checked(name): [str(word) for word in words] for name, words in named}
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as problem:
        ctx.warn("CATEGORIES_REJECTED", f"{SETTINGS}: {problem}", "Write extra_categories as {name: [keywords]}.")
        return {}


def _checked(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == UNCATEGORIZED:
        raise ValueError(f"{shorten(str(name), 60)!r} cannot be the name of a category")
    return name


def about(topic: str, categories: Categories) -> dict[str, int]:
    """The categories that a topic's words name, and by how many."""
    points: Counter[str] = Counter()
    for word in topic_words(topic):
        for name in categories.words.get(word, ()):
            points[name] += NAME_POINTS if word in terms(name) else 1
    return dict(points)


def topic_words(topic: str) -> list[str]:
    """The stems that say something."""
    return [word for word in dict.fromkeys(terms(topic)) if normal_words(word)]


def assigned(id: str, fields: Mapping[str, Value], categories: Categories) -> list[str]:
    """The categories of a block, in order: a keyword among its tags is worth three in its text, two points suffice."""
    points: Counter[str] = Counter()
    if prefix_of(id) in OF_KIND:
        points[OF_KIND[prefix_of(id)]] += KIND_POINTS
    tags = {stem for tag in listed(fields.get("Tags")) for stem in terms(tag)}
    said = {stem for name in SEARCHED if name in fields for stem in terms(one_line(fields[name]))}
    for words, worth in ((tags, TAG_POINTS), (said, 1)):
        for word in words:
            for name in categories.words.get(word, ()):
                points[name] += worth
    return [name for name in categories.names if points[name] >= NEEDED]


_kept: WeakKeyDictionary[Database, dict[str, tuple[object, Sorted]]] = WeakKeyDictionary()
_lock = threading.Lock()


def sort_blocks(ctx: Context) -> Sorted:
    """Every block that holds under its categories, newest first; kept until a block changes."""
    categories = defined(ctx)
    newest = ctx.tx.value("SELECT max(seq) FROM block_file WHERE workspace = ?", ctx.workspace)
    state = (ctx.ws.created_at_ms, newest, categories)
    with _lock:
        kept = _kept.setdefault(ctx.database, {}).get(ctx.workspace)
    if kept is not None and kept[0] == state:
        return kept[1]
    found = _sorted(ctx, categories)
    with _lock:
        _kept.setdefault(ctx.database, {})[ctx.workspace] = (state, found)
    return found


def _sorted(ctx: Context, categories: Categories) -> Sorted:
    found: Sorted = {name: [] for name in (*categories.names, UNCATEGORIZED)}
    for row in ctx.tx.all(_BLOCKS, ctx.workspace):
        fields = orjson.loads(row["fields"])
        for name in assigned(row["id"], fields, categories) or [UNCATEGORIZED]:
            found[name].append(_entry(row, fields))
    for entries in found.values():
        entries.sort(key=lambda entry: entry.id)
        entries.sort(key=lambda entry: entry.date, reverse=True)
    return {name: entries for name, entries in found.items() if entries}


def _entry(row: Row, fields: Mapping[str, Value]) -> Entry:
    return Entry(
        row["id"],
        shorten(headline(dict(fields)), SAID_CHARS),
        row["status"] or "",
        one_line(fields.get("Date"))[:10],
        row["file"].partition("/")[0],
        ", ".join(listed(fields.get("Tags"))),
    )


_BLOCKS = (
    "SELECT id, status, file, fields FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
    " AND prefix IN ('D', 'T', 'PRJ', 'PER', 'TOOL', 'INC')"
    " AND (status IS NULL OR status NOT IN ('superseded', 'revoked', 'canceled'))"
)
