"""PostgreSQL itself keeps workspaces apart: the server's role finds nothing without naming one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest

from clew.app import Clew, fence_workspaces, open_clew
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection
from clew.settings import Settings, load_settings
from clew.store.postgres import PostgresDatabase
from clew.store.workspaces import read_meta
from tests.conftest import Caller
from tests.contract import lived_in
from tests.faces.cli.conftest import Shell

NOT_OPENED = frozenset({"model_pull", "model_use", "notebook_install_deps", "notebook_run_cell"})


class Roles(NamedTuple):
    owner: str
    server: str
    """May read and write rows, and nothing else."""


@pytest.fixture
def roles(postgres_server: Any, empty_postgres_url: str) -> Iterator[Roles]:
    role = f"server_{uuid.uuid4().hex[:12]}"
    with closing(PostgresDatabase(empty_postgres_url)) as database, database.read():
        pass  # makes the schema
    with psycopg.connect(empty_postgres_url, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        owner.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
    user = urlsplit(empty_postgres_url).username
    yield Roles(empty_postgres_url, empty_postgres_url.replace(f"//{user}:", f"//{role}:", 1))
    with psycopg.connect(empty_postgres_url, autocommit=True) as owner:
        owner.execute(f"DROP OWNED BY {role}")
        owner.execute(f"DROP ROLE {role}")


def settings_of(home: Path, url: str, **flags: Any) -> Settings:
    given = {"home": home, "workspace": "ws", "workspace_lock": False, "embedding_model": "none"}
    return load_settings({**given, "database_url": url, **flags}, {}, home.parent)


@pytest.fixture
def clew(roles: Roles, tmp_path: Path) -> Iterator[Clew]:
    fence_workspaces(settings_of(tmp_path, roles.owner), True)
    opened = open_clew(settings_of(tmp_path / "home", roles.server))
    yield opened
    opened.close()


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    return [name for (name,) in found if name != "meta"]


def rows(url: str, entered: str | None = None) -> dict[str, int]:
    """How many rows of each table somebody sees who has the server's password and psql."""
    with psycopg.connect(url) as connection:
        if entered is not None:
            connection.execute("SELECT set_config('clew.workspace', %s, false)", (entered,))
        count = {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables(url)}
    return {name: found[0] for name, found in count.items() if found and found[0]}


def live_in(call: Caller, workspace: str) -> None:
    for name, arguments in (("init", {}), *lived_in.HISTORY):
        answer = call.answer(name, **{**arguments, "workspace": workspace})
        assert answer.ok, (name, answer.envelope["error"])


def test_without_a_workspace_psql_sees_no_row_and_with_one_only_its_own(clew: Clew, roles: Roles) -> None:
    call = Caller(clew)
    for workspace in ("ws", "payroll"):
        live_in(call, workspace)
        call("remember", kind="fact", text="Salaries are paid on the 25th", workspace=workspace)
    assert len(rows(roles.owner)) > 30
    assert rows(roles.server) == {}
    assert rows(roles.server, "") == {}
    assert rows(roles.server, "nobodys") == {"workspace": 2, "counter": rows(roles.server, "nobodys")["counter"]}
    both = [rows(roles.server, name) for name in ("ws", "payroll")]
    for table in ("entry", "event", "item", "item_terms", "node", "node_grams", "block"):
        assert both[0][table] + both[1][table] == rows(roles.owner)[table], table
    with psycopg.connect(roles.server) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT set_config('clew.workspace', 'ws', false)")
        connection.execute("INSERT INTO counter (workspace, name, value) VALUES ('payroll', 'mine', 1)")


def test_a_transaction_of_one_workspace_cannot_reach_another(clew: Clew) -> None:
    call = Caller(clew)
    call("remember", kind="fact", text="Salaries are paid on the 25th", workspace="payroll")
    with clew.database.write("ws") as tx:
        assert tx.all("SELECT * FROM item WHERE workspace = 'payroll'") == []
        assert tx.changed("DELETE FROM event") == 0
    with clew.database.read() as tx:
        assert tx.value("SELECT count(*) FROM event WHERE workspace = 'payroll'") > 0


def test_every_operation_works_within_its_workspace(clew: Clew, roles: Roles, tmp_path: Path) -> None:
    """The answers are those of a store without it, error for error."""
    plain = open_clew(settings_of(tmp_path / "plain", roles.owner))
    try:
        for made, workspace in ((clew, "fenced"), (plain, "plain")):
            live_in(Caller(made), workspace)
        for entry in catalogue().operations:
            if entry.name not in NOT_OPENED:
                outcomes = [outcome(made, entry, name) for made, name in ((clew, "fenced"), (plain, "plain"))]
                assert outcomes[0] == outcomes[1], entry.name
    finally:
        plain.close()


def outcome(clew: Clew, entry: Any, workspace: str) -> str:
    connection = Connection("full", durable=False, person="@ines")
    answer = clew.dispatcher.call(entry.name, {**entry.example, "workspace": workspace}, connection)
    return "ok" if answer.ok else str(answer.envelope["error"]["code"])


def test_the_command_needs_the_owner_and_doctor_says_that_it_is_on(roles: Roles, tmp_path: Path) -> None:
    (tmp_path / "person").mkdir()
    shell = Shell(tmp_path, tmp_path / "home")

    def run(url: str, *arguments: str) -> str:
        ran = shell(*arguments, env={"CLEW_DATABASE_URL": url, "CLEW_EMBEDDING_MODEL": "none"})
        return ran.out + ran.err

    assert "STORE_READ_ONLY" in run(roles.server, "migrate", "--row-security")
    assert "is on for" in run(roles.owner, "migrate", "--row-security")
    assert "one workspace at a time" in run(roles.server, "doctor")
    assert "is off" in run(roles.owner, "migrate", "--no-row-security")
    assert "one workspace at a time" not in run(roles.server, "doctor")


def test_a_restore_leaves_it_on(clew: Clew, roles: Roles, tmp_path: Path) -> None:
    Caller(clew)("remember", kind="fact", text="Salaries are paid on the 25th")
    with closing(PostgresDatabase(roles.owner)) as database:
        database.backup(tmp_path / "all.db")
        database.restore(tmp_path / "all.db")
        with database.read() as tx:
            assert read_meta(tx, "row_security") == "on"
    assert rows(roles.server) == {}


WITHOUT = {"node_grams", "meta", "workspace"}
"""`node_grams` has the workspace's number before that of the row; the other two are of the whole store."""


def test_the_keys_of_every_other_table_begin_with_the_workspace(roles: Roles) -> None:
    first = (
        "SELECT DISTINCT relname FROM pg_index JOIN pg_class ON pg_class.oid = indrelid"
        " JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]"
        " WHERE indisunique AND relnamespace = 'public'::regnamespace AND attname <> 'workspace'"
    )
    with psycopg.connect(roles.owner) as connection:
        assert {name for (name,) in connection.execute(first).fetchall()} <= WITHOUT
