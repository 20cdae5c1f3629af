"""The `.src.md` format: a notebook as readable Markdown that can be read back exactly; and the templates."""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

from clew.canonical import Json
from clew.errors import ClewError, invalid
from clew.ledger.notebooks.runtimes import ENDINGS, LANGUAGES, language_of
from clew.registry.arguments import check_inner

_HEADER = re.compile(r"<!-- srcbook:(\{.*\}) -->")
_COUNTED = re.compile(r"<!-- cell:(title|markdown) lines=(\d{1,9}) -->")
_FENCE = re.compile(r"(`{3,})(\w*)")
_FILE = "###### "
_TITLE = "# "
PACKAGE = "package.json"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell without its history. `type` is title, markdown, code or package.json."""

    type: str
    content: str
    filename: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Book:
    language: str
    cells: tuple[Cell, ...]
    tsconfig: str | None = None


def encode(book: Book) -> str:
    about: Json = {"language": book.language}
    if book.tsconfig is not None:
        about["tsconfig.json"] = book.tsconfig
    parts = [f"<!-- srcbook:{orjson.dumps(about).decode()} -->"]
    before = None
    for cell in book.cells:
        parts.append(_encoded(cell, before))
        before = cell
    return "\n\n".join(parts) + "\n"


def _encoded(cell: Cell, before: Cell | None) -> str:
    if cell.type in {"code", PACKAGE}:
        return _fenced(cell)
    if cell.type == "title" and _is_plain_title(cell.content):
        return _TITLE + cell.content
    # Two plain Markdown cells in a row would be read back as one.
    if cell.type == "markdown" and _is_plain_markdown(cell.content) and not (before and before.type == "markdown"):
        return cell.content
    return f"<!-- cell:{cell.type} lines={cell.content.count(chr(10)) + 1} -->\n{cell.content}"


def _fenced(cell: Cell) -> str:
    longest = max((len(run) for run in re.findall(r"`+", cell.content)), default=0)
    # Longer than any run of backticks in the code, so that the code cannot close the fence.
    fence = "`" * max(3, longest + 1)
    kind = "json" if cell.type == PACKAGE else cell.language or "javascript"
    return f"{_FILE}{cell.filename}\n\n{fence}{kind}\n{cell.content}\n{fence}"


def _is_plain_title(text: str) -> bool:
    return bool(text) and "\n" not in text and "\r" not in text and text == text.strip()


def _is_plain_markdown(text: str) -> bool:
    """Whether the plain grammar reads this text back unchanged; otherwise the cell is written with a line count."""
    if not text or text != text.strip("\n") or "\r" in text or text.strip() == "":
        return False
    marks = (_TITLE, _FILE, "<!-- cell:", "<!-- srcbook:")
    return not any(line.startswith(marks) for line in text.split("\n"))


def decode(text: str) -> Book:
    lines = text.removeprefix("\ufeff").split("\n")
    header = _HEADER.fullmatch(lines[0].strip())
    if header is None:
        raise invalid("content", "the first line is not a srcbook header", "Begin with <!-- srcbook:{...} -->.")
    about = _about(header.group(1))
    cells = Reader(lines, 1, about["language"]).cells()
    return Book(about["language"], tuple(cells), about.get("tsconfig.json"))


def _about(text: str) -> Json:
    try:
        about = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        raise invalid("content", f"the header is not JSON: {problem}") from problem
    language, tsconfig = about.get("language"), check_inner(about.get("tsconfig.json"), "content")
    if not isinstance(language, str) or language not in ENDINGS or not isinstance(tsconfig, str | None):
        raise invalid("content", "the header names no known language", f"Use one of {', '.join(sorted(ENDINGS))}.")
    return dict(about)


class Reader:
    """Reads the cells from the lines, in one pass."""

    def __init__(self, lines: list[str], at: int, language: str) -> None:
        self._lines = lines
        self._at = at
        self._language = language

    def cells(self) -> list[Cell]:
        found = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            counted = _COUNTED.fullmatch(line)
            if counted:
                found.append(self._counted_cell(counted))
            elif line.startswith(_FILE):
                found.append(self._file(line.removeprefix(_FILE).strip()))
            elif line.startswith(_TITLE):
                found.append(Cell("title", line.removeprefix(_TITLE).rstrip("\r")))
                self._at += 1
            elif line.strip():
                found.append(self._markdown())
            else:
                self._at += 1
        return found

    def _counted_cell(self, match: re.Match[str]) -> Cell:
        start, count = self._at + 1, int(match.group(2))
        if start + count > len(self._lines):
            raise invalid("content", f"line {self._at + 1}: the cell has fewer than {count} lines")
        self._at = start + count
        return Cell(match.group(1), "\n".join(self._lines[start : self._at]))

    def _file(self, filename: str) -> Cell:
        begun = self._at + 1
        self._at += 1
        while self._at < len(self._lines) and not self._lines[self._at].strip():
            self._at += 1
        opening = _FENCE.fullmatch(self._lines[self._at].rstrip()) if self._at < len(self._lines) else None
        if opening is None:
            raise invalid("content", f"line {begun}: {filename[:80]} is not followed by a fence")
        source = self._until(opening.group(1), begun)
        if filename == PACKAGE:
            return Cell(PACKAGE, source, PACKAGE)
        name = check_filename(filename)
        named = opening.group(2)
        # A file written by Srcbook may not name the language; then the file's extension decides.
        return Cell("code", source, name, named if named in ENDINGS else language_of(name))

    def _until(self, fence: str, begun: int) -> str:
        start = self._at + 1
        for end in range(start, len(self._lines)):
            if self._lines[end].rstrip() == fence:
                self._at = end + 1
                return "\n".join(self._lines[start:end])
        raise invalid("content", f"line {begun}: the fence is never closed")

    def _markdown(self) -> Cell:
        start = self._at
        marks = (_TITLE, _FILE, "<!-- cell:")
        self._at += 1  # `cells` has decided that this line is Markdown, even if it looks like a mark
        while self._at < len(self._lines) and not self._lines[self._at].startswith(marks):
            self._at += 1
        return Cell("markdown", "\n".join(self._lines[start : self._at]).rstrip("\n"))


_FILENAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,99}}\.(?:{'|'.join(LANGUAGES)})")


def check_filename(name: str) -> str:
    if not _FILENAME.fullmatch(name) or ".." in name:
        raise ClewError(
            "INVALID_INPUT",
            f"filename: {name[:80]!r} is not a plain file name",
            f"Use letters, digits, '.', '_', '-' and one of the endings {', '.join(LANGUAGES)}, such as main.ts.",
            [{"kind": "value", "field": "filename"}],
        )
    return name


TSCONFIG = '{\n  "compilerOptions": {\n    "target": "ES2022",\n    "module": "ESNext",\n    "strict": true\n  }\n}'
EMPTY_PACKAGE = '{\n  "type": "module",\n  "dependencies": {}\n}'


def blank(title: str, language: str) -> Book:
    cells = (Cell("title", title), Cell(PACKAGE, EMPTY_PACKAGE, PACKAGE))
    return Book(language, cells, TSCONFIG if language == "typescript" else None)


def sequential_feynman(title: str, language: str) -> Book:
    """A template for learning a subject by explaining it: four phases and a look back."""
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
