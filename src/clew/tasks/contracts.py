"""A plan's checklist and its contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from clew.errors import invalid, suggest
from clew.registry.context import Context
from clew.registry.operation import Meta, Name, operation
from clew.tasks.changes import change_work
from clew.tasks.journal import Change
from clew.tasks.overview import rows_json
from clew.tasks.plans import Work, check_revision
from clew.tasks.targets import OfPlan, Revised, target_plan
from clew.tasks.wording import Lines, Prose, lines, prose


class Plan(OfPlan, Revised):
    steps: Annotated[Lines | None, Field(description="The checklist; replaces the present one.")] = None
    current: Annotated[int | None, Field(ge=0, le=10_000, description="How many of its lines are done.")] = None
    doc: Annotated[Name | None, Field(description="Where the plan is written down.")] = None
    advance: Annotated[bool, Field(description="Go on to the next line.")] = False


@operation("tasks_plan", writes=True, intent="plan", example={"plan": "PLAN-001", "steps": ["design", "build"]})
def tasks_plan(ctx: Context, args: Plan) -> dict[str, Any]:
    """Replace a plan's checklist, or move on in it."""
    plan = target_plan(ctx, args)
    check_revision(plan, args.expected_revision)
    if args.current is not None and args.advance:
        raise invalid("advance", "current and advance exclude each other", "Keep one of them.", kind="choose_one")
    new = plan
    if args.steps is not None:
        new = replace(new, checklist=lines(args.steps), checklist_current=0)
    if args.doc is not None:
        new = replace(new, checklist_doc=prose(args.doc))
    if args.current is not None or args.advance:
        new = _moved(new, args.current if args.current is not None else new.checklist_current + 1)
    if new == plan:
        raise invalid("steps", "nothing to change", "Give steps, current, doc or advance=true.")
    payload = {"task": plan.id, "plan_progress": new.plan_progress, "steps": len(new.checklist)}
    plan, event = change_work(ctx, plan, new, Change("plan_updated", "plan_update", payload))
    return {"plan": {**rows_json(ctx, [plan])[0], "steps": list(plan.checklist)}, "event": event}


def _moved(plan: Work, current: int) -> Work:
    if current > len(plan.checklist):
        raise invalid(
            "current",
            f"the checklist of {plan.id} has {len(plan.checklist)} lines",
            "Give a number up to that, or longer steps.",
            [suggest("tasks_context", "Shows the plan.", "high", plan=plan.id)],
            kind="range",
            le=len(plan.checklist),
        )
    return replace(plan, checklist_current=current)


class Contract(OfPlan, Revised):
    current: Annotated[Prose | None, Field(description="The contract's text.")] = None
    contract_data: Annotated[Meta | None, Field(description="The contract in structured form.")] = None
    clear: Annotated[bool, Field(description="Remove text and data.")] = False


@operation(
    "tasks_contract", writes=True, intent="contract", example={"plan": "PLAN-001", "current": "No data is lost."}
)
def tasks_contract(ctx: Context, args: Contract) -> dict[str, Any]:
    """Set or clear what a plan promises."""
    plan = target_plan(ctx, args)
    check_revision(plan, args.expected_revision)
    given = args.current is not None or args.contract_data is not None
    if args.clear == given:
        raise invalid("clear", "give either clear=true or a contract", "Keep one of them.", kind="choose_one")
    text = prose(args.current) if args.current is not None else plan.contract
    data = args.contract_data if args.contract_data is not None else plan.contract_data
    if args.clear:
        text, data = None, None
    new = replace(plan, contract=text, contract_data=data, contract_versions=plan.contract_versions + 1)
    payload = {"task": plan.id, "cleared": args.clear, "version": new.contract_versions}
    plan, event = change_work(ctx, plan, new, Change("contract_updated", "contract_set", payload))
    shown = {**rows_json(ctx, [plan])[0], "contract": plan.contract, "contract_data": plan.contract_data}
    return {"plan": shown, "event": event}
