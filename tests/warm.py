"""Starts `clew` in milliseconds: a process that has imported everything forks for each command.

What a command does is done by a process of its own, with its own environment, directory, streams and end. Only the
imports are not repeated, which are nine tenths of a short command's processor time. Tests of the start itself, of
signals and of terminals start Python themselves.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

SOURCE = Path(__file__).parents[1] / "src"
MOST = 1 << 20
"""Bytes of one request: words and environment."""


def can_fork() -> bool:
    """Elsewhere frameworks of the system have threads from the beginning, which a fork does not survive."""
    return sys.platform == "linux"


class Warm:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.warm", str(theirs.fileno())]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join((str(SOURCE), str(SOURCE.parent)))}
        self.process = subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        self.socket = ours
        atexit.register(self.end)

    def start(
        self, words: Sequence[str], directory: Path, env: Mapping[str, str], streams: Sequence[IO[Any]]
    ) -> socket.socket:
        """Standard input, output and error are the command's; the socket says how it ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            request = json.dumps([list(words), str(directory), dict(env)]).encode()
            socket.send_fds(self.socket, [request], [theirs.fileno(), *(stream.fileno() for stream in streams)])
        return ours

    def end(self) -> None:
        self.socket.close()
        self.process.wait(60)


@cache
def warm() -> Warm:
    return Warm()


def run(
    words: Sequence[str], directory: Path, env: Mapping[str, str], stdin: str, timeout: float
) -> tuple[int, str, str]:
    """As `subprocess.run` of `clew` with these words: exit code, standard output and error."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        with warm().start(words, directory, env, (given, out, err)) as ended:
            ended.settimeout(timeout)
            code = int(ended.recv(64))
        return code, text_of(out), text_of(err)


def text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def serve(channel: socket.socket) -> None:
    """Forks until the tests have gone; returns in the child, as a fresh `python -m clew` that may begin."""
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is woken:
                    woken.recv(4096)
                    tell_ends(running)
                    continue
                request, fds, _, _ = socket.recv_fds(channel, MOST, 4)
                if not request:
                    os._exit(0)
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    become(request, fds[1:])
                    for end in (channel, wake, woken, *running.values()):
                        end.close()
                    os.close(fds[0])
                    return
                running[child] = socket.socket(fileno=fds[0])
                for fd in fds[1:]:
                    os.close(fd)


def tell_ends(running: dict[int, socket.socket]) -> None:
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with running.pop(child) as told:
            told.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(request: bytes, streams: list[int]) -> None:
    """The process that the request describes."""
    words, directory, env = json.loads(request)
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = ["clew", *words]
    sys.path[0] = directory
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )


def main() -> None:
    from clew.faces.cli import commands
    from clew.registry.catalogue import import_everything

    import_everything()
    for module in pkgutil.iter_modules(commands.__path__, f"{commands.__name__}."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        runpy.run_module("clew", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        finish(end.code)


def finish(code: Any) -> NoReturn:
    """The end of an interpreter, save that nothing is taken apart: of all modules that takes as long as a command."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
