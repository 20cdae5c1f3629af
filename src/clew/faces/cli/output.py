"""Output of the commands, for people and for programs.

Colour is used only on a terminal without NO_COLOR. Rich is imported only then: a script does not pay for loading it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

import orjson

from clew.errors import ClewError

_PRETTY = orjson.OPT_INDENT_2
_CLEAR = "\r\x1b[2K"


# Control characters except tab and line feed, and the marks that change the direction of writing.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Escape control characters as JSON does. Stored text may contain escape sequences that a terminal executes."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def has_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str = "", style: str = "", stream: TextIO | None = None) -> None:
    """Write one line, styled on a terminal. A pipe gets the text unchanged."""
    stream = stream or sys.stdout
    if style and has_colour(stream):
        from rich.console import Console
        from rich.text import Text

        Console(file=stream, soft_wrap=True).print(Text(visible(text), style=style))
    else:
        stream.write((visible(text) if stream.isatty() else text) + "\n")


def complain(text: str, style: str = "") -> None:
    say(text, style, sys.stderr)


def show_json(value: Any) -> None:
    """Write JSON: the same bytes on a terminal and in a pipe, except for colour."""
    text = visible(orjson.dumps(value, option=_PRETTY).decode())
    if has_colour(sys.stdout):
        from rich.console import Console
        from rich.highlighter import JSONHighlighter

        Console(soft_wrap=True).print(JSONHighlighter()(text))
    else:
        sys.stdout.write(text + "\n")


def show_json_line(value: Any) -> None:
    """Write JSON on one line and flush it, for a program that reads while this process goes on."""
    sys.stdout.write(orjson.dumps(value).decode() + "\n")
    sys.stdout.flush()


def show_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    rows = list(rows)
    if has_colour(sys.stdout):
        _show_rich_table(headers, rows)
        return
    # In a pipe only the rows are written, aligned as if the headings were there.
    widths = [max(len(row[place]) for row in [headers, *rows]) for place in range(len(headers))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say("  ".join(cells).rstrip())


def _show_rich_table(headers: Sequence[str], rows: list[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, header in enumerate(headers):
        table.add_column(header, style="bold" if place == 0 else "", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)


def show_error(error: ClewError, as_json: bool) -> None:
    """Print an error that came from no operation: a bad setting, a bad command line, a store that does not open."""
    if as_json:
        show_json({"success": False, "error": error.to_dict(), "suggestions": error.suggestions})
    else:
        describe_error(error.to_dict(), error.suggestions)


def describe_error(error: dict[str, Any], suggestions: Iterable[dict[str, Any]]) -> None:
    complain(f"error {error['code']}: {error['message']}", "bold red")
    if error.get("recovery"):
        complain(f"  {error['recovery']}")
    if example := (error.get("details") or {}).get("example"):
        complain(f"  example: {suggested_command({'target': example['name'], 'params': example['arguments']})}")
    if error["code"].startswith("STORE_"):
        complain("  try: clew doctor", "cyan")  # every suggested operation would need the store
        return
    for suggestion in suggestions:
        if suggestion["action"] != "call_tool":
            continue  # a method of the protocol, such as another tool list, which a shell cannot call
        complain(f"  try: {suggested_command(suggestion)}", "cyan")


def describe_warnings(warnings: Iterable[dict[str, Any]]) -> None:
    for warning in warnings:
        complain(f"warning {warning['code']}: {warning['message']} {warning.get('recovery', '')}".rstrip(), "yellow")


def suggested_command(suggestion: dict[str, Any]) -> str:
    from clew.faces.cli.words import command_for
    from clew.registry.catalogue import catalogue

    entry = catalogue().find(suggestion["target"])
    return command_for(suggestion["target"], suggestion.get("params", {}), entry.input_schema if entry else {})


Progress = Callable[[float, float | None, str | None], None]


@contextmanager
def progress_line() -> Iterator[Progress | None]:
    """A progress line on the terminal, cleared when the call ends; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    shown = False

    def show(done: float, total: float | None, message: str | None) -> None:
        nonlocal shown
        shown = True
        share = f"{done:g}/{total:g}" if total else f"{done:g}"
        sys.stderr.write(f"{_CLEAR}{share} {visible(message or '')}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(_CLEAR if shown else "")


@contextmanager
def progress_lines() -> Iterator[Progress]:
    """The same for work that takes minutes: without a terminal, each part of the work writes one line once."""
    with progress_line() as line:
        if line is not None:
            yield line
            return
        begun: set[str] = set()

        def note(done: float, total: float | None, message: str | None) -> None:
            if message and message not in begun:
                begun.add(message)
                complain(f"{message} ({total:g})" if total else message)

        yield note
