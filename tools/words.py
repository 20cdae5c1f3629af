"""Counts the words of our own dialect, so that progress towards the English of the field is seen.

python -m tools.words            totals: comments and docstrings, then identifiers
python -m tools.words --files    the same by file, worst first
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "clew"

DIALECT = {
    "stands": r"stands?|stood|standing",
    "nobody": r"nobody|somebody|whoever|everybody",
    "tell": r"tells?|told|telling|tellers?",
    "says": r"says|said",
    "mend": r"mend(?:s|ed|ing)?",
    "taken back": r"(?:takes?|took|taken|taking) back",
    "made anew": r"anew",
    "door": r"doors?",
    "deed": r"deeds?",
    "matter": r"matters?",
    "bar": r"bars?",
    "signs": r"signs",
    "likeness": r"likeness(?:es)?",
    "lineage": r"lineages?",
    "visit": r"visits?|visited",
    "greeting": r"greet(?:s|ed|ings?)?",
    "moment": r"moments?",
    "beside": r"beside",
    "companion": r"companions?",
    "governed": r"governed|undisturbed|stirred|unhurried",
    "splice": r"splices?|spliced",
    "what (noun)": r"(?:[a-z]+ing|of|than|and|is|with) what",
}
"""Each word with the pattern of its forms: LANGUAGE.md of this round gives the words to write instead."""

IDENTIFIERS = re.compile(
    r"teller|telling|matters?|nobody|deeds?|standing|beside|likeness|companion|lineage|unhurried|door|greeting|greet"
    r"|visit|splice|governed|undisturbed|stirred|mend|mended|told|moments?",
)
"""The parts of a name, as `snake_case` divides it, that the field has another word for."""


def prose(text: str) -> str:
    """The comments and docstrings of a Python file, in one text."""
    comments = [token.string.lstrip("# ") for token in _tokens(text) if token.type == tokenize.COMMENT]
    return "\n".join([*comments, *_docstrings(ast.parse(text))])


def _docstrings(tree: ast.AST) -> Iterator[str]:
    """Strings that are statements: docstrings, and the notes below constants."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield text


def dialect_words(text: str) -> Counter[str]:
    """How often a text uses each word of the dialect."""
    found = {word: len(re.findall(rf"\b(?:{forms})\b", text, re.IGNORECASE)) for word, forms in DIALECT.items()}
    return Counter({word: count for word, count in found.items() if count})


def dialect_names(text: str) -> Counter[str]:
    """The names of a Python file that hold a word of the dialect."""
    names = (token.string for token in _tokens(text) if token.type == tokenize.NAME)
    return Counter(name for name in names if any(IDENTIFIERS.fullmatch(part) for part in _parts(name)))


def _parts(name: str) -> list[str]:
    return [part for part in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_") if part]


def _tokens(text: str) -> Iterable[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the words of our own dialect in src/clew.")
    parser.add_argument("--files", action="store_true", help="by file, worst first")
    by_file = parser.parse_args().files
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    words = {name: dialect_words(prose(text)) for name, text in texts.items()}
    names = {name: dialect_names(text) for name, text in texts.items()}
    if by_file:
        _print_files(words, names)
    _print_totals(sum(words.values(), Counter()), sum(len(prose(text).split()) for text in texts.values()))
    used = sum(names.values(), Counter())
    print(
        f"identifiers: {used.total()} uses of {len(used)} names: {', '.join(name for name, _ in used.most_common(12))}"
    )


def _print_files(words: dict[str, Counter[str]], names: dict[str, Counter[str]]) -> None:
    worst = sorted(words, key=lambda name: -words[name].total() - names[name].total())
    for name in worst:
        common = ", ".join(f"{word} {count}" for word, count in words[name].most_common(6))
        print(f"{words[name].total():4} {names[name].total():4}  {name}  {common}")


def _print_totals(words: Counter[str], length: int) -> None:
    print(f"comments and docstrings: {words.total()} of {length} words, {1000 * words.total() / length:.1f} in 1,000")
    print("  " + ", ".join(f"{word} {count}" for word, count in words.most_common()))


if __name__ == "__main__":
    main()
