"""The dispatcher of a machine without a store: hands each call to the server and gives back its answer.

What needs the project's files is done here: paths of a hook event, what a command would write, and the receipt of a run
that a hook saw.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from clew.canonical import canonical
from clew.errors import ClewError
from clew.registry.catalogue import catalogue
from clew.registry.connection import CallerPlace, Connection
from clew.registry.context import Progress
from clew.registry.dispatch import Dispatcher, PromptText, ResourceText
from clew.registry.envelope import Answer, failure
from clew.registry.people import RULE
from clew.remote.channel import SECONDS, ServerChannel
from clew.remote.store import RemoteStore

PATH = "/call"
HOOK_EVENTS = ("hook_event", "moment")
"""The operation by its name and by the older one, which a server of an earlier version knows as well."""


class RemoteDispatcher(Dispatcher):
    keeps_store = False

    @property
    def _channel(self) -> ServerChannel:
        assert isinstance(self.database, RemoteStore)
        return self.database.channel

    def settle(self) -> None:
        """The server knows its workspaces."""

    def call(
        self, name: str, arguments: dict[str, Any] | None, connection: Connection, progress: Progress | None = None
    ) -> Answer:
        try:
            if name in HOOK_EVENTS and isinstance(arguments, dict):
                return self._report(arguments, connection)
            return self._received(self._post("call", name, _repeatable(name, arguments), connection), connection)
        except ClewError as error:
            return self._failed(error)

    def _failed(self, error: ClewError) -> Answer:
        envelope = failure(error, [], [], self.clock())
        fix = f" | fix: {error.recovery}" if error.recovery else ""
        line = f"ERROR: {error.code} {error.message}{fix}"
        return Answer(False, envelope, line, lines=[line])

    def _report(self, arguments: dict[str, Any], connection: Connection) -> Answer:
        """A hook event in the server's terms, completed with what only this machine knows."""
        from clew.hook_events import remote_project

        told, place = remote_project.located(
            arguments, remote_project.place_of(self.settings), self.settings.project_root
        )
        until_ms = told.pop("until_ms", None)
        left_ms = max(until_ms - int(time.time() * 1000), 50) if until_ms is not None else None
        reply = self._post("call", HOOK_EVENTS[-1], told, connection, place, left_ms)
        returned = reply.get("returned") or {}
        remote_project.note_guards(self.settings, returned)
        receipt = remote_project.unrecorded_receipt(self.settings, returned)
        if receipt is not None:
            self._post("call", "tasks_receipt_record", _repeatable("tasks_receipt_record", receipt), connection, place)
        return self._received(reply, connection)

    def _received(self, reply: dict[str, Any], connection: Connection) -> Answer:
        envelope = reply["envelope"]
        structured = envelope if reply.get("structured") is True else reply.get("structured")
        # What the server counted and moved is the connection's own, and comes along with its next call.
        connection.number = reply.get("number") or connection.number
        if reply.get("workspace") != self.settings.workspace:
            connection.workspace_override = reply.get("workspace")
        return Answer(
            reply["ok"],
            envelope,
            reply.get("text") or canonical(envelope),
            structured,
            reply.get("lines") or [],
            resources=reply.get("resources") or [],
            written=reply.get("written"),
        )

    def read_resource(self, uri: str, connection: Connection) -> ResourceText:
        return ResourceText(**self._post("resource", uri, None, connection)["resource"])

    def get_prompt(self, name: str, arguments: dict[str, str], connection: Connection) -> PromptText:
        found = self._post("prompt", name, arguments, connection)["prompt"]
        return PromptText(found["description"], [(role, text) for role, text in found["messages"]])

    def complete(self, ref_kind: str, ref: str, argument: str, value: str, connection: Connection) -> list[str]:
        asked = {"kind": ref_kind, "argument": argument, "value": value}
        return list(self._post("complete", ref, asked, connection)["values"])

    def person_of_token(self) -> str:
        """The person whose token CLEW_PERSON_TOKEN is, as the server knows it; empty for any other token."""
        known = self._channel.get("/page/state", self.settings.person_token)
        return str(known.get("person") or "")

    def _post(
        self,
        kind: str,
        name: str,
        arguments: Any,
        connection: Connection,
        place: CallerPlace | None = None,
        left_ms: int | None = None,
    ) -> dict[str, Any]:
        body = {
            "kind": kind,
            "name": name,
            "arguments": arguments,
            "workspace": connection.workspace_override or self.settings.workspace,
            "toolset": connection.toolset,
            "client": connection.client,
            "agent_id": connection.agent_id,
            "handle": connection.handle,
            "number": connection.number,
            "witness": connection.witness,
            "is_person": bool(connection.person),
            "place": asdict(place or CallerPlace(str(self.settings.project_root))),
            "left_ms": left_ms,
        }
        seconds = left_ms / 1000 if left_ms is not None else SECONDS
        reply = self._channel.post(PATH, body, self._token(connection), seconds)
        if "error" in reply:
            raise _error(reply["error"])
        return reply

    def _token(self, connection: Connection) -> str | None:
        if not connection.person:
            return self.settings.token
        if self.settings.person_token:
            return self.settings.person_token
        raise ClewError(
            "NOT_ALLOWED",
            f"{self._channel.server} cannot know who sits at this terminal",
            f"Decide at {self._channel.server}/, or set CLEW_PERSON_TOKEN_FILE to a token of yours with scope approve.",
            details={"rule": RULE},
        )


def _repeatable(name: str, arguments: Any) -> Any:
    """The arguments of a call that may be sent twice: a write gets an id by which the server knows it again."""
    entry = catalogue().find(name)
    if entry is None or entry.read_only or not isinstance(arguments, dict | None):
        return arguments
    return {"request_id": uuid4().hex, **(arguments or {})}


def _error(told: dict[str, Any]) -> ClewError:
    return ClewError(
        told["code"], told["message"], told.get("recovery"), told.get("hints", ()), details=told.get("details")
    )
