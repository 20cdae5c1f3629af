"""Collections that are made: talk among friends over months, and chats with an assistant whose user's facts change.

The text is ours (`benchmarks/data/talks`), so that weights can be fitted on talk without a set that may only be
measured. Statements answer a question of the other side and seldom repeat its words; facts that are not mentioned in a
collection leave their questions without an answer. The same seed gives the same collection.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.recall.data import Collection, Record
from benchmarks.recall.locomo import Question

DATA = Path(__file__).resolve().parents[1] / "data" / "talks"
NAMES = ("Ada", "Bruno", "Celeste", "Dmitri", "Esme", "Farid", "Greta", "Hugo", "Ines", "Jonas")
BEGIN = datetime(2025, 2, 3, 18, 30, tzinfo=UTC)
TALKS, CHATS = 4, 3
LEFT_OUT = 0.25
"""The share of this module's facts that a collection does not mention: their questions have no answer there."""
MIXED_UP = 0.15
"""The share of questions that name the other of two friends: people mix up who it was."""
_WORD = re.compile(r"[a-z]{4,}")
SESSIONS_APART = (3, 17)
HALF = 0.5
ECHOES = (
    "So good to hear about {about}!",
    "I keep thinking about {about}.",
    "Tell me more about {about}.",
    "I had no idea about {about}.",
    "Wow, {about}, that is news.",
)
RETURNS = (
    "I'm still thinking about {about} all the time.",
    "It's funny that you ask about {about}.",
    "I could go on about {about} for hours.",
    "Thanks for asking about {about}.",
    "Well, {about} is quite a story.",
)
ECHOED = len(ECHOES)


@dataclass
class Told:
    """A statement, the question before it, and the questions that it answers."""

    text: str
    after: str = ""
    questions: list[str] = field(default_factory=list)


@dataclass
class Topic:
    lines: dict[str, str] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)


def shape(name: str) -> list[Collection]:
    return [SHAPES[name][0](number) for number in range(1, SHAPES[name][1] + 1)]


def topics(file: str) -> list[Topic]:
    """Blocks of lines `key: text`; `?` is a question that the line said last answers."""
    found = []
    for block in (DATA / file).read_text(encoding="utf-8").strip().split("\n\n"):
        topic, asked = Topic(), ""
        for line in block.splitlines():
            if line.startswith("? "):
                topic.told[-1].questions.append(line[2:])
                continue
            key, _, text = line.partition(": ")
            if key in ("open", "tell", "told", "changed"):
                topic.told.append(Told(text, asked))
            asked = text if key == "ask" else ""
            topic.lines[key] = text
        found.append(topic)
    return found


class Writer:
    """The records of one collection, session by session, and what may be asked of them."""

    def __init__(self, name: str, shape: str, chance: random.Random) -> None:
        self.chance = chance
        self.made = Collection(name, shape, [], [], [])
        self._session, self._place, self._moment = 0, 0, BEGIN

    def begin(self) -> None:
        self._session, self._place = self._session + 1, 0
        self._moment += timedelta(days=self.chance.randint(*SESSIONS_APART))

    def say(self, author: str, text: str) -> str:
        self._place += 1
        id, moment = f"D{self._session}:{self._place}", int(self._moment.timestamp() * 1000)
        self.made.records.append(Record(id, text, author=author, ts_ms=moment, doc=f"session-{self._session}"))
        return id

    def ask(self, text: str, evidence: set[str], kind: str) -> None:
        self.made.questions.append(Question(text, frozenset(evidence), kind))

    def never_told(self, told: Told, name: str) -> None:
        self.made.unanswerable.extend(question.replace("{me}", name) for question in told.questions)


def talk(number: int) -> Collection:
    """Two friends who talk about events of their lives, two in a session."""
    chance = random.Random(number)
    writer = Writer(f"talk/{number}", "talk", chance)
    friends, chatter = chance.sample(NAMES, 2), (DATA / "small_talk.txt").read_text(encoding="utf-8").splitlines()
    known = topics("friends.txt")
    chance.shuffle(known)
    kept = round(len(known) * (1 - LEFT_OUT))
    groups: dict[tuple[str, str], set[str]] = {}
    for place, topic in enumerate(known[:kept]):
        if place % 2 == 0:
            writer.begin()
            for speaker in friends:
                writer.say(speaker, chance.choice(chatter))
        teller, other = chance.sample(friends, 2)
        opened = _tell(writer, topic, teller, other, chatter)
        groups.setdefault((teller, topic.lines["group"].partition(" | ")[2]), set()).add(opened)
    for topic in known[kept:]:
        for told in topic.told:
            writer.never_told(told, chance.choice(friends))
    for (teller, things), evidence in groups.items():
        if len(evidence) > 1:
            writer.ask(f"What {things} has {teller} told about?", evidence, "multi-hop")
    return writer.made


def _tell(writer: Writer, topic: Topic, teller: str, other: str, chatter: list[str]) -> str:
    """Writes one event, remark by remark; sometimes without a question. Returns the id of the first remark."""
    chance, first = writer.chance, ""
    for told in topic.told:
        if first and chance.random() < LEFT_OUT:
            writer.never_told(told, teller)
            continue
        if told.after:
            writer.say(other, _with_chatter(chance, told.after, [*chatter, *_echoes(topic, ECHOES)]))
        id = writer.say(teller, _with_chatter(chance, told.text, [*chatter, *_mine(_echoes(topic, RETURNS))]))
        first = first or id
        for question in told.questions:
            named = other if chance.random() < MIXED_UP else teller
            writer.ask(question.replace("{me}", named), {id}, "mixed up" if named is other else "told")
    if chance.random() < HALF:
        writer.say(other, _with_chatter(chance, chance.choice(_echoes(topic, ECHOES)), chatter))
    return first


def _echoes(topic: Topic, forms: tuple[str, ...]) -> list[str]:
    return [form.format(about=topic.lines["about"]) for form in forms]


def _mine(texts: list[str]) -> list[str]:
    return [text.replace(" your ", " my ") for text in texts]


def _with_chatter(chance: random.Random, text: str, chatter: list[str]) -> str:
    """With up to two sentences that go with anything, or take up what the talk is about, as people do."""
    said = chance.sample(chatter[-ECHOED:] if chance.random() < HALF else chatter, chance.randint(0, 2))
    return " ".join([*said, text] if chance.random() < HALF else [text, *said])


def chat(number: int) -> Collection:
    """A user who asks for advice and mentions facts in passing; some of them change in a later session."""
    chance = random.Random(100 + number)
    writer, known = Writer(f"assistant/{number}", "assistant", chance), topics("assistant.txt")
    chance.shuffle(known)
    kept = round(len(known) * (1 - LEFT_OUT))
    changes: list[tuple[Told, set[str], list[str]]] = []
    for topic in known[:kept]:
        first, *later = topic.told
        changed = [changes.pop(0)] if changes and chance.random() < 0.6 else []
        id, more = _session(writer, topic, first.text, changed[0][0].text if changed else "")
        for told, evidence, questions in changed:
            for question in (*questions, *told.questions):
                writer.ask(question, evidence | {more}, "update")
        if later:
            changes.append((later[0], {id}, first.questions))
        else:
            for question in first.questions:
                writer.ask(question, {id}, "user")
    for _, evidence, questions in changes:
        for question in questions:
            writer.ask(question, evidence, "user")
    for topic in known[kept:]:
        for told in topic.told:
            writer.never_told(told, "")
    return writer.made


def _session(writer: Writer, topic: Topic, told: str, changed: str) -> tuple[str, str]:
    """The turns in which a fact was mentioned and a fact was changed; the second is empty if none was."""
    chance, advice = writer.chance, [f"{part.rstrip('.')}." for part in topic.lines["advice"].split(". ")]
    writer.begin()
    early = chance.random() < HALF
    request = topic.lines["request"]
    id = writer.say("user", f"{request} {told}" if early else request)
    writer.say("assistant", " ".join(["Of course, here is what I would do.", *advice, *_general(chance)]))
    second = f"Thank you, that helps. {told}" if not early else "Thank you. Which of these matters most?"
    later = writer.say("user", f"{second} {changed}".strip())
    writer.say("assistant", " ".join([*chance.sample(advice, 3), *_general(chance)]))
    return (id if early else later), (later if changed else "")


GENERAL = (
    "If you tell me more about your situation, I can be more specific.",
    "Take it step by step and do not try to change everything at once.",
    "Most people notice a difference after two or three weeks.",
    "It also helps to write down what worked and what did not.",
    "Let me know if you would like a list that you can print.",
    "There is no single right way, so treat this as a starting point.",
    "Costs vary a lot, and asking around usually pays off.",
    "Feel free to ask if anything remains unclear.",
)


def _general(chance: random.Random) -> list[str]:
    return chance.sample(GENERAL, chance.randint(1, 4))


SHAPES: dict[str, tuple[Callable[[int], Collection], int]] = {"talk": (talk, TALKS), "assistant": (chat, CHATS)}
