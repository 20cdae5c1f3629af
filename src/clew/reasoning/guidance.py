"""Texts for agents: the operations help, skill (rules for a way of working) and think_playbook."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import Field

from clew.canonical import Json
from clew.errors import Suggestion, suggest
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import suggestion_line
from clew.registry.operation import Bounded, Name, View, operation

SKILL_VERSION = "0.1.0"

Texts = dict[str, dict[str, list[str]]]


@cache
def texts() -> Texts:
    """The texts for agents, by part and name."""
    source = files("clew.reasoning").joinpath("guidance.toml")
    found: Texts = tomllib.loads(source.read_text(encoding="utf-8"))
    found["playbooks"]["skeptic_loop"] = found["playbooks"]["skeptic"]
    return found


class Help(Bounded):
    names_workspace = False


@operation("help", mode="own", view=View(is_text=True))
def help(ctx: Context, args: Help) -> Json:
    """Explain the line protocol, proof conventions, delegation and the daily way of working."""
    whole = suggest("help", "The whole text.", "medium")
    return _told(ctx, "\n".join(_sections(texts()["help"])), args.max_chars, whole)


class Skill(Bounded):
    names_workspace = False

    profile: Annotated[Literal["daily", "strict", "research", "teamlead"], Field(description="Way of working.")] = (
        "daily"
    )


@operation("skill", mode="own", view=View(is_text=True))
def skill(ctx: Context, args: Skill) -> Json:
    """Give a short pack of rules for one way of working, fit to put into a prompt."""
    head = f"skill profile={args.profile} version={SKILL_VERSION}"
    lines = [head, *_sections({args.profile.upper(): texts()["profiles"][args.profile], **texts()["shared"]})]
    whole = suggest("skill", "The whole text.", "medium", profile=args.profile)
    return _told(ctx, "\n".join(lines), args.max_chars, whole)


def _told(ctx: Context, text: str, limit: int | None, whole: Suggestion) -> Json:
    """The text within `limit` characters; if it was truncated, its last line is the call that returns all of it."""
    if limit is None or len(text) <= limit:
        return {"text": text}
    ctx.suggest(whole)
    more = f"\nMORE: {suggestion_line(whole)}"
    if 2 * len(more) > limit:
        more = ""
    return {"text": cut(text, limit - len(more)) + more, "truncated": True}


def cut(text: str, limit: int) -> str:
    """The text truncated to `limit` characters; dots mark a cut."""
    if len(text) <= limit:
        return text
    return text[: limit - 3] + "..." if limit > 3 else text[:limit]


def _sections(sections: dict[str, list[str]]) -> list[str]:
    lines = []
    for name, rules in sections.items():
        lines.append(f"[{name}]")
        lines += [f"- {rule}" for rule in rules]
    return lines


MATRIX = {
    "options": ["A", "B"],
    "criteria": [{"name": "correctness", "weight": 5}, {"name": "complexity", "weight": 3}],
}


def playbook(name: str) -> Json:
    """The steps of a playbook; the default one for an unknown name."""
    known = texts()["playbooks"]
    matrix = {"matrix_template": MATRIX} if name == "criteria_matrix" else {}
    return {"steps": known.get(name, known["default"]), **matrix}


class ThinkPlaybook(Bounded):
    name: Annotated[Name, Field(description="default, strict, skeptic, breakthrough, debug, bisect, experiment, ...")]


PLAYBOOK_BUDGET = Budget(
    (
        Drop("template.matrix_template"),
        Trim("template.steps", drop="last", floor=1),
        Drop("supported"),
        Clip("name", 40),
        Trim("template.steps", drop="last"),
    ),
    keep=("name",),
)


@operation("think_playbook", budget=PLAYBOOK_BUDGET, example={"name": "debug"})
def think_playbook(ctx: Context, args: ThinkPlaybook) -> Json:
    """Give the steps of a playbook, such as strict, debug, bisect, experiment or criteria_matrix."""
    name = args.name.strip().lower()
    return {
        "workspace": ctx.workspace,
        "name": cut(name, 200),
        "known": name in texts()["playbooks"],
        "supported": sorted(texts()["playbooks"]),
        "template": playbook(name),
    }
