"""Mental models: read from Markdown files, listed and shown. A user's file replaces ours of the same name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json
from clew.errors import ClewError, suggest, unknown_id
from clew.ledger.inputs import LedgerBounded, LedgerInput, MaybeSession, NoInput, grouped
from clew.ledger.stages import DOMAINS, peek_place
from clew.registry.arguments import nearest
from clew.registry.budget import Budget, Trim
from clew.registry.context import Context
from clew.registry.operation import Name

NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
FOLDER = "mental-models"
# The user's folder is read at each call, so its files and their number are limited.
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
    """All models: ours first in their fixed order, then the user's by name."""
    return {**built_in(), **users_own(home)}


@cache
def built_in() -> dict[str, Model]:
    folder = files("clew.ledger.guides") / "mental_models"
    return {name: parse(name, folder.joinpath(f"{name}.md").read_text(encoding="utf-8")) for name in ORDER}


def users_own(home: Path) -> dict[str, Model]:
    """The Markdown files in `<home>/mental-models`; unreadable ones are left out and reported by `problems`."""
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
        # A link could expose any file of this machine to an agent.
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return f"{path.name}: a link, or larger than {MAX_BYTES} bytes"
        return parse(path.stem, path.read_text(encoding="utf-8"), own=True)
    except (OSError, UnicodeDecodeError, ClewError) as problem:
        return f"{path.name}: {problem}"


def parse(name: str, text: str, own: bool = False) -> Model:
    """Parse a header between two lines of dashes, then the content. A user's file may have no header."""
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
    """Every tag in use with its description; tags of a user's own models get a general one."""
    used = {tag for model in models(home).values() for tag in model.tags}
    return {**TAGS, **dict.fromkeys(sorted(used - set(TAGS)), "A tag of your own models.")}


LIST_BUDGET = Budget((Trim("models", drop="last", count="count"),), 16_000)


class GetModel(LedgerInput):
    synonyms: ClassVar[dict[str, str]] = {"model": "modelId", "name": "modelId", "session_id": "sessionId"}

    model_id: Annotated[Name | None, Field(description="Such as five-whys.")] = None


@grouped("mental_models_get_model", mode="own", example={"modelId": "five-whys"})
def get_model(ctx: Context, args: GetModel) -> Json:
    """Get a mental model as text: when to use it, how, an example, what to avoid."""
    if not args.model_id:
        raise ClewError(
            "INVALID_INPUT",
            "modelId: is required",
            "Name one of availableModels.",
            [{"kind": "missing_required", "field": "modelId"}],
            [suggest("mental_models_list_models", "Shows the models there are.")],
            {"availableModels": list(models(ctx.settings.home))},
        )
    model = model_named(ctx, args.model_id)
    return {"name": model.name, "title": model.title, "tags": list(model.tags), "content": model.content}


class ListModels(LedgerBounded):
    tag: Annotated[Name | None, Field(description="Only models with this tag.")] = None
    tags: Annotated[list[Name] | None, Field(max_length=20, description="Only models with all of these tags.")] = None
    session_id: MaybeSession = None


def _belongs(model: Model, domain: str) -> bool:
    return model.name in DOMAINS.get(domain, ()) or domain in model.tags


@grouped("mental_models_list_models", mode="own", budget=LIST_BUDGET)
def list_models(ctx: Context, args: ListModels) -> Json:
    """List mental models, narrowed by tags or by the session's domain."""
    wanted = [tag for tag in (args.tag, *(args.tags or ())) if tag]
    _check_tags(ctx, wanted)
    domain = None if wanted else peek_place(ctx, args.session_id).domain
    found = [model for model in models(ctx.settings.home).values() if set(wanted) <= set(model.tags)]
    if domain is not None:
        found = [model for model in found if _belongs(model, domain)]
    result: Json = {"models": [_summary(model) for model in found], "count": len(found)}
    if wanted or domain:
        result["filter"] = ", ".join(wanted or [str(domain)])
    if unreadable := problems(ctx.settings.home):
        result["unreadable"] = unreadable
    return result


@grouped("mental_models_list_tags", mode="own")
def list_tags(ctx: Context, args: NoInput) -> Json:
    """List the tags of mental models, each with when to look there."""
    tags = [{"name": name, "description": text} for name, text in tags_of(ctx.settings.home).items()]
    return {"tags": tags, "count": len(tags)}


def model_named(ctx: Context, name: str) -> Model:
    known = models(ctx.settings.home)
    if name in known:
        return known[name]
    near = nearest(name, list(known))
    error = unknown_id(
        "mental model",
        name,
        f"Did you mean {near}?" if near else "List the models.",
        [suggest("mental_models_list_models", "Shows the models there are.")],
    )
    error.details["availableModels"] = list(known)
    raise error


def _check_tags(ctx: Context, wanted: list[str]) -> None:
    known = tags_of(ctx.settings.home)
    unknown = [tag for tag in wanted if tag not in known]
    if unknown:
        raise ClewError(
            "INVALID_INPUT",
            f"tag: unknown {', '.join(unknown)}",
            f"Use one of {', '.join(known)}.",
            [{"kind": "choice", "field": "tag", "expected": list(known)}],
            [suggest("mental_models_list_tags", "Shows the tags there are.")],
            {"availableTags": list(known)},
        )


def _summary(model: Model) -> Json:
    return {"name": model.name, "title": model.title, "description": model.description, "tags": list(model.tags)}
