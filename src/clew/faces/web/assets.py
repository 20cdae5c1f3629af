"""The static files of the page. Their addresses change with the content, so a browser requests each only once.

`/static/TAG/js/main.js` may be cached for ever: TAG is the digest of all files. Modules import each other by relative
addresses, so they stay within one tag, and an old page never loads new files. `/static/js/main.js` works too, and the
browser revalidates it each time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

from clew.canonical import digest
from clew.kinds.catalogue import PLUGGED_IN

FOLDER = Path(__file__).with_name("static")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}
FOR_EVER = "public, max-age=31536000, immutable"
ENTRY = "js/main.js"
FACTS = "js/facts.js"
# Only imports at the beginning of a line: `import("./x.js")` is loaded later and must not be preloaded.
_STATIC_IMPORT = re.compile(r"""^\s*(?:import|export)\b[^;"']*?\bfrom\s*["'](\.[^"']+)["']""", re.MULTILINE)
_ANY_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


@dataclass(frozen=True)
class Asset:
    data: bytes
    kind: str
    etag: str


@cache
def assets() -> dict[str, Asset]:
    """Every file by its path. Requests are answered from this dict only, so no path can lead outside the folder."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in TYPES:
            data = path.read_bytes()
            found[path.relative_to(FOLDER).as_posix()] = _asset(data, path.suffix)
    if PLUGGED_IN:
        # The file was generated from the kinds that Clew itself declares.
        from clew.registry.build import page_facts

        found[FACTS] = _asset(page_facts().encode(), ".js")
    return found


def _asset(data: bytes, suffix: str) -> Asset:
    return Asset(data, TYPES[suffix], f'"{digest(data)}"')


@cache
def tag() -> str:
    """A digest over all files: it changes when any file changes."""
    return digest("\n".join(f"{name} {asset.etag}" for name, asset in assets().items()))[:16]


def preloads(entry: str = ENTRY) -> list[str]:
    """The modules the page needs to start, in order of import, so that the browser can fetch them all at once."""
    found: list[str] = []
    waiting = [entry]
    while waiting:
        name = waiting.pop(0)
        if name not in found and name in assets():
            found.append(name)
            text = assets()[name].data.decode()
            waiting += [_resolved(name, other) for other in _STATIC_IMPORT.findall(text)]
    return found


def imports_of(name: str) -> list[str]:
    """Everything a module imports, at once or later. A test checks that each of these files exists."""
    return [_resolved(name, other) for other in _ANY_IMPORT.findall(assets()[name].data.decode())]


def _resolved(module: str, relative: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(module).parent / relative).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


@cache
def page() -> Asset:
    """index.html with tagged addresses, and a preload line for each module that is needed at the start."""
    text = assets()["index.html"].data.decode().replace('"/static/', f'"/static/{tag()}/')
    lines = "".join(f'  <link rel="modulepreload" href="/static/{tag()}/{name}">\n' for name in preloads())
    data = text.replace("</head>", f"{lines}</head>").encode()
    return Asset(data, TYPES[".html"], f'"{digest(data)}"')


class Static:
    async def page(self, request: Request) -> Response:
        return _response(request, page(), HEADERS["Cache-Control"])

    async def file(self, request: Request) -> Response:
        first, _, rest = request.path_params["path"].partition("/")
        tagged = first == tag()
        found = assets().get(rest if tagged else request.path_params["path"])
        if found is None:
            return Response("no such file", 404, HEADERS, "text/plain")
        return _response(request, found, FOR_EVER if tagged else HEADERS["Cache-Control"])


def _response(request: Request, asset: Asset, cached: str) -> Response:
    headers = {**HEADERS, "Cache-Control": cached, "ETag": asset.etag}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, 200, headers, asset.kind)
