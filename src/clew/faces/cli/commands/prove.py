"""`clew prove`: runs a command and records its exit code and output as the proof of a step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.app import Clew
from clew.faces.cli.commands.call import show_answer
from clew.faces.cli.main import Exit
from clew.faces.cli.output import show_json
from clew.faces.cli.root import call, opened, settings_of
from clew.ids import STEP
from clew.registry.connection import Connection
from clew.registry.envelope import Answer

if TYPE_CHECKING:
    from clew.runner.witness import WitnessedRun

Row = dict[str, Any]
OPEN = ("TODO", "ACTIVE")
SHOWN = 5


def register(app: typer.Typer) -> None:
    app.command(context_settings={"allow_interspersed_args": False})(prove)


def prove(
    ctx: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="What to run; with --again: a task.")] = None,
    step: Annotated[str | None, typer.Option(help="Step, such as s:1 or its id; default: the first open.")] = None,
    task: Annotated[str | None, typer.Option(help="Task; default: the focus.", metavar="ID")] = None,
    covers: Annotated[
        list[str] | None, typer.Option(help="Files it proves, as a quoted glob; may be repeated.", metavar="GLOB")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Run the commands of seen receipts again.")] = False,
    stale: Annotated[bool, typer.Option("--stale", help="With --again: only where covered files changed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the receipts as JSON at the end.")] = False,
) -> None:
    """Run a command, pass its output and exit code on, and keep a receipt of it for a step.

    The steps that name the command are proven by it; when none does, the first open one. A receipt is stale as soon as
    a file it covers has changed. Without --covers these are the project's files that the command opened (on Linux),
    else those changed since the step began, else all.

    Examples:

    - `clew prove -- pytest -q` proves the steps of the task in focus that name it, else the first open one
    - `clew prove --step s:1 --covers 'src/**/*.py' -- make test`
    - `clew prove "cd web && npm test"` is run by your shell
    - `clew prove --again --stale` repeats what has become stale
    """
    settings = settings_of(ctx)
    with opened(settings) as clew:
        prover = Prover(clew, settings.project_root, covers or [], as_json)
        if again:
            # Options end at the first argument, because later ones belong to the command. With --again there is no
            # command, so a --stale that stands behind a task is ours.
            named = [word for word in command or [] if word != "--stale"]
            code = prover.repeat(named[0] if named else task, stale or "--stale" in (command or []))
        elif not command:
            raise typer.BadParameter("name the command to run, after --", param_hint="COMMAND")
        else:
            code = prover.prove(command, task, step)
    if as_json and prover.receipts:
        show_json(prover.receipts)
    raise typer.Exit(code)


class Prover:
    """One call of `clew prove`: finds the steps to prove, runs commands, records receipts."""

    def __init__(self, clew: Clew, root: Path, covers: list[str], quiet: bool) -> None:
        self._clew, self._root, self._covers, self._quiet = clew, root, covers, quiet
        self.receipts: list[Row] = []

    def prove(self, command: list[str], task: str | None, step: str | None) -> int:
        from clew.project_files import scope_of_run
        from clew.runner.witness import OpenedFiles, placed, shell_line, watch

        named = task or self._task_of(step)
        known = call(self._clew, "tasks_proofs", {"task": named, "limit": 1} if named else {"limit": 1})
        if not known.ok:
            code = show_answer(known, self._quiet)
            self._name_tasks(command)
            return code
        task = known.envelope["result"]["target"]["id"]
        # Taken before the run: files that the command itself writes must not count as the work it proves.
        scope = scope_of_run(self._root, self._covers, _began(known, step))
        here = Path.cwd()
        with OpenedFiles(self._root, scope.listed) as opened:
            seen = placed(watch(command, here), here, self._root)
        # Steps that name exactly this command are meant, whichever step is in focus.
        named_by = _naming(known, shell_line(command)) if step is None else []
        kept = True
        for place in [{"step_id": id} for id in named_by] or [_selector(step)]:
            answer = self._record({"task": task, **place}, seen, scope.covered(opened.paths))
            kept = kept and answer.ok
            if not answer.ok:
                show_answer(answer, self._quiet)
        # The command's own exit code wins, because scripts put `clew prove --` before a command they run anyway.
        return seen.exit_code or (0 if kept else int(Exit.REFUSED))

    def _task_of(self, step: str | None) -> str | None:
        """The task of a step that is named by its id; a path such as s:1 needs the task in focus instead."""
        if step is None or not STEP.fullmatch(step.upper()):
            return None
        found = call(self._clew, "open", {"id": step.upper()})
        return str(found.envelope["result"]["task"]) if found.ok else None

    def _name_tasks(self, command: list[str]) -> None:
        """Print this command once for each open task, when it is unclear which task is meant."""
        from clew.runner.witness import shell_line

        listed = call(self._clew, "tasks_context", {"plans_limit": 0, "tasks_limit": 200})
        rows = [row for row in listed.envelope["result"]["tasks"] if row["status"] in OPEN] if listed.ok else []
        for row in sorted(rows, key=lambda row: -row["updated_at_ms"])[:SHOWN]:
            self._say(f"  {row['title']}: clew prove --task {row['id']} -- {shell_line(command)}")

    def repeat(self, task: str | None, stale: bool) -> int:
        """Run the commands of seen receipts again, each for the files it covered. Returns the highest exit code."""
        known = call(self._clew, "tasks_proofs", {"task": task} if task else {})
        if not known.ok:
            return show_answer(known, self._quiet)
        worst, count = 0, 0
        for proof in known.envelope["result"]["steps"]:
            for id in proof["repeat"] if not stale or proof["state"] == "stale" else ():
                count += 1
                worst = max(worst, self._again(known.envelope["result"]["target"]["id"], proof, id))
        if not count:
            self._say("Nothing to run again.")
        return worst

    def _again(self, task: str, proof: Row, id: str) -> int:
        from clew.runner.witness import watch

        receipt = call(self._clew, "open", {"id": id}).envelope["result"]["receipt"]
        self._say(f"{proof['path']}: {receipt['command']}")
        # In the project's root, because receipts store their commands relative to it.
        seen = watch([receipt["command"]], self._root)
        place = {"task": task, "step_id": proof["step_id"], "again": receipt["id"]}
        answer = self._record(place, seen, receipt["files"])
        return seen.exit_code if answer.ok else show_answer(answer, self._quiet)

    def _record(self, place: Row, seen: WitnessedRun, paths: list[str]) -> Answer:
        from clew.runner.witness import receipt_arguments

        arguments = {**place, **receipt_arguments(seen, self._root, paths)}
        connection = Connection(
            toolset="full",
            agent_id=self._clew.settings.agent_id,
            client="clew-prove",
            durable=False,
            local=True,
            witness="prove",
        )
        answer = self._clew.dispatcher.call("tasks_receipt_record", arguments, connection)
        if answer.ok:
            self.receipts.append(answer.envelope["result"])
            self._say(_line(answer.envelope["result"], seen))
        return answer

    def _say(self, line: str) -> None:
        if not self._quiet:
            sys.stderr.write(f"{line}\n")


def _selector(step: str | None) -> Row:
    if step is None:
        return {}
    return {"step_id": step.upper()} if STEP.fullmatch(step.upper()) else {"path": step}


def _naming(known: Answer, command: str) -> list[str]:
    """The steps that name a command and are open, or were closed with a proof that no longer holds."""
    rows = [row for row in known.envelope["result"]["steps"] if row["state"] != "proven" or not row["completed"]]
    return [row["step_id"] for row in rows if " ".join(command.split()) in row["tests"]]


def _began(known: Answer, step: str | None) -> int | None:
    """When the step to be proven began; None if it is unknown."""
    steps = known.envelope["result"]["steps"]
    named = [row for row in steps if step is not None and step.upper() in (row["step_id"], row["path"].upper())]
    open_ones = [row for row in steps if not row["completed"]]
    found = named or (open_ones if step is None else [])
    return int(found[0]["began_ms"]) if found else None


def _line(result: Row, seen: WitnessedRun) -> str:
    """The recorded receipt in one line."""
    receipt, proof = result["receipt"], result["proof"]
    took = f"{seen.duration_ms / 1000:.1f} s"
    parts = [f"{receipt['id']} {receipt['grade']}: {seen.command} -> exit {seen.exit_code} in {took}"]
    if seen.remark:
        parts.append(seen.remark)
    parts.append(f"covers {result['files']} file{'' if result['files'] == 1 else 's'}")
    if result["disputes"]:
        parts.append(f"disputes {result['disputes']}")
    if proof:
        lacks = f": {proof['reason']}" if proof["reason"] and proof["state"] == "claimed" else ""
        parts.append(f"{result['task']} {proof['path']} is {proof['state']}{lacks}")
    return "; ".join(parts)
