"""Kernels: INI files in the workspace that steer recall. Typed and checked here, strings on the wire.

Kernels as Mind-Mem ships them are accepted too. Mind-Mem itself reads only k1, b and the weights of fields; its other
keys have no effect there, so Clew names them and ignores them, also the two that Clew has under the same name. A weight
that somebody tuned keeps its proportion: Statement at twice what Mind-Mem ships makes Clew's headline count twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import orjson
from pydantic import Field

from clew.errors import ClewError, shorten, suggest
from clew.memory.files import plain_files
from clew.memory.files.directory import CONFIGURATION, KERNELS, root_of
from clew.memory.files.sync import sync
from clew.memory.kernel_defaults import DEFAULTS, RETIRED, Key, Setting, kernel_text
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, View, operation

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SECTION = re.compile(r"\[([A-Za-z0-9_]+)\]")
_PAIR = re.compile(r"([A-Za-z0-9_]+)\s*=\s*(.*)")

Values = dict[str, dict[str, Setting]]
Config = dict[str, dict[str, str]]


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel file: its strings, the values the pipeline uses, and what was rejected, each with file and line."""

    config: Config
    values: Values
    problems: list[str]
    unused: list[str]
    """Keys that steer nothing here: those of Mind-Mem that Clew's recall does not have, and all of another kernel."""


def kernel(ctx: Context, name: str) -> Values:
    """The typed values of a kernel inside a transaction. A rejected key is named in a warning and keeps its default."""
    loaded = load(ctx, name)
    _warn_of(ctx, name, loaded)
    return loaded.values


def _warn_of(ctx: Context, name: str, loaded: LoadedKernel) -> None:
    for problem in loaded.problems:
        ctx.warn("KERNEL_REJECTED", problem, f"Correct mind/{name}.mind; the default is used meanwhile.")


def every_kernel(ctx: Context) -> Values:
    """The sections of all shipped kernels together; no two have a section of the same name."""
    texts = plain_files.texts(ctx, KERNELS, CONFIGURATION)
    sections: Values = {}
    for name in DEFAULTS:
        loaded = parse(name, texts.get(path_of(name)) or kernel_text(name))
        _warn_of(ctx, name, loaded)
        sections.update(loaded.values)
    if not vectors_wanted(texts.get(CONFIGURATION, "")):
        sections["vector"] = {**sections["vector"], "enabled": False}
    return sections


@lru_cache(maxsize=64)
def vectors_wanted(configuration: str) -> bool:
    """Whether mind-mem.json leaves the search by meaning on: `recall.vector_enabled: false` turns it off."""
    try:
        recall = orjson.loads(configuration or "{}").get("recall")
    except (orjson.JSONDecodeError, AttributeError):
        return True
    return not isinstance(recall, dict) or recall.get("vector_enabled") is not False


def load(ctx: Context, name: str) -> LoadedKernel:
    return parse(name, plain_files.text(ctx, path_of(name)) or kernel_text(name))


def path_of(name: str) -> str:
    return f"mind/{name}.mind"


@lru_cache(maxsize=64)
def parse(name: str, text: str) -> LoadedKernel:
    """Read a kernel; keys that nothing reads and values out of range are problems.

    A kernel that Clew does not have steers nothing, so nothing in it is a problem: it may be a person's own, or code.
    Its keys are unused.
    """
    # The text is part of the cache's key, so an edited file is read anew at the next call.
    reader = _Reader(name)
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if line:
            try:
                reader.take(line)
            except ValueError as problem:
                reader.problems.append(f"{path_of(name)} line {number}: {problem}")
    reader.set_back()
    problems = reader.problems if name in DEFAULTS else []
    return LoadedKernel(reader.config, reader.values, problems, reader.unused)


class _Reader:
    """Takes the lines of a kernel one by one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.specs = DEFAULTS.get(name, {})
        self.values: Values = {
            section: {key: spec.default for key, spec in keys.items()} for section, keys in self.specs.items()
        }
        self.config: Config = {}
        self.problems: list[str] = []
        self.unused: list[str] = []
        self.section = ""
        self.theirs = False

    def take(self, line: str) -> None:
        header, pair = _SECTION.fullmatch(line), _PAIR.fullmatch(line)
        if header:
            self._open(header.group(1))
        elif pair:
            self._set(pair.group(1), pair.group(2).strip())
        else:
            raise ValueError(f"{shorten(line, 60)!r} is neither a [section] nor key = value")

    def _open(self, section: str) -> None:
        self.section = section
        self.config.setdefault(section, {})
        if section not in self.specs and section not in KNOWN.get(self.name, ()) and section not in RETIRED:
            raise ValueError(f"section {section} is unknown; known: {', '.join(self.specs) or 'none'}")

    def _set(self, key: str, value: str) -> None:
        self.config.setdefault(self.section, {})[key] = value
        spec = self.specs.get(self.section, {}).get(key)
        if not self.specs:
            # Without a section it is a line of code that looks like a setting.
            self.unused += [f"{self.section}.{key}"] if self.section else []
        elif spec is not None:
            self.values[self.section][key] = typed(f"{self.section}.{key}", value, spec)
        elif is_foreign(self.name, self.section, key):
            self._set_foreign(key, value)
        elif self.section in RETIRED:
            self.unused.append(f"{self.section}.{key}")
        else:
            known = ", ".join(self.specs.get(self.section, {})) or "none"
            raise ValueError(f"key {self.section}.{key} is read by nothing; known: {known}")

    def _set_foreign(self, key: str, value: str) -> None:
        self.theirs = True
        meant = scaled(self.name, self.section, key, value)
        if meant is None:
            self.unused.append(f"{self.section}.{key}")
        else:
            self.values[self.section][meant[0]] = meant[1]

    def set_back(self) -> None:
        """Ignore what Mind-Mem ships and never reads in a file of its own, which is known by keys that only it has."""
        for section, key in IDLE.get(self.name, ()) if self.theirs else ():
            if key in self.config.get(section, {}):
                self.values[section][key] = self.specs[section][key].default
                self.unused.append(f"{section}.{key}")


def typed(name: str, value: str, spec: Key) -> Setting:
    if isinstance(spec.default, bool):
        if value.lower() not in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
            raise ValueError(f"{name}: {shorten(value, 40)!r} is neither true nor false")
        return value.lower() in {"true", "yes", "on", "1"}
    if isinstance(spec.default, str):
        if spec.choices and value not in spec.choices:
            raise ValueError(f"{name}: {shorten(value, 40)!r} is not one of {', '.join(spec.choices)}")
        return value
    return _number(name, value, spec)


def _number(name: str, value: str, spec: Key) -> int | float:
    kind = int if isinstance(spec.default, int) else float
    try:
        number = kind(value)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise ValueError(f"{name}: {shorten(value, 40)!r} is not {expected}") from None
    if not spec.low <= number <= spec.high:
        raise ValueError(f"{name}: {value} is not between {spec.low:g} and {spec.high:g}")
    return number


def names(ctx: Context) -> list[str]:
    """Every kernel: the shipped ones, and whatever else lies in the workspace's folder."""
    found = [path.removeprefix("mind/").removesuffix(".mind") for path in plain_files.paths(ctx, "mind")]
    return sorted({*DEFAULTS, *found})


class NoArguments(Input):
    pass


class KernelName(Input):
    name: Annotated[str, Field(max_length=256, description="Kernel name, such as recall, rm3, rerank or temporal.")]


@operation("list_mind_kernels", mode="own", view=View(bare=lambda result: result["kernels"]))
def list_mind_kernels(ctx: Context, args: NoArguments) -> dict[str, Any]:
    """List the kernel files that tune recall."""
    sync(ctx)
    with ctx.reading() as bound:
        return {"kernels": [_summary(bound, name) for name in names(bound)]}


def _summary(ctx: Context, name: str) -> dict[str, Any]:
    loaded = load(ctx, name)
    summary: dict[str, Any] = {"name": name, "sections": list(loaded.config), **_place(ctx, name)}
    return {**summary, **_remarks(loaded)}


def _remarks(loaded: LoadedKernel) -> dict[str, Any]:
    """What of the file does not count, for those who look at it; empty when all of it does."""
    told = {"problems": loaded.problems, "unused": loaded.unused}
    return {name: items for name, items in told.items() if items}


def _place(ctx: Context, name: str) -> dict[str, Any]:
    """Where the file is, or would be: without it the defaults hold."""
    root, path = root_of(ctx), path_of(name)
    there = path in plain_files.paths(ctx, KERNELS)
    return {"path": str(root / path) if root else path, **({} if there else {"exists": False})}


@operation("get_mind_kernel", mode="own", example={"name": "recall"}, view=BARE)
def get_mind_kernel(ctx: Context, args: KernelName) -> dict[str, Any]:
    """Read one kernel file as JSON; all values are strings."""
    if not _NAME.fullmatch(args.name):
        raise _unknown(f"Invalid kernel name: {shorten(args.name, 60)}", "INVALID_INPUT")
    sync(ctx)
    with ctx.reading() as bound:
        if args.name not in names(bound):
            raise _unknown(f"Kernel {args.name!r} not found", "UNKNOWN_ID")
        loaded = load(bound, args.name)
        found: dict[str, Any] = {"name": args.name, **_place(bound, args.name), "config": loaded.config}
        return {**found, **_remarks(loaded)}


def _unknown(message: str, code: str) -> ClewError:
    way = suggest("list_mind_kernels", "Lists the kernels there are.")
    return ClewError(code, message, "Use a name that list_mind_kernels shows.", suggestions=[way])


SCALED: dict[tuple[str, str], tuple[str, float]] = {
    ("fields", "Statement"): ("title", 3.0),
    ("fields", "Description"): ("body", 1.2),
    ("fields", "Tags"): ("tags", 0.8),
}
"""Section and key of `recall.mind` -> the weight of Clew that it scales, and the value that Mind-Mem ships."""

_FIELDS = """
    Title Name Summary Purpose RootCause Fix Prevention Keywords Context Rationale ProposedFix History Statement
    Description Tags
"""
_KEYS: dict[str, dict[str, str]] = {
    "recall": {
        "fields": _FIELDS,
        "retrieval": "wide_k max_expansions bigram_boost chunk_blend_alpha",
        "boost": "active_boost todo_doing_boost high_priority_boost",
    },
    "rm3": {
        "rm3": "enabled alpha fb_terms fb_docs min_idf mu",
        "prf": "single_hop_weight multi_hop_weight min_cooccurrence max_terms max_df_ratio",
    },
    "rerank": {
        "weights": "entity_overlap time_overlap bigram_phrase recency speaker_match speaker_mismatch",
        "context_pack": "max_adjacency max_diversity max_pronoun_rescue",
        "anchor": "enabled insert_position",
    },
    "temporal": {
        "scoring": "recency_weight date_boost expand_query extra_limit_factor",
        "date_normalization": "month_expansion year_month_combo",
        "decay": "horizon_days floor",
    },
    "adversarial": {
        "scoring": "recency_weight date_boost expand_query extra_limit_factor",
        "detection": "strong_negation_boost ever_boost verification_boost",
        "skeptical": "enabled force_morph_only",
    },
    "hybrid": {
        "fusion": "rrf_k bm25_weight vector_weight",
        "vector": "model onnx_backend",
        "fallback": "graceful_degradation log_fallback",
    },
    "intent": {
        "routing": "min_confidence",
        "graph": "min_depth_for_boost",
        "weights": "WHY WHEN ENTITY WHAT HOW LIST VERIFY COMPARE TRACE",
    },
}
KNOWN: dict[str, dict[str, frozenset[str]]] = {
    kernel: {section: frozenset(keys.split()) for section, keys in sections.items()}
    for kernel, sections in _KEYS.items()
}
"""Kernel -> section -> the keys that Mind-Mem has there and Clew has not."""
IDLE: dict[str, tuple[tuple[str, str], ...]] = {"hybrid": (("vector", "enabled"), ("vector", "min_similarity"))}
"""Kernel -> the keys that both have, and that Mind-Mem never reads: what it ships there is nobody's choice."""


def is_foreign(kernel: str, section: str, key: str) -> bool:
    return key in KNOWN.get(kernel, {}).get(section, ())


def scaled(kernel: str, section: str, key: str, value: str) -> tuple[str, Setting] | None:
    """The weight of Clew that a key of Mind-Mem stands for, with its value; None when there is no such weight."""
    if kernel != "recall" or (section, key) not in SCALED:
        return None
    weight, shipped = SCALED[section, key]
    # 10 is also the upper end of the range that Clew's own field weights accept.
    factor = _number(f"{section}.{key}", value, Key(shipped, 0, 10 * shipped)) / shipped
    return weight, min(float(DEFAULTS[kernel][section][weight].default) * factor, 10.0)
