"""Kernels: INI files in the workspace that configure recall. Typed and validated here, strings on the wire.

Kernels as Mind-Mem ships them are accepted too. Mind-Mem itself reads only k1, b and the weights of
fields; its other keys have no effect there, so Clew reports them and ignores them, also the two that
Clew has under the same name. A weight that was tuned keeps its proportion: Statement at twice the value
that Mind-Mem ships doubles the weight of Clew's headline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import orjson

from clew.errors import shorten
from clew.hooks import HookPoint
from clew.memory.files import plain_files
from clew.memory.files.directory import CONFIGURATION, KERNELS
from clew.memory.kernel_defaults import DEFAULTS, RETIRED, Key, Setting, kernel_text
from clew.registry.context import Context

_SECTION = re.compile(r"\[([A-Za-z0-9_]+)\]")
_PAIR = re.compile(r"([A-Za-z0-9_]+)\s*=\s*(.*)")

Values = dict[str, dict[str, Setting]]
Config = dict[str, dict[str, str]]


@dataclass(frozen=True)
class ForeignKeys:
    """The keys of another program's kernel with the same name."""

    sections: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Its keys by section that Clew does not have."""
    idle: tuple[tuple[str, str], ...] = ()
    """Section and key that both have, and that it never reads: the shipped value was not chosen by a user."""
    scaled: Mapping[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    """Section and key -> the weight of Clew that it scales, and the shipped value."""


foreign_keys: HookPoint[Callable[[str], ForeignKeys]] = HookPoint("foreign_keys")


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel file: its strings, the values the pipeline uses, and the rejected lines, each with file and line."""

    config: Config
    values: Values
    problems: list[str]
    unused: list[str]
    """Keys without effect here: those of Mind-Mem that Clew's recall does not have, and all of another kernel."""


def kernel(ctx: Context, name: str) -> Values:
    """The typed values of a kernel inside a transaction. A rejected key is reported in a warning and
    keeps its default."""
    loaded = load(ctx, name)
    _warn_of(ctx, name, loaded)
    return loaded.values


def _warn_of(ctx: Context, name: str, loaded: LoadedKernel) -> None:
    for problem in loaded.problems:
        ctx.warn("KERNEL_REJECTED", problem, f"Correct mind/{name}.mind; the default is used meanwhile.")


def every_kernel(ctx: Context) -> Values:
    """The sections of all shipped kernels together; section names are unique across them."""
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
    """Whether mind-mem.json leaves semantic search on: `recall.vector_enabled: false` turns it off."""
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
    """Parse a kernel; unknown keys and values out of range are problems.

    A kernel that Clew does not have configures nothing, so nothing in it is a problem: it may be a
    person's own, or code. Its keys are unused.
    """
    # The text is part of the cache key, so an edited file is parsed again at the next call.
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
    """Parses a kernel line by line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.foreign = next((keys_of(name) for keys_of in foreign_keys.all()), ForeignKeys())
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
        if not (section in self.specs or section in self.foreign.sections or section in RETIRED):
            raise ValueError(f"section {section} is unknown; known: {', '.join(self.specs) or 'none'}")

    def _set(self, key: str, value: str) -> None:
        self.config.setdefault(self.section, {})[key] = value
        spec = self.specs.get(self.section, {}).get(key)
        if not self.specs:
            # Without a section it is a line of code that looks like a setting.
            self.unused += [f"{self.section}.{key}"] if self.section else []
        elif spec is not None:
            self.values[self.section][key] = typed(f"{self.section}.{key}", value, spec)
        elif key in self.foreign.sections.get(self.section, ()):
            self._set_foreign(key, value)
        elif self.section in RETIRED:
            self.unused.append(f"{self.section}.{key}")
        else:
            known = ", ".join(self.specs.get(self.section, {})) or "none"
            raise ValueError(f"key {self.section}.{key} is read by nothing; known: {known}")

    def _set_foreign(self, key: str, value: str) -> None:
        self.theirs = True
        if (self.section, key) not in self.foreign.scaled:
            self.unused.append(f"{self.section}.{key}")
            return
        weight, shipped = self.foreign.scaled[self.section, key]
        # 10 is also the upper end of the range that Clew's own field weights accept.
        factor = _number(f"{self.section}.{key}", value, Key(shipped, 0, 10 * shipped)) / shipped
        default = float(self.specs[self.section][weight].default)
        self.values[self.section][weight] = min(default * factor, 10.0)

    def set_back(self) -> None:
        """Reset keys that another program never reads in its own file, which is detected by keys that only it has."""
        for section, key in self.foreign.idle if self.theirs else ():
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
    """Every kernel: the shipped ones, and other files in the workspace's folder."""
    found = [path.removeprefix("mind/").removesuffix(".mind") for path in plain_files.paths(ctx, "mind")]
    return sorted({*DEFAULTS, *found})
