"""Settings: a flag, then CLEW_*, then the seeds' names, then clew.toml, then the default."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.canonical import sha256_hex
from clew.errors import ClewError
from clew.ids import check_agent, check_workspace

TOOLSETS = {"agent": "agent", "core": "core", "minimal": "core", "daily": "daily", "dx": "daily", "full": "full"}
"""Every name of a toolset, and the toolset it stands for."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Setting:
    name: str
    env: tuple[str, ...]
    default: str
    help: str
    secret: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("home", ("CLEW_HOME", "THOUGHTBOX_DATA_DIR"), "~/.clew", "Data directory; holds clew.db."),
    Setting(
        "storage",
        ("CLEW_STORAGE", "THOUGHTBOX_STORAGE"),
        "fs",
        "fs keeps everything; memory keeps it in a directory that is gone when the server ends.",
    ),
    Setting(
        "database_url",
        ("CLEW_DATABASE_URL",),
        "",
        "PostgreSQL address; empty means the embedded SQLite store.",
        True,
    ),
    Setting(
        "workspace",
        ("CLEW_WORKSPACE", "BRANCHMIND_WORKSPACE", "THOUGHTBOX_PROJECT"),
        "the project directory's name",
        "Workspace of calls that name none.",
    ),
    Setting(
        "workspace_lock",
        ("CLEW_WORKSPACE_LOCK", "BRANCHMIND_WORKSPACE_LOCK"),
        "true when a workspace is given and no allow list",
        "Refuse calls that name another workspace.",
    ),
    Setting(
        "workspace_allowlist",
        ("CLEW_WORKSPACE_ALLOWLIST", "BRANCHMIND_WORKSPACE_ALLOWLIST"),
        "",
        "Workspaces that calls may name, separated by comma, semicolon or space.",
    ),
    Setting(
        "project_guard",
        ("CLEW_PROJECT_GUARD", "BRANCHMIND_PROJECT_GUARD"),
        "",
        "Mark stored with a workspace on first use (without one, a mark of the project's place); another is refused.",
    ),
    Setting(
        "toolset",
        ("CLEW_TOOLSET", "BRANCHMIND_TOOLSET"),
        "daily",
        "Which tools are listed: agent, core, daily or full. All can be called.",
    ),
    Setting("dx", ("CLEW_DX", "BRANCHMIND_DX"), "false", "Let tasks_snapshot say what is new, also when not asked."),
    Setting(
        "memory_dir",
        ("CLEW_MEMORY_DIR", "MIND_MEM_WORKSPACE"),
        "<home>/workspaces/<workspace>/memory",
        "Directory of the Markdown memory.",
    ),
    Setting(
        "transport",
        ("CLEW_TRANSPORT", "THOUGHTBOX_TRANSPORT"),
        "stdio",
        "How `clew serve` speaks without a flag: stdio or http.",
    ),
    Setting(
        "host",
        ("CLEW_HOST", "HOST"),
        "127.0.0.1",
        "Address to listen on; anything but loopback needs a token.",
    ),
    Setting("port", ("CLEW_PORT", "PORT"), "1731", "Port of the HTTP server."),
    Setting(
        "allowed_hosts",
        ("CLEW_ALLOWED_HOSTS",),
        "",
        "Further host names to answer to, such as a reverse proxy's; separated like the allow list.",
    ),
    Setting(
        "observatory_port",
        ("CLEW_OBSERVATORY_PORT", "THOUGHTBOX_OBSERVATORY_PORT"),
        "1729",
        "Port of the Observatory when it runs by itself.",
    ),
    Setting(
        "observatory_cors",
        ("CLEW_OBSERVATORY_CORS", "THOUGHTBOX_OBSERVATORY_CORS"),
        "",
        "Origins whose pages may read the HTTP API and follow the socket, separated like the allow list; * for all.",
    ),
    Setting(
        "observatory_max_connections",
        ("CLEW_OBSERVATORY_MAX_CONNECTIONS", "THOUGHTBOX_OBSERVATORY_MAX_CONNECTIONS"),
        "100",
        "Most sockets that may be open at once.",
    ),
    Setting(
        "observatory_http_api",
        ("CLEW_OBSERVATORY_HTTP_API", "THOUGHTBOX_OBSERVATORY_HTTP_API"),
        "false",
        "Serve read operations as plain HTTP under /api.",
    ),
    Setting("token", ("CLEW_TOKEN", "MIND_MEM_TOKEN"), "", "Bearer token that HTTP callers must send.", True),
    Setting(
        "agent_id",
        ("CLEW_AGENT_ID", "BRANCHMIND_AGENT_ID"),
        "",
        "Name recorded as the author of writes; `auto` makes and keeps one.",
    ),
    Setting(
        "embedding_model",
        ("CLEW_EMBEDDING_MODEL",),
        "",
        "Directory of an ONNX embedding model; empty means the installed extra, if any.",
    ),
    Setting("log_level", ("CLEW_LOG_LEVEL",), "warning", "debug, info, warning or error; logs go to stderr."),
)


@dataclass(frozen=True)
class Settings:
    home: Path
    storage: str
    database_url: str | None
    workspace: str
    workspace_lock: bool
    workspace_allowlist: tuple[str, ...]
    project_guard: str | None
    toolset: str
    dx: bool
    memory_dir: Path | None
    transport: str
    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    observatory_port: int
    observatory_cors: tuple[str, ...]
    observatory_max_connections: int
    observatory_http_api: bool
    token: str | None
    agent_id: str | None
    embedding_model: str | None
    log_level: str
    project_root: Path
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def database_file(self) -> Path:
        return self.home / "clew.db"

    @property
    def own_guard(self) -> str:
        """The mark a workspace gets on its first use: the one configured, else one of this project's place."""
        if self.project_guard:
            return self.project_guard
        return f"repo:{sha256_hex(str(self.project_root.resolve()), 16)}"


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Settings:
    environ = os.environ if environ is None else environ
    root = project_root(cwd or Path.cwd())
    raw, origins = _gather(flags or {}, environ, _toml(root, environ))
    try:
        return _settings(raw, origins, root)
    except ClewError as problem:
        raise _placed(problem, origins) from problem


def _placed(problem: ClewError, origins: Mapping[str, str]) -> ClewError:
    """With the variable or file that has to be mended; messages begin with the name of the setting."""
    origin = origins.get(problem.message.partition(":")[0], "default")
    if origin not in ("default", "flag"):
        return ClewError(problem.code, f"{problem.message} (from {origin})", problem.recovery)
    return problem


def _settings(raw: Mapping[str, str], origins: dict[str, str], root: Path) -> Settings:
    workspace = raw["workspace"] or derived_workspace(root)
    allowlist = _names(raw["workspace_allowlist"])
    return Settings(
        home=Path(raw["home"]).expanduser().absolute(),
        storage=_choice("storage", raw["storage"], ("fs", "memory")),
        database_url=_database(raw["database_url"]),
        workspace=check_workspace(workspace),
        workspace_lock=_lock(raw["workspace_lock"], bool(raw["workspace"]), allowlist),
        workspace_allowlist=tuple(check_workspace(name) for name in allowlist),
        project_guard=raw["project_guard"] or None,
        toolset=_toolset(raw["toolset"]),
        dx=_flag("dx", raw["dx"]),
        memory_dir=Path(raw["memory_dir"]).expanduser().absolute() if raw["memory_dir"] else None,
        transport=_choice("transport", raw["transport"], ("stdio", "http")),
        host=raw["host"],
        port=_port("port", raw["port"]),
        allowed_hosts=_names(raw["allowed_hosts"]),
        observatory_port=_port("observatory_port", raw["observatory_port"]),
        observatory_cors=_names(raw["observatory_cors"]),
        observatory_max_connections=_count("observatory_max_connections", raw["observatory_max_connections"]),
        observatory_http_api=_flag("observatory_http_api", raw["observatory_http_api"]),
        token=raw["token"] or None,
        agent_id=check_agent(raw["agent_id"]) if raw["agent_id"] else None,
        embedding_model=raw["embedding_model"] or None,
        log_level=_log_level(raw["log_level"]),
        project_root=root,
        origins=origins,
    )


def project_root(cwd: Path) -> Path:
    """The nearest directory upwards that holds .git, else the directory itself."""
    for folder in (cwd, *cwd.parents):
        if (folder / ".git").exists():
            return folder
    return cwd


def derived_workspace(root: Path) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")
    return slug[:128] or "default"


_NO_PROJECT = ("THOUGHTBOX_PROJECT", "_default")
"""The seed's own word for a project that was not chosen."""
_DERIVED = frozenset({"workspace", "workspace_lock", "memory_dir"})


def _gather(
    flags: Mapping[str, Any], environ: Mapping[str, str], toml: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    raw: dict[str, str] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        value, origin = _pick(setting, flags, environ, toml)
        raw[setting.name] = value
        origins[setting.name] = origin
    return raw, origins


def _pick(
    setting: Setting, flags: Mapping[str, Any], environ: Mapping[str, str], toml: Mapping[str, Any]
) -> tuple[str, str]:
    if flags.get(setting.name) is not None:
        return _text(flags[setting.name]), "flag"
    for name in setting.env:
        if environ.get(name, "").strip() and (name, environ[name].strip()) != _NO_PROJECT:
            return environ[name].strip(), name
    if toml.get(setting.name) is not None:
        return _text(toml[setting.name]), "clew.toml"
    return ("" if setting.name in _DERIVED else setting.default), "default"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)


def _toml(root: Path, environ: Mapping[str, str]) -> Mapping[str, Any]:
    home = Path(environ.get("CLEW_HOME") or environ.get("THOUGHTBOX_DATA_DIR") or "~/.clew").expanduser()
    for path in (root / "clew.toml", home / "clew.toml"):
        if path.is_file():
            try:
                return _known(path, tomllib.loads(path.read_text(encoding="utf-8")))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
                raise ClewError(
                    "INVALID_INPUT", f"{path} is not valid TOML: {problem}", f"Mend or remove {path}."
                ) from problem
    return {}


def _known(path: Path, found: Mapping[str, Any]) -> Mapping[str, Any]:
    """A misspelled name would otherwise leave its setting at the default, and nobody would know."""
    names = [setting.name for setting in SETTINGS]
    unknown = next((name for name in sorted(found) if name not in names), None)
    if unknown is None:
        return found
    from difflib import get_close_matches

    near = get_close_matches(unknown, names, n=1)
    recovery = f"Did you mean {near[0]}?" if near else "docs/settings.md names them all."
    raise ClewError("INVALID_INPUT", f"{path}: there is no setting {unknown[:60]!r}", recovery)


def _names(value: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[,;\s]+", value) if part)


def _lock(value: str, explicit: bool, allowlist: tuple[str, ...]) -> bool:
    if not value:
        return explicit and not allowlist
    return _flag("workspace_lock", value)


def _flag(name: str, value: str) -> bool:
    lowered = value.lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ClewError("INVALID_INPUT", f"{name}: {value!r} is neither true nor false", f"Set {name} to true or false.")


def _toolset(value: str) -> str:
    if value.lower() not in TOOLSETS:
        raise ClewError("INVALID_INPUT", f"toolset: {value!r} is unknown", "Use agent, core, daily or full.")
    return TOOLSETS[value.lower()]


def _choice(name: str, value: str, known: tuple[str, ...]) -> str:
    if value.lower() not in known:
        raise ClewError("INVALID_INPUT", f"{name}: {value!r} is unknown", f"Use {' or '.join(known)}.")
    return value.lower()


def _database(value: str) -> str | None:
    """An address, or libpq's own `key=value` form; never repeated in an error, for it may hold a password."""
    if value and not value.startswith(("postgresql://", "postgres://")) and "=" not in value:
        raise ClewError(
            "INVALID_INPUT",
            "database_url: is no address of a PostgreSQL database",
            "Use postgresql://user@host/database, or leave it out for SQLite.",
        )
    return value or None


def _port(name: str, value: str) -> int:
    if not value.isdigit() or not 0 <= int(value) <= 65535:
        raise ClewError("INVALID_INPUT", f"{name}: {value!r} is not a port", "Use a number from 0 to 65535.")
    return int(value)


def _count(name: str, value: str) -> int:
    if not value.isdigit() or not 1 <= int(value) <= 100_000:
        raise ClewError("INVALID_INPUT", f"{name}: {value!r} is not a count", "Use a number from 1 to 100000.")
    return int(value)


def _log_level(value: str) -> str:
    if value.lower() not in {"debug", "info", "warning", "error"}:
        raise ClewError("INVALID_INPUT", f"log_level: {value!r} is unknown", "Use debug, info, warning or error.")
    return value.lower()
