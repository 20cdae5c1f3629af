"""Which models there are, read from their files; a user's file of the same name takes the place of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from clew.errors import ClewError

NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
FOLDER = "mental-models"
MAX_BYTES = 100_000
MAX_MODELS = 500

TAGS = {
    "debugging": "Something behaves wrongly and you want the cause.",
    "planning": "Work lies ahead and you want an order that holds.",
    "decision-making": "There is more than one way, and one has to be taken.",
    "risk-management": "You want to know what could go wrong before it does.",
    "problem-solving": "The problem resists, or is not yet the right problem.",
    "analysis": "You want to understand what is there before you act.",
}

ORDER = (
    "rubber-duck", "five-whys", "pre-mortem", "steelmanning", "fermi-estimation", "trade-off-matrix", "decomposition",
    "inversion", "abstraction-laddering", "constraint-relaxation", "assumption-surfacing", "adversarial-thinking",
    "time-horizon-shifting", "impact-effort-grid", "opportunity-cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    content: str
    own: bool = False


def models(home: Path) -> dict[str, Model]:
    """All models, ours first in their order, then the user's by name."""
    return {**built_in(), **users_own(home)}


@cache
def built_in() -> dict[str, Model]:
    folder = files("clew.ledger.mental_models.texts")
    return {name: parse(name, folder.joinpath(f"{name}.md").read_text(encoding="utf-8")) for name in ORDER}


def users_own(home: Path) -> dict[str, Model]:
    """Markdown files in `<home>/mental-models`; one that cannot be read is passed over here and told by `problems`."""
    return {model.name: model for model in _read(home) if isinstance(model, Model)}


def problems(home: Path) -> list[str]:
    return [found for found in _read(home) if isinstance(found, str)]


def _read(home: Path) -> list[Model | str]:
    folder = home / FOLDER
    paths = sorted(folder.glob("*.md"))[:MAX_MODELS] if folder.is_dir() else []
    return [_own(path) for path in paths]


def _own(path: Path) -> Model | str:
    if not NAME.fullmatch(path.stem):
        return f"{path.name}: the name must be lower-case letters, digits and hyphens"
    try:
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return f"{path.name}: a link, or larger than {MAX_BYTES} bytes"
        return parse(path.stem, path.read_text(encoding="utf-8"), own=True)
    except (OSError, UnicodeDecodeError, ClewError) as problem:
        return f"{path.name}: {problem}"


def parse(name: str, text: str, own: bool = False) -> Model:
    """A header between two lines of dashes, then the content. A user's file may do without a header."""
    header, body = _split(text)
    heading = re.search(r"^#\s+(.+)$", body, re.MULTILINE)
    title = header.get("title") or (heading.group(1).strip() if heading else name.replace("-", " ").title())
    tags = tuple(tag.strip().lower() for tag in header.get("tags", "").split(",") if tag.strip())
    return Model(name, title, header.get("description") or _first_sentence(body), tags, body.strip() + "\n", own)


def _split(text: str) -> tuple[dict[str, str], str]:
    if not text.startswith("---\n"):
        return {}, text
    head, marker, body = text[4:].partition("\n---\n")
    if not marker:
        raise ClewError("INVALID_INPUT", "the header has no end", "Close it with a line of three dashes.")
    pairs = (line.partition(":") for line in head.splitlines() if ":" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}, body


def _first_sentence(body: str) -> str:
    for line in body.splitlines():
        plain = line.strip()
        if plain and not plain.startswith("#"):
            return plain.partition(". ")[0][:200]
    return ""


def tags_of(home: Path) -> dict[str, str]:
    """Every tag in use with its meaning; a user's own tag explains itself."""
    used = {tag for model in models(home).values() for tag in model.tags}
    return {**TAGS, **dict.fromkeys(sorted(used - set(TAGS)), "A tag of your own models.")}
