"""Taking over what hooks left in the spool: each event as if it were told now, in its own project."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.errors import ClewError
from clew.faces.hooks import spool
from clew.registry.connection import Connection
from clew.settings import Settings, load_settings

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
