"""Choosing and fetching the embedding model, as operations for the command line."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from clew.recall.hub import OFFERS, pull
from clew.recall.local import only_here
from clew.recall.switching import use_model
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation


class ModelUse(Input):
    path: Annotated[
        Name, Field(min_length=1, description="Directory of an ONNX model with its tokenizer; `installed`; `none`.")
    ]


@operation("model_use", writes=True, mode="own", idempotent=True, example={"path": "installed"})
def model_use(ctx: Context, args: ModelUse) -> dict[str, Any]:
    """Embed everything with another model, then let it serve; searches go on meanwhile."""
    only_here(ctx, "model_use")
    return use_model(ctx.dispatcher, args.path, lambda workspace, made, total: ctx.progress(made, total, workspace))


class ModelPull(Input):
    name: Annotated[Name, Field(min_length=1, description=f"One of {', '.join(OFFERS)}.")]


@operation("model_pull", writes=True, mode="own", idempotent=True, example={"name": "arctic-s"})
def model_pull(ctx: Context, args: ModelPull) -> dict[str, Any]:
    """Fetch an embedding model by name, then use it."""
    only_here(ctx, "model_pull")
    path = pull(args.name, ctx.settings.home, lambda file, size: ctx.progress(size, None, file))
    return use_model(ctx.dispatcher, path, lambda workspace, made, total: ctx.progress(made, total, workspace))
