"""Everything that doctor looks at, in the order a person would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.errors import ClewError
from clew.faces.cli.checks.connections import check_clients
from clew.faces.cli.checks.finding import Finding
from clew.faces.cli.checks.machine import check_machine
from clew.faces.cli.checks.network import check_network
from clew.faces.cli.checks.store import check_store, from_error
from clew.faces.cli.opening import opened
from clew.settings import SETTINGS, Setting, Settings


def examine(settings: Settings) -> Iterator[Finding]:
    yield from check_machine(settings)
    try:
        with opened(settings) as clew:
            yield from check_store(clew)
    except ClewError as error:
        yield from_error("store", error)
    yield from check_network(settings)
    yield from check_clients(settings)


def settings_in_force(settings: Settings) -> list[dict[str, Any]]:
    """Each setting, its value and where that came from; secrets only as set or not."""
    return [
        {
            "name": setting.name,
            "value": _shown(setting, getattr(settings, setting.name)),
            "origin": settings.origins.get(setting.name, "default"),
        }
        for setting in SETTINGS
    ]


def _shown(setting: Setting, value: Any) -> str:
    if value in (None, "", ()):
        return setting.default or "-"
    if setting.secret:
        return "(set)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
