"""The read operations as plain HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from tests.faces.web.server import Server

TOKEN = "marlinspike"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("api") / "home"
    server = Server(home, CLEW_OBSERVATORY_HTTP_API="true", CLEW_TOKEN=TOKEN, CLEW_EMBEDDING_MODEL="none")
    yield server
    server.stop()


def get(server: Server, path: str, token: str | None = TOKEN, **query: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urlopen(Request(f"{server.address}{path}?{urlencode(query)}", headers=headers), timeout=60) as response:
        return json.loads(response.read())


def write(server: Server, name: str, **arguments: Any) -> Any:
    return server.call(name, {"Authorization": f"Bearer {TOKEN}"}, **arguments)["result"]


def test_text_stays_text_and_the_rest_is_json(server: Server) -> None:
    write(server, "notes_commit", title="2024", content="In 2024 the pier was painted")
    found = get(server, "/api/operations/recall", query="2024", sources='["all"]', limit="3", explain="true")
    assert found["success"] and "pier was painted" in found["result"]["results"][0]["excerpt"]
    assert found["result"]["analysis"]["terms"] == ["2024"]
    events = get(server, "/api/operations/events_list", types='["note_committed"]', limit="5")
    assert [event["type"] for event in events["result"]["events"]] == ["note_committed"]


def test_a_refusal_is_an_envelope_with_its_reason(server: Server) -> None:
    refused = get(server, "/api/operations/tasks_proofs", task="TASK-999")
    assert refused["success"] is False and refused["error"]["code"] == "UNKNOWN_ID"


@pytest.mark.parametrize("name", ["notes_commit", "no_such_operation"])
def test_what_writes_or_is_not_there_is_not_found(server: Server, name: str) -> None:
    with pytest.raises(HTTPError) as refused:
        get(server, f"/api/operations/{name}", content="x")
    assert refused.value.code == 404


@pytest.mark.parametrize("path", ["/api/sessions", "/api/operations/events_list"])
def test_without_the_token_nothing_is_read(server: Server, path: str) -> None:
    with pytest.raises(HTTPError) as refused:
        get(server, path, token=None)
    assert refused.value.code == 401
    assert get(server, "/api/health", token=None)["status"] == "ok"


def test_a_locked_server_offers_its_own_workspace_alone(server: Server) -> None:
    state = get(server, "/page/state")
    assert (state["workspace"], state["workspaces"]) == ("ws", ["ws"])
    assert "workspaces" not in get(server, "/page/state", token=None)


@pytest.mark.parametrize("limit", ["²", "٣", "-1", "9" * 5000, "x"])
def test_a_number_that_is_none_counts_as_not_given(server: Server, limit: str) -> None:
    assert get(server, "/api/sessions", limit=limit) == get(server, "/api/sessions")


def test_sessions_are_listed_by_every_status_of_the_seed(server: Server) -> None:
    before = get(server, "/api/health")["activeSessions"]
    going, ended = (write(server, "start_new", title=title)["sessionId"] for title in ("Going on", "At its end"))
    write(server, "session_complete", sessionId=ended)
    ids = {
        wanted: {item["id"] for item in get(server, "/api/sessions", status=wanted)["sessions"]}
        for wanted in ("all", "", "active", "completed", "abandoned")
    }
    assert {going, ended} <= ids["all"] == ids[""] == ids["active"] | ids["completed"]
    assert going in ids["active"] and ended in ids["completed"] and ids["abandoned"] == set()
    assert get(server, "/api/health")["activeSessions"] == before + 1
    with pytest.raises(HTTPError) as refused:
        get(server, "/api/sessions", status="bogus")
    assert refused.value.code == 400


def test_without_the_token_health_tells_nothing_of_the_store(server: Server) -> None:
    assert set(get(server, "/api/health", token=None)) == {"status", "connections"}
    assert get(server, "/api/health", workspace="not allowed")["status"] == "ok"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_sites_plain_request_is_refused(server: Server, site: str) -> None:
    """An image or a plain GET of another page carries no Origin; the browser says where it comes from."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(f"{server.address}/api/operations/events_list", headers=headers), timeout=60)
    assert refused.value.code == 403
    own = {**headers, "Sec-Fetch-Site": "same-origin"}
    with urlopen(Request(f"{server.address}/api/operations/events_list", headers=own), timeout=60) as response:
        assert response.status == 200


def test_an_export_to_a_file_is_no_read(server: Server) -> None:
    notebook = write(server, "notebook_create", title="N")["notebookId"]
    with pytest.raises(HTTPError) as refused:
        get(server, "/api/operations/notebook_export", notebookId=notebook)
    assert refused.value.code == 404
