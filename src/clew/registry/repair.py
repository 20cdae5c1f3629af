"""The intended call for one that was refused: an id that is nearly right, or a tool under another name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NamedTuple

from clew.canonical import Json
from clew.errors import ClewError, Suggestion, shorten, suggest
from clew.index import item_reads
from clew.kinds.catalogue import all_kinds, by_prefix, kind_named
from clew.kinds.kind import Kind
from clew.registry.arguments import (
    check_raw,
    fitting,
    nearest,
    parse,
    says_enough,
    under_own_names,
    without_secrets,
)
from clew.registry.catalogue import catalogue
from clew.registry.context import Context
from clew.registry.lookup import find_operation
from clew.registry.operation import Operation
from clew.registry.toolsets import AGENT_TOOLS
from clew.registry.vocabulary import DURABLE, KINDS

OTHER_NAMES = {
    "recall": "search find query lookup ask retrieve grep memory nodes know",
    "remember": "save store memorize note write add keep record log learn decide decision fact rule preference lesson"
    " entities observations relations",
    "open": "get read show view fetch details describe approve accept reject",
    "record_list": "graph inventory memories",
    "retract": "forget delete remove invalidate withdraw revoke discard cancel drop abandon",
    "block_history": "history versions revisions",
    "start": "begin create todo new plan task",
    "close": "done complete finish check tick resolve prove",
    "resume": "continue status context snapshot load briefing where",
    "think": "thought reason reflect brainstorm hypothesize",
    "undo": "revert rollback back",
    "restore": "recover reinstate unretract undelete",
    "op_search": "help tools operations commands",
}
"""By tool: the names that agents use for it. Names that are tried without success are added here."""
_TOOL_OF = {word: tool for tool, words in OTHER_NAMES.items() for word in words.split()}
_CHANGES = frozenset({"update", "edit", "change", "modify", "amend", "replace", "correct", "supersede"})
"""Verbs of memory servers that overwrite a record; here a new one replaces it."""
_ANSWERS = frozenset({"answer", "resolve", "settle"})
"""Verbs that answer a question; the given text replaces the question."""
_KIND_OF = {"decide": "decision", "learn": "lesson", **{kind: kind for kind in (*DURABLE, "question")}}
_SHOWS = frozenset({"list", "get", "show", "read", "fetch", "view", "find", "all", "search"})
_WORK = frozenset({"task", "tasks", "todo", "steps", "step"})
_BEGINS = frozenset({"add", "create", "new", "make", "begin"})
_ID = re.compile(r"[A-Z]{1,6}-[\w-]{1,24}")
_NAME = re.compile(r"[A-Za-z][\w. -]{0,60}", re.ASCII)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
MOST_REFS = 2_000


def tool_meant(name: Any, arguments: Any) -> Suggestion | None:
    """The call of the tool that takes these arguments and is most often intended by such a name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    if _CHANGES & set(_words(name)[:1]):
        return _replacement(arguments)
    said = set(arguments) - {"fmt", "workspace"} if isinstance(arguments, dict) else arguments
    if not said and (listed := _kinds_listed(name)):
        return suggest("recall", "recall does this.", "high", kinds=listed)
    for tool in _tools_meant(name):
        found = _call_of(tool, name, arguments)
        if found is not None:
            return found
        if tool == _changing_verb(name):
            return None  # the intended change is not clear, and a read is not what was intended
    return None


def _call_of(tool: str, name: str, arguments: Any) -> Suggestion | None:
    """The call of one tool with these arguments; None if they do not fit it."""
    operation = find_operation(tool)
    given: Json = {}
    try:
        given = _given_to(operation, name, arguments)
        meant = parse(operation, given).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ClewError as error:
        return _repaired_call(operation, name, given, error)
    if says_enough(operation, meant):
        return suggest(tool, f"{tool} does this.", "high", **meant)
    looked_at = _acted_on(meant)
    if looked_at is None:
        return None
    return suggest("open", f"{tool} also needs {' or '.join(operation.input.needs_one_of)}.", "high", id=looked_at)


def _repaired_call(operation: Operation, name: str, given: Json, error: ClewError) -> Suggestion | None:
    tool = operation.name
    fitted = fitting(operation, given, error)
    if fitted is not None:
        left = ", ".join(key for key in given if key not in fitted)
        return suggest(tool, f"{tool} does this{f', without {left}' if left else ''}.", "high", **fitted)
    if _is_certain(name, tool, bool(given)) and _lacks(error):
        return _with_more(tool, error, under_own_names(operation, given))
    return None


def _given_to(operation: Operation, name: str, arguments: Any) -> Json:
    """The arguments under this tool's names: with the kind that the name implies, and the only id among them as id."""
    given, _ = without_secrets(operation, check_raw(arguments))
    given = {key: value for key, value in given.items() if key != "fmt"}
    if operation.name == "remember":
        return _remembered(operation, name, given)
    ids = {key: value for key, value in given.items() if _only_id(value) is not None}
    if "id" in operation.input.model_fields and "id" not in under_own_names(operation, given) and len(ids) == 1:
        ((key, value),) = ids.items()
        return {**{other: item for other, item in given.items() if other != key}, "id": _only_id(value)}
    return given


def _remembered(operation: Operation, name: str, given: Json) -> Json:
    words = _words(name)
    if words and words[0] in _ANSWERS:
        return _answering(operation, given)
    kind = next((_KIND_OF[word] for word in words if word in _KIND_OF), None)
    if kind is not None and not set(given) & set(KINDS):
        given = {"kind": kind, **given}
    return given if _has_text(operation, given) else _with_all_texts(operation, given)


def _answering(operation: Operation, given: Json) -> Json:
    """Use the id of the question as `replaces`, not as part of the answer's text."""
    ids = {key: _only_id(value) for key, value in given.items() if _only_id(value) is not None}
    rest = {key: value for key, value in given.items() if key not in ids}
    texts = rest if _has_text(operation, rest) else _with_all_texts(operation, rest)
    return {**texts, "replaces": list(ids.values())} if ids else texts


def _only_id(value: Any) -> str | None:
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    return one if isinstance(one, str) and _ID.fullmatch(one.strip()) else None


def _has_text(operation: Operation, given: Json) -> bool:
    own = under_own_names(operation, given)
    return "text" in own or any(kind in own for kind in KINDS)


def _with_all_texts(operation: Operation, given: Json) -> Json:
    """Join the texts under the argument names of another memory server, in the caller's words and order."""
    own = {name: value for name, value in given.items() if _is_own(operation, name)}
    texts = [" ".join(text.split()) for name, value in given.items() if name not in own for text in _leaves(value)]
    return {**own, "text": " ".join(texts)} if texts else given


def _is_own(operation: Operation, name: str) -> bool:
    return operation.input.synonyms.get(name, name) in operation.input.model_fields


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)


def _kinds_listed(name: str) -> list[str]:
    """The kinds that such a name lists: `get_rules`, `show_decisions`."""
    words = _words(name)
    if not words or words[0] not in _SHOWS:
        return []
    kinds = [kind_named(word) or kind_named(word.removesuffix("s")) for word in words[1:]]
    return [kind.name for kind in kinds if kind is not None and kind.name in KINDS]


def _acted_on(given: Json) -> str | None:
    return next((given[name] for name in ("id", "step", "task") if isinstance(given.get(name), str)), None)


def _changing_verb(name: str) -> str | None:
    """The tool that writes, for a name that begins with its verb."""
    verb = next(iter(_words(name)), "")
    tool = _TOOL_OF.get(verb) if verb not in _BEGINS else None
    return tool if tool is not None and find_operation(tool).writes else None


def _is_certain(name: str, tool: str, has_arguments: bool) -> bool:
    """Whether the name identifies the tool: as a whole, or by its verb if the call has arguments."""
    verb = next(iter(_words(name)), "")
    by_verb = _TOOL_OF.get(verb) if has_arguments and verb not in _BEGINS else None
    return tool in (_TOOL_OF.get(name.lower()), by_verb)


def _replacement(arguments: Any) -> Suggestion | None:
    """A new record to replace the one that the call would overwrite."""
    given = arguments if isinstance(arguments, dict) else {}
    meant = under_own_names(find_operation("remember"), given)
    id = next((meant.pop(name) for name in list(meant) if _only_id(meant[name]) is not None), None)
    if not isinstance(id, str) or not isinstance(meant.get("text"), str):
        return None
    kind = by_prefix().get(id.strip().upper().partition("-")[0])
    named = {"kind": kind.name} if kind is not None and kind.is_remembered else {}
    with suppress(ClewError):
        operation = find_operation("remember")
        checked = parse(operation, {**named, **without_secrets(operation, check_raw(meant))[0], "replaces": [id]})
        return suggest("remember", "remember does this.", "high", **checked.model_dump(mode="json", exclude_unset=True))
    return None


def _lacks(error: ClewError) -> list[str]:
    """The missing required arguments of a call, if it has no other errors."""
    fields = [str(hint.get("field")) for hint in error.hints if hint.get("kind") == "missing_required"]
    return fields if len(fields) == len(error.hints) else []


def _with_more(tool: str, error: ClewError, given: Any) -> Suggestion:
    """For a tool that is certainly intended: its missing arguments, and a read of its target. No words are invented."""
    reason = f"{tool} does this; it also needs {', '.join(_lacks(error))}."
    id = next((given[name] for name in ("id", "block_id", "task", "target") if name in given), None)
    if isinstance(id, str) and tool != "open":
        return suggest("open", reason, "high", id=id)
    return suggest("op_search", reason, "high", query=tool)


def is_other_name(name: str) -> bool:
    """Whether an operation has a name that agents rather use for another tool."""
    return name in _TOOL_OF


def _tools_meant(name: str) -> list[str]:
    from clew.registry.discovery import search

    words = _words(name)
    work = ["start"] if _BEGINS & set(words) and _WORK & set(words) else []
    spelled = get_close_matches(name.lower(), [*AGENT_TOOLS, "undo", "restore"], n=1, cutoff=0.7)
    named = [_TOOL_OF[word] for word in words if word in _TOOL_OF]
    near = nearest(name, [entry.name for entry in catalogue().operations])
    found = [entry.name for entry in search(" ".join(words))[:3]] if words else []
    whole = [_TOOL_OF[name.lower()]] if name.lower() in _TOOL_OF else []
    # Work is listed by its nouns; a verb alone identifies the tool.
    listed = found if _WORK & set(words) and not named else []
    # A shared word weighs more than the similarity of letters: `memory_search` is like op_search, and means recall.
    return list(dict.fromkeys([*whole, *work, *listed, *named, *spelled, *([near] if near else []), *found]))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


class NearId(NamedTuple):
    id: str
    title: str
    is_same: bool
    """Whether only the spelling differed, such as `D1` or `decision 1` for D-1."""

    @property
    def named(self) -> str:
        return f"{self.id} ({shorten(self.title, 60)})"


_ID_IN_LIST = re.compile(r"\b[A-Z]{1,6}-\d+\b")
_SPELLED = re.compile(r"([A-Za-z]+?)[\s_.:#-]*([0-9lIoO]{1,7})")
_BARE = re.compile(r"#?0*(\d{1,6})")
_DIGITS = str.maketrans("lIoO", "1100")


def near_ids(ctx: Context, given: str, of_work: bool = False) -> list[NearId]:
    """Similar ids for an unknown one: other spellings of it, else the nearest with the same prefix."""
    digits = _BARE.fullmatch(given.strip())
    if digits is not None:
        numbered = [f"{prefix}-{digits[1]}" for prefix in _prefixes()]
        return _known_ids(ctx, [*([] if of_work else numbered), f"TASK-{int(digits[1]):03d}"])[:3]
    several = _ID_IN_LIST.findall(given)
    if len(several) > 1:
        return _known_ids(ctx, several)[:3]
    titled = item_reads.items_titled(ctx.tx, ctx.workspace, given.strip(), 2) if " " in given.strip() else []
    if len(titled) == 1:
        return [NearId(titled[0]["ref"], titled[0]["title"], True)]
    given = _bare_id(given)
    same = item_reads.items_by_ref(ctx.tx, ctx.workspace, _spellings(given))
    if same:
        return [NearId(row["ref"], row["title"] or "", True) for row in same[:1]]
    head = re.match(r"[A-Za-z]+", given.strip())
    if head is None:
        return []
    refs = item_reads.refs_starting(ctx.tx, ctx.workspace, f"{head[0].upper()}-")[:MOST_REFS]
    return _known_ids(ctx, get_close_matches(given.strip().upper(), refs, n=2, cutoff=0.5))


def _known_ids(ctx: Context, ids: list[str]) -> list[NearId]:
    """Those of the ids that exist, in their order."""
    titles = {row["ref"]: row["title"] or "" for row in item_reads.items_by_ref(ctx.tx, ctx.workspace, ids)}
    return [NearId(id, titles[id], False) for id in ids if id in titles]


_ID_IN_WORDS = re.compile(r"(?:(?:the|id|record|block|card)\s+)*([a-z]+)\W+([A-Z]+-\d+)", re.IGNORECASE)


def _bare_id(given: str) -> str:
    """Extract D-1 from `decision D-1`, `the record D-1` and `[D-1].`."""
    plain = given.strip().strip(".,;:()[]{}<>`'\"")
    match = _ID_IN_WORDS.fullmatch(plain)
    named = match is not None and (
        match[1].lower() in ("id", "record", "block", "card") or kind_named(match[1].lower())
    )
    return match[2].upper() if match is not None and named else plain


def _prefixes() -> list[str]:
    return list(dict.fromkeys(kind.prefix for kind in all_kinds() if kind.prefix))


def _spellings(given: str) -> list[str]:
    match = _SPELLED.fullmatch(given)
    if match is None:
        return []
    number = int(match[2].translate(_DIGITS))
    kind = kind_named(match[1].lower()) or _kind_beginning(match[1].lower())
    prefixes = dict.fromkeys([match[1].upper(), *([kind.prefix] if kind is not None and kind.prefix else [])])
    return [id for prefix in prefixes for id in (f"{prefix}-{number}", f"{prefix}-{number:03d}")]


def _kind_beginning(word: str) -> Kind | None:
    """The kind whose name has this prefix: DEC-2 is a decision."""
    found = [kind for kind in all_kinds() if len(word) > 2 and kind.prefix and kind.name.startswith(word)]
    return found[0] if len(found) == 1 else None


_LETTERED = {"q": "question", "h": "hypothesis", "e": "evidence", "n": "note"}
"""Kinds that are cards, by the letter that their ids would have if they were blocks."""


def _kind_of_id(text: str) -> str | None:
    """The kind that an id such as `Q-1` or `question-1` would have."""
    match = re.fullmatch(r"([A-Za-z]+)[-_ #]?\d{1,6}", text)
    if match is None:
        return None
    word = match[1].lower()
    found = kind_named(_LETTERED.get(word, word)) or by_prefix().get(word.upper())
    return found.name if found is not None and found.is_remembered else None


_PATH = re.compile(r"((?=.*[\w)])[\w@.+()-]*(?:/[\w@.+()-]+)+/?|[\w-]+\.[A-Za-z]{1,5})(?::\d+)*")
_STEP_PATH = re.compile(r"s:\d+(?:[./]s:\d+)*")


def other_ways(given: str) -> list[Suggestion]:
    """Suggestions for an argument that is not an id: a file, a step, or the content of a record."""
    text = given.strip()
    kind = _kind_of_id(text)
    if kind is not None:
        return [suggest("recall", f"Shows each {kind} with its id.", "high", kinds=[kind])]
    if _STEP_PATH.fullmatch(text.lower()):
        return [suggest("resume", "Shows the steps there are.", "high")]
    if path := _PATH.fullmatch(text):
        return [suggest("recall", "Shows what concerns this file.", "high", about=[path[1]])]
    if " " in text and not text.isdigit():
        return [suggest("recall", "Finds records by their words.", "high", query=text)]
    return []


def with_near_ids(error: ClewError, near: list[NearId], name: str, arguments: Json) -> list[Suggestion]:
    """Add similar ids to an error about an unknown id. Another record is only read, never acted upon."""
    if not near or error.unknown is None:
        return []
    same, operation = near[0].is_same, find_operation(name)
    named = ", ".join(item.named for item in near)
    error.recovery = f"{named} is meant?" if same else f"The nearest: {named}."
    with suppress(ClewError):  # as they were parsed: `F1,F-2` was a list of two
        arguments = parse(operation, arguments).model_dump(mode="json", by_alias=True, exclude_unset=True)
    again = _replaced(arguments, error.unknown.strip().casefold(), near[0].id)
    if again != arguments and (same or not operation.writes):
        with suppress(ClewError):
            checked = parse(operation, again).model_dump(mode="json", by_alias=True, exclude_unset=True)
            return [suggest(name, f"The same for {near[0].named}.", "high", **checked)]
    return [suggest("open", f"Shows {item.named}.", "medium", id=item.id) for item in near]


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return new if value.strip().casefold() == old else value
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return value
