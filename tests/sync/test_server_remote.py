"""A Clew server as remote: what its token allows, and that stores which meet there come to say the same."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clew.app import open_clew
from clew.registry import credentials
from clew.registry.connection import Connection
from clew.registry.credentials import Grant, Principal, Scope
from clew.settings import load_settings
from clew.sync.bundle_format import pack, unpack
from tests.conftest import TickingClock
from tests.faces.web.server import Server
from tests.remote.tls import TlsProxy, tls_proxy
from tests.sync.stores import Store, stores
from tests.sync.test_bundles import change
from tests.sync.test_three_stores import _act

EVERYTHING: tuple[Scope, ...] = ("read", "write", "approve")


@dataclass
class Centre:
    """A server behind TLS, and the stores that meet there."""

    place: Path
    server: Server
    proxy: TlsProxy
    authority: Path
    clock: TickingClock
    opened: list[Store] = field(default_factory=list)

    def token(self, name: str, *scopes: Scope, workspaces: tuple[str, ...] = ()) -> str:
        with closing(self.kept()) as store, store.database.write() as tx:
            return credentials.make_token(tx, Grant(name, scopes, workspaces), self.clock(), "@ines")[1]

    def kept(self) -> Any:
        """The server's own store."""
        flags = {"home": self.server.home, "workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
        return open_clew(load_settings(flags, {}, self.server.home))

    def client(self, **environ: str) -> Store:
        home = self.place / f"store-{len(self.opened)}"
        home.mkdir()
        flags = {"home": home, "workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
        settings = load_settings(flags, {"CLEW_CA_FILE": str(self.authority), **environ}, home)
        self.opened.append(Store(open_clew(settings, self.clock)))
        return self.opened[-1]

    def person(self) -> Store:
        return self.client(CLEW_PERSON_TOKEN=self.token("@ines", *EVERYTHING))

    def exchange(self, store: Store) -> dict[str, Any]:
        return store.exchange(self.proxy.address)


@contextmanager
def running(place: Path, clock: TickingClock) -> Iterator[Centre]:
    more = {"CLEW_TOKEN": "of-the-server", "CLEW_EMBEDDING_MODEL": "none", "CLEW_WORKSPACE_LOCK": "false"}
    server = Server(place / "srv", directory=place, **more)
    try:
        with tls_proxy(server.address, place / "tls") as (proxy, authority):
            centre = Centre(place, server, proxy, authority, clock)
            yield centre
            for store in centre.opened:
                store.clew.close()
    finally:
        server.stop()


@pytest.fixture
def centre(tmp_path: Path, clock: TickingClock) -> Iterator[Centre]:
    with running(tmp_path, clock) as found:
        yield found


@pytest.mark.parametrize("seed", range(2))
def test_stores_that_meet_at_a_server_come_to_say_the_same(centre: Centre, seed: int) -> None:
    chance = random.Random(seed)
    both = [centre.person(), centre.person()]
    written: list[str] = []
    for number in range(6):
        for store in both:
            written += _act(store, chance, number)
        for store in chance.choices(both, k=2):
            # Up to three losses end in an error: what the server did by then is done, and is not done again.
            centre.proxy.passing, centre.proxy.lost = chance.randrange(3), chance.choice([0, 1, 3])
            store.answer("sync", remote=centre.proxy.address)
            centre.proxy.passing = centre.proxy.lost = 0
    late = centre.person()
    results = [centre.exchange(store) for store in [*both, *both, late]][-3:]
    assert [result["problems"] for result in results] == [[], [], []]
    assert len({result["digest"] for result in results}) == 1
    assert centre.exchange(both[0])["sent"] == centre.exchange(both[0])["received"] == 0
    with closing(centre.kept()) as kept:
        held = [_said(store) for store in (*both, late, Store(kept))]
    assert held[0] == held[1] == held[2] == held[3]
    with both[0].clew.database.read() as tx:
        logged = str([row["body"] for row in tx.all("SELECT body FROM sync_change")])
    assert written and all(text in logged for text in written)


def _said(store: Store) -> list[str]:
    return sorted(store.statements().values())


def test_a_long_log_travels_in_several_calls(centre: Centre) -> None:
    one, other = centre.person(), centre.person()
    for number in range(5):
        one.remember(f"Statement {number}", why=random.Random(number).randbytes(150_000).hex())
    centre.exchange(one)
    assert centre.exchange(other)["received"] == 5
    assert _said(one) == _said(other)


def test_a_token_that_reads_only_fetches(centre: Centre) -> None:
    one, reader = centre.person(), centre.client(CLEW_TOKEN=centre.token("mirror", "read"))
    one.remember("Retry with jitter")
    centre.exchange(one)
    reader.remember("Speak AMQP to the relay")
    result = centre.exchange(reader)
    assert result["received"] == 1 and len(reader.statements()) == 2
    assert "does not allow to write" in result["problems"][0]
    assert centre.exchange(one)["received"] == 0


def test_a_token_of_another_workspace_is_refused(centre: Centre) -> None:
    token = centre.token("@ann", *EVERYTHING, workspaces=("other",))
    stranger = centre.client(CLEW_PERSON_TOKEN=token)
    stranger.remember("Retry with jitter")
    error = stranger.error("sync", remote=centre.proxy.address)
    assert error["code"] in ("WORKSPACE_NOT_ALLOWED", "WORKSPACE_LOCKED")
    wrong = centre.client(CLEW_TOKEN="clew_wrong")
    assert wrong.error("sync", remote=centre.proxy.address)["code"] == "NOT_ALLOWED"
    assert centre.exchange(centre.person())["received"] == 0


def test_an_agent_brings_what_it_may_write_and_the_rest_waits_for_a_person(centre: Centre) -> None:
    agent = centre.client(CLEW_TOKEN=centre.token("ci", "read", "write"))
    agent.remember("Retry with jitter")
    assert centre.exchange(agent)["problems"] == []
    rule = agent.remember("Never push by force", kind="rule")
    for _ in range(2):  # the second time it waits still, once
        (problem,) = centre.exchange(agent)["problems"]
        assert "wait for a person" in problem
    with closing(centre.kept()) as kept:
        server = Store(kept)
        assert _said(server) == ["active: Retry with jitter"]
        (waiting,) = sorted((centre.server.home / "exports").rglob("*.clew"))
        server("import_bundle", path=str(waiting))
        assert _said(server) == _said(agent) and server.statements()[rule].startswith("active")
    assert centre.exchange(agent)["problems"] == []


@pytest.mark.parametrize("origin", ["evil", "the server's own"])
def test_an_agent_does_not_forge_what_is_a_persons(tmp_path: Path, clock: TickingClock, origin: str) -> None:
    with stores(1, {}, tmp_path / "stores", clock) as (server,):
        server.remember("Retry with jitter")
        path = tmp_path / "own.clew"
        own = server("export_bundle", path=str(path))["origin"]
        id = server.remember("Speak AMQP to the relay")
        server("edit_record", id=id, statement="Speak HTTP to the relay")  # not yet in the log, so without a name there
        evil, before, seq = "evil", "", 1
        if origin != evil:
            server("export_bundle", path=str(path))
            known = unpack(path.read_bytes())
            evil, before, seq = own, known.head, known.last + 1
        text = f"[{id}]\nStatement: Speak to evil.example.com\nStatus: active"
        line = change(seq, text, record=f"{id}@{own}", agent="ci")
        bundle = b64encode(pack(evil, before, [line])).decode()
        agent = Connection(toolset="full", principal=Principal("ci"))
        answer = server.clew.dispatcher.call("sync_push", {"bundle": bundle}, agent)
        assert answer.ok and answer.envelope["result"]["waiting"] == 1
        assert server.statements()[id] == "active: Speak HTTP to the relay"


@pytest.mark.parametrize("status", ["active", "proposed", "superseded", ""])
def test_an_agent_does_not_decide_by_a_bundle_what_waits(tmp_path: Path, clock: TickingClock, status: str) -> None:
    """Not even of its own record: it proposed it, and may only withdraw it."""
    with stores(1, {}, tmp_path / "stores", clock) as (server,):
        agent = Connection(toolset="full", principal=Principal("ci"))
        call = server.clew.dispatcher.call
        server.remember("Carts are kept in Redis")
        made = call("remember", {"text": "Carts are not kept in Redis", "kind": "decision", "fmt": "json"}, agent)
        id = made.envelope["result"]["id"]
        assert server.statements()[id] == "proposed: Carts are not kept in Redis"
        path = tmp_path / "own.clew"
        own = server("export_bundle", path=str(path))["origin"]
        lines = "" if status == "" else f"Status: {status}\n"
        text = f"[{id}]\n{lines}Statement: Carts are not kept in Redis"
        for record in (f"{id}@{own}", id):
            bundle = pack("evil", "", [change(1, text, record=record, agent="ci")])
            call("sync_push", {"bundle": b64encode(bundle).decode()}, agent)
            assert server.statements()[id] == "proposed: Carts are not kept in Redis"


@pytest.mark.parametrize("policy", [{"review": "all"}, {"mode": "detect_only"}])
def test_where_all_is_reviewed_an_agents_bundle_waits_too(
    tmp_path: Path, clock: TickingClock, policy: dict[str, str]
) -> None:
    with stores(1, {}, tmp_path / "stores", clock) as (server,):
        server("governance", **policy)
        bundle = pack("evil", "", [change(1, "[D-1]\nStatus: active\nStatement: Push at will", agent="ci")])
        agent = Connection(toolset="full", principal=Principal("ci"))
        answer = server.clew.dispatcher.call("sync_push", {"bundle": b64encode(bundle).decode()}, agent)
        assert answer.envelope["result"]["waiting"] == 1
        assert server.statements() == {}


def test_what_a_person_erased_an_agent_does_not_erase_elsewhere(centre: Centre) -> None:
    agent = centre.client(CLEW_TOKEN=centre.token("ci", "read", "write"))
    id = agent.remember("The launch code is 4711", kind="fact")
    centre.exchange(agent)
    agent("erase", id=id, dry_run=False)
    assert "wait for a person" in centre.exchange(agent)["problems"][0]
    with closing(centre.kept()) as kept:
        assert _said(Store(kept)) == ["active: The launch code is 4711"]


def test_a_server_is_named_at_the_shell_and_first_by_a_person(centre: Centre) -> None:
    store = centre.client(CLEW_TOKEN=centre.token("ci", "read", "write"))
    answer = store.clew.dispatcher.call(
        "sync", {"remote": centre.proxy.address}, Connection(toolset="full", local=True)
    )
    assert answer.envelope["error"]["details"]["rule"] == "person"
    far = Connection(toolset="full", person="@ines")
    answer = store.clew.dispatcher.call("sync", {"remote": centre.proxy.address}, far)
    assert answer.envelope["error"]["details"]["rule"] == "remote"
    assert store.error("sync", remote="http://clew.example.com")["code"] == "INVALID_INPUT"
