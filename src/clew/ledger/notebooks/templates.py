"""What a new notebook starts with."""

from __future__ import annotations

from clew.ledger.notebooks.srcmd import PACKAGE, Book, Cell

TSCONFIG = '{\n  "compilerOptions": {\n    "target": "ES2022",\n    "module": "ESNext",\n    "strict": true\n  }\n}'
EMPTY_PACKAGE = '{\n  "type": "module",\n  "dependencies": {}\n}'


def blank(title: str, language: str) -> Book:
    cells = (Cell("title", title), Cell(PACKAGE, EMPTY_PACKAGE, PACKAGE))
    return Book(language, cells, TSCONFIG if language == "typescript" else None)


def sequential_feynman(title: str, language: str) -> Book:
    """Learn a subject by explaining it: four phases and a look back."""
    cells = [Cell("title", title), Cell("markdown", _OPENING)]
    for heading, text in _PHASES:
        cells += [Cell("title", heading), Cell("markdown", text)]
    cells.append(Cell(PACKAGE, EMPTY_PACKAGE, PACKAGE))
    return Book(language, tuple(cells), TSCONFIG if language == "typescript" else None)


_OPENING = """\
**What I want to be able to do afterwards:** (one sentence, something another person could watch me do)

**What I believe now, before reading anything:** (three lines; be wrong on paper)

**I stop when:** (the sign that it is enough)"""

_PHASES = (
    (
        "Phase 1: Gather",
        """\
Read widely, write little. For each source: what it claims, what it shows, what it leaves out.

- Source, date:
- The claim in my words:
- The example or measurement behind it:
- What I did not understand (copy the exact sentence):

End this phase with the three questions whose answers would change the most.""",
    ),
    (
        "Phase 2: Explain it plainly",
        """\
Explain the subject to a bright friend from another field. No term without an everyday picture for it; no "basically",
no "just". Where the explanation stumbles, mark the place with **(?)** and go on to the end.

Then run it: put the smallest example into a code cell and let it show what the text claims.""",
    ),
    (
        "Phase 3: Refine, three times",
        """\
For each round take the worst **(?)**, find out, and rewrite the paragraph from memory.

**Round 1.** The gap: … What I found: … The new paragraph: …

**Round 2.** A case in which the explanation predicts the wrong thing: … What was missing: …

**Round 3.** The shortest true version. Each sentence that can go, goes.""",
    ),
    (
        "Phase 4: Keep it",
        """\
Turn the explanation into something you will use.

- The idea in one sentence:
- When to reach for it, and when not to:
- The one example worth remembering (as a code cell that runs):
- Three questions to ask myself in a month, with answers folded below:""",
    ),
    (
        "Looking back",
        """\
- What did I believe at the start that was wrong?
- Which source was worth its time?
- What is still open, and does it matter?
- A note for whoever reads this next:""",
    ),
)

TEMPLATES = {"blank": blank, "sequential-feynman": sequential_feynman}
