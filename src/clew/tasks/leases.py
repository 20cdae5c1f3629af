"""Step leases: while one is active only its holder may change the step. They expire by events, not by the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from clew.canonical import Json, picked
from clew.errors import ClewError, invalid, suggest
from clew.registry.context import Context
from clew.registry.operation import Name, operation
from clew.store.rows import TableRow, find, find_many, first, upsert
from clew.tasks.journal import write_event
from clew.tasks.plans import Work
from clew.tasks.steps import Step, step_ref
from clew.tasks.targets import OfStep, target_step

DEFAULT_TTL = 200
MAX_TTL = 10_000


@dataclass(frozen=True, slots=True)
class StepLease(TableRow):
    TABLE: ClassVar[str] = "step_lease"
    KEY: ClassVar[tuple[str, ...]] = ("step",)

    step: str
    holder: str
    acquired_seq: int
    expires_seq: int

    def to_json(self) -> Json:
        return {"holder_agent_id": self.holder, **picked(self, "acquired_seq", "expires_seq")}


def lease_of(ctx: Context, step_id: str) -> StepLease | None:
    """The active lease of a step; an expired one is no lease."""
    # Counted in events of the workspace, so that a test or a replay ends a lease at the same point as the original.
    return first(ctx.tx, ctx.workspace, StepLease, "step = ? AND expires_seq > ?", step_id, ctx.ws.event_seq)


def lease_holders(ctx: Context, step_ids: Sequence[str]) -> dict[str, str]:
    """The current holders of these steps."""
    leases = find_many(ctx.tx, ctx.workspace, StepLease, step_ids)
    return {lease.step: lease.holder for lease in leases if lease.expires_seq > ctx.ws.event_seq}


def check_lease(ctx: Context, step: Step) -> None:
    """Called for every change of a step."""
    lease = lease_of(ctx, step.id)
    if lease is not None and lease.holder != ctx.agent:
        raise lease_held(step, lease)


def lease_held(step: Step, lease: StepLease) -> ClewError:
    return ClewError(
        "STEP_LEASE_HELD",
        f"{step.path} ({step.id}) is leased by {lease.holder} until event {lease.expires_seq}",
        "Wait until the holder releases it, or take the lease over with force=true, which is written down.",
        suggestions=[_look(step)],
        details={"holder_agent_id": lease.holder, "expires_seq": lease.expires_seq},
    )


def lease_json(lease: StepLease | None) -> Json | None:
    return lease.to_json() if lease is not None else None


def drop_lease(ctx: Context, step_id: str) -> None:
    ctx.tx.run("DELETE FROM step_lease WHERE workspace = ? AND step = ?", ctx.workspace, step_id)


class LeaseRelease(OfStep):
    agent_id: Annotated[Name | None, Field(description="Who calls.")] = None


class LeaseRenew(LeaseRelease):
    ttl_seq: Annotated[
        int, Field(ge=-MAX_TTL, le=MAX_TTL, description="After how many events the lease ends; 0 for the default.")
    ] = 0


class LeaseClaim(LeaseRenew):
    force: Annotated[bool, Field(description="Take the lease from its holder, or refresh your own.")] = False


@operation("tasks_step_lease_get", example={"task": "TASK-001", "path": "s:0"})
def tasks_step_lease_get(ctx: Context, args: OfStep) -> Json:
    """Show who holds the lease of a step."""
    task, step = target_step(ctx, args)
    return _answer(ctx, task, step, lease_of(ctx, step.id))


@operation("tasks_step_lease_claim", writes=True, example={"task": "TASK-001", "path": "s:0", "agent_id": "builder"})
def tasks_step_lease_claim(ctx: Context, args: LeaseClaim) -> Json:
    """Take the lease of a step, so that only you can change it for a while."""
    task, step = target_step(ctx, args)
    agent = _agent(ctx)
    present = lease_of(ctx, step.id)
    if present is not None and not args.force:
        # Claiming again without force changes nothing, not even the end: a retry must not prolong a lease by accident.
        if present.holder != agent:
            raise lease_held(step, present)
        return _answer(ctx, task, step, present)
    taken_from = present.holder if present is not None and present.holder != agent else None
    type = "step_lease_taken_over" if taken_from else "step_lease_claimed"
    return _write(ctx, task, step, type, _ttl(args.ttl_seq), taken_from)


@operation("tasks_step_lease_renew", writes=True, example={"task": "TASK-001", "path": "s:0", "agent_id": "builder"})
def tasks_step_lease_renew(ctx: Context, args: LeaseRenew) -> Json:
    """Extend a lease you hold."""
    task, step = target_step(ctx, args)
    _check_held(ctx, step)
    return _write(ctx, task, step, "step_lease_renewed", _ttl(args.ttl_seq), None)


@operation("tasks_step_lease_release", writes=True, example={"task": "TASK-001", "path": "s:0", "agent_id": "builder"})
def tasks_step_lease_release(ctx: Context, args: LeaseRelease) -> Json:
    """Give back a lease you hold."""
    task, step = target_step(ctx, args)
    _check_held(ctx, step)
    drop_lease(ctx, step.id)
    event = write_event(ctx, task.id, "step_lease_released", _payload(ctx, step), step.path)
    return {**_answer(ctx, task, step, None), "event": event}


def _write(ctx: Context, task: Work, step: Step, type: str, ttl: int, taken_from: str | None) -> Json:
    """The lease counts from its own event, so a lease for one event outlives its claim."""
    payload = {**_payload(ctx, step), "ttl_seq": ttl, "takeover_from": taken_from}
    event = write_event(ctx, task.id, type, payload, step.path)
    now, agent = ctx.ws.event_seq, _agent(ctx)
    # Expired ones are invisible anyway; they are deleted here, because a claim writes in any case.
    ctx.tx.run("DELETE FROM step_lease WHERE workspace = ? AND expires_seq <= ?", ctx.workspace, now)
    # A holder that claims again keeps the event since which it has held the step.
    known = find(ctx.tx, ctx.workspace, StepLease, step.id)
    since = known.acquired_seq if known is not None and known.holder == agent else now
    upsert(ctx.tx, ctx.workspace, StepLease(step.id, agent, acquired_seq=since, expires_seq=now + ttl))
    return {**_answer(ctx, task, step, lease_of(ctx, step.id)), "event": event}


def _answer(ctx: Context, task: Work, step: Step, lease: StepLease | None) -> Json:
    return {"task": task.id, "step": step_ref(step), "lease": lease_json(lease), "now_seq": ctx.ws.event_seq}


def _payload(ctx: Context, step: Step) -> Json:
    return {"step_id": step.id, "path": step.path, "agent_id": ctx.agent}


def _ttl(given: int) -> int:
    return given if given > 0 else DEFAULT_TTL


def _agent(ctx: Context) -> str:
    if ctx.agent is None:
        recovery = "Give agent_id, or start the server with --agent-id."
        raise invalid("agent_id", "a lease needs a holder", recovery, kind="missing_required")
    return ctx.agent


def _check_held(ctx: Context, step: Step) -> None:
    agent, lease = _agent(ctx), lease_of(ctx, step.id)
    if lease is not None and lease.holder == agent:
        return
    free = suggest(
        "tasks_step_lease_claim", "Takes the lease.", "high", task=step.task, step_id=step.id, agent_id=agent
    )
    message = f"{agent} does not hold the lease of {step.path} ({step.id})"
    recovery = "Claim it first." if lease is None else f"{lease.holder} holds it."
    ways = [free if lease is None else _look(step)]
    raise ClewError("STEP_LEASE_NOT_HELD", message, recovery, suggestions=ways)


def _look(step: Step) -> Json:
    return suggest("tasks_step_lease_get", "Shows the lease.", "high", task=step.task, step_id=step.id)
