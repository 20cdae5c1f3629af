"""`clew login`: signs a person in at the page, with a link that works once and is shown in a terminal only.

`clew token`: makes, lists and revokes access tokens of people and agents.
"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from clew.app import Clew
from clew.clock import rfc3339
from clew.errors import ClewError
from clew.faces.cli.output import say, show_json, show_table
from clew.faces.cli.person import check_person_here, confirm, person_here, token_holder, why_nobody_here
from clew.faces.cli.root import opened, settings_of
from clew.ids import check_agent, check_workspace, person_name
from clew.registry.credentials import SCOPES, Credential, Grant, make_code, make_token, revoke_token, tokens

AS_JSON = typer.Option("--json", help="Answer in JSON.")
DAY_MS = 86_400_000

FRAGMENT = "sign-in"
"""The code is in the fragment of the address, which browsers send to no server and in no Referer."""


def login(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Option(help="Your name; default: the user of this machine.")] = None,
    address: Annotated[str | None, typer.Option(help="Where the page is; default: this machine's server.")] = None,
) -> None:
    """Sign in at the page: prints a code and a link that work once, within 15 minutes.

    Only somebody who signed in may approve, reject and settle what waits for a person; the token of agents does not do.

    Examples:

    - `clew login`
    - `clew login --name Ines --address https://clew.example.com`
    """
    check_person_here("login")
    if not sys.stdout.isatty():
        raise ClewError("NOT_ALLOWED", "a code is shown in a terminal only", "Run clew login without redirecting it.")
    settings = settings_of(ctx)
    with opened(settings) as clew:
        who = person_name(name) if name else person_here(settings)
        code = _code(clew, who)
    at = (address or f"http://{settings.host}:{settings.port}").rstrip("/")
    say(f"Sign {who} in with one of these, once, within 15 minutes:")
    say(f"  code  {code}")
    say(f"  link  {at}/#{FRAGMENT}={code}")


def sign_in_link(clew: Clew, address: str) -> str:
    """A link that signs in the person at this terminal; empty if this is no terminal."""
    if why_nobody_here() or not sys.stdout.isatty():
        return ""
    try:
        return f"{address}/#{FRAGMENT}={_code(clew, person_here(clew.settings))}"
    except ClewError:  # the server still starts, and each call reports the error of the store
        return ""


def _code(clew: Clew, name: str) -> str:
    with clew.database.write() as tx:
        return make_code(tx, name, clew.dispatcher.clock())


def token() -> None:
    """Access tokens of people and agents: what each may do, where, and until when.

    Example: `clew token create ci --scope read --in acme/api --days 90`
    """


def create_token(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Whose it is: an agent's id, or your name with --person.")],
    person: Annotated[bool, typer.Option("--person", help="A person's; only these approve and administer.")] = False,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="read, write, approve, admin; default: read, write, of a person also approve."),
    ] = None,
    workspace: Annotated[
        list[str] | None, typer.Option("--in", help="Only this workspace; repeat for more.", metavar="WORKSPACE")
    ] = None,
    days: Annotated[int | None, typer.Option(help="For how long; default: until it is revoked.", min=1)] = None,
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Make a token and print it, once. It is sent as a bearer token; the store keeps its digest only.

    Examples:

    - `clew token create ci --scope read --in acme/api --days 90`
    - `clew token create Ines --person --days 365`
    """
    with opened(settings_of(ctx)) as clew:
        usual = ["read", "write", "approve"] if person else ["read", "write"]
        grant = _grant(clew, name, person, scope or usual, workspace or [], days)
        told = f"{grant.name} may {', '.join(grant.scopes)} in {', '.join(grant.workspaces) or 'all workspaces'}"
        by = _administrator(clew, f"{told}. Make this token?", f"token create {shlex.quote(name)}")
        with clew.database.write() as tx:
            made, secret = make_token(tx, grant, clew.dispatcher.clock(), by)
    if as_json:
        show_json({**_token_row(made), "token": secret})
    else:
        say(f"{made.id}: {told}. The token is shown this once:")
        say(f"  {secret}")


def _grant(clew: Clew, name: str, person: bool, scopes: list[str], workspaces: list[str], days: int | None) -> Grant:
    wrong = next((scope for scope in scopes if scope not in SCOPES), None)
    if wrong is not None:
        raise ClewError("INVALID_INPUT", f"there is no scope {wrong[:40]!r}", f"Use {', '.join(SCOPES)}.")
    if not person and {"approve", "admin"} & set(scopes):
        raise ClewError("INVALID_INPUT", "only a person approves and administers", "Add --person, or leave them out.")
    if "approve" in scopes:
        scopes = [*scopes, "read"]  # deciding requires read access
    return Grant(
        name=person_name(name) if person else check_agent(name),
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        workspaces=tuple(check_workspace(workspace) for workspace in workspaces),
        until_ms=clew.dispatcher.clock() + days * DAY_MS if days else None,
    )


def _administrator(clew: Clew, question: str, command: str) -> str:
    """The token administrator: the person at the terminal, or one whose token has the scope `admin`."""
    holder = token_holder(clew, "admin")
    if not holder:
        confirm(question, command)
    return holder or person_here(clew.settings)


def list_tokens(ctx: typer.Context, as_json: Annotated[bool, AS_JSON] = False) -> None:
    """List the tokens; their secrets are kept nowhere.

    Example: `clew token list`
    """
    with opened(settings_of(ctx)) as clew, clew.database.read() as tx:
        rows = [_token_row(made) for made in tokens(tx)]
    if as_json:
        show_json({"tokens": rows})
        return
    columns = ("id", "name", "scopes", "workspaces", "made", "until")
    show_table(columns, [tuple(str(row[column] or "") for column in columns) for row in rows])


def _token_row(made: Credential) -> dict[str, Any]:
    return {
        "id": made.id,
        "name": made.name,
        "scopes": ", ".join(made.scopes),
        "workspaces": ", ".join(made.workspaces) or "all",
        "made": rfc3339(made.made_at_ms),
        "made_by": made.made_by,
        "until": rfc3339(made.until_ms) if made.until_ms else None,
    }


def revoke(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The token, as clew token list names it.")],
    as_json: Annotated[bool, AS_JSON] = False,
) -> None:
    """Revoke a token: the next call with it is refused, on every server of the store.

    Example: `clew token revoke tok-3`
    """
    with opened(settings_of(ctx)) as clew:
        _administrator(clew, f"Revoke {id}?", f"token revoke {shlex.quote(id)}")
        with clew.database.write() as tx:
            if not revoke_token(tx, id):
                raise ClewError("UNKNOWN_ID", f"there is no token {id[:40]}", "clew token list shows them.")
    show_json({"id": id, "revoked": True}) if as_json else say(f"{id} is revoked.")


def register_token(app: typer.Typer) -> None:
    app.callback()(token)
    app.command("create")(create_token)
    app.command("list")(list_tokens)
    app.command("revoke")(revoke)


GROUPS = {"token": register_token}
COMMANDS = {"login": login}
