"""A client cannot tell the resident server from one of its own: both eras, and everything a connection can do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated
from mcp_types import ListRootsResult, ResourceUpdatedNotification, Root

from tests.faces.mcp.conftest import ERAS
from tests.faces.mcp.process import ROOT
from tests.faces.mcp.test_calls import check_that_its_work_stays, critic, leave_a_slow_call, result, written
from tests.faces.mcp.test_conversation import converse
from tests.faces.mcp.test_subscriptions import Notices
from tests.faces.resident.shims import Shim, served_by, settings

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a resident server that knows the probes."""
    with served_by("tests.faces.resident.serve", tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture
def shim(home: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "clew", "serve"], env=settings(home), cwd=ROOT)


@pytest.mark.parametrize("era", ERAS)
async def test_a_whole_conversation(shim: StdioServerParameters, era: str) -> None:
    async with Client(shim, mode=era) as client:
        await converse(client, era)


@pytest.mark.parametrize("era", ERAS)
async def test_progress_and_cancellation(shim: StdioServerParameters, era: str) -> None:
    async with Client(shim, mode=era) as client:
        before = await written(client)
        await leave_a_slow_call(client)
        await check_that_its_work_stays(client, before)


@pytest.mark.parametrize("era", ERAS)
async def test_questions_to_the_clients_model(shim: StdioServerParameters, era: str) -> None:
    async with Client(shim, mode=era, sampling_callback=critic) as client:
        assert result(await client.call_tool("probe_ask", {"question": "bees"}))["text"] == "about bees: no"


async def test_notices_of_both_eras_come_from_other_connections_too(shim: StdioServerParameters) -> None:
    notices = Notices()
    async with (
        Client(shim, mode="legacy", message_handler=notices) as old,
        Client(shim, mode="auto") as new,
        new.listen(resource_subscriptions=["probe://written"]) as stream,
    ):
        await old.session.subscribe_resource("probe://written")
        await new.call_tool("probe_write", {})
        heard = await notices.next()
        assert isinstance(heard, ResourceUpdatedNotification) and heard.params.uri == "probe://written"
        assert await anext(aiter(stream)) == ResourceUpdated("probe://written")


def test_options_environment_directory_and_workspace_belong_to_the_connection(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "payments"
    project.mkdir()
    (project / "clew.toml").write_text('toolset = "core"\n')
    with (
        Shim(home, "--workspace", "acme/api", "--toolset", "full") as one,
        Shim(home, CLEW_WORKSPACE="", cwd=project) as two,
        Shim(home, CLEW_WORKSPACE_LOCK="false") as three,
    ):
        for shim in (one, two, three):
            shim.open()
        counts = [len(shim.ask("tools/list")["result"]["tools"]) for shim in (one, two, three)]
        assert counts[0] > 200 > counts[1] and counts[2] == 11
        assert one.call("status")["workspace"] == "acme/api"
        assert two.call("status")["workspace"] == "payments"
        three.call("workspace_use", workspace="elsewhere")
        assert three.call("status")["workspace"] == "elsewhere"
        assert one.call("status")["workspace"] == "acme/api"


def test_settings_that_cannot_be_understood_are_refused_as_ever(home: Path) -> None:
    with Shim(home, "--toolset", "bogus") as shim:
        assert shim.close() == 2
        assert shim.process.stderr is not None and b"toolset" in shim.process.stderr.read()


async def test_roots_are_asked_of_the_client(shim: StdioServerParameters, tmp_path: Path) -> None:
    asked: list[str] = []

    async def roots(context: object) -> ListRootsResult:
        asked.append("roots")
        return ListRootsResult(roots=[Root(uri=f"file://{tmp_path}")])  # type: ignore[arg-type]

    async with Client(shim, mode="legacy", list_roots_callback=roots) as client:
        await client.call_tool("list_roots", {})
        assert asked == ["roots"]
