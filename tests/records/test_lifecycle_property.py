"""Random histories of several authors: what holds equals the model, and every reader agrees. On both engines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from clew.app import Clew
from clew.kinds.state import State
from clew.memory.kinds import kind_of
from tests.conftest import Caller
from tests.records.lifecycle_model import Entry, Model
from tests.records.test_work import at_page, connected

STEPS = 30
WORDS = (
    *("amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "haven", "ivory", "jetty", "kayak", "lotus"),
    *("maple", "north", "ocean", "pearl", "quartz", "raven", "slate", "tulip", "umber", "vapor", "willow", "zephyr"),
)
_BLOCK = re.compile(r"^\[([DFLRX]-\d+)\]\n(?:.+\n)*?Status: (\w+)", re.MULTILINE)
KINDS = ("decision", "fact", "lesson", "rule")


class History:
    """A store and its model, changed together."""

    def __init__(self, clew: Clew, seed: int) -> None:
        self.chance = Random(seed)
        self.clew = clew
        self.model = Model()
        self.texts: dict[str, str] = {}
        self.waiting: dict[str, str] = {}
        """Record that is proposed -> its proposal."""
        self.agents = {name: connected(clew, name, name) for name in ("coder", "writer")}
        self.person = Caller(clew)
        self.person.session = self.person.person
        self.page = at_page(clew)
        self.authors = {**self.agents, "person": self.person}
        self.trail: list[str] = []

    def step(self) -> None:
        actions: list[Callable[[str], Any]] = [self.remember, self.remember, self.replace, self.replace]
        actions += [self.retract, self.retract, self.restore, self.undo, self.approve, self.reject]
        author = self.chance.choice(list(self.agents))
        self.chance.choice(actions)(author)

    def pick(self, *, held: bool | None = None) -> str | None:
        ids = [id for id in self.model.entries if held is None or self.model.holds(id) == held]
        return self.chance.choice(sorted(ids)) if ids else None

    def remember(self, author: str, replaces: tuple[str, ...] = ()) -> None:
        text = " ".join(self.chance.sample(WORDS, 6)) + f" number {len(self.texts)}"
        premise = self.pick() if self.chance.random() < 0.4 else None
        rests_on = [premise] if premise is not None else []
        kind = self.chance.choice(KINDS)
        answer = self.agents[author].answer(
            "remember", kind=kind, text=text, why="so", replaces=list(replaces), rests_on=rests_on
        )
        if not answer.ok:
            # Whatever cannot be replaced is over, or has an heir.
            assert any(not self.model.holds(id) for id in replaces), answer.text
            return
        result = answer.envelope["result"]
        kept = result["state"] == "kept"
        self.texts[result["id"]] = text
        self.trail.append(f"{author} remember {result['id']} replaces={replaces} {result['state']}")
        if not kept:
            self.waiting[result["id"]] = result["proposal"]
        entry = Entry(kept, False, frozenset(replaces), frozenset(rests_on))
        self.model.write(author, {result["id"]: entry, **(self.never_held(replaces) if kept else {})})

    def never_held(self, replaced: Iterable[str]) -> dict[str, Entry]:
        """What is replaced while it waits for a person is withdrawn for good."""
        entries = self.model.entries
        waiting = [old for old in replaced if old in entries and not entries[old].kept]
        return {old: replace(entries[old], withdrawn=True) for old in waiting}

    def replace(self, author: str) -> None:
        old = self.pick()
        if old is not None:
            self.remember(author, (old,))

    def retract(self, author: str) -> None:
        id = self.pick()
        if id is None:
            return
        also = [old for old in self.model.entries[id].replaces if old in self.model.entries]
        also = also if self.chance.random() < 0.3 else []
        answer = self.agents[author].answer("retract", id=id, why="no", also=also)
        assert answer.ok, (answer.text, self.trail)
        result = answer.envelope["result"]
        self.trail.append(f"{author} retract {id} also={also} -> {result['status']} {result['waits_for']}")
        done = [one for one in (id, *also) if self.state(one) is State.WITHDRAWN]
        self.model.withdraw(author, done)

    def restore(self, author: str) -> None:
        id = self.pick(held=False)
        if id is None or not self.model.entries[id].kept:
            return
        taken = [old for old in self.model.entries[id].replaces if old in self.model.entries and self.is_taken(old, id)]
        answer = self.agents[author].answer("restore", id=id)
        self.trail.append(f"{author} restore {id} -> {answer.text[:90]}")
        if taken:
            assert not answer.ok, (answer.text, self.trail)
            return
        assert answer.ok, (answer.text, self.trail)
        if answer.envelope["result"].get("waits_for"):
            self.model.write(author, {})
        else:
            self.model.restore(author, id)

    def is_taken(self, old: str, id: str) -> bool:
        """Whether another record, that does not follow from this one, holds in the place of what it replaced."""
        others = [new for new in self.model.line(old) if new != id and new not in self.model.line(id)]
        return any(self.model.holds(new) for new in others)

    def undo(self, author: str) -> None:
        author = self.chance.choice([author, author, "person"])
        answer = self.authors[author].answer("undo")
        self.trail.append(f"{author} undo -> {answer.text[:120]}")
        expected = self.model.undo(author)
        assert answer.ok == (expected is True), (answer.text, expected, self.trail)

    def approve(self, author: str) -> None:
        self.decide("approve_apply", dry_run=False)

    def reject(self, author: str) -> None:
        self.decide("reject_proposal", reason="no")

    def decide(self, name: str, **given: Any) -> None:
        waits = [id for id in self.waiting if id in self.model.entries and not self.model.entries[id].withdrawn]
        waits = [id for id in waits if not self.model.entries[id].kept]
        if not waits:
            return
        id = self.chance.choice(waits)
        answer = self.person.answer(name, proposal_id=self.waiting[id], **given)
        self.trail.append(f"person {name} {id} -> {answer.text[:90]}")
        entry = self.model.entries[id]
        if not answer.ok:
            gone = [old for old in entry.replaces if old not in self.model.entries or not self.model.holds(old)]
            assert gone, (answer.text, self.trail)
            return
        if name == "approve_apply":
            self.model.write("person", {id: replace(entry, kept=True), **self.never_held(entry.replaces)})
        else:
            self.model.write("person", {id: replace(entry, withdrawn=True)})

    def state(self, id: str) -> State | None:
        opened = self.person.answer("open", id=id)
        if not opened.ok or opened.envelope["result"]["status"] == "removed":
            return None
        return kind_of(id).state(opened.envelope["result"]["status"])

    def check(self, thoroughly: bool) -> None:
        expected = self.model.in_force()
        waiting = {id for id, entry in self.model.entries.items() if not entry.kept and not entry.withdrawn}
        opened = {id: self.state(id) for id in self.texts}
        assert {id for id, state in opened.items() if state is State.IN_FORCE} == expected, self.trail
        assert {id for id, state in opened.items() if state is State.PROPOSED} == waiting, self.trail
        assert {id for id, state in opened.items() if state is None} == set(self.texts) - set(self.model.entries)
        told = self.person("resume", max_chars=200_000)["text"]
        shown = set(re.findall(r"(?:^|-> )\s*([DFLRX]-\d+)\b", told, re.MULTILINE))
        assert shown == expected | waiting, (shown ^ (expected | waiting), told, self.trail)
        self.check_page(expected, waiting)
        asked = sorted(self.texts) if thoroughly else self.chance.sample(sorted(self.texts), min(2, len(self.texts)))
        for id in asked:
            self.check_recall(id, expected | waiting)

    def check_page(self, expected: set[str], waiting: set[str]) -> None:
        """The lists of the page and its Inbox, as a person sees them."""
        listed = {row["id"]: row["label"] for row in self.page("record_list", limit=200)["records"]}
        assert {id for id, label in listed.items() if label.startswith("in force")} == expected, (listed, self.trail)
        assert {id for id, label in listed.items() if label.startswith("proposed")} == waiting, (listed, self.trail)
        suspect = {id for id in expected if self.model.suspect(id)}
        assert {id for id in expected if "suspect: rests on" in listed[id]} == suspect, (listed, self.trail)
        inbox = {item["id"] for item in self.page("inbox_list", limit=100)["items"] if item["kind"] == "proposal"}
        about = {id for id, proposal in self.waiting.items() if proposal in inbox}
        assert waiting <= about, (waiting, inbox, self.trail)
        for id in self.chance.sample(sorted(listed), min(2, len(listed))):
            assert self.page("record_view", id=id)["label"] == listed[id], (id, self.trail)

    def check_recall(self, id: str, expected: set[str]) -> None:
        found = {hit["_id"]: hit for hit in self.person("recall", query=self.texts[id])["results"]}
        assert (id in found) == (id in expected), (id, self.trail)
        assert set(found) & set(self.texts) <= expected, self.trail
        for known, hit in found.items():
            if known in self.model.entries and self.model.holds(known):
                assert ("suspect" in hit) == self.model.suspect(known), (known, hit, self.trail)

    def check_files(self, folder: Path) -> None:
        written: dict[str, str] = {}
        for path in folder.rglob("*.md"):
            if "applied" not in path.parts:  # copies of what files were like before
                written |= dict(_BLOCK.findall(path.read_text(encoding="utf-8")))
        holding = {id for id, status in written.items() if kind_of(id).state(status) is State.IN_FORCE}
        assert holding == self.model.in_force(), (holding ^ self.model.in_force(), self.trail)


@pytest.mark.parametrize("seed", range(6))
def test_what_holds_is_what_the_model_says_and_all_readers_agree(
    make_clew: Callable[..., Clew], tmp_path: Path, seed: int
) -> None:
    clew = make_clew(memory_dir=tmp_path / "memory")
    history = History(clew, seed)
    for _ in range(STEPS):
        history.step()
        history.check(thoroughly=False)
        history.check_files(tmp_path / "memory")
    history.check(thoroughly=True)
