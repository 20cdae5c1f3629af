"""Categories: classifies blocks by whole words, summarizes a topic, and writes the files of `categories/`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import shorten, suggest
from clew.index.terms import terms
from clew.memory.blocks import headline
from clew.memory.files import plain_files
from clew.memory.files.directory import DERIVED
from clew.memory.files.governed_write import governed_transaction
from clew.memory.files.markdown import Value, listed, one_line
from clew.memory.files.sync import sync
from clew.memory.kinds import IN_USE, prefix_of
from clew.memory.marks import normal_words
from clew.registry.context import Context
from clew.registry.operation import BARE, MAX_NUMBER, Input, operation
from clew.store.database import Database, DatabaseResource, Row

WORDS: dict[str, str] = {
    "architecture": """
        architecture design database schema infrastructure service microservice module component storage cache caching
        queue backend frontend server cluster scaling layer protocol postgresql sqlite redis kafka kubernetes docker
        """,
    "decisions": "decision decide decided chose choose chosen adopt agree agreed approve policy standard convention",
    "people": "person people team member owner maintainer lead manager engineer developer contact role colleague",
    "preferences": "prefer preference favourite favorite like dislike style taste habit default tone convention",
    "workflows": """
        workflow process pipeline ci cd deploy deployment release review checklist procedure step runbook automation
        schedule cron merge branch
        """,
    "bugs": "bug error crash failure failing broken fix incident outage regression exception defect traceback leak",
    "credentials": """
        credential password secret token key certificate login authentication authorization oauth vault rotation
        permission
        """,
    "integrations": """
        integration api webhook sdk plugin connector oauth client endpoint rest graphql grpc import export sync vendor
        provider
        """,
    "goals": "goal objective target milestone roadmap plan okr kpi vision deadline priority outcome",
    "constraints": """
        constraint must never always limit limitation requirement required forbidden compliance budget quota invariant
        security restriction
        """,
}
"""Whole words, compared by their stems."""

OF_KIND = {"D": "decisions", "PER": "people", "INC": "bugs"}
"""Kinds whose blocks belong to a category whatever their text."""

UNCATEGORIZED = "uncategorized"


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
    """The categories in order, and an index from keyword to categories."""

    names: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CategoryEntry:
    id: str
    said: str
    status: str
    date: str
    folder: str
    tags: str


Sorted = dict[str, list[CategoryEntry]]


def defined(ctx: Context) -> Categories:
    """The ten built-in categories and those that `mind-mem.json` adds under categories.extra_categories."""
    keywords = {name: words.split() for name, words in WORDS.items()}
    for name, words in _extra(ctx).items():
        keywords[name] = [*keywords.get(name, []), *words]
    found: dict[str, list[str]] = {}
    for name, words in keywords.items():
        for stem in dict.fromkeys(stem for word in [name, *words] for stem in terms(word)):
            found.setdefault(stem, []).append(name)
    return Categories(tuple(keywords), {stem: tuple(names) for stem, names in found.items()})


def _extra(ctx: Context) -> dict[str, list[str]]:
    """The added categories: a mapping of names to keywords, or a list of names."""
    text = plain_files.text(ctx, SETTINGS)
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
    """The categories that a topic's words match, with a score."""
    points: Counter[str] = Counter()
    for word in topic_words(topic):
        for name in categories.words.get(word, ()):
            # A topic that names a category means it, whatever else its words match.
            points[name] += NAME_POINTS if word in terms(name) else 1
    return dict(points)


def topic_words(topic: str) -> list[str]:
    """Stems of the topic without stop words."""
    return [word for word in dict.fromkeys(terms(topic)) if normal_words(word)]


def assigned(id: str, fields: Mapping[str, Value], categories: Categories) -> list[str]:
    """A block's categories, in order. A keyword among the tags scores three points, in the text one;
    the threshold is two."""
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


class KeptCategories(DatabaseResource):
    """A cache of the sorted blocks of each workspace, with the state of the store that they were sorted in."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.sorted: dict[str, tuple[object, Sorted]] = {}


def sort_blocks(ctx: Context) -> Sorted:
    """Live blocks by category, newest first. The result is cached until a block changes."""
    categories = defined(ctx)
    newest = ctx.tx.value("SELECT max(seq) FROM block_file WHERE workspace = ?", ctx.workspace)
    # The creation time is part of the key: a restored or recreated workspace may reach the same numbers again.
    state = (ctx.ws.created_at_ms, newest, categories)
    known = ctx.database.resources.of(KeptCategories).sorted
    kept = known.get(ctx.workspace)
    if kept is not None and kept[0] == state:
        return kept[1]
    found = _sorted(ctx, categories)
    known[ctx.workspace] = (state, found)
    return found


def _sorted(ctx: Context, categories: Categories) -> Sorted:
    found: Sorted = {name: [] for name in (*categories.names, UNCATEGORIZED)}
    for row in ctx.tx.all(_BLOCKS, ctx.workspace):
        fields = orjson.loads(row["fields"])
        for name in assigned(row["id"], fields, categories) or [UNCATEGORIZED]:
            found[name].append(_entry(row, fields))
    for entries in found.values():
        entries.sort(key=lambda entry: entry.id)
        # Two stable sorts: the newest first, and by id within a day.
        entries.sort(key=lambda entry: entry.date, reverse=True)
    return {name: entries for name, entries in found.items() if entries}


def _entry(row: Row, fields: Mapping[str, Value]) -> CategoryEntry:
    return CategoryEntry(
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
    f" AND (status IS NULL OR status NOT IN ('superseded', 'revoked', 'canceled')) AND {IN_USE}"
)


MOST_IN_FILE = 500
SUMMARY_CHARS = 2000


class CategorySummary(Input):
    topic: Annotated[str, Field(max_length=2000, description="What the summaries should be about.")]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most categories, 1 to 10.")] = 3


@operation("category_summary", mode="own", example={"topic": "database infrastructure"}, view=BARE)
def category_summary(ctx: Context, args: CategorySummary) -> dict[str, Any]:
    """Sum up what is known of a topic, by category: architecture, people, bugs, goals and so on."""
    limit = min(max(args.limit, 1), 10)
    sync(ctx)
    with ctx.reading() as bound:
        found = sort_blocks(bound)
        named = about(args.topic, defined(bound))
    words = topic_words(args.topic)
    saying = {name: _saying(entries, words) for name, entries in found.items()}
    points = {name: named.get(name, 0) + bool(saying[name]) for name in found}
    matched = sorted((name for name in found if points[name]), key=lambda name: -points[name])[:limit]
    if not matched:
        if args.topic.strip():
            ctx.suggest(suggest("recall", "Searches the blocks themselves.", query=args.topic))
        hint = "No block of any category is about this. Run reindex to renew the files, or add blocks with such tags."
        return {"topic": args.topic, "status": "no_categories", "hint": hint}
    content = [_summary(name, found[name], saying[name]) for name in matched]
    return {"topic": args.topic, "matched_categories": matched, "content": "\n\n".join(content)}


def _saying(entries: list[CategoryEntry], words: list[str]) -> set[str]:
    """Ids of the blocks that contain a word of the topic. A substring test comes first, because stemming is slow."""
    # Stems may differ from the written word in their last letter (`policy`, `polici`).
    starts = [word[:-1] if len(word) > 3 else word for word in words]
    found = set()
    for entry in entries:
        text = f"{entry.said} {entry.tags}"
        folded = text.lower()
        if any(start in folded for start in starts) and not set(words).isdisjoint(terms(text)):
            found.add(entry.id)
    return found


def _summary(name: str, entries: list[CategoryEntry], saying: set[str]) -> str:
    """Blocks about the topic first, then the newest, as many as fit."""
    ordered = sorted(entries, key=lambda entry: entry.id not in saying)
    text = f"## {name}"
    for at, entry in enumerate(ordered):
        line = f"\n\nBlock {entry.id}: {entry.said}{_remarks(entry)}"
        rest = f"\n\n… {len(ordered) - at} more"
        if len(text) + len(line) + len(rest) > SUMMARY_CHARS:
            return text + rest
        text += line
    return text


def _remarks(entry: CategoryEntry) -> str:
    remarks = ", ".join(part for part in (entry.status, entry.date) if part)
    return f" ({remarks})" if remarks else ""


def renew_files(ctx: Context) -> dict[str, Any]:
    """Write a file for every category that has blocks, and remove those of categories that no longer have any."""
    with ctx.reading() as bound:
        found = sort_blocks(bound)
        known = plain_files.texts(bound, DERIVED)
    wanted = {f"{DERIVED}/{name}.md": _file_text(name, found) for name in found}
    if wanted != known:
        with governed_transaction(ctx) as bound:
            for path in sorted(known.keys() - wanted.keys()):
                plain_files.remove(bound, path)
            for path, text in wanted.items():
                plain_files.write(bound, path, text, "reindex")
    return {"categories": len(wanted)}


def _file_text(name: str, found: Sorted) -> str:
    entries = found[name]
    lines = [f"# {name}", "", "> Made by `reindex` from the blocks; what is changed here is overwritten.", ""]
    lines += [f"{len(entries)} blocks, newest first.", ""]
    for entry in entries[:MOST_IN_FILE]:
        lines += [f"### {entry.id}", "", entry.said, "", *_details(entry), ""]
    if len(entries) > MOST_IN_FILE:
        lines += [f"… {len(entries) - MOST_IN_FILE} more", ""]
    return "\n".join(lines)


def _details(entry: CategoryEntry) -> list[str]:
    details = {"Status": entry.status, "Date": entry.date, "Source": entry.folder, "Tags": entry.tags}
    return [f"- {name}: {value}" for name, value in details.items() if value]
