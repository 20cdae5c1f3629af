"""`clew trust`: lets a project's clew.toml change settings that are refused from an untrusted file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.output import say, show_json
from clew.settings import FILE, home_of, project_root
from clew.trust import distrust, trust, trusted_files

Project = Annotated[Path | None, typer.Argument(help="Project, or its clew.toml; default: this one.", metavar="PATH")]


def register(app: typer.Typer) -> None:
    app.command("trust")(trust_project)


def trust_project(
    ctx: typer.Context,
    path: Project = None,
    remove: Annotated[bool, typer.Option("--remove", help="Trust the file no longer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Trust a project's clew.toml, which may then say where data goes and who may listen.

    Read the file first. Trust holds for the file as it is now and ends when it changes. What a project's file may set
    without it stands in docs/settings.md.

    Examples:

    - `clew trust` trusts the clew.toml of this project
    - `clew trust ~/src/api --remove` takes that back
    """
    home = Path((ctx.obj or {}).get("home") or home_of(os.environ)).expanduser()
    file = _file(path)
    if remove:
        distrust(home, file)
    else:
        _check(file)
        trust(home, file)
    trusted = str(file.resolve()) in trusted_files(home)
    if as_json:
        show_json({"file": str(file), "trusted": trusted})
    else:
        say(f"{file} is {'trusted as it is now' if trusted else 'not trusted'}")


def _file(path: Path | None) -> Path:
    if path is None:
        return project_root(Path.cwd()) / FILE
    return path / FILE if path.is_dir() else path


def _check(file: Path) -> None:
    if not file.is_file():
        raise ClewError("NOT_FOUND", f"there is no {file}", "Name a project that has a clew.toml.")
