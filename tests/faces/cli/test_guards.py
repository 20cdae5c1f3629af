"""`clew guards`: a check guards after a person said yes at a terminal, and not before."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.faces.cli.conftest import Shell


def answered(clew: Shell, *words: str, answer: str = "y\n") -> int:
    """Run a command whose input is a terminal, at which somebody types an answer."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=clew.directory,
        env=clew.environment(),
    )
    os.write(ours, answer.encode())
    code = process.wait(120)
    os.close(ours)
    os.close(theirs)
    return code


def state(clew: Shell) -> str:
    return str(clew("guards", "show", "--json").json["result"]["guards"][0]["state"])


def test_a_person_approves_at_a_terminal_and_an_agent_in_its_shell_cannot(clew: Shell) -> None:
    rule = clew("remember", "--kind", "rule", "Never force-push", "--json").json["result"]["id"]
    proposed = clew("guards", "propose", rule, "--command", "git push * --force", "--action", "deny")
    assert proposed.code == 0 and "approve" in proposed.out
    for words in (("guards", "approve", rule), ("call", "guard_approve", f"id={rule}")):
        refused = clew(*words, stdin="y\n")
        assert (refused.code == 1 and "terminal" in refused.err + refused.out) or "person" in refused.err + refused.out
        assert state(clew) == "waits"
    assert answered(clew, "guards", "approve", rule) == 0
    assert state(clew) == "guards"
    assert clew("guards", "override", rule, "--why", "I want to", stdin="y\n").code == 1
    assert answered(clew, "guards", "override", rule, "--why", "the history holds a key") == 0
    assert "the history holds a key" in clew("guards", "show").out
    assert answered(clew, "guards", "revoke", rule) == 0
    assert state(clew) == "waits"
