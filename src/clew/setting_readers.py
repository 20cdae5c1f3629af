"""How a setting is declared and read: how the text of a flag, a variable or a file becomes a value, and what is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from clew.contract import CONTRACTS
from clew.errors import ClewError
from clew.ids import check_agent, check_workspace
from clew.surroundings import placed

TOOLSET_WORDS = {
    "agent": "agent",
    "core": "core",
    "minimal": "core",
    "daily": "daily",
    "dx": "daily",
    "full": "full",
    **{name: name for name in CONTRACTS},
    **{name.replace("-", "_"): name for name in CONTRACTS},
}
"""Every name of a toolset, and the toolset it means."""

Reader = Callable[[str, str], Any]
"""`(name of the setting, text)` -> its value; refuses what cannot be one."""


def read_text(name: str, value: str) -> str | None:
    return value or None


def read_path(name: str, value: str) -> Path | None:
    return placed(value) if value else None


def read_server(name: str, value: str) -> str | None:
    """An address without a path. Without TLS only on this machine, because a token is sent along."""
    from urllib.parse import urlsplit

    if not value:
        return None
    parts = urlsplit(value)
    is_here = parts.hostname in ("127.0.0.1", "localhost", "::1")
    is_private = parts.scheme == "https" or (parts.scheme == "http" and is_here)
    if is_private and parts.hostname and parts.path in ("", "/") and not parts.query and not parts.username:
        return f"{parts.scheme}://{parts.netloc}"
    raise ClewError(
        "INVALID_INPUT",
        f"{name}: {value[:200]!r} is not the address of a server",
        "Use https://HOST or https://HOST:PORT, without a path; http:// only for 127.0.0.1.",
    )


def read_names(name: str, value: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[,;\s]+", value) if part)


def read_scopes(name: str, value: str) -> tuple[str, ...]:
    """What an agent's token may do; nothing that is for people."""
    words = read_names(name, value)
    if words == ("none",):
        return ()
    if not words or not set(words) <= {"read", "write"}:
        raise ClewError("INVALID_INPUT", f"{name}: {value[:60]!r} is unknown", "Use read, write, read,write or none.")
    return words


def read_networks(name: str, value: str) -> tuple[str, ...]:
    from ipaddress import ip_network

    for part in read_names(name, value):
        try:
            ip_network(part)
        except ValueError as problem:
            raise ClewError(
                "INVALID_INPUT", f"{name}: {problem}", "Use addresses or networks such as 10.0.0.0/8."
            ) from None
    return read_names(name, value)


def read_workspace(name: str, value: str) -> str:
    return check_workspace(value) if value else ""


def read_workspaces(name: str, value: str) -> tuple[str, ...]:
    return tuple(check_workspace(part) for part in read_names(name, value))


def read_agent(name: str, value: str) -> str | None:
    return check_agent(value) if value else None


def read_lock(name: str, value: str) -> bool | None:
    return read_flag(name, value) if value else None


def read_flag(name: str, value: str) -> bool:
    lowered = value.lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ClewError("INVALID_INPUT", f"{name}: {value!r} is neither true nor false", f"Set {name} to true or false.")


def read_toolset(name: str, value: str) -> str:
    if value.lower() not in TOOLSET_WORDS:
        raise ClewError(
            "INVALID_INPUT",
            f"toolset: {value!r} is unknown",
            f"Use one of {', '.join(dict.fromkeys(TOOLSET_WORDS.values()))}.",
        )
    return TOOLSET_WORDS[value.lower()]


def read_choice(*known: str) -> Reader:
    def read(name: str, value: str) -> str:
        if value.lower() not in known:
            raise ClewError("INVALID_INPUT", f"{name}: {value!r} is unknown", f"Use {' or '.join(known)}.")
        return value.lower()

    return read


def read_database(name: str, value: str) -> str | None:
    """An address, or libpq's own `key=value` form; never repeated in an error, for it may hold a password."""
    if value and not value.startswith(("postgresql://", "postgres://")) and "=" not in value:
        raise ClewError(
            "INVALID_INPUT",
            "database_url: is no address of a PostgreSQL database",
            "Use postgresql://user@host/database, or leave it out for SQLite.",
        )
    return value or None


def read_port(name: str, value: str) -> int:
    if not value.isdigit() or not 0 <= int(value) <= 65535:
        raise ClewError("INVALID_INPUT", f"{name}: {value!r} is not a port", "Use a number from 0 to 65535.")
    return int(value)


def read_count(name: str, value: str) -> int:
    if not value.isdigit() or not 1 <= int(value) <= 100_000:
        raise ClewError("INVALID_INPUT", f"{name}: {value!r} is not a count", "Use a number from 1 to 100000.")
    return int(value)


def read_limit(name: str, value: str) -> int | None:
    return read_count(name, value) if value else None


def read_log_level(name: str, value: str) -> str:
    if value.lower() not in {"debug", "info", "warning", "error"}:
        raise ClewError("INVALID_INPUT", f"log_level: {value!r} is unknown", "Use debug, info, warning or error.")
    return value.lower()


class Setting(NamedTuple):
    name: str
    env: tuple[str, ...]
    default: str
    help: str
    read: Reader
    secret: bool = False
    derived: bool = False
    """The default is worked out from other things; its text only describes it."""
    harmless: bool = False
    """A project's own clew.toml may set it without being trusted."""


def setting(
    env: tuple[str, ...],
    default: str,
    help: str,
    read: Reader,
    *,
    secret: bool = False,
    derived: bool = False,
    harmless: bool = False,
) -> Any:
    """A field of `Settings`; its name is that of the setting."""
    return field(metadata={"declared": (env, default, help, read, secret, derived, harmless)})


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)
