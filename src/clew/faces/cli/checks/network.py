"""The HTTP address: would `clew serve --http` be able to listen there, and would it be safe."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path

from clew.faces.cli.checks.finding import Finding, note, ok, problem
from clew.settings import LOOPBACK, Settings

_LISTENING = "0A"  # the state column of /proc/net/tcp


def check_network(settings: Settings) -> Iterator[Finding]:
    yield _safe(settings)
    yield _port("port", settings.host, settings.port, "CLEW_PORT")
    yield _port("observatory_port", settings.host, settings.observatory_port, "CLEW_OBSERVATORY_PORT")


def _safe(settings: Settings) -> Finding:
    if settings.host in LOOPBACK:
        return ok("address", f"{settings.host}: reachable from this machine only")
    if settings.token is None:
        return problem(
            "address",
            f"{settings.host} is reachable from other machines and no token is set; Clew will refuse to listen",
            "Set CLEW_TOKEN to a long random value, or CLEW_HOST=127.0.0.1.",
            "NOT_ALLOWED",
        )
    return ok("address", f"{settings.host}: reachable from other machines, token required")


def _port(check: str, host: str, port: int, variable: str) -> Finding:
    reason = _unbindable(host, port)
    if reason is None:
        return ok(check, f"{port} is free")
    if reason != errno.EADDRINUSE:
        return problem(check, f"{host}:{port} cannot be used", f"Set CLEW_HOST and {variable} to an address of yours.")
    owner = listener_on(port)
    if owner and "clew" in owner:
        return ok(check, f"{port} is served by {owner}")
    taken = f"{port} is taken by {owner or 'another process'}"
    return note(check, taken, f"Stop it, or set {variable} to a free port.")


def _unbindable(host: str, port: int) -> int | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the server does it, so that a connection still winding down does not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as failure:
            return failure.errno
    return None


def listener_on(port: int) -> str | None:
    """`command (pid N)` of whoever listens on a port, where the system (Linux) and our rights tell."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for link in Path("/proc").glob("[0-9]*/fd/*") if inodes else ():
        try:
            if str(link.readlink()) in inodes:
                process = link.parents[1]
                words = (process / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
                return f"{' '.join(words).strip()[:80]} (pid {process.name})"
        except OSError:
            continue  # ended meanwhile, or not ours to look at
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(table).exists():
            continue
        for line in Path(table).read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == _LISTENING and int(cells[1].rpartition(":")[2], 16) == port:
                yield cells[9]
