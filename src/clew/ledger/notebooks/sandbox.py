"""Running a cell: Deno without any permission, in a process group of its own, limited and killed when it must be.

The code never becomes the main module: a fixed runner imports it as a data address. Deno lets a main module read any
JSON or text file through `import ... with {type: ...}`, whatever its permissions; what is imported dynamically it
checks (ECOSYSTEM.md, section 7).
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from clew.errors import ClewError
from clew.ledger.notebooks.modules import data_address

RUNNER = """\
const decoder = new TextDecoder();
let text = "";
for await (const part of Deno.stdin.readable) text += decoder.decode(part, { stream: true });
const { address } = JSON.parse(text);
try {
  await import(address);
} catch (problem) {
  console.error(problem?.stack ?? String(problem));
  Deno.exit(1);
}
"""

HEAP_MB = 256
DATA_MB = 900  # Deno itself needs about 550; what is left bounds buffers outside of the heap.
FILE_MB = 64  # for Deno's own cache; cells may write no file at all
OUTPUT_LIMIT = 200_000
_ADDRESS = re.compile(r"data:application/(?:typescript|javascript);base64,[A-Za-z0-9+/=]*")
_TICK = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: completed, failed, timed_out, too_much_output."""

    status: str
    exit_code: int | None
    stdout: str
    stderr: str
    duration_ms: int
    truncated: bool

    @property
    def ok(self) -> bool:
        return self.status == "completed"


def find_deno() -> str:
    try:
        import deno
    except ImportError as missing:
        raise ClewError(
            "UNAVAILABLE",
            "code cells need the notebooks extra, which is not installed",
            "Install it: pip install 'clew[notebooks]'. Cells stay readable without it.",
        ) from missing
    return str(deno.find_deno_bin())


def run(
    source: str,
    filename: str,
    seconds: float,
    cache: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Run one module to its end, or to the end of its time, memory or output."""
    request = orjson.dumps({"address": data_address(source, filename)})
    with tempfile.TemporaryDirectory(prefix="clew-cell-") as folder:
        runner = Path(folder) / "runner.ts"
        runner.write_text(RUNNER, encoding="utf-8")
        process = subprocess.Popen(
            _command(runner, cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(Path(folder), cache),
            cwd=folder,
            start_new_session=True,
            preexec_fn=_limits(seconds),
        )
        begun = time.monotonic()
        try:
            watch = Watch(process, request, seconds, progress)
            status = watch.follow()
        finally:
            end_group(process)
        duration = int((time.monotonic() - begun) * 1000)
    return _outcome(status, process.returncode, watch, duration, filename)


def _command(runner: Path, cache: Path | None) -> list[str]:
    closed = ["--cached-only"] if cache is not None else ["--no-npm"]
    flags = ["--no-prompt", "--no-remote", "--no-config", "--no-lock", *closed]
    return [find_deno(), "run", "--quiet", *flags, f"--v8-flags=--max-old-space-size={HEAP_MB}", str(runner)]


def _environment(folder: Path, cache: Path | None) -> dict[str, str]:
    """Nothing of ours: no tokens, no home, no path."""
    return {
        "DENO_DIR": str(cache or folder / "deno"),
        "DENO_NO_UPDATE_CHECK": "1",
        "HOME": str(folder),
        "NO_COLOR": "1",
        "PATH": "/nonexistent",
    }


def _limits(seconds: float) -> Callable[[], None]:
    def limit() -> None:
        cpu = int(seconds) + 5
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_DATA, (DATA_MB << 20, DATA_MB << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MB << 20, FILE_MB << 20))

    return limit


class Watch:
    """Feeds a process its input and reads what it prints, never more than the limit."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: bytes,
        seconds: float,
        progress: Callable[[float], None] | None,
    ) -> None:
        self._process = process
        self._request = request
        self._seconds = seconds
        self._progress = progress
        self.printed = {"stdout": bytearray(), "stderr": bytearray()}

    def follow(self) -> str:
        """`ended`, `timed_out` or `too_much_output`."""
        begun = told = time.monotonic()
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                passed = time.monotonic() - begun
                if passed > self._seconds:
                    return "timed_out"
                for key, _ in selector.select(min(_TICK, self._seconds - passed)):
                    if not self._serve(selector, key):
                        return "too_much_output"
                if self._progress is not None and time.monotonic() - told >= _TICK:
                    told = time.monotonic()
                    self._progress(told - begun)
        return self._wait(begun)

    def _wait(self, begun: float) -> str:
        """Its pipes are closed; it may still run."""
        try:
            self._process.wait(max(0.05, self._seconds - (time.monotonic() - begun)))
        except subprocess.TimeoutExpired:
            return "timed_out"
        return "ended"

    def _register(self, selector: selectors.BaseSelector) -> None:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")

    def _serve(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
        if key.data == "stdin":
            self._feed(selector, key)
            return True
        part = os.read(key.fd, 65_536)
        if not part:
            selector.unregister(key.fileobj)
            return True
        self.printed[key.data] += part
        return len(self.printed[key.data]) <= OUTPUT_LIMIT

    def _feed(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            self._request = self._request[os.write(key.fd, self._request[:65_536]) :]
        except BrokenPipeError:
            self._request = b""
        if not self._request:
            selector.unregister(key.fileobj)
            assert self._process.stdin
            self._process.stdin.close()


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a run survives it: the whole group is killed, whatever signals it ignores."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            try:
                pipe.close()
            except BrokenPipeError:
                pass
    process.wait()


def _outcome(status: str, code: int, watch: Watch, duration: int, filename: str) -> Outcome:
    stdout, stderr = (_text(watch.printed[name], filename) for name in ("stdout", "stderr"))
    if status == "ended":
        return Outcome("completed" if code == 0 else "failed", code, stdout, _why(stderr, code), duration, False)
    reasons = {
        "timed_out": f"Stopped: not finished after {duration / 1000:.1f} s.",
        "too_much_output": f"Stopped: more than {OUTPUT_LIMIT} bytes of output.",
    }
    stderr = f"{stderr}\n{reasons[status]}".strip()
    return Outcome(status, None, stdout, stderr, duration, status == "too_much_output")


def _why(stderr: str, code: int) -> str:
    """A process that a signal ended says nothing itself."""
    if code < 0 or code in {133, 134}:
        return f"{stderr}\nStopped by the system (signal or memory limit of {HEAP_MB} MB).".strip()
    return stderr


def _text(raw: bytearray, filename: str) -> str:
    shown = bytes(raw[:OUTPUT_LIMIT]).decode("utf-8", "replace").replace("\x00", "�")
    return _ADDRESS.sub(filename, shown)


def registry_environment() -> dict[str, str]:
    """What a package client needs to find and trust its registry, and nothing else of our environment."""
    known = {
        name: value for name, value in os.environ.items() if name in _NET or name.upper().startswith("NPM_CONFIG_")
    }
    return {"DENO_TLS_CA_STORE": "system,mozilla", **known}


_NET = frozenset(
    {
        "HOME", "DENO_CERT", "DENO_TLS_CA_STORE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
    }
)  # fmt: skip
