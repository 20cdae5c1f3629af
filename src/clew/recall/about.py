"""What is known about a file, folder or area: records that name it in their text, by a tag or by a link."""

from __future__ import annotations

import re
from functools import lru_cache

from clew.ids import ANCHOR
from clew.index import item_lists
from clew.kinds.catalogue import kind_of_item, state_of_item
from clew.kinds.kind import KindFamily
from clew.kinds.state import ENDED, State
from clew.reasoning.anchors.registry import find_anchor, owner_of
from clew.registry.context import Context
from clew.store.database import Row

MOST = 2_000
"""Newest records that are looked through."""
_PATH = re.compile(r"[\w.-]*[\w-]/[\w./-]*\w/?|\b[\w-]+\.[a-z]\w{0,4}\b")


def names_any(names: frozenset[str], text: str) -> bool:
    # Most texts contain none of the names, and this test is a hundred times faster.
    held = any(name.removesuffix("/") in text for name in names)
    return held and _pattern_of(names).search(text) is not None


@lru_cache(maxsize=64)
def _pattern_of(names: frozenset[str]) -> re.Pattern[str]:
    """Matches any of the names, not within a longer one: `a.py` is not in `data.py`, and TASK-1 not in TASK-10."""
    alternatives = "|".join(_name_pattern(name) for name in sorted(names))
    return re.compile(rf"(?<![\w.-])(?:{alternatives})(?![\w-])")


def _name_pattern(name: str) -> str:
    # A folder is meant itself, not everything inside of it.
    return rf"{re.escape(name[:-1])}(?:/(?!\w)|(?!/))" if name.endswith("/") else re.escape(name)


@lru_cache(maxsize=2_048)
def paths_in(text: str) -> tuple[str, ...]:
    return tuple(_PATH.findall(text))


def records_about(ctx: Context, subjects: list[str], history: bool) -> list[Row]:
    """The records about any of these files, folders or areas: valid ones first, each group newest first.

    A name without a folder (`importer.py`) means that file in any folder; a folder means everything inside of it.
    """
    areas, files = _areas_and_files(ctx, subjects)
    if not areas and not files:
        return []
    wanted = item_lists.Wanted(areas=areas, files=tuple(sorted({file.rsplit("/", 1)[-1] or file for file in files})))
    rows = item_lists.listed(ctx.tx, ctx.workspace, wanted, None, 0, MOST)
    found = [row for row in rows if _is_record(row) and (history or _state(row) not in ENDED)]
    named = [row for row in found if _is_about(row, areas, files)]
    return sorted(named, key=lambda row: (_state(row) in ENDED, -row["seq"]))


def _areas_and_files(ctx: Context, subjects: list[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Areas with their aliases and files; a word that is neither is an area that only texts and tags name."""
    areas: list[str] = []
    files: set[str] = set()
    for given in (subject.strip().removeprefix("./") for subject in subjects):
        name = _anchor_name(given.lower())
        anchor = find_anchor(ctx, owner_of(ctx, name) or name) if name else None
        if anchor is not None:
            areas += [anchor.id, *anchor.aliases]
            files |= set(filter(_is_path, anchor.refs))
        if _is_path(given):
            base = f"{ctx.project}/" if ctx.project is not None else ""
            files.add(given.removeprefix(base).rstrip("/"))
        elif anchor is None and name:
            areas.append(name)
    return tuple(dict.fromkeys(areas)), frozenset(file for file in files if file)


def _is_path(word: str) -> bool:
    return "/" in word or "." in word


def _anchor_name(given: str) -> str:
    """The word as the name of an area, with or without `a:`; empty if it cannot be one."""
    return next((name for name in (given, f"a:{given}") if ANCHOR.fullmatch(name)), "")


def _is_about(row: Row, areas: tuple[str, ...], files: frozenset[str]) -> bool:
    text = f"{row['title'] or ''}\n{row['body'] or ''}"
    # SQL matched the last part of a path anywhere; here it has to be the path itself, or its file name alone.
    alone = frozenset(name for file in files if (name := file.rsplit("/", 1)[-1]) != file and "." in name)
    if names_any(files, text) or (alone and _names_alone(alone, text)):
        return True
    return bool(areas) and (not files or bool(set(areas) & set((row["tags"] or "").split("\n"))))


def _names_alone(names: frozenset[str], text: str) -> bool:
    """Whether a text names a file without saying in which folder."""
    return bool(names & {path for path in paths_in(text) if "/" not in path})


def _is_record(row: Row) -> bool:
    kind = kind_of_item(row["source"], row["kind"])
    return kind is None or kind.family is not KindFamily.BOOKKEEPING


def _state(row: Row) -> State:
    return state_of_item(row["source"], row["kind"], row["status"])
