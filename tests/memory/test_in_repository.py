"""Memory in the project's repository: clones merge it through real git, branches have their own view."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.app import open_clew
from clew.faces.cli.commands.init import ATTRIBUTES, IGNORED
from clew.memory.files.block_merge import merge_files
from clew.memory.files.markdown import parse_block, parse_file
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.conftest import Caller, TickingClock

CLONES = 3
ROUNDS = 4
_MARKED = re.compile(r"<<<<<<< ours\n(.*?)=======\n(.*?)>>>>>>> theirs", re.DOTALL)


@dataclass
class Clone:
    """A clone of the project with a store of its own, used by a person at its shell."""

    root: Path
    call: Caller

    @property
    def memory(self) -> Path:
        return self.root / ".clew"

    def git(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        who = ["-c", f"user.name={self.root.name}", "-c", f"user.email={self.root.name}@example.com"]
        command = ["git", "-C", str(self.root), *who, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done

    def remember(self, text: str, kind: str = "fact") -> str:
        return str(self.call("remember", text=text, kind=kind)["id"])

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "work")

    def statements(self) -> dict[str, str]:
        """What the store says holds, by id."""
        self.call("scan")
        with self.call.clew.database.read() as tx:
            rows = tx.all(
                "SELECT id, text FROM block WHERE workspace = ? AND until IS NULL AND gone = 0"
                " AND prefix IN ('D', 'F', 'L') ORDER BY id",
                self.call.clew.settings.workspace,
            )
        return {row["id"]: row["text"] for row in rows}

    def versions(self) -> str:
        with self.call.clew.database.read() as tx:
            return str([row["text"] for row in tx.all("SELECT text FROM block")])

    def files(self) -> str:
        return "\n".join(path.read_text() for path in sorted((self.memory / "knowledge").glob("*.md")))


@contextmanager
def clones(place: Path, clock: TickingClock, count: int = 2) -> Iterator[list[Clone]]:
    origin = place / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    opened: list[Clone] = []
    try:
        for number in range(count):
            root = place / f"clone{number}" / "relay"
            subprocess.run(["git", "clone", "-q", str(origin), str(root)], check=True, capture_output=True)
            driver = f"{sys.executable} -m clew merge-memory %O %A %B"
            subprocess.run(["git", "-C", str(root), "config", "merge.clew.driver", driver], check=True)
            if number == 0:
                (root / ".clew").mkdir()
                (root / ".clew" / ".gitignore").write_text(IGNORED)
                (root / ".clew" / ".gitattributes").write_text(ATTRIBUTES)
            flags = {
                "home": place / f"home{number}",
                "workspace": "relay",
                "workspace_lock": False,
                "embedding_model": "none",
                "memory_dir": root / ".clew",
            }
            caller = Caller(open_clew(load_settings(flags, {}, root), clock))
            caller.session = Connection(toolset="full", local=True)
            opened.append(Clone(root, caller))
            if number == 0:
                opened[0].git("checkout", "-q", "-b", "main")
                opened[0].commit()
                opened[0].git("push", "-q", "-u", "origin", "main")
        yield opened
    finally:
        for clone in opened:
            clone.call.clew.close()


@pytest.fixture
def pair(tmp_path: Path, clock: TickingClock) -> Iterator[list[Clone]]:
    with clones(tmp_path, clock) as opened:
        yield opened


def test_records_of_two_clones_merge_without_a_conflict_and_keep_their_ids(pair: list[Clone]) -> None:
    one, other = pair
    ids = [one.remember("Retries carry jitter"), other.remember("Leases last a minute")]
    assert len(set(ids)) == 2
    for clone in pair:
        clone.commit()
    one.git("push", "-q")
    other.git("pull", "-q", "--no-rebase", "--no-edit")
    other.git("push", "-q")
    one.git("pull", "-q", "--no-rebase", "--no-edit")
    assert one.statements() == other.statements()
    assert set(one.statements()) == set(ids)
    hit = other.call("recall", query="jitter")["results"][0]
    assert ids[0] in str(hit)


def test_only_records_belong_to_the_repository(pair: list[Clone]) -> None:
    one, _ = pair
    one.remember("Retries carry jitter")
    one.call("propose_update", block_type="decision", statement="Leases last a minute", rationale="Clocks drift")
    one.commit()
    tracked = one.git("ls-files").stdout.split()
    assert ".clew/knowledge/FACTS.md" in tracked
    assert all(
        name.startswith((".clew/knowledge", ".clew/decisions", ".clew/entities", ".clew/.git")) for name in tracked
    )
    assert one.git("status", "--porcelain").stdout == ""


def test_a_record_of_a_branch_holds_there_until_it_is_merged(pair: list[Clone]) -> None:
    one, _ = pair
    one.remember("Leases last a minute")
    one.commit()
    one.git("checkout", "-q", "-b", "feature")
    made = one.remember("Leases last two minutes on this branch", kind="decision")
    lesson = one.remember("The clock of the second host runs ahead", kind="lesson")
    one.commit()
    one.git("checkout", "-q", "main")
    one.remember("Queues hold a thousand messages")
    assert made not in one.statements() and lesson not in one.statements()
    assert one.call.answer("recall", query="second host clock ahead").envelope["result"]["results"] == []
    one.commit()
    one.git("checkout", "-q", "feature")
    assert made in one.statements() and lesson in one.statements()
    assert one.git("status", "--porcelain").stdout == ""
    one.git("checkout", "-q", "main")
    one.git("merge", "-q", "--no-edit", "feature")
    assert len(one.statements()) == 4
    assert "Status: active" in one.statements()[made]


def test_a_reset_takes_back_what_was_remembered_a_moment_ago(pair: list[Clone]) -> None:
    one, _ = pair
    kept = one.remember("Leases last a minute")
    one.commit()
    one.remember("Leases last an hour")
    one.git("reset", "-q", "--hard")
    assert list(one.statements()) == [kept]


def test_two_versions_of_one_field_wait_for_a_person_and_nothing_else_does(pair: list[Clone]) -> None:
    one, other = pair
    shared, free = one.remember("Leases last a minute"), one.remember("Queues hold a thousand messages")
    one.commit()
    one.git("push", "-q")
    other.git("pull", "-q")
    one.call("edit_record", id=shared, statement="Leases last two minutes")
    one.call("edit_record", id=free, review_by="2030-01-01")
    one.commit()
    one.git("push", "-q")
    other.call("edit_record", id=shared, statement="Leases last an hour")
    other.call("edit_record", id=free, statement="Queues hold two thousand messages")
    other.commit()
    assert other.git("pull", "-q", "--no-rebase", "--no-edit", check=False).returncode == 1
    assert len(_MARKED.findall(other.files())) == 1
    (item,) = [item for item in other.call("inbox_list")["items"] if item["kind"] == "file"]
    assert "knowledge/FACTS.md" in item["title"] and "conflict" in item["title"]
    assert "knowledge/FACTS.md" in str(other.call.answer("resume").envelope)
    assert "last an hour" in other.statements()[shared]
    _keep_ours(other)
    other.commit()
    merged = other.statements()
    assert "last an hour" in merged[shared] and "two thousand" in merged[free] and "2030-01-01" in merged[free]
    assert not [item for item in other.call("inbox_list")["items"] if item["kind"] == "file"]


def test_a_proposal_is_approved_by_the_pull_request_that_makes_it_active(pair: list[Clone]) -> None:
    one, other = pair
    one.call("governance", review="all")
    id = one.remember("Leases last a minute")
    assert "Status: proposed" in one.statements()[id]
    one.commit()
    one.git("push", "-q")
    other.git("pull", "-q")
    path = other.memory / "knowledge" / "FACTS.md"
    path.write_text(path.read_text().replace("Status: proposed", "Status: active"))
    other.commit()
    other.git("push", "-q")
    one.git("pull", "-q")
    assert "Status: active" in one.statements()[id]
    assert one.call("inbox_list")["items"] == []


def test_what_another_clone_wrote_belongs_to_its_author(pair: list[Clone]) -> None:
    one, other = pair
    id = str(
        other.call.clew.dispatcher.call(
            "remember", {"text": "Leases last a minute", "kind": "decision"}, Connection(agent_id="codex")
        ).envelope["result"]["id"]
    )
    other.commit()
    other.git("push", "-q")
    one.git("pull", "-q")
    replaced = one.call("remember", kind="decision", text="Leases last an hour", replaces=[id], why="Clocks drift")
    assert replaced["state"] == "kept", replaced


def _keep_ours(clone: Clone) -> None:
    for path in (clone.memory / "knowledge").glob("*.md"):
        path.write_text(_MARKED.sub(lambda found: found[1].rstrip("\n"), path.read_text()))


@pytest.mark.parametrize("seed", range(3))
def test_three_clones_come_to_say_the_same_and_lose_nothing(seed: int, tmp_path: Path, clock: TickingClock) -> None:
    chance = random.Random(seed)
    with clones(tmp_path, clock, CLONES) as opened:
        written: set[str] = set()
        for number in range(ROUNDS):
            for clone in chance.sample(opened, CLONES):
                for _ in range(chance.randrange(1, 4)):
                    written |= _act(clone, chance, number)
                if chance.random() < 0.4:
                    _work_on_a_branch(clone, chance, written)
                clone.commit()
                if chance.random() < 0.7:
                    _exchange(clone)
        for clone in [*opened, *opened]:
            _exchange(clone)
        first, *others = [clone.statements() for clone in opened]
        assert all(found == first for found in others)
        history = opened[-1].git("log", "--all", "-p").stdout
        # What was written over before it was committed is a version in its own store.
        kept = history + "".join(clone.versions() for clone in opened)
        assert first and all(text in kept for text in written)
        for clone in opened:
            assert {part.id: part.text for part in parse_file(clone.files()).parts} == clone.statements()


def _act(clone: Clone, chance: random.Random, number: int) -> set[str]:
    """Something that an agent or a person does. Returns what was acknowledged, which must not be lost."""
    ids = sorted(id for id, text in clone.statements().items() if "Status: active" in text)
    text = f"Statement {chance.randrange(10**9)} of round {number}"
    what = chance.choice(["remember", "remember", "edit", "by_hand", "review", "retract"])
    if what == "remember" or not ids:
        clone.remember(text, kind=chance.choice(["fact", "lesson"]))
        return {text}
    id = chance.choice(ids)
    if what == "edit":
        return {text} if clone.call.answer("edit_record", id=id, statement=text).ok else set()
    if what == "by_hand":
        return _edit_by_hand(clone, id, text)
    if what == "review":
        clone.call.answer("edit_record", id=id, review_by=f"2030-01-{number + 10}")
    else:
        clone.call.answer("retract", id=id, why="not true any more")
    return set()


def _edit_by_hand(clone: Clone, id: str, text: str) -> set[str]:
    for path in sorted((clone.memory / "knowledge").glob("*.md")):
        before = path.read_text()
        if f"[{id}]\n" in before:
            path.write_text(
                re.sub(rf"(\[{id}\]\n.*?Statement: )[^\n]*", rf"\g<1>{text}", before, count=1, flags=re.DOTALL)
            )
    return {text}


def _work_on_a_branch(clone: Clone, chance: random.Random, written: set[str]) -> None:
    clone.commit()
    clone.git("checkout", "-q", "-b", "feature")
    of_branch = _act(clone, chance, 90)
    clone.commit()
    clone.git("checkout", "-q", "main")
    of_main = _act(clone, chance, 91)
    clone.commit()
    _merge(clone, "feature")
    clone.git("branch", "-q", "-D", "feature")
    written |= of_branch | of_main


def _exchange(clone: Clone) -> None:
    clone.git("fetch", "-q")
    _merge(clone, "origin/main")
    clone.git("push", "-q", "origin", "main")


def _merge(clone: Clone, other: str) -> None:
    """Merge, compare the conflicts with the reference, and keep what this clone says."""
    expected = _conflicts(clone, other)
    clone.git("merge", "-q", "--no-edit", other, check=False)
    marked = {part.id for found in _MARKED.findall(clone.files()) for part in parse_file("".join(found)).parts}
    assert marked == expected
    if marked:
        _keep_ours(clone)
        clone.commit()


def _conflicts(clone: Clone, other: str) -> set[str]:
    """The reference: records of which both sides changed the same field differently since they parted."""
    base = clone.git("merge-base", "HEAD", other).stdout.strip()
    before, ours, theirs = (_records_at(clone, commit) for commit in (base, "HEAD", other))
    found = set()
    for id in ours.keys() & theirs.keys():
        was = before.get(id, {})
        for name in ours[id].keys() | theirs[id].keys():
            values = [side.get(name) for side in (was, ours[id], theirs[id])]
            both_changed = len({str(value) for value in values}) == 3
            if both_changed and name != "Status" and not (isinstance(values[1], list) and isinstance(values[2], list)):
                found.add(id)
    return found


def _records_at(clone: Clone, commit: str) -> dict[str, dict[str, object]]:
    names = clone.git("ls-tree", "-r", "--name-only", commit, ".clew/knowledge").stdout.split()
    texts = [clone.git("show", f"{commit}:{name}").stdout for name in names]
    return {part.id: dict(parse_block(part.text).fields) for text in texts for part in parse_file(text).parts}


def block(id: str, **fields: str) -> str:
    return "\n".join([f"[{id}]", *(f"{name}: {value}" for name, value in fields.items())])


def test_blocks_are_merged_wherever_they_stand() -> None:
    one, two = block("F-1", Statement="one"), block("F-2", Statement="two")
    base = f"# Facts\n\n{one}\n\n---\n\n{two}\n"
    ours = f"# Facts\n\n{one}\nTags: a\n\n---\n\n{two}\n\n---\n\n{block('F-3-a', Statement='ours')}\n"
    theirs = f"# Facts\n\n{two}\n\n---\n\n{block('F-3-b', Statement='theirs')}"
    merged = merge_files(base, ours, theirs)
    assert merged is not None and merged.conflicts == ("F-1",)  # removed there, changed here
    assert [part.id for part in parse_file(merged.text).parts] == ["F-1", "F-2", "F-3-b", "F-3-a"]
    clean = merge_files(base, ours.replace("\nTags: a", ""), theirs)
    assert clean is not None and clean.conflicts == ()
    assert [part.id for part in parse_file(clean.text).parts] == ["F-2", "F-3-b", "F-3-a"]


def test_a_file_with_one_id_twice_is_left_to_git() -> None:
    assert merge_files("", f"{block('F-1', Statement='a')}\n\n{block('F-1', Statement='b')}\n", "") is None
