"""The state of one call while the dispatcher handles it."""

from __future__ import annotations

from dataclasses import dataclass

from clew.registry.connection import Connection
from clew.registry.context import Progress, Remarks
from clew.store.requests import StoredRequest


@dataclass
class Call:
    name: str
    connection: Connection
    workspace: str
    explicit_workspace: bool
    fmt: str | None
    progress: Progress | None
    remarks: Remarks
    request: StoredRequest | None = None
    agent: str | None = None
