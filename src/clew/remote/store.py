"""Takes the place of a database: the server that has it, and a clear refusal of what needs the database itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn, cast

from clew.errors import ClewError
from clew.remote.channel import ServerChannel
from clew.store.database import Database, DatabaseResources


class RemoteStore:
    engine = "remote"

    def __init__(self, server: str, ca_file: Path | None) -> None:
        self.channel = ServerChannel(server, ca_file)
        self.resources = DatabaseResources(cast("Database", self))

    def close(self) -> None:
        self.resources.close()
        self.channel.close()

    def _refuse(self, *_: Any) -> NoReturn:
        raise ClewError(
            "UNAVAILABLE",
            f"the store is on {self.channel.server}, and this needs the store itself",
            "Run it on the server.",
        )

    read = write = changes = integrity = schema_version = stored_version = describe = sizes = _refuse
    backup = restore = purge = _refuse
