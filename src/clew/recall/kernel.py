"""The weights and limits of the search, read from the kernel files of the memory workspace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from clew.memory.kernel_defaults import DEFAULTS, Setting
from clew.memory.kernels import every_kernel
from clew.registry.context import Context

Sections = dict[str, dict[str, Setting]]


@dataclass(frozen=True)
class Kernel:
    sections: Sections

    def word(self, section: str, key: str) -> str:
        return str(self.sections[section][key])

    def words(self, section: str, key: str) -> tuple[str, ...]:
        return tuple(self.word(section, key).split())

    def number(self, section: str, key: str) -> float:
        return float(self.sections[section][key])

    def whole(self, section: str, key: str) -> int:
        return int(self.sections[section][key])

    def numbers(self, section: str, key: str) -> tuple[float, ...]:
        """The numbered values of a key: `around` gives around_1, around_2, and so on."""
        values = self.sections[section]
        return tuple(float(values[name]) for name in sorted(values) if name.startswith(f"{key}_"))

    def cues(self, name: str) -> tuple[str, ...]:
        """Words that are typical of answers of this kind."""
        for section in ("cues", "words", "verify"):
            if name in self.sections[section]:
                return self.words(section, name)
        return ()

    def weights(self, pages: float = 0.0, meaning: bool = True) -> dict[str, float]:
        """The weight of each feature, interpolated by `pages` (0 to 1) between the fits for talk and for pages.

        There is a fit with vectors (`meaning`) and one without, in which words must do the work alone.
        """
        named = {**self.sections["weights"], **self.sections["time"], **self.sections["fusion"]}
        named |= self.sections["meaning"] if meaning else {}
        found = {name: float(value) for name, value in named.items()}
        for name, value in self.sections["pages" if meaning else "pages_words"].items():
            if name in found:
                found[name] += pages * (float(value) - found[name])
        return found

    def pages(self, share: float) -> float:
        """How far the weights for pages apply (0 to 1), given the share of pages in a collection."""
        low, high = self.number("pages", "from"), self.number("pages", "to")
        return min(max((share - low) / max(high - low, 1e-6), 0.0), 1.0)

    def changed(self, changes: dict[str, dict[str, Setting]]) -> Kernel:
        return Kernel({name: {**values, **changes.get(name, {})} for name, values in self.sections.items()})


@cache
def default_kernel() -> Kernel:
    return Kernel(
        {
            section: {key: spec.default for key, spec in keys.items()}
            for kernel in DEFAULTS.values()
            for section, keys in kernel.items()
        }
    )


def kernel_of(ctx: Context) -> Kernel:
    """The kernel of this workspace; values that its files do not set are defaults."""
    return Kernel(every_kernel(ctx))
