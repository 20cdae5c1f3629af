"""Forms of one deed: however a shell lets it be written, the guard sees it, and what is another deed stays free."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.memory.guards.approval import objections
from clew.memory.guards.check import Check, GuardedAction
from clew.memory.guards.doubt import is_doubtful
from clew.memory.guards.shell import LONGEST_LINE
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller
from tests.memory import guard_forms

PUSH = Check(commands=("git push * --force",), action="deny")
FILES = Check(paths=("db/*.sql",), action="deny")
PUSHES = (
    "git push \\\n --force",
    "git \\\n  push origin \\\n  --force",
    "git -C api push --force",
    "git -c user.name=x push --force",
    "git --git-dir=/x/.git --work-tree /x push --force",
    "git --no-pager -C . push origin --force",
    "bash -ce 'git push --force'",
    "bash -ec 'git push --force'",
    "sh -xc 'git push --force'",
    "sudo env A=1 bash -lc 'git push --force'",
    "A=1 B=2 git push --force",
    "true; (git push --force)",
    "env -S 'git push --force'",
    "fish -c 'git push --force'",
    "busybox sh -c 'git push --force'",
    "flock lock -c 'git push --force'",
    "coproc git push --force",
    "git push {origin,--force}",
    f"echo {'x' * 30_000}; git push --force",
    "x" * LONGEST_LINE,
)
WRITES = (
    "rm {root}/db/1.sql",
    "rm ./db/../db/1.sql",
    "echo x > {root}/db/1.sql",
    "cp db/1.sql.new db/1.sql",
    "cp 1.sql db/",
    "cp a/1.sql b.txt db",
    "install 1.sql {root}/db/",
    "rm -rf db",
    "rm -rf ./db/",
    "rm -rf {root}/db",
    "rm -rf .",
    "mv db old",
    "git rm -r db",
    "git -C db rm 1.sql",
    "git checkout -- db/1.sql",
    "cd db && rm 1.sql",
    "cd {root}/db && tee 1.sql",
    "bash -ce 'rm db/1.sql'",
    "truncate -s 0 {root}/db/1.sql",
    "sed -i s/a/b/ {root}/db/1.sql",
    "curl -o db/1.sql https://example.com/x",
    "wget -O {root}/db/1.sql https://example.com/x",
    "sort -o db/1.sql a",
    "sort a | sponge db/1.sql",
    "vim -c wq db/1.sql",
    "awk -i inplace 1 db/1.sql",
    "rm {{db,docs}}/1.sql",
    "rm -rf $PWD",
    "cp a.sql ${{PWD}}/db/1.sql",
    "cp a.sql ~+/db/1.sql",
)
UNSEEN = (
    "echo --force | xargs git push",
    "git -c alias.p='push --force' p",
    "ls db/* | xargs rm",
    "ls db/* | xargs sed -i s/a/b/",
)
FREE = (
    "curl -s https://example.com/1.sql -o /tmp/1.sql",
    "ls db/*.sql | xargs wc -l",
    "cp docs/{{a,b}}.md /tmp",
    "cat {root}/db/1.sql",
    "cp db/1.sql /tmp",
    "rm -rf docs",
    "git -C db status",
    "bash -c 'ls db'",
    "cp notes.txt docs/",
    "echo 'rm -rf db'",
)


@pytest.fixture
def root(tmp_path: Path) -> str:
    for name in ("db/1.sql", "docs/a.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return str(tmp_path)


@pytest.mark.parametrize("line", PUSHES, ids=lambda line: line[:40])
def test_a_guarded_command_is_seen_in_every_form(line: str) -> None:
    assert PUSH.fires(GuardedAction(command=line))


@pytest.mark.parametrize("line", WRITES)
def test_a_guarded_file_is_seen_in_every_form(root: str, line: str) -> None:
    assert FILES.fires(GuardedAction(command=line.format(root=root), root=root)), line


@pytest.mark.parametrize("line", [line for line in WRITES if "{root}" in line])
def test_a_guarded_file_is_seen_from_another_folder(root: str, line: str) -> None:
    assert FILES.fires(GuardedAction(command=line.format(root=root), folder="/", root=root)), line


@pytest.mark.parametrize("line", FREE)
def test_another_deed_stays_free(root: str, line: str) -> None:
    assert not FILES.fires(GuardedAction(command=line.format(root=root), root=root))


def said(line: str, root: str) -> str:
    """What the two guards say to a line, as a hook is told: the strictest of them."""
    action = GuardedAction(command=line.format(root=root, long="x" * 30_000), root=root)
    if PUSH.fires(action) or FILES.fires(action):
        return "deny"
    return "ask" if is_doubtful(PUSH, action) or is_doubtful(FILES, action) else ""


@pytest.mark.parametrize("line", UNSEEN)
def test_what_gets_its_arguments_from_elsewhere_is_asked_about(root: str, line: str) -> None:
    assert said(line, root) == "ask"


def test_there_are_120_forms_of_two_deeds() -> None:
    assert len({*guard_forms.PUSHES, *guard_forms.WRITES}) == 120
    assert len(set(guard_forms.EVERYDAY)) == 60


@pytest.mark.parametrize("line", [*guard_forms.PUSHES, *guard_forms.WRITES], ids=lambda line: line[:50])
def test_no_form_of_a_guarded_deed_passes_unseen(root: str, line: str) -> None:
    assert said(line, root) in ("deny", "ask")


def test_everyday_commands_are_left_alone(root: str) -> None:
    assert [line for line in guard_forms.EVERYDAY if said(line, root)] == []


def test_what_cannot_be_decided_is_put_before_the_user(call: Caller) -> None:
    guard = {"commands": ["git push * --force"], "action": "deny", "message": "Use --force-with-lease."}
    rule = call("remember", kind="rule", text="Shared branches are never rewritten", guard=guard)["id"]
    shell = Connection(toolset="full", client="clew-cli", local=True, person="@ines")
    assert call.clew.dispatcher.call("guard_approve", {"id": rule}, shell).ok
    with Context(call.clew.dispatcher, call.session, "ws", None).reading() as ctx:
        unclear = objections(ctx, GuardedAction(command="python -c \"run('git push --force')\""))
        plain = objections(ctx, GuardedAction(command="git push --force"))
        other = objections(ctx, GuardedAction(command="python -c 'print(1)'"))
    assert [(item.response, "cannot be told" in item.says) for item in unclear] == [("ask", True)]
    assert [item.response for item in plain] == ["deny"]
    assert other == []
