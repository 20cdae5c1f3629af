"""Imports between cells and of installed packages, resolved before the code reaches the sandbox."""

from __future__ import annotations

import base64
import re

from clew.errors import ClewError

_IMPORT = re.compile(r"""(?P<head>\bfrom\s*|\bimport\s*\(?\s*)(?P<quote>["'])(?P<name>[^"'\n]+)(?P=quote)""")
_PACKAGE = re.compile(r"(?P<package>(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*)(?P<path>/.*)?")
MAX_DEPTH = 20


def data_address(source: str, filename: str) -> str:
    kind = "javascript" if filename.endswith((".js", ".mjs")) else "typescript"
    return f"data:application/{kind};base64,{base64.b64encode(source.encode()).decode()}"


def linked(filename: str, cells: dict[str, str], packages: dict[str, str], above: tuple[str, ...] = ()) -> str:
    """A cell's source with `./other.ts` and package names replaced by addresses the sandbox can load."""
    if filename in above or len(above) > MAX_DEPTH:
        raise ClewError(
            "INVALID_INPUT",
            f"cells import each other in a circle: {' → '.join([*above, filename])}",
            "Move what both need into a third cell.",
            [{"kind": "value", "field": "content"}],
        )

    def address(match: re.Match[str]) -> str:
        name = match.group("name")
        found = _resolve(name, cells, packages, (*above, filename))
        return match.group(0) if found is None else f'{match.group("head")}"{found}"'

    return _IMPORT.sub(address, cells[filename])


def _resolve(name: str, cells: dict[str, str], packages: dict[str, str], above: tuple[str, ...]) -> str | None:
    if name.startswith("./"):
        known = name[2:]
        return data_address(linked(known, cells, packages, above), known) if known in cells else None
    match = _PACKAGE.fullmatch(name)
    if match is None or match.group("package") not in packages:
        return None
    package = match.group("package")
    return f"npm:{package}@{packages[package]}{match.group('path') or ''}"
