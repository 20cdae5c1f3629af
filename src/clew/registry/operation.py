"""How an operation is declared: one name, one input model, one function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field

from clew.canonical import Json
from clew.registry.budget import Budget
from clew.registry.context import Context
from clew.registry.toolsets import Tier

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

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Input(StrictModel):
    """Base of every input model."""

    synonyms: ClassVar[dict[str, str]] = {}
    """Other names under which an argument is accepted."""
    blank_is_nothing: ClassVar[bool] = False
    """Its callers fill in every optional argument: nothing at all where it is refused counts as left out."""
    listed: ClassVar[tuple[str, ...]] = ()
    """Those of them that a contract lists: a client that checks its calls against the schema may send them too."""

    needs_one_of: ClassVar[tuple[str, ...]] = ()
    """Without any of these the operation refuses the call, which is therefore never suggested."""
    names_workspace: ClassVar[bool] = True
    """Whether the published schema has the argument `workspace`."""
    exact: ClassVar[tuple[str, ...]] = ()
    """Arguments that are read as they were sent, secrets included; the operation must not store them."""

    workspace: Annotated[str | None, Field(max_length=256, description="Workspace id; default: the server's.")] = None


Verbosity = Literal["full", "compact"] | None
"""Verbosity of a response; `Context.is_compact` has the default."""


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
class View:
    """How a result is shown if the call does not request a format: as its envelope, unless this says otherwise."""

    lines: Callable[..., list[str]] | None = None
    """The result as lines, for callers that request them and if `in_lines` is set."""
    in_lines: bool | tuple[Tier, ...] = False
    """It answers in lines, everywhere or in the tiers listed; there `fmt` may request JSON."""
    is_text: bool = False
    """Only the field `text` of the result is shown."""
    bare: Callable[[Json], Any] | None = None
    """Selects the JSON that the text block shows instead of the envelope, for clients that parse it."""
    whole: bool = False
    """The result is one document, useless in part. Any other result without a budget is truncated if very long."""
    agent: AgentForm | None = None


BARE = View(bare=lambda result: result)


Fn = TypeVar("Fn", bound=Callable[..., Any])


@dataclass(eq=False)
class Operation:
    """Declares a function `(ctx, input) -> result` as an operation: `@operation("name", ...)`."""

    name: str
    _: KW_ONLY
    writes: bool = False
    mode: Mode | None = None
    """`read` or `write`: one transaction around the call. `own`: the function opens its transactions itself, because it
    works on files, models or processes in between."""
    idempotent: bool | None = None
    """Whether the operation is idempotent; a read always is."""
    destructive: bool = False
    idle: Callable[[Context, Any], Json | None] | None = None
    """Called first, in a read transaction. If it returns a result, there is nothing to write: frequent callers do not
    wait for the write lock."""
    budget: Budget | None = None
    view: View = View()
    example: Json = field(default_factory=dict)
    """A minimal valid call."""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.mode = self.mode or ("write" if self.writes else "read")
        self.idempotent = not self.writes if self.idempotent is None else self.idempotent

    def __call__(self, function: Fn) -> Fn:
        # The same function may be declared twice: a module run as a script is imported under its own name as well.
        known = _declared.get(self.name)
        if known is not None and known.function.__qualname__ != function.__qualname__:
            raise ValueError(f"operation {self.name} is declared twice")
        self.function: Callable[[Context, Any], Any] = function
        self.input = _input_of(function)
        self.summary, self.description = _described(self.name, function)
        self.module = function.__module__
        self.domain = self.module.split(".")[1]
        _declared[self.name] = self
        return function


operation = Operation

_declared: dict[str, Operation] = {}


def _described(name: str, function: Callable[..., Any]) -> tuple[str, str]:
    """Split a docstring into its first line and the rest."""
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
