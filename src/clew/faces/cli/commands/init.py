"""`clew init`: memory as Markdown files in the project's repository, and the merge driver for them.
`clew merge-memory` is that driver.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from clew.errors import ClewError
from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import describe_warnings, say, show_json
from clew.faces.cli.person import confirm
from clew.faces.cli.root import call, opened, settings_of
from clew.faces.connect.servers import own_script
from clew.settings import FILE, SETTINGS, Settings, chosen_home, load_settings, project_root
from clew.trust import is_trusted, trust

FOLDER = ".clew"
SETTING = f'memory_dir = "{FOLDER}"\n'
_OLD_RECORD = re.compile(r"^\[([A-Z]{1,16}-\d+)\]$(.*?^Statement:[^\n]*)", re.MULTILINE | re.DOTALL)
IGNORED = """\
# Written by `clew init`. Records belong into the repository; proposals, receipts and reports to each clone.
/*
!/.gitignore
!/.gitattributes
!/decisions/
!/knowledge/
!/entities/
"""
ATTRIBUTES = """\
# Written by `clew init`, which also registers the merge driver in each clone.
*.md merge=clew text eol=lf
"""


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    ctx: typer.Context,
    in_repo: Annotated[bool, typer.Option("--in-repo", help="Keep memory in .clew/ of this repository.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Keep the memory of this project as Markdown files in its repository, reviewed and merged with the code.

    Run it once with --in-repo, commit `clew.toml` and `.clew/`, and run `clew init` in every other clone: it registers
    the merge driver there.

    Examples:

    - `clew init --in-repo`
    - `clew init` in a clone of a project that keeps its memory in the repository
    """
    root = project_root(Path.cwd())
    if not (root / ".git").exists():
        raise ClewError("NOT_FOUND", f"{root} is no git repository", "Run `git init` first, then this again.")
    names_folder = _check_settings(root)
    if not (in_repo or names_folder):
        raise ClewError(
            "INVALID_INPUT",
            "this project does not keep its memory in the repository",
            "`clew init --in-repo` moves it there; without that nothing has to be set up.",
        )
    home = chosen_home(ctx.obj or {}, os.environ)
    if not (names_folder and is_trusted(home, root / FILE, (root / FILE).read_bytes())):
        _check_ids(load_settings(ctx.obj or {}, trusted_only=True), root)
    _trust_settings(root, home, names_folder)
    _lay_out(root)
    _register_driver(root)
    with opened(settings_of(ctx)) as clew:
        answer = call(clew, "scan", {})
    if not answer.ok:
        raise typer.Exit(show_answer(answer, as_json))
    if as_json:
        show_json({"workspace": clew.settings.workspace, "memory_dir": str(root / FOLDER)})
        return
    describe_warnings(answer.envelope["warnings"])
    say(f"Memory of {clew.settings.workspace} is in {root / FOLDER}.", "bold green")
    say(f"Commit {FILE} and {FOLDER}/; every other clone runs `clew init` once.")


def _check_settings(root: Path) -> bool:
    """Whether the project's file names the folder already. One that sets anything doubtful is left to `clew trust`."""
    path = root / FILE
    found = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    folder = found.get("memory_dir", FOLDER)
    if folder != FOLDER:
        raise ClewError("CONFLICT", f"{path} keeps memory in {folder}", "Remove memory_dir from it first.")
    return "memory_dir" in found


def _trust_settings(root: Path, home: Path, names_folder: bool) -> None:
    path = root / FILE
    before = path.read_bytes() if path.is_file() else b""
    is_known = not before or is_trusted(home, path, before)
    foreign = not is_known and _doubtful(before)
    if foreign:
        raise ClewError(
            "NOT_ALLOWED", f"{path} also sets {', '.join(foreign)}", "Read it, then run `clew trust` and this again."
        )
    if (names_folder and not is_known) or (not names_folder and (root / FOLDER / "knowledge").is_dir()):
        confirm(f"Agents will follow the rules and decisions that {root / FOLDER} holds. Use it?", "init")
    if not names_folder:
        path.write_bytes(before + (b"" if before.endswith(b"\n") or not before else b"\n") + SETTING.encode())
    trust(home, path)


def _doubtful(data: bytes) -> list[str]:
    found = tomllib.loads(data.decode())
    return [item.name for item in SETTINGS if item.name in found and not item.harmless and item.name != "memory_dir"]


def _check_ids(settings: Settings, root: Path) -> None:
    """Nothing is done where a record of this store and one of the folder have the same id and say something else.

    Ids that were given in a repository end with the name of their clone; only older ones can collide.
    """
    found = {
        id: line.partition("Statement:")[2].strip()
        for path in sorted((root / FOLDER).glob("*/*.md"))
        for id, line in _OLD_RECORD.findall(path.read_text(encoding="utf-8", errors="replace"))
    }
    if not found:
        return
    with opened(settings) as clew:
        answers = {id: call(clew, "open", {"id": id}) for id in found}
    taken = [id for id, answer in answers.items() if answer.ok and found[id] not in str(answer.envelope["result"])]
    if taken:
        raise ClewError(
            "CONFLICT",
            f"{', '.join(taken[:10])} of {FOLDER} are other records than those of {settings.workspace}",
            "`clew export bundle mine.clew`, `clew --workspace NEW init`, then `clew import bundle mine.clew` there.",
        )


def _lay_out(root: Path) -> None:
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    for name, text in ((".gitignore", IGNORED), (".gitattributes", ATTRIBUTES)):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")


def _register_driver(root: Path) -> None:
    program = own_script("clew")
    command = f"{shlex.quote(str(program)) if program else 'clew'} merge-memory %O %A %B"
    for name, value in (("name", "Clew: memory, record by record"), ("driver", command)):
        done = subprocess.run(
            ["git", "-C", str(root), "config", f"merge.clew.{name}", value], capture_output=True, check=False
        )
        if done.returncode:
            raise ClewError("IO_ERROR", f"git config: {done.stderr.decode().strip()}", "Correct it and try again.")
