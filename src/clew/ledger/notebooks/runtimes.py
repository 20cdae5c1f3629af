"""What runs a cell of which language, and how it is called so that the code gets at nothing.

JavaScript and TypeScript run in Deno without any permission. The code never becomes the main module: a fixed runner
imports it as a data address. Deno lets a main module read any JSON or text file through `import ... with {type: ...}`,
whatever its permissions; what is imported dynamically it checks (ECOSYSTEM.md, section 7).

Python runs in Monty, an interpreter that has no files, no network and no processes to begin with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from clew.errors import ClewError
from clew.ledger.notebooks.modules import data_address
from clew.ledger.notebooks.registries import give_addresses

HEAP_MB = 256
LANGUAGES = {"ts": "typescript", "mts": "typescript", "js": "javascript", "mjs": "javascript", "py": "python"}
"""By the ending of a cell's file name."""
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
try {
  await import(address);
} catch (problem) {
  console.error(problem?.stack ?? String(problem));
  exit(1);
}
"""


@dataclass(frozen=True, slots=True)
class Start:
    """A process to start: its command and environment, what it is fed, and how its two streams are made readable."""

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
        "Install it: pip install 'clew[notebooks]'. Cells stay readable without it.",
    )


def prepared(source: str, filename: str, folder: Path, cache: Path | None) -> Start:
    """How to run this cell; whatever files that needs are in the folder."""
    if language_of(filename) == "python":
        return _in_monty(source, filename, folder)
    return _in_deno(source, filename, folder, cache)


def _in_deno(source: str, filename: str, folder: Path, cache: Path | None) -> Start:
    runner = folder / "runner.ts"
    runner.write_text(RUNNER, encoding="utf-8")
    closed = ["--cached-only"] if cache is not None else ["--no-npm"]
    flags = ["--no-prompt", "--no-remote", "--no-config", "--no-lock", *closed]
    command = [find_deno(), "run", "--quiet", *flags, f"--v8-flags=--max-old-space-size={HEAP_MB}", str(runner)]
    about_deno = {"DENO_DIR": str(_deno_home(folder, cache)), "DENO_NO_UPDATE_CHECK": "1"}
    request = orjson.dumps({"address": data_address(source, filename), "server": os.getpid()})
    return Start(command, _environment(folder) | about_deno, request, lambda *said: _deno_says(filename, *said))


def _deno_home(folder: Path, cache: Path | None) -> Path:
    """A directory for this run alone, from which the packages of the notebook can be read.

    `caches` and `localStorage` need no permission and would write below `location_data`; a file is in their way.
    """
    home = folder / "deno"
    home.mkdir()
    (home / "location_data").touch()
    if cache is not None:
        (home / "npm").symlink_to(cache / "npm")
        give_addresses(cache, folder)
    return home


_ADDRESS = re.compile(r"data:application/(?:typescript|javascript);base64,[A-Za-z0-9+/=]*(?:\.{6}[A-Za-z0-9+/=]*)?")
_RUNNER_LINE = re.compile(r"\n\s+at (?:async )?file:///\S*/runner\.ts:\d+:\d+")
_GRANT = re.compile(r", run again with the --allow-\w+ flag")
_NO_NPM = "npm specifiers were requested; but --no-npm is specified"
_CRASH = re.compile(r"\s*(?:<--- Last few GCs --->|#\n# Fatal process out of memory).*\Z", re.DOTALL)


def _deno_says(filename: str, stdout: str, stderr: str, ok: bool) -> tuple[str, str]:
    """The cell by its name, without our runner, without advice that no one can follow, without a dump of memory."""
    plain = _RUNNER_LINE.sub("", _ADDRESS.sub(filename, stderr))
    plain = _GRANT.sub(", which a cell never has", plain)
    plain = plain.replace(_NO_NPM, "this notebook has no packages installed; notebook_install_deps fetches them")
    return _ADDRESS.sub(filename, stdout), _CRASH.sub(f"\nOut of memory: a cell has {HEAP_MB} MB.", plain).lstrip("\n")


def _in_monty(source: str, filename: str, folder: Path) -> Start:
    (folder / filename).write_text(source, encoding="utf-8")
    command = [find_monty(), "--max-memory", f"{HEAP_MB}MB", filename]
    return Start(command, _environment(folder), b"", _monty_says)


_TOOK = re.compile(r"^[\d.]+(?:ns|µs|μs|ms|s) ❯ ", re.MULTILINE)


def _monty_says(stdout: str, stderr: str, ok: bool) -> tuple[str, str]:
    """Monty ends with how long it took and what the last line is worth; as in any notebook, a value is printed."""
    said = list(_TOOK.finditer(stderr))
    if not said:
        return stdout, stderr
    before, last = stderr[: said[-1].start()], stderr[said[-1].end() :]
    if not ok:
        return stdout, before + last.removeprefix("error: ")
    value = "" if last.strip() == "None" else last
    return stdout + value, before


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of ours: no tokens, no home, no path."""
    return {"HOME": str(folder), "NO_COLOR": "1", "PATH": "/nonexistent"}
