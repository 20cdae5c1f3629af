"""How an operation is declared: one name, one input model, one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field

from clew.canonical import Json
from clew.registry.budget import Budget
from clew.registry.context import Context

Tier = Literal["core", "daily", "full"]
Mode = Literal["read", "write", "own"]

MAX_NUMBER = 2**53 - 1
MAX_TEXT = 1_000_000

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Name = Annotated[str, Field(max_length=1024)]
Title = Annotated[str, Field(max_length=1000)]
Names = Annotated[list[Annotated[str, Field(max_length=1024)]], Field(max_length=1000)]
Whole = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Meta = Annotated[Json, Field(description="Any JSON object; kept as given.")]


class StrictModel(BaseModel):
    """Base of everything a caller sends: strict types, unknown fields refused, never changed afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Input(StrictModel):
    """Base of every input model."""

    synonyms: ClassVar[dict[str, str]] = {}
    """Other names under which an argument is accepted."""
    blank_is_nothing: ClassVar[bool] = False
    """Its callers fill in every optional argument: nothing at all where it is refused counts as left out."""
    listed: ClassVar[tuple[str, ...]] = ()
    """Those of them that a contract lists: a client that checks its calls against the schema may send them too."""

    workspace: Annotated[str | None, Field(max_length=256, description="Workspace id; default: the server's.")] = None


class Bounded(Input):
    """An input with an output budget."""

    max_chars: Annotated[
        int | None, Field(ge=0, le=MAX_NUMBER, description="Most characters of the JSON result; the rest is left out.")
    ] = None


class ContextBounded(Bounded):
    context_budget: Annotated[
        int | None, Field(ge=0, le=MAX_NUMBER, description="Same as max_chars; the smaller one counts.")
    ] = None


class AgentForm(NamedTuple):
    """How an operation of the seeds looks in the toolset `agent`: fewer arguments listed, other defaults, lines."""

    arguments: tuple[str, ...]
    lines: Callable[..., list[str]]
    defaults: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Operation:
    name: str
    function: Callable[[Context, Any], Any]
    input: type[Input]
    tier: Tier
    domain: str
    module: str
    summary: str
    description: str
    mode: Mode
    """`read` or `write`: one transaction around the call. `own`: the function opens its transactions itself, because it
    works on files, models or processes in between."""
    idempotent: bool
    destructive: bool
    budget: Budget | None
    whole: bool
    """The result is one document, of no use in part. Any other result without a budget is cut when it is very long."""
    lines: Callable[..., list[str]] | None
    portal: bool | tuple[Tier, ...]
    """It answers in lines, everywhere or in the toolsets named; there `fmt` may ask for JSON."""
    raw_text: bool
    bare: Callable[[Json], Any] | None
    """Picks the JSON that the text block shows instead of the envelope, where a seed's client parses it."""
    intent: str
    workspace: bool
    example: Json
    """A minimal valid call."""
    writes: bool
    aliases: tuple[str, ...] = ()
    agent: AgentForm | None = None
    idle: Callable[[Context, Any], Json | None] | None = None
    """Asked first, in a read. If it has an answer, there is nothing to write: those who ask often do not queue up with
    those who write."""


_declared: dict[str, Operation] = {}

Fn = TypeVar("Fn", bound=Callable[..., Any])


def operation(
    name: str,
    *,
    tier: Tier = "full",
    writes: bool = False,
    mode: Mode | None = None,
    idempotent: bool | None = None,
    destructive: bool = False,
    budget: Budget | None = None,
    whole: bool = False,
    lines: Callable[..., list[str]] | None = None,
    portal: bool | tuple[Tier, ...] = False,
    raw_text: bool = False,
    bare: Callable[[Json], Any] | None = None,
    intent: str | None = None,
    workspace: bool = True,
    example: Json | None = None,
    aliases: Iterable[str] = (),
    agent: AgentForm | None = None,
    idle: Callable[[Context, Any], Json | None] | None = None,
) -> Callable[[Fn], Fn]:
    """Declare a function `(ctx, input) -> result` as an operation. `Operation` says what each argument means."""

    def declare(function: Fn) -> Fn:
        # The same function may come twice: a module that is run as a script is imported under its own name as well.
        if name in _declared and _declared[name].function.__qualname__ != function.__qualname__:
            raise ValueError(f"operation {name} is declared twice")
        summary, description = _described(name, function)
        _declared[name] = Operation(
            name=name,
            function=function,
            input=_input_of(function),
            tier=tier,
            domain=function.__module__.split(".")[1],
            module=function.__module__,
            summary=summary,
            description=description,
            mode=mode or ("write" if writes else "read"),
            writes=writes,
            idempotent=(not writes) if idempotent is None else idempotent,
            destructive=destructive,
            budget=budget,
            whole=whole,
            lines=lines,
            portal=portal,
            raw_text=raw_text,
            bare=bare,
            intent=intent or name,
            workspace=workspace,
            example=example or {},
            aliases=tuple(aliases),
            agent=agent,
            idle=idle,
        )
        return function

    return declare


def _described(name: str, function: Callable[..., Any]) -> tuple[str, str]:
    """The first line of the docstring, and the rest of it."""
    summary, _, description = inspect.cleandoc(function.__doc__ or "").partition("\n")
    if not summary:
        raise ValueError(f"operation {name} needs a docstring")
    return summary, description.strip()


def declared() -> dict[str, Operation]:
    """Every operation whose module has been imported."""
    return _declared


def _input_of(function: Callable[..., Any]) -> type[Input]:
    hints = get_type_hints(function)
    models = [kind for kind in hints.values() if isinstance(kind, type) and issubclass(kind, Input)]
    if len(models) != 1:
        raise TypeError(f"{function.__qualname__} must take exactly one Input")
    return models[0]
