"""The server's half of a hook: from the client's own JSON to what the hook prints; and what hooks left in the spool,
processed event by event as if reported now, in its own project.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.app import Clew, short_lock_waits
from clew.errors import ClewError
from clew.faces.hooks import spool
from clew.faces.hooks.client_events import CLIENTS, EVENTS, GUARDING, KEPT, UNCHECKED, entry_for, reply_of
from clew.faces.hooks.payload import arguments_of, client_of
from clew.faces.hooks.where import directory_of, guarded_directory
from clew.guarded_places import read_place
from clew.registry.connection import Connection
from clew.registry.dispatch import Dispatcher
from clew.settings import Settings, load_settings
from clew.surroundings import environment

SILENT = b"0 0 0\n"


@dataclass(frozen=True, slots=True)
class HookQuestion:
    """What a client's hook asks, and the directory its agent works in."""

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
    client = client_of(named, payload, environ)
    if event not in EVENTS or client not in CLIENTS:
        return None
    arguments = arguments_of(client, event, payload, environ)
    if arguments is None:
        return None
    entry = entry_for(client, event)
    arguments["speaks"] = entry is not None and entry.speaks
    where = guarded_directory if event == GUARDING else directory_of
    return HookQuestion(client, event, where(payload, environ, here), arguments)


def reply_to(question: HookQuestion, dispatcher: Dispatcher, until_ms: int | None) -> bytes:
    """The exit code and what is printed, in the frame that `faces/hooks/quick` reads."""
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    arguments = {**question.arguments, **({"until_ms": until_ms} if until_ms is not None else {})}
    answer = dispatcher.call("hook_event", arguments, connection)
    if not answer.ok:
        _keep_for_later(question, dispatcher.settings, answer.envelope["error"])
        return unanswered(question, str(dispatcher.settings.home))
    return _framed(question, answer.envelope["result"])


def _keep_for_later(question: HookQuestion, settings: Settings, error: Mapping[str, Any]) -> None:
    """What would be lost while the store or its server cannot take it."""
    # Deeds of subagents are not kept anywhere else either: their session is not the agent's.
    if question.event in KEPT and passes(error) and not question.arguments.get("subagent"):
        spool.append(str(settings.home), question.directory, question.arguments, environment())


def unanswered(question: HookQuestion, home: str) -> bytes:
    """What is said where nothing could be found out: nothing, unless guards would have had a say."""
    place = read_place(home, question.directory) if question.event == GUARDING else None
    return _framed(question, UNCHECKED) if place is not None and place.is_strict else SILENT


def _framed(question: HookQuestion, answer: Mapping[str, Any]) -> bytes:
    printed, code, error = reply_of(question.client, question.event, answer)
    out, err = (json.dumps(printed) if printed else "").encode(), error.encode()
    return f"{code} {len(out)} {len(err)}\n".encode() + out + err


log = logging.getLogger("clew.hooks")


LOCK_SECONDS = 2.0
"""A locked store is not waited for: the spool keeps what it has."""


PASSING = frozenset(
    {"STORE_LOCKED", "STORE_FULL", "STORE_READ_ONLY", "STORE_UNAVAILABLE", "STORE_TOO_OLD", "STORE_TOO_NEW"}
)
"""Errors that pass: the same event may be taken later."""


def passes(error: Mapping[str, Any]) -> bool:
    """Whether the same call may be taken later; a token that the server does not know may be replaced."""
    return error["code"] in PASSING or (error.get("details") or {}).get("rule") == "token"


class NotNow(Exception):
    """The store cannot take anything at the moment."""


def digest(home: Path, opened: Callable[[Settings], Clew]) -> int:
    """Hand over every event of the spool; returns how many. What the store refuses for good is kept aside."""
    clews: dict[tuple[str, ...], Clew] = {}
    count = 0
    with spool.Taken(str(home)) as taken, short_lock_waits(LOCK_SECONDS):
        for event in taken.events():
            try:
                key = (str(event.get("directory")), *(str(event.get(name) or "") for name in spool.FLAGS))
                if key not in clews:
                    clews[key] = opened(_settings(home, *key))
                _hand_over(clews[key], event)
                count += 1
            except Exception as problem:
                if isinstance(problem, NotNow) or (isinstance(problem, ClewError) and passes(problem.to_dict())):
                    log.warning("the spool waits: %s", problem)
                    break
                log.warning("an event of the spool was left out: %s", problem)
                taken.refuse(event)
    return count


def _settings(home: Path, directory: str, *values: str) -> Settings:
    flags = {name: value for name, value in zip(spool.FLAGS, values, strict=True) if value}
    return load_settings({"home": str(home), **flags}, {}, Path(directory))


def _hand_over(clew: Clew, event: dict[str, Any]) -> None:
    name, arguments = spool.HOOK_EVENT, event["arguments"]
    connection = Connection(toolset="full", client="clew-hook", durable=False, witness="hook")
    if event.get("name") == spool.PROOF:
        name, connection.client, connection.witness = spool.PROOF, "clew-prove", "prove"
    else:
        at = event.get("at")
        arguments = {**arguments, "speaks": False, **({"at_ms": at} if isinstance(at, int) else {})}
    answer = clew.dispatcher.call(name, arguments, connection)
    if not answer.ok:
        error = answer.envelope["error"]
        raise (NotNow if passes(error) else ValueError)(error["message"])
