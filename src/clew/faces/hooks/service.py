"""The server's half of a hook: from the client's own JSON to what the hook prints; and what hooks left in the spool,
taken over event by event as if it were told now, in its own project.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.errors import ClewError
from clew.faces.hooks import spool
from clew.faces.hooks.client_events import CLIENTS, EVENTS, entry_for, reply_of
from clew.faces.hooks.payload import arguments_of, client_of, directory_of
from clew.registry.connection import Connection
from clew.registry.dispatch import Dispatcher
from clew.settings import Settings, load_settings

SILENT = b"0 0 0\n"


@dataclass(frozen=True, slots=True)
class HookQuestion:
    """What a client's hook asks, and where its agent stands."""

    client: str
    event: str
    directory: str
    arguments: dict[str, Any]


def question_of(event: str, named: str, text: str, environ: Mapping[str, str], here: str) -> HookQuestion | None:
    """None when there is nothing to ask or to keep."""
    try:
        payload = json.loads(text or "{}")
    except ValueError:
        return None
    if not isinstance(payload, dict) or not payload:
        return None
    client = client_of(named, payload)
    if event not in EVENTS or client not in CLIENTS:
        return None
    arguments = arguments_of(client, event, payload, environ)
    if arguments is None:
        return None
    entry = entry_for(client, event)
    arguments["speaks"] = entry is not None and entry.speaks
    return HookQuestion(client, event, directory_of(payload, environ, here), arguments)


def reply_to(question: HookQuestion, dispatcher: Dispatcher, until_ms: int | None) -> bytes:
    """The exit code and what is printed, in the frame that `faces/hooks/quick` reads."""
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    arguments = {**question.arguments, **({"until_ms": until_ms} if until_ms is not None else {})}
    answer = dispatcher.call("moment", arguments, connection)
    if not answer.ok:
        return SILENT
    printed, code, error = reply_of(question.client, question.event, answer.envelope["result"])
    out, err = (json.dumps(printed) if printed else "").encode(), error.encode()
    return f"{code} {len(out)} {len(err)}\n".encode() + out + err


log = logging.getLogger("clew.hooks")


def digest(home: Path, opened: Callable[[Settings], Clew]) -> int:
    """Hand over every event of the spool; returns how many. One that cannot be taken is lost, and the log says so."""
    clews: dict[tuple[str, str], Clew] = {}
    count = 0
    for event in spool.taken(str(home)):
        try:
            key = (str(event.get("directory")), str(event.get("workspace") or ""))
            if key not in clews:
                clews[key] = opened(_settings(home, *key))
            _hand_over(clews[key], event)
            count += 1
        except (ClewError, OSError, ValueError) as problem:
            log.warning("an event of the spool was left out: %s", problem)
    return count


def _settings(home: Path, directory: str, workspace: str) -> Settings:
    flags = {"home": str(home), **({"workspace": workspace} if workspace else {})}
    return load_settings(flags, {}, Path(directory))


def _hand_over(clew: Clew, event: dict[str, Any]) -> None:
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    at = event.get("at")
    arguments = {**event["arguments"], "speaks": False, **({"at_ms": at} if isinstance(at, int) else {})}
    answer = clew.dispatcher.call("moment", arguments, connection)
    if not answer.ok:
        log.warning("an event of the spool was refused: %s", answer.envelope["error"]["message"])
