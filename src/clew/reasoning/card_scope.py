"""The arguments that card operations share: where they write, where they read, and through which lens."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clew.reasoning.scope import Scope, Target, resolve_scope
from clew.reasoning.steps import StepFocus, StepInput, resolve_step
from clew.registry.context import Context
from clew.registry.operation import Bounded, ContextBounded, Input, Name, Whole

BranchInput = Annotated[Name | None, Field(description="Branch; not beside target. Default: focus, else checkout.")]
GraphDoc = Annotated[Name | None, Field(description="Graph document; not beside target.")]
TraceDoc = Annotated[Name | None, Field(description="Trace document; not beside target.")]
NotesDoc = Annotated[Name | None, Field(description="Notes document; not beside target.")]
AgentInput = Annotated[Name | None, Field(description="Who writes or asks; recorded, never a filter.")]
View = Literal["smart", "explore", "audit"]
REF = {"branch": "ref"}


class RefPlace(Input):
    """A graph document, found by target or by branch."""

    synonyms: ClassVar[dict[str, str]] = REF
    target: Target = None
    ref: BranchInput = None
    graph_doc: GraphDoc = None


class BoundedPlace(Bounded):
    synonyms: ClassVar[dict[str, str]] = REF
    target: Target = None
    ref: BranchInput = None
    graph_doc: GraphDoc = None


class ReadPlace(ContextBounded):
    """A graph document read through a lens."""

    synonyms: ClassVar[dict[str, str]] = REF
    target: Target = None
    ref: BranchInput = None
    graph_doc: GraphDoc = None
    step: StepInput = None
    agent_id: AgentInput = None
    all_lanes: Annotated[bool, Field(description="Show drafts too.")] = False
    include_drafts: Annotated[bool, Field(description="Same as all_lanes.")] = False
    as_of: Annotated[Whole | None, Field(description="Show what stood after this seq; default: now.")] = None

    @property
    def drafts(self) -> bool:
        return self.all_lanes or self.include_drafts or getattr(self, "view", None) == "audit"


class ViewPlace(ReadPlace):
    view: Annotated[
        View | None, Field(description="smart: open cards; explore: of any status; audit: smart with drafts.")
    ] = None

    @property
    def lens(self) -> str:
        """The view asked for; a caller who names a budget wants the low-noise one."""
        return self.view or ("smart" if self.context_budget is not None else "explore")


def place(ctx: Context, args: Any) -> Scope:
    """The scope that an input of this module names."""
    return resolve_scope(
        ctx,
        args.target,
        args.ref,
        graph=args.graph_doc,
        trace=getattr(args, "trace_doc", None),
        notes=getattr(args, "notes_doc", None),
        branch_field="ref",
    )


def place_and_step(ctx: Context, args: Any) -> tuple[Scope, StepFocus | None]:
    scope = place(ctx, args)
    return scope, resolve_step(ctx, scope, args.step)
