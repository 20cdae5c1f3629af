"""A person beside the clients of a test: decides what waits, in this process, over the same store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.registry.credentials import make_code
from clew.registry.envelope import Answer
from clew.settings import load_settings

PERSON = "@ines"


def person(name: str = PERSON) -> Connection:
    """As the page or a terminal makes it for somebody who signed in or was asked."""
    return Connection(toolset="full", agent_id=name, durable=False, person=name)


def decide(clew: Clew, name: str, /, **arguments: Any) -> Answer:
    return clew.dispatcher.call(name, arguments, person())


def decide_beside(environ: Mapping[str, str], place: Path, name: str, /, **arguments: Any) -> Any:
    """The same for a server in another process: `environ` and `place` are what it was started with."""
    settings = load_settings({"workspace_lock": "false", "embedding_model": "none"}, environ, place)
    with closing(open_clew(settings)) as clew:
        answer = decide(clew, name, **arguments)
    assert answer.ok, answer.envelope["error"]
    return answer.envelope["result"]


def code_for(clew: Clew, name: str = PERSON) -> str:
    """What `clew login` prints."""
    with clew.database.write() as tx:
        return make_code(tx, name, clew.dispatcher.clock())
