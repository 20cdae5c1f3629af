"""The store: does it open, is it whole, is its index up to date, who else can read it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Any

from clew.app import Clew
from clew.errors import ClewError
from clew.faces.cli.checks.finding import Finding, note, ok, problem
from clew.faces.cli.opening import call
from clew.settings import Settings


def check_store(clew: Clew) -> Iterator[Finding]:
    """Opens the store as the first call would, so an empty home gets its file here already."""
    try:
        yield _opens(clew)
        yield _whole(clew)
    except ClewError as error:
        yield from_error("store", error)
        return
    if clew.settings.database_url is None:
        yield _private(clew.settings)
    yield from _answers(clew)


def from_error(check: str, error: ClewError) -> Finding:
    return problem(check, f"{error.code}: {error.message}", error.recovery or "Run the command again.", error.code)


def _opens(clew: Clew) -> Finding:
    version = clew.database.schema_version()
    described = clew.database.describe()
    where = described.get("file") or described.get("url")
    return ok("store", f"{described['engine']} {described['version']}, schema {version}, {where}")


def _whole(clew: Clew) -> Finding:
    wrong = clew.database.integrity()
    if not wrong:
        return ok("integrity", "the stored bytes are sound")
    shown = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return problem("integrity", shown, "Stop every Clew, then restore the store from a backup.", "STORE_CORRUPT")


def _private(settings: Settings) -> Finding:
    mode = stat.S_IMODE(settings.home.stat().st_mode)
    if mode & 0o077:
        return note(
            "permissions",
            f"{settings.home} is open to other users of this machine (mode {mode:o})",
            f"chmod 700 {settings.home}",
        )
    return ok("permissions", f"{settings.home} is yours alone")


def _answers(clew: Clew) -> Iterator[Finding]:
    """A real call, the way an agent makes it."""
    answer = call(clew, "status", {})
    error = answer.envelope["error"]
    if error:
        yield problem("call", f"{error['code']}: {error['message']}", error.get("recovery", ""), error["code"])
        return
    result = answer.envelope["result"]
    yield ok("call", f"status answers for workspace {result.get('workspace', clew.settings.workspace)}")
    yield _index(result.get("index"))
    yield _agreement(clew)


def _agreement(clew: Clew) -> Finding:
    answer = call(clew, "index_stats", {})
    wrong = answer.envelope["result"].get("disagreements", []) if answer.ok else []
    if wrong:
        return problem("agreement", "; ".join(wrong), "clew call reindex", "STORE_CORRUPT")
    return ok("agreement", "the search index says what the data says")


def _index(index: Any) -> Finding:
    lag = index.get("lag", 0) if isinstance(index, dict) else 0
    if lag:
        return note("index", f"{lag} items wait for the search index", "clew call reindex")
    return ok("index", "search is up to date with the data")
