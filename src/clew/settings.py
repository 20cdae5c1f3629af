"""Settings: a flag, then CLEW_*, then the seeds' names, then a clew.toml, then the default.

Each setting is declared once, as a field of `Settings`. A project's clew.toml comes with whatever was cloned, so it may
set only what cannot harm. Where the data goes, what is executed and who may listen is said by a flag, the environment
or the file in the data directory, or by a project's file that a person has trusted (`clew trust`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clew.canonical import sha256_hex
from clew.contract import Contract, contract_of
from clew.errors import ClewError
from clew.ids import check_workspace
from clew.setting_readers import (
    TOOLSET_WORDS,
    Setting,
    as_text,
    read_agent,
    read_choice,
    read_count,
    read_database,
    read_flag,
    read_limit,
    read_lock,
    read_log_level,
    read_names,
    read_networks,
    read_path,
    read_port,
    read_scopes,
    read_server,
    read_text,
    read_toolset,
    read_workspace,
    read_workspaces,
    setting,
)
from clew.surroundings import clew_command, directory, environment, expanded, placed
from clew.trust import is_trusted

FILE = "clew.toml"
TOKEN_VARIABLES = ("CLEW_TOKEN", "MIND_MEM_TOKEN")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Settings:
    project_root: Path
    home: Path = setting(("CLEW_HOME", "THOUGHTBOX_DATA_DIR"), "~/.clew", "Data directory; holds clew.db.", read_path)
    storage: str = setting(
        ("CLEW_STORAGE", "THOUGHTBOX_STORAGE"),
        "fs",
        "fs keeps everything; memory keeps it in a directory that is gone when the server ends.",
        read_choice("fs", "memory"),
    )
    database_url: str | None = setting(
        ("CLEW_DATABASE_URL",),
        "",
        "PostgreSQL address; empty means the embedded SQLite store.",
        read_database,
        secret=True,
    )
    database_read_url: str | None = setting(
        ("CLEW_DATABASE_READ_URL",),
        "",
        "PostgreSQL address of a replica for reads; one that lacks what was written is passed over.",
        read_database,
        secret=True,
    )
    database_connections: int = setting(
        ("CLEW_DATABASE_CONNECTIONS",),
        "8",
        "How many connections to PostgreSQL a process opens at most.",
        read_count,
    )
    server: str | None = setting(
        ("CLEW_SERVER",),
        "",
        "Address of a Clew server, such as https://clew.example.com, that keeps the memory instead of this machine.",
        read_server,
    )
    ca_file: Path | None = setting(
        ("CLEW_CA_FILE", "SSL_CERT_FILE"),
        "",
        "Certificates (PEM) that the server's certificate is checked against, in addition to those of this system.",
        read_path,
    )
    auto_migrate: bool = setting(
        ("CLEW_AUTO_MIGRATE",),
        "true",
        "Bring the store to the newest schema when it is opened; false leaves that to `clew migrate`.",
        read_flag,
    )
    workspace: str = setting(
        ("CLEW_WORKSPACE", "BRANCHMIND_WORKSPACE", "THOUGHTBOX_PROJECT"),
        "the project directory's name",
        "Workspace of calls that name none.",
        read_workspace,
        derived=True,
        harmless=True,
    )
    workspace_lock: bool = setting(
        ("CLEW_WORKSPACE_LOCK", "BRANCHMIND_WORKSPACE_LOCK"),
        "true when a workspace is given and no allow list; in toolset branchmind also when neither is",
        "Refuse calls that name another workspace.",
        read_lock,
        derived=True,
    )
    workspace_allowlist: tuple[str, ...] = setting(
        ("CLEW_WORKSPACE_ALLOWLIST", "BRANCHMIND_WORKSPACE_ALLOWLIST"),
        "",
        "Workspaces that calls may name, separated by comma, semicolon or space; the first is the default"
        " where the project's own is not listed.",
        read_workspaces,
    )
    project_guard: str | None = setting(
        ("CLEW_PROJECT_GUARD", "BRANCHMIND_PROJECT_GUARD"),
        "",
        "Mark stored with a workspace on first use; another is refused. Without it, the project's place is the mark.",
        read_text,
    )
    toolset: str = setting(
        ("CLEW_TOOLSET", "BRANCHMIND_TOOLSET"),
        "agent",
        "Which tools are listed: agent, core, daily, full, branchmind, thoughtbox or mind-mem. All can be called.",
        read_toolset,
        harmless=True,
    )
    dx: bool = setting(
        ("CLEW_DX", "BRANCHMIND_DX"),
        "false",
        "Let tasks_snapshot say what is new, also when not asked.",
        read_flag,
        harmless=True,
    )
    memory_dir: Path | None = setting(
        ("CLEW_MEMORY_DIR", "MIND_MEM_WORKSPACE"),
        "<home>/workspaces/<workspace>/memory",
        "Directory of the Markdown memory.",
        read_path,
        derived=True,
    )
    transport: str = setting(
        ("CLEW_TRANSPORT", "THOUGHTBOX_TRANSPORT"),
        "stdio",
        "How `clew serve` speaks without a flag: stdio or http.",
        read_choice("stdio", "http"),
    )
    host: str = setting(
        ("CLEW_HOST", "HOST"), "127.0.0.1", "Address to listen on; anything but loopback needs a token.", read_text
    )
    port: int = setting(("CLEW_PORT", "PORT"), "1731", "Port of the HTTP server.", read_port)
    allowed_hosts: tuple[str, ...] = setting(
        ("CLEW_ALLOWED_HOSTS",),
        "",
        "Further host names to answer to, such as a reverse proxy's; separated like the allow list.",
        read_names,
    )
    public_url: str | None = setting(
        ("CLEW_PUBLIC_URL",),
        "",
        "Address at which people reach this server, such as https://clew.example.com; advice to agents names it.",
        read_server,
    )
    trusted_proxies: tuple[str, ...] = setting(
        ("CLEW_TRUSTED_PROXIES",),
        "",
        "Addresses or networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto count.",
        read_networks,
    )
    observatory_enabled: bool = setting(
        ("CLEW_OBSERVATORY_ENABLED", "THOUGHTBOX_OBSERVATORY_ENABLED"),
        "false",
        "Let `clew serve` also serve the Observatory, on its own port.",
        read_flag,
    )
    observatory_port: int = setting(
        ("CLEW_OBSERVATORY_PORT", "THOUGHTBOX_OBSERVATORY_PORT"),
        "1729",
        "Port of the Observatory when it runs by itself.",
        read_port,
    )
    observatory_cors: tuple[str, ...] = setting(
        ("CLEW_OBSERVATORY_CORS", "THOUGHTBOX_OBSERVATORY_CORS"),
        "",
        "Origins whose pages may read the HTTP API and follow the socket, separated like the allow list; * for all.",
        read_names,
    )
    observatory_max_connections: int = setting(
        ("CLEW_OBSERVATORY_MAX_CONNECTIONS", "THOUGHTBOX_OBSERVATORY_MAX_CONNECTIONS"),
        "100",
        "Most sockets that may be open at once.",
        read_count,
    )
    observatory_http_api: bool = setting(
        ("CLEW_OBSERVATORY_HTTP_API", "THOUGHTBOX_OBSERVATORY_HTTP_API"),
        "false",
        "Serve read operations as plain HTTP under /api.",
        read_flag,
    )
    token: str | None = setting(
        TOKEN_VARIABLES, "", "Bearer token that HTTP callers must send.", read_text, secret=True
    )
    person_token: str | None = setting(
        ("CLEW_PERSON_TOKEN",),
        "",
        "Token of a person with the scope `approve`, for commands that decide without a terminal.",
        read_text,
        secret=True,
    )
    jwt_issuer: str | None = setting(
        ("CLEW_JWT_ISSUER",),
        "",
        "Identity provider (OpenID Connect) whose access tokens HTTP callers may send, such as https://login.example.com.",
        read_text,
    )
    jwt_audience: tuple[str, ...] = setting(
        ("CLEW_JWT_AUDIENCE",),
        "public_url, also with /mcp",
        "For whom those tokens must be made (`aud`); several are separated like the allow list.",
        read_names,
        derived=True,
    )
    jwt_keys: str | None = setting(
        ("CLEW_JWT_KEYS",),
        "",
        "Address or file of the provider's keys (JWKS); empty means the one that the issuer's own configuration names.",
        read_text,
    )
    jwt_name_claim: str = setting(
        ("CLEW_JWT_NAME_CLAIM",), "sub", "Claim of the token that is the author of what is written.", read_text
    )
    jwt_scopes: tuple[str, ...] = setting(
        ("CLEW_JWT_SCOPES",),
        "read,write",
        "What a token may do that names none of clew:read and clew:write: read, write, both, or none.",
        read_scopes,
    )
    rate_limit: int | None = setting(
        ("CLEW_RATE_LIMIT",),
        "",
        "Requests a minute that an HTTP server takes of one token, or of one address without; empty means any number.",
        read_limit,
    )
    daily_writes: int | None = setting(
        ("CLEW_DAILY_WRITES",),
        "",
        "Writing calls a day (UTC) that one token may make, on all servers together; empty means any number.",
        read_limit,
    )
    agent_id: str | None = setting(
        ("CLEW_AGENT_ID", "BRANCHMIND_AGENT_ID"),
        "",
        "Name recorded as the author of writes; `auto` makes and keeps one.",
        read_agent,
    )
    embedding_model: str | None = setting(
        ("CLEW_EMBEDDING_MODEL",),
        "",
        "Directory of an ONNX embedding model, or `none`; empty means the model that comes with Clew.",
        read_text,
    )
    hooks: bool = setting(
        ("CLEW_HOOKS",), "true", "Whether `clew-hook` says and keeps anything in this project.", read_flag
    )
    hook_stop: str = setting(
        ("CLEW_HOOK_STOP",),
        "say",
        "When an agent stops on an unproven step: say it to the person, block, or off.",
        read_choice("say", "block", "off"),
    )
    hook_budget: int = setting(
        ("CLEW_HOOK_BUDGET",),
        "4000",
        "Most characters that `clew-hook` says when a session starts.",
        read_count,
        harmless=True,
    )
    log_level: str = setting(
        ("CLEW_LOG_LEVEL",),
        "warning",
        "debug, info, warning or error; logs go to stderr.",
        read_log_level,
        harmless=True,
    )
    call_log: bool = setting(
        ("CLEW_CALL_LOG",),
        "false",
        "Log one line for each call: request id, agent, workspace, operation, outcome and milliseconds.",
        read_flag,
        harmless=True,
    )
    resident: bool = setting(
        ("CLEW_RESIDENT",),
        "true",
        "Let `clew serve` on stdio pass its client on to the resident server of the data directory; hooks always do.",
        read_flag,
        harmless=True,
    )
    resident_idle: int = setting(
        ("CLEW_RESIDENT_IDLE",),
        "600",
        "Seconds after which a resident server without clients ends.",
        read_count,
    )
    project_trusted: bool = True
    """Whether a person has trusted the project's clew.toml as it is now; true where there is none."""
    origins: dict[str, str] = field(default_factory=dict)
    """Where each value came from: `flag`, a variable, `clew.toml`, the path of the data directory's file, `default`."""

    @property
    def database_file(self) -> Path:
        return self.home / "clew.db"

    @property
    def own_guard(self) -> str:
        """The mark a workspace gets on its first use: the one configured, else one of this project's place."""
        return self.project_guard or self.place_mark

    @property
    def place_mark(self) -> str:
        """The mark of this project's place, which no file of a project can choose."""
        place = self.contract.named_place(self.memory_dir, self.project_root)
        return f"{PLACE}{sha256_hex(bytes(place.resolve()), 16)}"

    @property
    def claims_workspace(self) -> bool:
        """Whether only an untrusted file says that the workspace is this project's."""
        return not self.project_trusted and self.origins.get("workspace") == FILE

    @property
    def token_variable(self) -> str:
        """Where a client's line looks for the token: where it was found, else the usual place; empty without one."""
        origin = self.origins.get("token", "")
        usual = origin if origin in TOKEN_VARIABLES else TOKEN_VARIABLES[0]
        return usual if self.token else ""

    @property
    def contract(self) -> Contract:
        return contract_of(self.toolset)

    @property
    def notice(self) -> str:
        """Problems that clients of this server must know before they call anything."""
        return self.contract.notice(self)

    @property
    def runner_home(self) -> Path | None:
        """Where a runner may look for what it is allowed to execute; nowhere when a project named the directory."""
        return None if self.origins.get("home") == FILE else self.home

    @property
    def alone(self) -> bool:
        """Whether a server must run by itself: what it is asked for is not what a resident one shares."""
        shared = self.resident and self.storage != "memory" and self.transport == "stdio"
        return not shared or self.observatory_enabled

    @property
    def workspace_chosen(self) -> bool:
        """Whether the workspace was named explicitly; otherwise it is the name of the project's directory."""
        return self.origins.get("workspace", "default") != "default"


PLACE = "repo:"
"""What the mark of a project's place begins with."""
SETTINGS: tuple[Setting, ...] = tuple(
    Setting(item.name, *item.metadata["declared"]) for item in fields(Settings) if "declared" in item.metadata
)


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    *,
    trusted_only: bool = False,
) -> Settings:
    """`trusted_only` leaves out an untrusted project file, whatever it sets and however it is broken."""
    environ = environment() if environ is None else environ
    here = cwd or directory()
    root = project_root(here)
    raw, origins = _gather(flags or {}, environ, root, here, trusted_only)
    try:
        return replace(
            _settings(raw, origins, root), project_trusted=_is_trusted(root, chosen_home(flags or {}, environ))
        )
    except ClewError as problem:
        raise _with_origin(problem, origins) from problem


def _with_origin(problem: ClewError, origins: Mapping[str, str]) -> ClewError:
    """With the variable or file that has to be fixed; messages begin with the name of the setting."""
    origin = origins.get(problem.message.partition(":")[0], "default")
    if origin not in ("default", "flag"):
        return ClewError(problem.code, f"{problem.message} (from {origin})", problem.recovery)
    return problem


def _settings(raw: Mapping[str, str], origins: dict[str, str], root: Path) -> Settings:
    values = {item.name: item.read(item.name, raw[item.name]) for item in SETTINGS}
    contract = contract_of(values["toolset"])
    contract.check_settings(values, origins)
    if values["workspace_lock"] is None:
        # Before the name is derived: a server with an explicit workspace keeps to it, one that guessed does not.
        values["workspace_lock"] = bool(values["workspace"]) and not values["workspace_allowlist"]
    place = contract.named_place(values["memory_dir"], root)
    values["workspace"] = values["workspace"] or _default_workspace(place, values["workspace_allowlist"], origins)
    return Settings(**values, project_root=root, origins=origins)


def _default_workspace(place: Path, allowed: tuple[str, ...], origins: dict[str, str]) -> str:
    """The workspace of the project; the first of the allow list where that does not hold it."""
    derived = check_workspace(derived_workspace(place))
    if not allowed or derived in allowed:
        return derived
    # It was chosen explicitly: it is shared on purpose, and gets no separate name for this project.
    origins["workspace"] = origins.get("workspace_allowlist", "default")
    return allowed[0]


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


def _gather(
    flags: Mapping[str, Any], environ: Mapping[str, str], root: Path, here: Path, trusted_only: bool
) -> tuple[dict[str, str], dict[str, str]]:
    given = {item.name: found for item in SETTINGS if (found := _explicit_value(item, flags, environ)) is not None}
    files = _project_file(root, chosen_home(flags, environ), trusted_only)
    # The data directory may itself be named by a flag, a variable or a trusted project.
    home = given.get("home") or files.get("home")
    # The project's file wins over the one in the data directory, because it is the nearer one.
    files = {**_home_file(placed(home[0]) if home else home_of(environ), root), **files}
    raw: dict[str, str] = {}
    origins: dict[str, str] = {}
    expected = _contract_settings(given.get("toolset") or files.get("toolset"), {**files, **given}, here)
    for item in SETTINGS:
        default = expected.get(item.name) or ("" if item.derived else item.default, "default")
        raw[item.name], origins[item.name] = given.get(item.name) or files.get(item.name) or default
    return raw, origins


def _contract_settings(
    chosen: tuple[str, str] | None, given: Mapping[str, object], here: Path
) -> dict[str, tuple[str, str]]:
    toolset = TOOLSET_WORDS.get(chosen[0].lower(), "") if chosen else ""
    found = contract_of(toolset).default_settings(given, here)
    return {name: (value, f"toolset {toolset}") for name, value in found.items()}


def _explicit_value(item: Setting, flags: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, str] | None:
    if flags.get(item.name) is not None:
        return as_text(flags[item.name]), "flag"
    for name in item.env:
        if item.secret and environ.get(f"{name}_FILE", "").strip():
            return _text_of_secret(f"{name}_FILE", environ[f"{name}_FILE"].strip()), f"{name}_FILE"
        if environ.get(name, "").strip() and (name, environ[name].strip()) != _NO_PROJECT:
            return environ[name].strip(), name
    return None


def _text_of_secret(variable: str, path: str) -> str:
    """The text of a file that holds a secret, as container platforms hand secrets out."""
    try:
        return placed(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise ClewError(
            "IO_ERROR", f"{variable}: {path} cannot be read: {problem}", f"Correct {variable}."
        ) from problem


def chosen_home(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Path:
    """The data directory of a command, whose flag comes first."""
    return placed(str(flags["home"])) if flags.get("home") else home_of(environ)


def home_of(environ: Mapping[str, str]) -> Path:
    """The data directory as the person chose it, whatever a project says."""
    return expanded(environ.get("CLEW_HOME") or environ.get("THOUGHTBOX_DATA_DIR") or "~/.clew")


def _is_trusted(root: Path, home: Path, data: bytes | None = None) -> bool:
    """Whether the project's file may be believed; one that is not there says nothing wrong."""
    path = root / FILE
    if root.resolve() == home.resolve() or not path.is_file():
        return True
    # By content: a file that was changed after it was trusted has to be trusted again.
    return is_trusted(home, path, path.read_bytes() if data is None else data)


def _project_file(root: Path, home: Path, trusted_only: bool) -> dict[str, tuple[str, str]]:
    path = root / FILE
    if not path.is_file():
        return {}
    data = path.read_bytes()
    trusted = _is_trusted(root, home, data)
    if trusted_only and not trusted:
        return {}
    found = _parsed(path, data)
    if not trusted:
        _check_harmless(path, found)
    folder = found.get("memory_dir")
    placed_here = {"memory_dir": str(root / folder)} if isinstance(folder, str) and folder else {}
    return {name: (as_text(value), FILE) for name, value in {**found, **placed_here}.items()}


def _check_harmless(path: Path, found: Mapping[str, Any]) -> None:
    """Refused and not ignored: its author would otherwise look for their data in the wrong store."""
    harmful = [item.name for item in SETTINGS if item.name in found and not item.harmless]
    if harmful:
        allowed = ", ".join(item.name for item in SETTINGS if item.harmless)
        raise ClewError(
            "NOT_ALLOWED",
            f"{path} sets {', '.join(harmful)}, which a project's file may not do unless you trust it",
            f"Read the file. If it is yours: {clew_command('trust')}. Otherwise remove them; it may set {allowed}.",
        )


def _home_file(home: Path, root: Path) -> dict[str, tuple[str, str]]:
    path = home / FILE
    if home.resolve() == root.resolve() or not path.is_file():
        return {}
    secrets = {f"{item.name}_file": item.name for item in SETTINGS if item.secret}
    found = _parsed(path, path.read_bytes(), tuple(secrets))
    given = {name: (as_text(value), str(path)) for name, value in found.items() if name not in secrets}
    for name in secrets.keys() & found.keys():
        given[secrets[name]] = (_text_of_secret(f"{name} in {path}", str(found[name])), str(path))
    return given


def _parsed(path: Path, data: bytes, also: tuple[str, ...] = ()) -> Mapping[str, Any]:
    try:
        return _check_names(path, tomllib.loads(data.decode()), also)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ClewError("INVALID_INPUT", f"{path} is not valid TOML: {problem}", f"Mend or remove {path}.") from problem


def _check_names(path: Path, found: Mapping[str, Any], also: tuple[str, ...]) -> Mapping[str, Any]:
    """A misspelled name would otherwise leave its setting at the default unnoticed."""
    names = [*(item.name for item in SETTINGS), *also]
    unknown = next((name for name in sorted(found) if name not in names), None)
    if unknown is None:
        return found
    from difflib import get_close_matches

    near = get_close_matches(unknown, names, n=1)
    recovery = f"Did you mean {near[0]}?" if near else "docs/settings.md names them all."
    raise ClewError("INVALID_INPUT", f"{path}: there is no setting {unknown[:60]!r}", recovery)
