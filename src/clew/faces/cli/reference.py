"""Writes the pages that are made from declarations: `python -m clew.faces.cli.reference [DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

from clew.errors import ERROR_CODES
from clew.settings import SETTINGS

_SETTINGS = """\
# Settings

A flag wins over a variable, a variable over `clew.toml` (in the project, else in the data directory), that over the
default. Of several variables the first one that is set counts. `clew doctor` shows every value and where it came from.
In `clew.toml` a setting is written under its name: `toolset = "full"`.

| setting | variables | default | meaning |
| --- | --- | --- | --- |
"""

_ERRORS = """\
# Error codes

An operation that cannot do what was asked changes nothing and answers with one of these, a message that says why, a
recovery, and suggestions that can be called as they stand. On the command line the `STORE_*` codes exit with 3,
`UNKNOWN_TOOL` with 2, the others with 1.

| code | meaning |
| --- | --- |
"""


def settings_page() -> str:
    return _SETTINGS + "".join(
        f"| `{item.name}` | {', '.join(f'`{name}`' for name in item.env)} | {_default(item.default)} | {item.help} |\n"
        for item in SETTINGS
    )


def _default(text: str) -> str:
    return "none" if not text else text if " " in text else f"`{text}`"


def errors_page() -> str:
    return _ERRORS + "".join(f"| `{code}` | {meaning} |\n" for code, meaning in ERROR_CODES.items())


PAGES = {"settings.md": settings_page, "errors.md": errors_page}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
