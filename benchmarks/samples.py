"""Collections with questions, made from texts of any machine: docstrings, package descriptions, changelogs.

Nothing is stored in the project and nothing is downloaded; missing sources are skipped. The same machine gives the
same collections. The query for a text is a removed part of it (its first paragraph, its summary) or some of its words.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.recall.locomo import Conversation, Question, Turn

ITEMS = 800
ASKED = 150
PAGE = 6000
DPKG = Path("/var/lib/dpkg/status")
CHANGELOGS = Path("/usr/share/doc")
RELEASES = 15
THINGS = ("kayak", "violin", "tent", "camera", "drill", "aquarium", "sofa", "scooter", "printer", "telescope", "piano")
COLOURS = ("red", "blue", "green", "white", "black", "yellow", "brown", "grey", "orange", "purple")
NAMES = ("Ada", "Bruno", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivan", "Jada")
TOLD = (
    ("I bought my {thing} in the shop of {name}", "Where did I buy my {thing}?"),
    ("I lent my {thing} to {name} for a while", "Who has my {thing} now?"),
    ("my {thing} cost {number} euros", "How much did I pay for my {thing}?"),
    ("I have had my {thing} for {number} weeks", "How long have I had my {thing}?"),
)

Pair = tuple[str, str]
"""The question and the text that answers it."""


def collections() -> list[Conversation]:
    made = [
        alone("docstrings", docstrings()),
        in_one("docstrings in one document", docstrings()),
        alone("package descriptions", packages()),
        alone("package pages", pages()),
        chats("chats of user and assistant", docstrings()),
        changelogs("changelogs"),
    ]
    return [collection for collection in made if collection.questions]


def docstrings() -> list[Pair]:
    """Of the standard library: the first paragraph and the rest."""
    found: dict[str, str] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                found.setdefault(plain(rest), plain(first))
    return usable((first, rest) for rest, first in found.items())


def packages() -> list[Pair]:
    """Of Debian's installed packages: the synopsis and the long description."""
    if not DPKG.is_file():
        return []
    text = DPKG.read_text(encoding="utf-8", errors="replace")
    told = re.findall(r"^Description: (.*)\n((?: .*\n)+)", text, re.MULTILINE)
    return usable((synopsis, plain(long.replace("\n .\n", "\n"))) for synopsis, long in told)


def pages() -> list[Pair]:
    """Of installed Python packages: the summary and the readme."""
    found = {package.name: package.metadata for package in distributions()}
    told = [(data.json.get("summary", ""), data.json.get("description", "")) for _, data in sorted(found.items())]
    return usable(
        (summary, plain(str(readme)).replace(summary, "")[:PAGE])
        for summary, readme in told
        if isinstance(summary, str)
    )


def plain(text: str) -> str:
    return " ".join(text.split())


def usable(pairs: Iterator[Pair]) -> list[Pair]:
    found = {text: asked for asked, text in pairs if 4 <= len(asked.split()) <= 30 and len(text.split()) >= 12}
    return [(asked, text) for text, asked in found.items()][:ITEMS]


def turn(session: int, number: int, text: str, speaker: str = "") -> Turn:
    return Turn(f"D{session}:{number}", session, speaker, text, "", None, "")


def questions(asked: list[tuple[str, str]]) -> list[Question]:
    chosen = random.Random(8).sample(asked, min(ASKED, len(asked)))
    return [Question(text, frozenset((id,)), "all") for text, id in chosen]


def alone(name: str, pairs: list[Pair]) -> Conversation:
    turns = [turn(number, 1, text) for number, (_, text) in enumerate(pairs, 1)]
    return Conversation(
        name, turns, questions([(asked, item.id) for (asked, _), item in zip(pairs, turns, strict=True)])
    )


def in_one(name: str, pairs: list[Pair]) -> Conversation:
    turns = [turn(1, number, text) for number, (_, text) in enumerate(pairs, 1)]
    return Conversation(
        name, turns, questions([(asked, item.id) for (asked, _), item in zip(pairs, turns, strict=True)])
    )


def chats(name: str, pairs: list[Pair]) -> Conversation:
    """The user asks for explanations and mentions facts in passing; the assistant explains at length."""
    chance, turns, asked = random.Random(3), list[Turn](), []
    things = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS] if pairs else []
    for session, thing in enumerate(chance.sample(things, len(things)), 1):
        fact, question = chance.choice(TOLD)
        told = fact.format(thing=thing, name=chance.choice(NAMES), number=chance.randrange(2, 90))
        talk = [(f"What is meant by this: {first}?", text) for first, text in chance.sample(pairs, 2)]
        care = f"Your {thing} needs care, as every {thing} does. {chance.choice(pairs)[1]}"
        talk.insert(chance.randrange(3), (f"By the way, {told}. How do I look after it?", care))
        for place, (said, answer) in enumerate(talk):
            turns += [turn(session, 2 * place + 1, said, "user"), turn(session, 2 * place + 2, answer, "assistant")]
            if told in said:
                asked.append((question.format(thing=thing), turns[-2].id))
    return Conversation(name, turns, questions(asked))


def changelogs(name: str) -> Conversation:
    """Each release is a session, each change a remark of its author; queried by some of its words."""
    turns, asked = list[Turn](), []
    for session, (maker, changes) in enumerate(releases(), 1):
        turns += [turn(session, number, change, maker) for number, change in enumerate(changes, 1)]
    for item in turns[:ITEMS]:
        words = list(dict.fromkeys(re.findall(r"[a-z]{5,}", item.text.lower())))
        if len(words) >= 8:
            asked.append((f"What did {item.speaker.split()[0]} do about {' '.join(words[1:8:2])}?", item.id))
    return Conversation(name, turns[:ITEMS], questions(asked))


def releases() -> Iterator[tuple[str, list[str]]]:
    seen: set[str] = set()
    for path in sorted(CHANGELOGS.glob("*/changelog.Debian.gz")):
        text = gzip.decompress(path.read_bytes()).decode(errors="replace")
        if text[:500] in seen:
            continue
        seen.add(text[:500])
        for body, maker in re.findall(r"^\S+ \(.*\n((?:(?! --).*\n)+) -- (.*?) <", text, re.MULTILINE)[:RELEASES]:
            changes = [plain(change) for change in re.split(r"^  \* ", body, flags=re.MULTILINE)[1:]]
            if len(changes) > 1:
                yield maker, changes
