"""How a cell is run: Deno for TypeScript and JavaScript, Monty for Python; imports, packages, environment."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from clew.errors import ClewError
from clew.surroundings import environment, home_directory

_IMPORT = re.compile(r"""(?P<head>\bfrom\s*|\bimport\s*\(?\s*)(?P<quote>["'])(?P<name>[^"'\n]+)(?P=quote)""")
_PACKAGE = re.compile(r"(?P<package>(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*)(?P<path>/.*)?")
MAX_DEPTH = 20
NODE_MODULES = frozenset(
    {
        "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram", "dns",
        "domain", "events", "fs", "http", "http2", "https", "module", "net", "os", "path", "perf_hooks", "process",
        "punycode", "querystring", "readline", "stream", "string_decoder", "timers", "tls", "tty", "url", "util", "v8",
        "vm", "worker_threads", "zlib",
    }
)  # fmt: skip
"""Node's own modules, which programs import without a prefix. They get no more permissions than the cell."""


def data_address(source: str, filename: str) -> str:
    kind = "javascript" if filename.endswith((".js", ".mjs")) else "typescript"
    return f"data:application/{kind};base64,{base64.b64encode(source.encode()).decode()}"


def linked(filename: str, cells: dict[str, str], packages: dict[str, str], above: tuple[str, ...] = ()) -> str:
    """A cell's source, with imports of other cells and packages replaced by addresses that the sandbox can load."""
    if filename in above or len(above) > MAX_DEPTH:
        raise ClewError(
            "INVALID_INPUT",
            f"cells import each other in a circle: {' → '.join([*above, filename])}",
            "Move what both need into a third cell.",
            [{"kind": "value", "field": "content"}],
        )

    def address(match: re.Match[str]) -> str:
        name = match.group("name")
        found = _resolve(name, cells, packages, (*above, filename))
        # An unknown name is kept: the runtime then reports that it cannot be loaded.
        return match.group(0) if found is None else f'{match.group("head")}"{found}"'

    return _IMPORT.sub(address, cells[filename])


def _resolve(name: str, cells: dict[str, str], packages: dict[str, str], above: tuple[str, ...]) -> str | None:
    if name.startswith("./"):
        known = name[2:]
        return data_address(linked(known, cells, packages, above), known) if known in cells else None
    match = _PACKAGE.fullmatch(name)
    if match is None:
        return None
    package = match.group("package")
    if package not in packages:
        return f"node:{name}" if package in NODE_MODULES else None
    return f"npm:{package}@{packages[package]}{match.group('path') or ''}"


ADDRESSES = "addresses.npmrc"
_NET = frozenset(
    {
        "HOME", "DENO_CERT", "DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    }
)  # fmt: skip
_REGISTRY_LINE = re.compile(r"\s*(?P<key>(?:@[^:=\s]+:)?registry)\s*=\s*(?P<address>\S+)\s*")
_LOGIN = re.compile(r"(?<=://)[^/@]*@")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def client_environment() -> dict[str, str]:
    """The variables that a package client needs to reach and trust its registry, and no others of ours."""
    wanted = _NET | set(_VARIABLE.findall(_settings()))
    known = {
        name: value for name, value in environment().items() if name in wanted or name.upper().startswith("NPM_CONFIG_")
    }
    return {"DENO_TLS_CA_STORE": "system,mozilla", **known}


def keep_addresses(cache: Path) -> None:
    """Store the registry addresses with the packages that were fetched from them, without credentials."""
    lines = [f"{key}={_LOGIN.sub('', address)}\n" for key, address in sorted(dict(_addresses()).items())]
    (cache / ADDRESSES).write_text("".join(lines), encoding="utf-8")


def give_addresses(cache: Path, home: Path) -> None:
    """Give a cell the stored addresses as the .npmrc of its home: Deno finds cached packages by their registry."""
    if (cache / ADDRESSES).exists():
        (home / ".npmrc").symlink_to(cache / ADDRESSES)


def _addresses() -> Iterator[tuple[str, str]]:
    """The registry addresses as Deno reads them: ~/.npmrc, and then the environment, which takes precedence."""
    for line in _settings().splitlines():
        if (found := _REGISTRY_LINE.fullmatch(line)) is not None:
            yield found["key"], _VARIABLE.sub(lambda name: environment().get(name[1], ""), found["address"])
    if address := environment().get("NPM_CONFIG_REGISTRY"):
        yield "registry", address


def _settings() -> str:
    try:
        return (home_directory() / ".npmrc").read_text(encoding="utf-8", errors="replace")
    except (OSError, RuntimeError):
        return ""


HEAP_MB = 256
LANGUAGES = {"ts": "typescript", "mts": "typescript", "js": "javascript", "mjs": "javascript", "py": "python"}
"""Language by the extension of a cell's file name."""
ENDINGS = {"typescript": "ts", "javascript": "js", "python": "py"}

RUNNER = """\
const { exit, stdin } = Deno;
const decoder = new TextDecoder();
let text = "";
for await (const part of stdin.readable) text += decoder.decode(part, { stream: true });
const { address, server } = JSON.parse(text);
// Where the system does not end the cells of a server that was killed, one that idles does it itself.
Deno.unrefTimer(setInterval(() => { if (Deno.ppid !== server) exit(137); }, 1000));
delete globalThis.Worker;  // there is no memory for a second one
delete Object.getPrototypeOf(navigator).gpu;  // drivers are native code outside of every limit
try {
  await import(address);
} catch (problem) {
  console.error(problem?.stack ?? String(problem));
  exit(1);
}
"""


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """A process to start: command, environment, input, and a function that makes its output readable."""

    command: list[str]
    environment: dict[str, str]
    request: bytes
    readable: Callable[[str, str, bool], tuple[str, str]] = lambda stdout, stderr, ok: (stdout, stderr)


def language_of(filename: str) -> str:
    return LANGUAGES[filename.rpartition(".")[2]]


def find_runtime(language: str) -> str:
    return find_monty() if language == "python" else find_deno()


def find_deno() -> str:
    try:
        import deno
    except ImportError as missing:
        raise _not_installed() from missing
    return str(deno.find_deno_bin())


def find_monty() -> str:
    try:
        from pydantic_monty._binary import find_monty_binary

        return str(find_monty_binary())
    except (ImportError, FileNotFoundError) as missing:
        raise _not_installed() from missing


def _not_installed() -> ClewError:
    return ClewError(
        "UNAVAILABLE",
        "code cells need the notebooks extra, which is not installed",
        "Install it: pip install 'clew-memory[notebooks]'. Cells stay readable without it.",
    )


def prepared(source: str, filename: str, folder: Path, cache: Path | None) -> ProcessStart:
    """The process that runs this cell. The files it needs are written into the folder."""
    if language_of(filename) == "python":
        return _in_monty(source, filename, folder)
    return _in_deno(source, filename, folder, cache)


def _in_deno(source: str, filename: str, folder: Path, cache: Path | None) -> ProcessStart:
    runner = folder / "runner.ts"
    runner.write_text(RUNNER, encoding="utf-8")
    # Only notebook_install_deps fetches packages; a cell itself never reaches the network.
    closed = ["--cached-only"] if cache is not None else ["--no-npm"]
    # No --allow flag: files, network, environment and processes are denied by default.
    flags = ["--no-prompt", "--no-remote", "--no-config", "--no-lock", *closed]
    command = [find_deno(), "run", "--quiet", *flags, f"--v8-flags=--max-old-space-size={HEAP_MB}", str(runner)]
    about_deno = {"DENO_DIR": str(_deno_home(folder, cache)), "DENO_NO_UPDATE_CHECK": "1"}
    request = orjson.dumps({"address": data_address(source, filename), "server": os.getpid()})
    return ProcessStart(command, _environment(folder) | about_deno, request, lambda *out: _clean_deno(filename, *out))


def _deno_home(folder: Path, cache: Path | None) -> Path:
    """A DENO_DIR for this run alone, with a link to the notebook's packages.

    `caches` and `localStorage` need no permission and would write to a directory `location_data`; a file of that name
    prevents it.
    """
    home = folder / "deno"
    home.mkdir()
    (home / "location_data").touch()
    if cache is not None:
        (home / "npm").symlink_to(cache / "npm")
        give_addresses(cache, folder)
    return home


_CELL_ADDRESS = re.compile(
    r"data:application/(?:typescript|javascript);base64,[A-Za-z0-9+/=]*(?:\.{6}[A-Za-z0-9+/=]*)?"
)
_RUNNER_LINE = re.compile(r"\n\s+at (?:async )?file:///\S*/runner\.ts:\d+:\d+")
_GRANT = re.compile(r", run again with the --allow-\w+ flag")
_NO_NPM = "npm specifiers were requested; but --no-npm is specified"
_CRASH = re.compile(r"\s*(?:<--- Last few GCs --->|#\n# Fatal process out of memory).*\Z", re.DOTALL)


def _clean_deno(filename: str, stdout: str, stderr: str, ok: bool) -> tuple[str, str]:
    """Deno's output with the cell's name for its address, and without our runner, --allow advice and heap dumps."""
    plain = _RUNNER_LINE.sub("", _CELL_ADDRESS.sub(filename, stderr))
    plain = _GRANT.sub(", which a cell never has", plain)
    plain = plain.replace(_NO_NPM, "this notebook has no packages installed; notebook_install_deps fetches them")
    return _CELL_ADDRESS.sub(filename, stdout), _CRASH.sub(f"\nOut of memory: a cell has {HEAP_MB} MB.", plain).lstrip(
        "\n"
    )


def _in_monty(source: str, filename: str, folder: Path) -> ProcessStart:
    (folder / filename).write_text(source, encoding="utf-8")
    command = [find_monty(), "--max-memory", f"{HEAP_MB}MB", filename]
    return ProcessStart(command, _environment(folder), b"", _clean_monty)


_TOOK = re.compile(r"^[\d.]+(?:ns|µs|μs|ms|s) ❯ ", re.MULTILINE)


def _clean_monty(stdout: str, stderr: str, ok: bool) -> tuple[str, str]:
    """Monty's output without its timing line. The value of the last expression moves to stdout, as in any notebook."""
    timings = list(_TOOK.finditer(stderr))
    if not timings:
        return stdout, stderr
    before, last = stderr[: timings[-1].start()], stderr[timings[-1].end() :]
    if not ok:
        return stdout, before + last.removeprefix("error: ")
    value = "" if last.strip() == "None" else last
    return stdout + value, before


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a cell: none of our tokens, home or path."""
    # A path that does not exist, so that no program can be started by name.
    return {"HOME": str(folder), "NO_COLOR": "1", "PATH": "/nonexistent"}
