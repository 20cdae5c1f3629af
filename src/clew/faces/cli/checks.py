"""The checks of `clew doctor`: machine, store, network, clients. Each yields findings with a fix."""

from __future__ import annotations

import errno
import json
import platform
import re
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from clew import __version__
from clew.app import Clew
from clew.canonical import Json
from clew.errors import ClewError
from clew.faces.cli.client_plan import plan_for
from clew.faces.cli.root import call, opened
from clew.faces.connect.client_settings import obstacles, plugin_file
from clew.faces.connect.clients import CLIENTS, Client
from clew.faces.connect.undo_journal import Journal, PieceStatus, statuses
from clew.faces.connect.user_folders import Places
from clew.setting_readers import Setting
from clew.settings import LOOPBACK, SETTINGS, Settings

OLDEST = (3, 11)
_LISTENING = "0A"  # the state column of /proc/net/tcp

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """`note` is informational, `problem` prevents something from working; both include a fix."""

    check: str
    state: State
    detail: str
    fix: str | None = None
    code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        found = {name: value for name, value in asdict(self).items() if value is not None}
        return {**found, "mend": self.fix} if self.fix is not None else found  # its older name


def ok(check: str, detail: str) -> Finding:
    return Finding(check, "ok", detail)


def note(check: str, detail: str, fix: str | None = None) -> Finding:
    return Finding(check, "note", detail, fix)


def problem(check: str, detail: str, fix: str, code: str | None = None) -> Finding:
    return Finding(check, "problem", detail, fix, code)


def examine(settings: Settings) -> Iterator[Finding]:
    """Run every check. People paste the output into tickets, so passwords and the token are removed from it."""
    secrets = _secrets(settings)
    for finding in _examine(settings):
        yield replace(finding, detail=_without(secrets, finding.detail), fix=_without(secrets, finding.fix))


def _secrets(settings: Settings) -> list[str]:
    """The token, and the database password in every form in which an error message could repeat it."""
    found = {settings.token or ""}
    address = settings.database_url or ""
    found |= {match.strip("'\"") for match in re.findall(r"password\s*=\s*('[^']*'|[^\s&]+)", address, re.IGNORECASE)}
    userinfo = address.partition("://")[2].rpartition("@")[0]
    password = userinfo.partition(":")[2]
    # An unescaped "@" in a password makes readers of the address split it at different places.
    found |= {password, unquote(password), *password.split("@")}
    # The longest first: replacing a part of a secret first would leave the rest of that secret readable.
    # One or two characters occur everywhere: hiding them would make the whole report unreadable.
    return sorted((secret for secret in found if len(secret) > 2), key=len, reverse=True)


def _without(secrets: list[str], text: str | None) -> Any:
    for secret in secrets if text else ():
        text = str(text).replace(secret, "(hidden)")
    return text


def _examine(settings: Settings) -> Iterator[Finding]:
    yield from check_machine(settings)
    try:
        with opened(settings) as clew:
            yield from check_store(clew)
    except ClewError as error:
        yield from_error(error)
    yield from check_network(settings)
    yield from check_clients(settings)


def settings_in_force(settings: Settings) -> list[dict[str, Any]]:
    """Each setting with its value and where the value came from. A secret is only reported as set or not set."""
    return [
        {
            "name": setting.name,
            "value": _setting_text(setting, getattr(settings, setting.name)),
            "origin": settings.origins.get(setting.name, "default"),
        }
        for setting in SETTINGS
    ]


def _setting_text(setting: Setting, value: Any) -> str:
    if value in (None, "", ()):
        return setting.default or "-"
    if setting.secret:
        return "(set)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def check_machine(settings: Settings) -> Iterator[Finding]:
    yield ok("clew", f"{__version__} in {Path(__file__).parents[3]}")
    yield _python()
    yield _extra("postgres", ("psycopg",), "teams can share a PostgreSQL")
    yield _extra("notebooks", ("deno", "pydantic_monty"), "notebook cells can run")
    yield _model(settings)


def _python() -> Finding:
    version = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST:
        return problem("python", version, "Install Python 3.11 or newer and install Clew with it.")
    return ok("python", version)


def _extra(extra: str, modules: tuple[str, ...], use: str) -> Finding:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        return note(
            extra, f"not installed ({', '.join(missing)}); with it {use}", f"pip install 'clew-memory[{extra}]'"
        )
    return ok(extra, f"installed: {use}")


def _model(settings: Settings) -> Finding:
    """The model that recall uses; a model other than the bundled one requires an extra."""
    own = settings.embedding_model
    if own == "none":
        return ok("semantic", "recall ranks by words alone, as CLEW_EMBEDDING_MODEL asks")
    if not own:
        return ok("semantic", "recall ranks by meaning too, with the model that comes with Clew")
    extra = _extra("semantic", ("onnxruntime", "tokenizers"), "other models can rank by meaning")
    if extra.state != "ok":
        return extra
    folder = Path(own).expanduser()
    if not any(folder.glob("**/*.onnx")):
        return problem(
            "semantic",
            f"no ONNX model in {folder} (setting embedding_model, from {settings.origins['embedding_model']})",
            "Point CLEW_EMBEDDING_MODEL to a directory with an .onnx file and tokenizer.json, or unset it.",
        )
    return ok("semantic", f"model in {folder}")


def check_store(clew: Clew) -> Iterator[Finding]:
    """Check the store by opening it as a first call would; in an empty data directory this creates the file."""
    if clew.settings.server:
        yield from _reached(clew)
        return
    try:
        yield _opens(clew)
        yield _whole(clew)
    except ClewError as error:
        yield from_error(error)
        return
    if clew.settings.database_url is None:
        yield _private(clew.settings)
        yield _local(clew)
    else:
        yield from _postgres(clew.database.describe(), clew.database.replica_state())
    yield from _answers(clew)


def _reached(clew: Clew) -> Iterator[Finding]:
    """The same for a remote server with the store: a call with this machine's token."""
    answer = call(clew, "status", {})
    error = answer.envelope["error"]
    if error:
        yield problem("server", f"{error['code']}: {error['message']}", error.get("recovery", ""), error["code"])
        return
    workspace = answer.envelope["result"].get("workspace", clew.settings.workspace)
    yield ok("server", f"{clew.settings.server} answers for workspace {workspace}")


def from_error(error: ClewError) -> Finding:
    return problem("store", f"{error.code}: {error.message}", error.recovery or "Run the command again.", error.code)


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


def _local(clew: Clew) -> Finding:
    kind = clew.database.describe().get("network_file_system")
    if kind is None:
        return ok("disk", "the store is on a disk of this machine")
    return note(
        "disk",
        f"{clew.settings.home} is on a network file system ({kind}): two machines would damage the store",
        "Let one machine use it at a time, or set CLEW_HOME to a local disk or CLEW_DATABASE_URL to a PostgreSQL.",
    )


def _postgres(store: dict[str, Any], replica: str | None) -> Iterator[Finding]:
    yield _connections(store)
    if replica == "answers":
        yield ok("replica", "reads go there where it has what was written")
    elif replica:
        yield note("replica", replica, "Reads go to the server itself. Check CLEW_DATABASE_READ_URL.")
    if store["row_security"]:
        yield ok("row security", "the server's role sees one workspace at a time")


def _connections(store: dict[str, Any]) -> Finding:
    """Poolers between this process and PostgreSQL, and their cost."""
    most = f"at most {store['connections']} from a process"
    if store["pooler"]:
        detail = f"through a connection pooler, {most}: nothing is prepared, and news of others is looked for"
        return ok("connections", f"{detail} once a second instead of announced")
    if not store["keeps_connections"]:
        limit = store["connection_limit"]
        return note(
            "connections",
            f"the role or the database may have {limit} connections: each is given back after every transaction",
            "Raise the limit (ALTER ROLE name CONNECTION LIMIT 50), and processes keep theirs.",
        )
    return ok("connections", f"to the server itself, {most}")


def _answers(clew: Clew) -> Iterator[Finding]:
    """Make a real call, as an agent would, and check the index behind it."""
    answer = call(clew, "status", {})
    error = answer.envelope["error"]
    if error:
        yield problem("call", f"{error['code']}: {error['message']}", error.get("recovery", ""), error["code"])
        return
    result = answer.envelope["result"]
    yield ok("call", f"status answers for workspace {result.get('workspace', clew.settings.workspace)}")
    yield _index(result.get("index"))
    yield from _agreement(clew)


def _agreement(clew: Clew) -> Iterator[Finding]:
    answer = call(clew, "index_stats", {"check_files": True})
    error = answer.envelope["error"]
    if error:
        yield problem("agreement", f"{error['code']}: {error['message']}", error.get("recovery", ""), error["code"])
        return
    stats = answer.envelope["result"]
    wrong = stats["disagreements"]
    if wrong:
        yield problem("agreement", "; ".join(wrong), "clew call reindex", "STORE_CORRUPT")
    else:
        yield ok("agreement", "the search index says what the data says")
    yield _vectors(stats["vectors"])
    yield _files(stats["file_disagreements"], _repaired(answer.envelope))


def _vectors(vectors: dict[str, Any]) -> Finding:
    """The progress of semantic search, and why it is not complete."""
    if not vectors["available"]:
        return ok("vectors", f"none: {vectors['reason']}")
    pgvector = f"; pgvector: {vectors['pgvector']}" if "pgvector" in vectors else ""
    detail = f"{vectors['count']} stored, {vectors['lag']} missing, compared by {vectors['compared_by']}{pgvector}"
    if vectors["lag"]:
        fix = "They are made in the background of a server; clew call reindex include_vectors=true makes them now."
        return note("vectors", detail, fix)
    return ok("vectors", detail)


def _repaired(envelope: Json) -> list[str]:
    """Files that this call repaired, and backup copies of such files from earlier calls."""
    said = [item["message"] for item in envelope["warnings"] if item["code"] == "FILE_REPAIRED"]
    return said or [f"a damaged or unreadable file is kept: {path}" for path in envelope["result"]["kept_copies"]]


def _files(wrong: list[str], repaired: list[str]) -> Finding:
    if not wrong and repaired:
        return note("files", "; ".join(repaired[:3]), "Remove the kept file when nothing in it is missing.")
    if not wrong:
        return ok("files", "the memory files say what the store says")
    shown = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return problem("files", shown, "clew call scan: it repairs what it can and names what is left", "STORE_CORRUPT")


def _index(index: Any) -> Finding:
    lag = index.get("lag", 0) if isinstance(index, dict) else 0
    if lag:
        return note("index", f"{lag} items wait for the search index", "clew call reindex")
    return ok("index", "search is up to date with the data")


def check_network(settings: Settings) -> Iterator[Finding]:
    yield _safe(settings)
    yield _port("port", settings.host, settings.port, "CLEW_PORT")
    yield _port("observatory_port", settings.host, settings.observatory_port, "CLEW_OBSERVATORY_PORT")


def _safe(settings: Settings) -> Finding:
    if settings.host in LOOPBACK:
        return ok("address", f"{settings.host}: reachable from this machine only")
    if settings.token is None and settings.jwt_issuer is None:
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
    if answers_as_clew(host, port):
        return ok(check, f"{port} is served by {owner or 'Clew'}")
    taken = f"{port} is taken by {owner or 'another process'}"
    return note(check, taken, f"Stop it, or set {variable} to a free port.")


def answers_as_clew(host: str, port: int) -> bool:
    """Ask the listener itself. Its command line proves nothing: any directory may be called clew."""
    # One can listen on the wildcard addresses, but not connect to them.
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host.strip("[]"))
    connection = HTTPConnection(address, port, timeout=2)
    try:
        connection.request("GET", "/health")
        # Bounded, because the listener may be any program.
        health = json.loads(connection.getresponse().read(10_000))
        return isinstance(health, dict) and health.get("server") == "clew"
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _unbindable(host: str, port: int) -> int | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # The server sets this too: a connection that is still closing does not make the port count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as failure:
            return failure.errno
    return None


def listener_on(port: int) -> str | None:
    """`command (pid N)` of the process that listens on a port; None if /proc or our rights do not show it."""
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for link in Path("/proc").glob("[0-9]*/fd/*") if inodes else ():
        try:
            if str(link.readlink()) in inodes:
                process = link.parents[1]
                words = (process / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
                return f"{' '.join(words).strip()[:80]} (pid {process.name})"
        except OSError:
            continue  # the process has ended, or belongs to another user
    return None


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not Path(table).exists():
            continue
        for line in Path(table).read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == _LISTENING and int(cells[1].rpartition(":")[2], 16) == port:
                yield cells[9]


def check_clients(settings: Settings) -> Iterator[Finding]:
    """One finding for each installed client: whether its files contain Clew, and whether they match this release."""
    plan = plan_for(settings)
    found = list(statuses(plan, settings.project_root, Journal.open(settings.home)))
    for client in CLIENTS.values():
        own = [entry for entry in found if entry.client is client]
        if own:
            yield _client(client, own, plugin_file(client, plan.places))
            yield from _hooks(client, own, plan.places)
    if not found:
        yield note("clients", "no MCP client was found for this user", "clew connect claude (or another one)")


def _hooks(client: Client, pieces: list[PieceStatus], places: Places) -> Iterator[Finding]:
    """Hooks that are configured but not run by the client."""
    if any(entry.piece.what == "hooks" and entry.state != "missing" for entry in pieces):
        for obstacle in obstacles(client, places):
            yield note(f"{client.name} hooks", obstacle.detail, obstacle.fix)


def _client(client: Client, pieces: list[PieceStatus], plugin: Path | None) -> Finding:
    fix = f"clew connect {client.name}"
    unreadable = [entry.problem for entry in pieces if entry.problem]
    if unreadable:
        return note(client.name, "; ".join(unreadable), f"Mend the file, then: {fix}")
    known = [entry for entry in pieces if entry.piece.what == "server" and entry.state != "missing"]
    if not known and plugin:
        return ok(client.name, f"{client.title} knows Clew as a plugin: {plugin}")
    if not known:
        files = ", ".join(dict.fromkeys(str(entry.piece.file) for entry in pieces if entry.piece.what == "server"))
        return note(client.name, f"{client.title} does not know Clew ({files})", fix)
    if plugin:
        detail = f"{client.title} knows Clew twice: as a plugin ({plugin}) and by `clew connect`"
        return note(client.name, detail, f"{fix} --remove, or remove the plugin")
    return _connected(client, pieces, known)


def _connected(client: Client, pieces: list[PieceStatus], servers: list[PieceStatus]) -> Finding:
    """A client whose configuration contains Clew's server."""
    fix = f"clew connect {client.name}"
    lost = [entry for entry in servers if entry.lost]
    if lost:
        return problem(client.name, f"{lost[0].piece.file} starts {lost[0].lost}, which is not there", fix)
    behind = [entry for entry in pieces if entry.gone or (entry.state == "stale" and entry.piece.what != "server")]
    if behind:
        what = ", ".join(f"{entry.piece.what} in {entry.piece.file}" for entry in behind)
        return note(client.name, f"{client.title} knows Clew, but this is gone or of another release: {what}", fix)
    files = ", ".join(dict.fromkeys(str(entry.piece.file) for entry in servers))
    extras = sorted({entry.piece.what for entry in pieces if entry.state == "current"} - {"server"})
    return ok(client.name, f"{client.title} knows Clew: {files}" + (f"; with {', '.join(extras)}" if extras else ""))
