"""Several stores that exchange their memory, each with a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.app import Clew, open_clew
from clew.clock import Clock
from clew.settings import load_settings
from tests.conftest import Caller


class Store(Caller):
    """A store, used by somebody at its shell."""

    def __init__(self, clew: Clew) -> None:
        super().__init__(clew)
        self.session.local = self.person.local = True

    def remember(self, text: str, kind: str = "decision", **more: Any) -> str:
        return str(self("remember", text=text, kind=kind, **more)["id"])

    def exchange(self, remote: Path | str) -> dict[str, Any]:
        result: dict[str, Any] = self("sync", remote=str(remote))
        return result

    def statements(self) -> dict[str, str]:
        """What its records say and whether they hold, by their ids."""
        with self.clew.database.read() as tx:
            rows = tx.all(
                "SELECT id, text, status FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
                " AND prefix IN ('D', 'R', 'F', 'L') ORDER BY id",
                self.clew.settings.workspace,
            )
        return {row["id"]: f"{row['status']}: {_statement(row['text'])}" for row in rows}


def _statement(text: str) -> str:
    return next((line.removeprefix("Statement: ") for line in text.split("\n") if line.startswith("Statement: ")), "")


@contextmanager
def stores(count: int, flags: dict[str, Any], place: Path, clock: Clock) -> Iterator[list[Store]]:
    """On PostgreSQL they are workspaces of one database, which know as little of each other."""
    opened: list[Store] = []
    try:
        for number in range(count):
            home = place / f"store-{number}"
            home.mkdir(parents=True)
            own = {
                **flags,
                "home": home,
                "workspace": f"ws{number}",
                "workspace_lock": False,
                "embedding_model": "none",
            }
            opened.append(Store(open_clew(load_settings(own, {}, home), clock)))
        yield opened
    finally:
        for store in opened:
            store.clew.close()
