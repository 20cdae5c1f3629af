"""The numbers that steer the search: a file in INI form, overridden by the workspace's kernel of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from clew.errors import ClewError

Sections = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Kernel:
    sections: dict[str, dict[str, str]]

    def word(self, section: str, key: str) -> str:
        return self.sections[section][key].strip()

    def number(self, section: str, key: str) -> float:
        text = self.word(section, key)
        try:
            return float(text)
        except ValueError as problem:
            raise ClewError(
                "INVALID_INPUT",
                f"kernel recall: [{section}] {key} = {text!r} is not a number",
                "Mend the value in mind/recall.mind, or remove the line.",
            ) from problem

    def numbers(self, section: str, key: str) -> tuple[float, ...]:
        try:
            return tuple(float(part) for part in self.word(section, key).split())
        except ValueError as problem:
            raise ClewError(
                "INVALID_INPUT",
                f"kernel recall: [{section}] {key} holds something that is not a number",
                "Mend the value in mind/recall.mind, or remove the line.",
            ) from problem

    def words(self, section: str, key: str) -> tuple[str, ...]:
        return tuple(self.word(section, key).split())

    def weights(self) -> dict[str, float]:
        return {key: self.number("weights", key) for key in self.sections["weights"]}

    def overridden(self, changes: Sections) -> Kernel:
        """With the values that a workspace's kernel sets; names that mean nothing here are left alone."""
        merged = {name: dict(values) for name, values in self.sections.items()}
        for name, values in changes.items():
            if name in merged:
                merged[name].update({key: str(value) for key, value in values.items() if key in merged[name]})
        return Kernel(merged)


@cache
def default_kernel() -> Kernel:
    return parse_kernel(files("clew.recall").joinpath("recall.mind").read_text(encoding="utf-8"))


def parse_kernel(text: str) -> Kernel:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return Kernel({name: dict(parser.items(name)) for name in parser.sections()})
