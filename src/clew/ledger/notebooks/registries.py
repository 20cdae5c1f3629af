"""Where the packages of a notebook come from: what a package client is told, and what its cells are told later.

Deno keeps packages by the address they came from. A cell that runs without our environment has to know that address to
find them, and nothing else about it: no token, no password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

ADDRESSES = "addresses.npmrc"
_NET = frozenset(
    {
        "HOME", "DENO_CERT", "DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    }
)  # fmt: skip
_ADDRESS = re.compile(r"\s*(?P<key>(?:@[^:=\s]+:)?registry)\s*=\s*(?P<address>\S+)\s*")
_LOGIN = re.compile(r"(?<=://)[^/@]*@")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def client_environment() -> dict[str, str]:
    """What a package client needs to find and trust its registry, and nothing else of our environment."""
    wanted = _NET | set(_VARIABLE.findall(_settings()))
    known = {
        name: value for name, value in os.environ.items() if name in wanted or name.upper().startswith("NPM_CONFIG_")
    }
    return {"DENO_TLS_CA_STORE": "system,mozilla", **known}


def keep_addresses(cache: Path) -> None:
    """Beside the packages that were just fetched from them."""
    lines = [f"{key}={_LOGIN.sub('', address)}\n" for key, address in sorted(dict(_addresses()).items())]
    (cache / ADDRESSES).write_text("".join(lines), encoding="utf-8")


def give_addresses(cache: Path, home: Path) -> None:
    """To a cell, as the settings of its own home."""
    if (cache / ADDRESSES).exists():
        (home / ".npmrc").symlink_to(cache / ADDRESSES)


def _addresses() -> Iterator[tuple[str, str]]:
    """As Deno takes them: the settings in the home directory, and over them the environment."""
    for line in _settings().splitlines():
        if (found := _ADDRESS.fullmatch(line)) is not None:
            yield found["key"], _VARIABLE.sub(lambda name: os.environ.get(name[1], ""), found["address"])
    if address := os.environ.get("NPM_CONFIG_REGISTRY"):
        yield "registry", address


def _settings() -> str:
    try:
        return (Path.home() / ".npmrc").read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        return ""
