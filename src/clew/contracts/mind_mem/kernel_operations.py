"""list_mind_kernels and get_mind_kernel: the kernel files as Mind-Mem's clients read them."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError, shorten, suggest
from clew.memory import kernels
from clew.memory.files import plain_files
from clew.memory.files.directory import KERNELS, root_of
from clew.memory.files.sync import sync
from clew.memory.kernels import LoadedKernel
from clew.registry.context import Context
from clew.registry.operation import BARE, Input, View, operation

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class NoArguments(Input):
    pass


class KernelName(Input):
    name: Annotated[str, Field(max_length=256, description="Kernel name, such as recall, rm3, rerank or temporal.")]


@operation("list_mind_kernels", mode="own", view=View(bare=lambda result: result["kernels"]))
def list_mind_kernels(ctx: Context, args: NoArguments) -> dict[str, Any]:
    """List the kernel files that tune recall."""
    sync(ctx)
    with ctx.reading() as bound:
        return {"kernels": [_summary(bound, name) for name in kernels.names(bound)]}


def _summary(ctx: Context, name: str) -> dict[str, Any]:
    loaded = kernels.load(ctx, name)
    summary: dict[str, Any] = {"name": name, "sections": list(loaded.config), **_place(ctx, name)}
    return {**summary, **_remarks(loaded)}


def _remarks(loaded: LoadedKernel) -> dict[str, Any]:
    """The parts of the file that are ignored, as remarks; empty if all of it is used."""
    told = {"problems": loaded.problems, "unused": loaded.unused}
    return {name: items for name, items in told.items() if items}


def _place(ctx: Context, name: str) -> dict[str, Any]:
    """The path of the file, existing or not: without it the defaults apply."""
    root, path = root_of(ctx), kernels.path_of(name)
    there = path in plain_files.paths(ctx, KERNELS)
    return {"path": str(root / path) if root else path, **({} if there else {"exists": False})}


@operation("get_mind_kernel", mode="own", example={"name": "recall"}, view=BARE)
def get_mind_kernel(ctx: Context, args: KernelName) -> dict[str, Any]:
    """Read one kernel file as JSON; all values are strings."""
    if not _NAME.fullmatch(args.name):
        raise _unknown(f"Invalid kernel name: {shorten(args.name, 60)}", "INVALID_INPUT")
    sync(ctx)
    with ctx.reading() as bound:
        if args.name not in kernels.names(bound):
            raise _unknown(f"Kernel {args.name!r} not found", "UNKNOWN_ID")
        loaded = kernels.load(bound, args.name)
        found: dict[str, Any] = {"name": args.name, **_place(bound, args.name), "config": loaded.config}
        return {**found, **_remarks(loaded)}


def _unknown(message: str, code: str) -> ClewError:
    way = suggest("list_mind_kernels", "Lists the kernels there are.")
    return ClewError(code, message, "Use a name that list_mind_kernels shows.", suggestions=[way])
