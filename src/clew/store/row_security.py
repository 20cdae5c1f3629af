"""Row-level security on PostgreSQL, which an operator may turn on: the server's role sees one workspace at a time.

Every transaction sets its workspace, or that it is for the whole store. With the policies below the database enforces
this: a query without a workspace, with the wrong one, or from another program finds nothing. They apply to every role
except the tables' owner, who migrates, dumps and restores.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

EVERY_WORKSPACE = "*"
"""No workspace can have this name."""
ENTER = "SELECT set_config('clew.workspace', $1, true)"
IS_ENFORCED = "SELECT row_security_active('event')"
_KEPT = "row_security"
_POLICY = "clew_workspace"

# Subselects are evaluated once for each statement, not once for each row.
_ENTERED = "(SELECT nullif(current_setting('clew.workspace', true), ''))"
_OWN_ROWS = f"workspace = {_ENTERED} OR {_ENTERED} = '{EVERY_WORKSPACE}'"
_ANY_ENTERED = f"{_ENTERED} IS NOT NULL"
_NUMBER = f"(SELECT number FROM workspace WHERE id = {_ENTERED})"
_NUMBERED_ROWS = (
    f"number >= (SELECT CASE WHEN {_ENTERED} = '*' THEN 0 ELSE {_NUMBER} << 40 END)"
    f" AND number < (SELECT CASE WHEN {_ENTERED} = '*' THEN {2**63 - 1} ELSE ({_NUMBER} + 1) << 40 END)"
)
"""Text indexes contain the workspace only as a number, before that of the row."""
_OTHERS = {
    "workspace": _ANY_ENTERED,  # the list of their names, which the server narrows to those of the caller
    "counter": f"{_OWN_ROWS} OR (workspace = '' AND {_ANY_ENTERED})",  # also those of the whole store
    "node_grams": _NUMBERED_ROWS,
}
_TABLES = (
    "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace"
    " AND (relname = ANY(%s) OR EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid"
    " AND attname = 'workspace' AND NOT attisdropped)) ORDER BY relname"
)

Connection = psycopg.Connection[Any]


def set_row_security(connection: Connection, on: bool) -> list[str]:
    """Create and enable the policies on all tables; returns the tables that have them now."""
    tables = [name for (name,) in connection.execute(_TABLES, (list(_OTHERS),)).fetchall()]
    for table in tables:
        _set_policy(connection, table, on)
    keep = "INSERT INTO meta (key, value) VALUES (%s, 'on') ON CONFLICT (key) DO NOTHING"
    connection.execute(keep if on else "DELETE FROM meta WHERE key = %s", (_KEPT,))
    return tables if on else []


def fence_new_tables(connection: Connection) -> None:
    """After a migration: give new tables the policy of the others."""
    if connection.execute("SELECT 1 FROM meta WHERE key = %s", (_KEPT,)).fetchone():
        set_row_security(connection, True)


def _set_policy(connection: Connection, name: str, on: bool) -> None:
    table, policy = sql.Identifier(name), sql.Identifier(_POLICY)
    connection.execute(sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(policy, table))
    switch = sql.SQL("ENABLE" if on else "DISABLE")
    connection.execute(sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(table, switch))
    if on:
        rule = sql.SQL(_OTHERS.get(name, _OWN_ROWS))
        connection.execute(sql.SQL("CREATE POLICY {} ON {} USING ({})").format(policy, table, rule))
