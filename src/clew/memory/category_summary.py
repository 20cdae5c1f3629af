"""What is known of a topic, by category: an answer for agents, and the files of `categories/` for people."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid, suggest
from clew.index.terms import terms
from clew.memory import plain
from clew.memory.categories import Entry, Sorted, about, defined, sort_blocks, topic_words
from clew.memory.directory import DERIVED
from clew.memory.sync import sync
from clew.memory.writing import governed
from clew.registry.context import Context
from clew.registry.operation import MAX_NUMBER, Input, operation

MOST_IN_FILE = 500
SUMMARY_CHARS = 2000


class CategorySummary(Input):
    topic: Annotated[str, Field(min_length=1, max_length=2000, description="What the summaries should be about.")]
    limit: Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER, description="Most categories, 1 to 10.")] = 3


@operation("category_summary", mode="own", bare=lambda result: result, example={"topic": "database infrastructure"})
def category_summary(ctx: Context, args: CategorySummary) -> dict[str, Any]:
    """Sum up what is known of a topic, by category: architecture, people, bugs, goals and so on."""
    if not args.topic.strip():
        raise invalid("topic", "must not be empty", "Say what the summaries should be about.", kind="non_empty")
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
        ctx.suggest(suggest("recall", "Searches the blocks themselves.", query=args.topic))
        hint = "No block of any category is about this. Run reindex to renew the files, or add blocks with such tags."
        return {"topic": args.topic, "status": "no_categories", "hint": hint}
    content = [_summary(name, found[name], saying[name]) for name in matched]
    return {"topic": args.topic, "matched_categories": matched, "content": "\n\n".join(content)}


def _saying(entries: list[Entry], words: list[str]) -> set[str]:
    """The blocks that hold a word of the topic. Cutting into words is dear, so a look at the letters comes first."""
    starts = [word[:-1] if len(word) > 3 else word for word in words]
    found = set()
    for entry in entries:
        text = f"{entry.said} {entry.tags}"
        folded = text.lower()
        if any(start in folded for start in starts) and not set(words).isdisjoint(terms(text)):
            found.add(entry.id)
    return found


def _summary(name: str, entries: list[Entry], saying: set[str]) -> str:
    """What speaks of the topic first, then the newest, as much as fits."""
    ordered = sorted(entries, key=lambda entry: entry.id not in saying)
    text = f"## {name}"
    for at, entry in enumerate(ordered):
        line = f"\n\nBlock {entry.id}: {entry.said}{_remarks(entry)}"
        rest = f"\n\n… {len(ordered) - at} more"
        if len(text) + len(line) + len(rest) > SUMMARY_CHARS:
            return text + rest
        text += line
    return text


def _remarks(entry: Entry) -> str:
    told = ", ".join(part for part in (entry.status, entry.date) if part)
    return f" ({told})" if told else ""


def renew_files(ctx: Context) -> dict[str, Any]:
    """Write a file for every category that has blocks, and take away those of categories that have none any more."""
    with ctx.reading() as bound:
        found = sort_blocks(bound)
        known = plain.texts(bound, DERIVED)
    wanted = {f"{DERIVED}/{name}.md": _file_text(name, found) for name in found}
    if wanted != known:
        with governed(ctx) as bound:
            for path in sorted(known.keys() - wanted.keys()):
                plain.remove(bound, path)
            for path, text in wanted.items():
                plain.write(bound, path, text, "reindex")
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


def _details(entry: Entry) -> list[str]:
    told = {"Status": entry.status, "Date": entry.date, "Source": entry.folder, "Tags": entry.tags}
    return [f"- {name}: {value}" for name, value in told.items() if value]
