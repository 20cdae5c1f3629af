"""Access tokens, one-time sign-in codes and page logins: the credentials that identify a caller to a server.

All of them are kept in the store, so that every server process of the same store accepts them and a revocation takes
effect with the next call everywhere. Secrets are random and long, so storing a plain SHA-256 of each is enough.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import ClassVar, Literal

from clew.canonical import sha256_hex
from clew.ids import is_person
from clew.store.database import Transaction
from clew.store.rows import TableRow, delete, find, insert, load
from clew.store.workspaces import next_count

Scope = Literal["read", "write", "approve", "admin"]
CODE_MS = 15 * 60_000
LOGIN_MS = 30 * 86_400_000
MOST_LOGINS = 200
"""Maximum number of valid logins; a new one beyond this ends the oldest."""
_STORE = ""
"""Credentials belong to no workspace."""
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without the letters and digits that are easily confused."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller, as far as a credential proves it."""

    name: str = ""
    """A person's name begins with `@`. Empty: an agent that provides its own id."""
    scopes: frozenset[str] = frozenset({"read", "write"})
    workspaces: tuple[str, ...] = ()
    """Empty: all."""
    token: str = ""
    """The id of the token that proves it; empty for the server's own token and for a code."""

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def agent(self) -> str:
        """The author of its writes, if the token names one. A person's own clients provide their own id."""
        return "" if is_person(self.name) else self.name

    @property
    def decides(self) -> str:
        """The name of the person, if this is one who may approve; else empty."""
        return self.name if is_person(self.name) and "approve" in self.scopes else ""


@dataclass(frozen=True, slots=True)
class Credential(TableRow):
    TABLE: ClassVar[str] = "credential"
    KEY: ClassVar[tuple[str, ...]] = ("digest",)
    LISTS: ClassVar[frozenset[str]] = frozenset({"scopes", "workspaces"})

    digest: str
    kind: Literal["token", "code", "login"]
    id: str
    name: str
    scopes: tuple[str, ...]
    workspaces: tuple[str, ...]
    made_at_ms: int
    until_ms: int | None = None
    key_digest: str | None = None
    parent: str | None = None
    made_by: str | None = None

    @property
    def principal(self) -> Principal:
        token = self.id if self.kind == "token" else self.parent or ""
        return Principal(self.name, frozenset(self.scopes), self.workspaces, token)

    def is_valid(self, now_ms: int) -> bool:
        return self.until_ms is None or now_ms < self.until_ms


TOKEN_PREFIX = "clew_"
"""Prefix of a token, so that people and secret scanners recognise one."""
SCOPES: tuple[Scope, ...] = ("read", "write", "approve", "admin")
PERSON_SCOPES: tuple[Scope, ...] = SCOPES
"""The scopes of a caller who has proven to be at a terminal of the server's own user."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The permissions of a new token."""

    name: str
    scopes: tuple[Scope, ...]
    workspaces: tuple[str, ...] = ()
    until_ms: int | None = None


def make_token(tx: Transaction, grant: Grant, now_ms: int, made_by: str) -> tuple[Credential, str]:
    """Create a token; returns it and its secret, which is never shown again."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    made = Credential(
        digest=_digest(secret),
        kind="token",
        id=f"tok-{next_count(tx, _STORE, 'token')}",
        name=grant.name,
        scopes=tuple(sorted(grant.scopes)),
        workspaces=grant.workspaces,
        made_at_ms=now_ms,
        until_ms=grant.until_ms,
        made_by=made_by,
    )
    insert(tx, _STORE, made)
    return made, secret


def tokens(tx: Transaction) -> list[Credential]:
    """All tokens, the oldest first; includes expired ones, until they are revoked."""
    sql = "SELECT * FROM credential WHERE workspace = ? AND kind = 'token' ORDER BY made_at_ms, id"
    return [load(Credential, row) for row in tx.all(sql, _STORE)]


def revoke_token(tx: Transaction, id: str) -> bool:
    """Delete a token, and the logins made with it; False if there is none."""
    found = [token for token in tokens(tx) if token.id == id]
    for token in found:
        delete(tx, _STORE, token)
        tx.run("DELETE FROM credential WHERE workspace = ? AND parent = ?", _STORE, id)
    return bool(found)


def token_of(tx: Transaction, secret: str, now_ms: int) -> Credential | None:
    return _valid(tx, "token", secret, now_ms) if secret.startswith(TOKEN_PREFIX) else None


def make_code(tx: Transaction, name: str, now_ms: int) -> str:
    """Create a code with which a person signs in at the page, once."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(16))
    code = "-".join(letters[start : start + 4] for start in range(0, 16, 4))
    until = now_ms + CODE_MS
    insert(tx, _STORE, Credential(_digest(_bare(code)), "code", "", name, PERSON_SCOPES, (), now_ms, until))
    return code


def has_code(tx: Transaction, code: str, now_ms: int) -> bool:
    return _valid(tx, "code", _bare(code), now_ms) is not None


def redeem_code(tx: Transaction, code: str, now_ms: int) -> Credential | None:
    """The code's credential, which is now used up; None for a code that is wrong, used or expired."""
    found = _valid(tx, "code", _bare(code), now_ms)
    if found is not None:
        delete(tx, _STORE, found)
    return found


def _bare(code: str) -> str:
    """Normalize a code: people type small letters, spaces and no hyphens."""
    return "".join(code.upper().split()).replace("-", "")


def make_login(tx: Transaction, principal: Principal, now_ms: int, until_ms: int | None = None) -> tuple[str, str]:
    """Create a cookie and a key that are valid together, at most until the token that they were made with expires."""
    _make_room(tx, now_ms)
    cookie, key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    made = Credential(
        digest=_digest(cookie),
        kind="login",
        id="",
        name=principal.name,
        scopes=tuple(sorted(principal.scopes)),
        workspaces=principal.workspaces,
        made_at_ms=now_ms,
        until_ms=min(now_ms + LOGIN_MS, until_ms or now_ms + LOGIN_MS),
        key_digest=_digest(key),
        parent=principal.token or None,
    )
    insert(tx, _STORE, made)
    return cookie, key


def login_of(tx: Transaction, cookie: str, key: str, now_ms: int) -> Principal | None:
    """The principal logged in with this cookie and this key. One without the other is not accepted."""
    found = _valid(tx, "login", cookie, now_ms)
    right = found is not None and found.key_digest is not None
    # Compares digests, so that the time it takes reveals nothing about the key.
    return found.principal if found is not None and right and found.key_digest == _digest(key) else None


def end_login(tx: Transaction, cookie: str) -> None:
    tx.run("DELETE FROM credential WHERE workspace = ? AND kind = 'login' AND digest = ?", _STORE, _digest(cookie))


def _make_room(tx: Transaction, now_ms: int) -> None:
    tx.run("DELETE FROM credential WHERE workspace = ? AND kind <> 'token' AND until_ms <= ?", _STORE, now_ms)
    rows = tx.all(
        "SELECT * FROM credential WHERE workspace = ? AND kind = 'login' ORDER BY made_at_ms DESC, digest"
        " LIMIT ? OFFSET ?",
        _STORE,
        MOST_LOGINS,
        MOST_LOGINS - 1,
    )
    for row in rows:
        delete(tx, _STORE, load(Credential, row))


def _valid(tx: Transaction, kind: str, secret: str, now_ms: int) -> Credential | None:
    found = find(tx, _STORE, Credential, _digest(secret)) if secret else None
    return found if found is not None and found.kind == kind and found.is_valid(now_ms) else None


def _digest(secret: str) -> str:
    return sha256_hex(secret.encode("utf-8", "replace"))
