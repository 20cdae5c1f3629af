"""The operation bench_recall. The measurements themselves are in benchmarks/, which only a checkout has."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clew.errors import ClewError
from clew.recall.switch import only_here
from clew.registry.context import Context
from clew.registry.operation import Input, Name, operation

CHECKOUT = Path(__file__).resolve().parents[3]
TRIAL = "benchmarks.recall.trial"


class BenchRecall(Input):
    locomo: Annotated[Name | None, Field(min_length=1, description="Path of the LoCoMo file on this machine.")] = None
    agentmem: Annotated[
        Name | None, Field(min_length=1, description="Path of the agentmem directory on this machine.")
    ] = None
    beam: Annotated[Name | None, Field(min_length=1, description="Path of the BEAM file on this machine.")] = None
    longmemeval: Annotated[
        Name | None, Field(min_length=1, description="Path of LongMemEval's oracle file on this machine.")
    ] = None
    semantic: Annotated[bool, Field(description="Also measure with the embedding model, when there is one.")] = True
    peers: Annotated[bool, Field(description="Also measure others on the same turns.")] = True
    held_out: Annotated[
        bool, Field(description="Also measure each conversation with weights fitted on the others.")
    ] = True
    cache: Annotated[
        Name | None, Field(description="Directory where vectors are kept for the next run; default: none are kept.")
    ] = None


@operation("bench_recall", writes=True, mode="own", idempotent=True, example={"locomo": "locomo10.json"})
def bench_recall(ctx: Context, args: BenchRecall) -> dict[str, Any]:
    """Measure retrieval on sets of questions; `clew bench recall` runs it in a store of its own."""
    only_here(ctx, "bench_recall")
    result: dict[str, Any] = _trial().measure(ctx, args)
    return result


def _trial() -> Any:
    """The measurements of the checkout that this code runs from."""
    if not (CHECKOUT / "benchmarks" / "recall" / "trial.py").is_file():
        raise ClewError(
            "UNAVAILABLE",
            "the measurements are not part of the installed package",
            "In a checkout of the project run `make index` once, then `.venv/bin/clew bench recall` there.",
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    return importlib.import_module(TRIAL)
