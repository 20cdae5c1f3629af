"""The mental models by address, and the tags under which they are listed."""

from __future__ import annotations

import orjson

from clew.errors import unknown_id
from clew.ledger.mental_models import Model, model_named, models, tags_of
from clew.registry.context import Context
from clew.registry.resource import resource

ADDRESS = "thoughtbox://mental-models"


@resource("thoughtbox://mental-models", name="mental-models", title="Mental models", mime_type="application/json")
def directory(ctx: Context) -> str:
    """The mental models by tag, each with its address."""
    tags = tags_of(ctx.settings.home)
    by_tag = {tag: [_addressed(tag, model) for model in _tagged(ctx, tag)] for tag in tags}
    every = models(ctx.settings.home).values()
    shown = {
        "description": "Ways to think about a problem, by what they are good for.",
        "total_models": len(every),
        "total_tags": len(tags),
        "tags": [
            {
                "name": tag,
                "description": tags[tag],
                "uri": f"{ADDRESS}/{tag}",
                "model_count": len(found),
                "models": found,
            }
            for tag, found in by_tag.items()
        ],
        "all_models": [
            {
                "name": model.name,
                "title": model.title,
                "tags": list(model.tags),
                "uris": [f"{ADDRESS}/{tag}/{model.name}" for tag in model.tags],
            }
            for model in every
        ],
    }
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()


def _tagged(ctx: Context, tag: str) -> list[Model]:
    return [model for model in models(ctx.settings.home).values() if tag in model.tags]


def _addressed(tag: str, model: Model) -> dict[str, str]:
    return {"name": model.name, "title": model.title, "uri": f"{ADDRESS}/{tag}/{model.name}"}


def complete_tag(ctx: Context, value: str) -> list[str]:
    return [tag for tag in tags_of(ctx.settings.home) if tag.startswith(value.lower())]


def complete_model(ctx: Context, value: str) -> list[str]:
    return [name for name in models(ctx.settings.home) if name.startswith(value.lower())]


@resource(
    "thoughtbox://mental-models/{tag}",
    name="mental-models-by-tag",
    title="Mental models with a tag",
    mime_type="application/json",
    completers={"tag": complete_tag},
)
def tag_directory(ctx: Context, tag: str) -> str:
    """The mental models with one tag, each with its address."""
    tags = tags_of(ctx.settings.home)
    if tag not in tags:
        raise unknown_id("tag of mental models", tag, f"Use one of {', '.join(tags)}.")
    found = [{**_addressed(tag, m), "description": m.description, "all_tags": list(m.tags)} for m in _tagged(ctx, tag)]
    shown = {
        "tag": tag,
        "description": tags[tag],
        "uri": f"{ADDRESS}/{tag}",
        "models": found,
        "count": len(found),
    }
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()


@resource(
    "thoughtbox://mental-models/{tag}/{model}",
    name="mental-model",
    title="A mental model",
    completers={"tag": complete_tag, "model": complete_model},
)
def model_text(ctx: Context, tag: str, model: str) -> str:
    """One mental model as Markdown."""
    found = model_named(ctx, model)
    if tag not in found.tags:
        raise unknown_id("mental model", f"{tag}/{model}", f"It is tagged {', '.join(found.tags)}.")
    return _front_matter(tag, found) + found.content


def _front_matter(tag: str, model: Model) -> str:
    """The model's summary and its other addresses, as YAML front matter."""
    fields = {
        "name": model.name,
        "title": model.title,
        "tags": list(model.tags),
        "uri": f"{ADDRESS}/{tag}/{model.name}",
        "alternate_uris": [f"{ADDRESS}/{other}/{model.name}" for other in model.tags if other != tag],
    }
    lines = [f"{name}: {orjson.dumps(value).decode()}" for name, value in fields.items()]  # JSON is YAML
    return "\n".join(["---", *lines, "---", "", ""])
