"""Every suggestion must run as it stands; tests execute those that they provoke."""

from __future__ import annotations

from clew.app import Clew
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.registry.envelope import Answer


def run_suggestions(clew: Clew, answer: Answer, session: Connection) -> None:
    for suggestion in answer.envelope["suggestions"]:
        if suggestion["action"] == "call_method":
            assert suggestion["method"] == "tools/list"
            session.toolset = suggestion["params"]["toolset"]
            continue
        entry = catalogue().find(suggestion["target"])
        assert entry is not None
        assert entry in catalogue().listed(session.toolset), f"{entry.name} is not listed and nothing lists it"
        done = clew.dispatcher.call(suggestion["target"], suggestion["params"], session)
        assert done.ok, (suggestion, done.envelope["error"])
