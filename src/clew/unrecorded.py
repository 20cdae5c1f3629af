"""Runs of `clew prove` that cannot be recorded where they happen: a client's sandbox forbids writing to the store.

The command says so in a separate line. The client's hook runs outside of the sandbox, reads that line and keeps the
run as if the command had been run without `clew prove`.
"""

from __future__ import annotations

import shlex

NOT_RECORDED = "clew prove: not recorded here"
_WITH_VALUE = ("--step", "--task", "--covers", "--workspace", "--home")


def explanation(home: str) -> str:
    return (
        f"{NOT_RECORDED}: {home} cannot be written, as in a client's sandbox. Clew's hook in the client records this"
        f" run; without hooks, let the sandbox write there (Codex: sandbox_workspace_write.writable_roots)."
    )


def proven_command(line: str, output: str) -> str | None:
    """What `clew prove` ran in this line, if it said that it could not record it; None for any other line."""
    if NOT_RECORDED not in output:
        return None
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if not words or words[0].rpartition("/")[2] not in ("clew", "clew.exe"):
        return None
    left = _after_options(words[1:])
    if left[:1] != ["prove"]:
        return None
    run = _after_options(left[1:])
    run = run[1:] if run[:1] == ["--"] else run
    # One word is a line for the shell, as in `clew prove "cd web && npm test"`.
    return run[0] if len(run) == 1 else shlex.join(run) or None


def _after_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-") and words[0] != "--":
        words = words[2:] if words[0] in _WITH_VALUE else words[1:]
    return words
