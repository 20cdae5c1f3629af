"""How a command makes its calls: through the resident server, which has everything loaded; in this process without one.

A command that was typed should not import what a server has imported already, so nothing heavy is imported here before
it is known that no server answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError
from clew.faces.cli.main import Exit, exit_for
from clew.faces.cli.output import describe_error, describe_warnings, say, show_json
from clew.shim.one_call import Unanswered, call_resident
from clew.shim.place import Unreachable

if TYPE_CHECKING:
    import typer

    from clew.app import Clew
    from clew.registry.envelope import Answer
    from clew.settings import Settings

_OFF = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class ShellReply:
    """A response, from the server or from this process."""

    ok: bool
    envelope: dict[str, Any]
    text: str = ""
    lines: list[str] = field(default_factory=list)


class ShellAsker:
    """The calls of one command."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = {name: value for name, value in flags.items() if value is not None}
        self._clew: Clew | None = None
        self._alone = os.environ.get("CLEW_RESIDENT", "").strip().lower() in _OFF

    @cached_property
    def settings(self) -> Settings:
        from clew.settings import load_settings

        return load_settings(self._flags)

    def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        toolset: str = "full",
        client: str = "clew-cli",
        witness: str | None = None,
    ) -> ShellReply | Answer:
        if not self._alone:
            caller = {"toolset": toolset, "client": client, "local": True, "witness": witness}
            try:
                found = call_resident(name, arguments, self._flags, **caller)
                return ShellReply(found["ok"], found["envelope"], found["text"], found["lines"])
            except Unreachable:
                self._alone = True  # no server accepted the call, so none will accept the next one
            except Unanswered as problem:
                raise ClewError(
                    "UNAVAILABLE",
                    f"{problem}; if the command writes, whether it was written is not known",
                    "Look whether it is there before you repeat the command.",
                ) from problem
        from clew.registry.connection import Connection

        clew = self.clew
        connection = Connection(
            toolset=toolset,
            agent_id=clew.settings.agent_id,
            client=client,
            durable=False,
            local=True,
            witness=witness,
        )
        return clew.dispatcher.call(name, arguments, connection)

    @property
    def clew(self) -> Clew:
        """Clew in this process, for work that a server does not do for others."""
        if self._clew is None:
            from clew.app import open_clew
            from clew.faces.cli.root import take_over

            self._clew = open_clew(self.settings)
            take_over(self._clew)
        return self._clew

    def close(self) -> None:
        if self._clew is not None:
            self._clew.close()


@contextmanager
def asking(ctx: typer.Context) -> Iterator[ShellAsker]:
    asker = ShellAsker(ctx.obj or {})
    try:
        yield asker
    finally:
        asker.close()


def answer_with(ctx: typer.Context, name: str, given: dict[str, Any], as_json: bool, toolset: str = "full") -> None:
    """Call one operation with the given options, print the response, and exit with its exit code."""
    # A missing option is omitted, so that the operation's own default applies.
    arguments = {key: value for key, value in given.items() if value not in (None, [], "")}
    with asking(ctx) as asker:
        reply = asker.call(name, arguments, toolset=toolset)
        error = reply.envelope["error"]
        if error and "rule" in (error.get("details") or {}):
            from clew.faces.cli.person import decided

            reply = decided(asker.clew, name, arguments, reply)
    # Not Typer's own exception: a plain line runs without it.
    raise SystemExit(show_answer(reply, as_json))


def show_answer(answer: ShellReply | Answer, as_json: bool) -> Exit:
    """Print a response and return its exit code."""
    error = answer.envelope["error"]
    if as_json:
        show_json(answer.envelope)
    elif error:
        describe_error(error, answer.envelope["suggestions"])
    else:
        if answer.lines:
            say(answer.text)
        else:
            show_json(answer.envelope["result"])
        # The line format already contains the warnings.
        describe_warnings([] if answer.lines else answer.envelope["warnings"])
    return exit_for(error["code"] if error else None)
