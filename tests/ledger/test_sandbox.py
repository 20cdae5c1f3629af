"""Cells that want what is not theirs: they get nothing, are ended, and leave nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Caller
from tests.ledger.cells import made, ran, runtimes_below

pytest.importorskip("deno")
pytest.importorskip("pydantic_monty")

PATIENCE = 240_000


@pytest.fixture
def engine() -> str:
    """Nothing here depends on the engine."""
    return "sqlite"


HOSTILE = {
    "reads a file by import": (
        "import d from 'file:///etc/passwd' with { type: 'text' }; console.log('GOT', d)",
        "read access",
    ),
    "reads a file by dynamic import": (
        "const d = await import('file:///etc/hostname', { with: { type: 'text' } }); console.log('GOT', d)",
        "read access",
    ),
    "reads a file by an import of an import": (
        "await import('data:text/javascript,' + encodeURIComponent("
        "\"import d from 'file:///etc/passwd' with {type: 'text'}; console.log('GOT', d)\"))",
        "read access",
    ),
    "reads a file by path": ("console.log('GOT', Deno.readTextFileSync('/etc/passwd'))", "read access"),
    "reads a file by fetch": ("console.log('GOT', await (await fetch('file:///etc/passwd')).text())", "read access"),
    "reads a file as Node": (
        "import fs from 'node:fs'; console.log('GOT', fs.readFileSync('/proc/self/environ'))",
        "read access",
    ),
    "reads through a link": (
        "Deno.symlinkSync('/etc/passwd', 'x'); console.log('GOT', Deno.readTextFileSync('x'))",
        "requires unscoped --allow-read",
    ),
    "reads the environment": ("console.log('GOT', Deno.env.toObject())", "env access"),
    "reads the environment as Node": (
        "import process from 'node:process'; console.log('GOT', process.env.PATH.length)",
        "env access",
    ),
    "opens a connection": ("await Deno.connect({ hostname: '127.0.0.1', port: 22 }); console.log('GOT')", "net access"),
    "fetches": ("console.log('GOT', await fetch('http://127.0.0.1:8080/'))", "net access"),
    "asks for a name": ("console.log('GOT', await Deno.resolveDns('localhost', 'A'))", "net access"),
    "starts a process": (
        "console.log('GOT', new Deno.Command('/bin/sh', { args: ['-c', 'id'] }).outputSync())",
        "run access",
    ),
    "forks without end": (
        "for (let n = 0; n < 1000; n++) new Deno.Command('/bin/sleep', { args: ['99'] }).spawn(); console.log('GOT')",
        "run access",
    ),
    "loads a package": ("import ms from 'npm:ms'; console.log('GOT', ms(1))", "notebook_install_deps"),
    "writes a file": ("Deno.writeTextFileSync('/tmp/clew-hostile', 'x'); console.log('GOT')", "write access"),
    "keeps a file in a cache": (
        "const c = await caches.open('x'); await c.put('http://a/', new Response('x')); console.log('GOT')",
        "cache storage",
    ),
    "keeps a file in a storage": ("localStorage.setItem('a', 'b'); console.log('GOT')", "Not a directory"),
    "kills its parent": ("Deno.kill(Deno.ppid, 'SIGKILL'); console.log('GOT')", "run access"),
    "asks for a graphics card": ("await navigator.gpu.requestAdapter(); console.log('GOT')", "undefined"),
    "starts a worker": ("new Worker('data:text/javascript,', { type: 'module' }); console.log('GOT')", "Worker"),
}


@pytest.mark.parametrize(("code", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_cell_gets_nothing_and_says_why(call: Caller, code: str, reason: str) -> None:
    done = ran(call, code, timeoutMs=PATIENCE)
    assert done["execution"]["status"] == "failed"
    assert "GOT" not in done["output"]
    assert reason in done["error"]
    assert "/tmp/clew-cell" not in done["error"] or "cache storage" in done["error"]


PYTHON = {
    "reads a file": ("print('GOT', open('/etc/passwd').read())", "not implemented"),
    "reads a file by path": ("from pathlib import Path; print('GOT', Path('/etc/passwd').read_text())", "not impl"),
    "reads the environment": ("import os; print('GOT', os.environ)", "not implemented"),
    "opens a connection": ("import socket; print('GOT')", "No module named 'socket'"),
    "starts a process": ("import subprocess; print('GOT')", "No module named 'subprocess'"),
    "forks": ("import os; print('GOT', os.fork())", "no attribute 'fork'"),
    "eats memory": ("a = []\nwhile True: a.append('x' * 1_000_000)", "MemoryError"),
    "recurses": ("def f(): f()\nf()", "RecursionError"),
}


@pytest.mark.parametrize(("code", "reason"), PYTHON.values(), ids=PYTHON)
def test_a_hostile_python_cell_gets_nothing_and_says_why(call: Caller, code: str, reason: str) -> None:
    done = ran(call, code, "python", timeoutMs=PATIENCE)
    assert done["execution"]["status"] == "failed"
    assert "GOT" not in done["output"]
    assert reason in done["error"]


GREEDY = {
    "loops": ("while (true);", "timed_out"),
    "waits": ("await new Promise(() => setInterval(() => {}, 1000))", "timed_out"),
    "sleeps": ("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e6)", "timed_out"),
    "ignores signals": (
        "Deno.addSignalListener('SIGTERM', () => {}); setInterval(() => {}, 10); await new Promise(() => {})",
        "timed_out",
    ),
    "prints a gigabyte": ("const l = 'x'.repeat(1 << 20); while (true) console.log(l)", "too_much_output"),
    "complains a gigabyte": ("const l = 'x'.repeat(1 << 20); while (true) console.error(l)", "too_much_output"),
    "eats 4 GB of buffers": ("const a = []; while (true) a.push(new Uint8Array(1 << 26).fill(1))", "failed"),
    "eats 4 GB of shared buffers": (
        "const a = []; while (true) a.push(new Uint8Array(new SharedArrayBuffer(1 << 26)).fill(1))",
        "failed",
    ),
    "eats 4 GB of WebAssembly": (
        "const a = []; while (true) a.push(new Uint8Array(new WebAssembly.Memory({ initial: 4096 }).buffer).fill(1))",
        "failed",
    ),
    "eats the heap": ("const a = []; while (true) a.push({ a: new Array(1000).fill(1.5) })", "failed"),
}


@pytest.mark.parametrize(("code", "status"), GREEDY.values(), ids=GREEDY)
def test_a_greedy_cell_is_ended_and_leaves_nothing_behind(call: Caller, code: str, status: str) -> None:
    done = ran(call, code, timeoutMs=1_000 if status == "timed_out" else PATIENCE)
    assert done["execution"]["status"] == status
    assert done["error"]
    assert len(done["output"]) <= 200_000
    assert len(done["error"]) <= 200_100
    assert not runtimes_below(os.getpid())


@pytest.mark.parametrize(
    ("code", "status"),
    [("while True: pass", "timed_out"), ("while True: print('x' * 1_000_000)", "too_much_output")],
)
def test_a_greedy_python_cell_is_ended(call: Caller, code: str, status: str) -> None:
    done = ran(call, code, "python", timeoutMs=1_000 if status == "timed_out" else PATIENCE)
    assert done["execution"]["status"] == status
    assert not runtimes_below(os.getpid())


def test_the_folder_of_a_run_is_gone_with_it(call: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    notebook, cells = made(call, "console.log(1)", "while (true);")
    for cell in cells:
        call("notebook_run_cell", notebookId=notebook, cellId=cell, timeoutMs=1_000)
    assert list((tmp_path / "runs").iterdir()) == []
