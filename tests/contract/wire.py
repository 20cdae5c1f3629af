"""Two ways to the same operations: the dispatcher in this process, and a server of its own behind a client session.

The suites of the contracts run over both. One server serves a module; each test names a workspace of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import ListToolsResult, ResourceLink, TextContent, TextResourceContents

from clew.app import Clew
from clew.registry.connection import Connection
from tests.faces.mcp.process import ROOT, environment
from tests.people import decide_beside

PATIENCE = 180
"""Seconds that one call may take on a busy machine."""


@dataclass(frozen=True)
class Heard:
    """What a client sees of an answer."""

    ok: bool
    text: str
    structured: dict[str, Any] | None
    links: list[str] = field(default_factory=list)

    @property
    def envelope(self) -> dict[str, Any]:
        assert self.structured is not None, self.text
        return self.structured


class Route(Protocol):
    def send(self, name: str, arguments: dict[str, Any]) -> Heard: ...

    def read(self, uri: str) -> str: ...


class Here:
    """Calls the dispatcher, as a new connection."""

    def __init__(self, clew: Clew, toolset: str) -> None:
        self.clew = clew
        self.connection = Connection(toolset=toolset)

    def send(self, name: str, arguments: dict[str, Any]) -> Heard:
        answer = self.clew.dispatcher.call(name, arguments, self.connection)
        return Heard(answer.ok, answer.text, answer.structured, answer.resources)

    def read(self, uri: str) -> str:
        return self.clew.dispatcher.read_resource(uri, self.connection).text


class Wire:
    """Speaks to a server on its standard input and output."""

    def __init__(self, portal: BlockingPortal, client: Client, home: Path, environ: dict[str, str], here: Path) -> None:
        self.portal = portal
        self.client = client
        self.home = home
        self.environ = environ
        self.here = here

    def decide(self, name: str, /, **arguments: Any) -> Any:
        """What a person does beside the client."""
        return decide_beside(self.environ, self.here, name, **arguments)

    def send(self, name: str, arguments: dict[str, Any]) -> Heard:
        result = self.portal.call(self.client.call_tool, name, arguments)
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        links = [str(block.uri) for block in result.content if isinstance(block, ResourceLink)]
        assert len(texts) == 1, "one text for each answer"
        return Heard(not result.is_error, texts[0], result.structured_content, links)

    def read(self, uri: str) -> str:
        (found,) = self.portal.call(self.client.read_resource, uri).contents
        assert isinstance(found, TextResourceContents)
        return found.text

    def tools(self) -> ListToolsResult:
        return self.portal.call(self.client.list_tools)

    def resources(self) -> list[str]:
        return [str(item.uri) for item in self.portal.call(self.client.list_resources).resources]

    def prompts(self) -> list[str]:
        return [item.name for item in self.portal.call(self.client.list_prompts).prompts]

    def server_name(self) -> str:
        told = self.client.session.initialize_result
        assert told is not None
        return told.server_info.name


@contextmanager
def serving(
    home: Path,
    toolset: str,
    *words: str,
    here: Path | None = None,
    environ: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> Iterator[Wire]:
    """A server as a client's configuration starts it, and a session with it; `more` goes to the client."""
    known = {"CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false", **environ}
    env, place = environment(home, **known), here or ROOT
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "clew", "serve", "--toolset", toolset, *words], env=env, cwd=place
    )
    client = Client(server, mode="legacy", read_timeout_seconds=PATIENCE, **more)
    with start_blocking_portal("asyncio") as portal, portal.wrap_async_context_manager(client):
        yield Wire(portal, client, home, {**env, "CLEW_TOOLSET": toolset}, place)
