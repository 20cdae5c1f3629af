"""`clew prove`: runs a command and records its exit code and output as the proof of a step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.faces.cli.asking import ShellAsker, ShellReply, asking, show_answer
from clew.faces.cli.main import Exit
from clew.faces.cli.output import show_json
from clew.ids import STEP
from clew.kinds import statuses

if TYPE_CHECKING:
    from clew.project_files import FilesBefore
    from clew.registry.envelope import Answer
    from clew.runner.witness import WitnessedRun

Row = dict[str, Any]
OPEN = (statuses.WORK_TODO, statuses.WORK_ACTIVE)
SHOWN = 5
TASKS_A_PAGE = 200


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
    - `clew prove --again --stale` repeats whatever has become stale, in all tasks
    """
    with asking(ctx) as asker:
        prover = Prover(asker, asker.settings.project_root, covers or [], as_json)
        if again:
            # Options end at the first argument, because later ones belong to the command. With --again there is no
            # command, so a --stale after a task is ours.
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

    def __init__(self, asker: ShellAsker, root: Path, covers: list[str], quiet: bool) -> None:
        self._asker, self._root, self._covers, self._quiet = asker, root, covers, quiet
        self.receipts: list[Row] = []

    def prove(self, command: list[str], task: str | None, step: str | None) -> int:
        from clew.project_files import FilesBefore, scope_of_run
        from clew.runner.witness import OpenedFiles, placed, shell_line, watch

        named = task or self._task_of(step)
        known = self._asker.call("tasks_proofs", {"task": named, "limit": 1} if named else {"limit": 1})
        if _is_read_only(known):
            seen = watch(command, Path.cwd())
            self._say_not_recorded()
            return seen.exit_code
        if not known.ok and self._is_server_away(known):
            return self._prove_later(command, named, step)
        if not known.ok:
            code = show_answer(known, self._quiet)
            self._name_tasks(command)
            return code
        task = known.envelope["result"]["target"]["id"]
        # Taken before the run: files that the command itself writes must not count as the work it proves.
        scope = scope_of_run(self._root, self._covers, _began(known, step))
        before = FilesBefore(self._root, scope.named or scope.changed, scope.listed)
        here = Path.cwd()
        with OpenedFiles(self._root, scope.listed) as opened:
            seen = placed(watch(command, here), here, self._root)
        # Steps that name exactly this command are meant, whichever step is in focus.
        named_by = _naming(known, shell_line(command)) if step is None else []
        places = [{"step_id": id} for id in named_by] or [_selector(step)]
        covered = scope.covered(opened.paths)
        kept = [self._is_kept(self._record({"task": task, **place}, seen, covered, before)) for place in places]
        # The command's own exit code wins, because scripts put `clew prove --` before a command they run anyway.
        return seen.exit_code or (0 if all(kept) else int(Exit.REFUSED))

    def _is_kept(self, answer: ShellReply | Answer) -> bool:
        """Whether a receipt was recorded; a read-only store is reported and is no failure."""
        if _is_read_only(answer):
            self._say_not_recorded()
            return True
        if not answer.ok:
            show_answer(answer, self._quiet)
        return answer.ok

    def _is_server_away(self, answer: ShellReply | Answer) -> bool:
        from clew.faces.hooks.service import passes

        return bool(self._asker.settings.server) and passes(answer.envelope["error"])

    def _prove_later(self, command: list[str], task: str | None, step: str | None) -> int:
        """Run the command now, and keep its receipt until the server takes it."""
        from clew.faces.hooks import spool
        from clew.project_files import FilesBefore, scope_of_run
        from clew.runner.witness import OpenedFiles, placed, receipt_arguments, watch

        scope = scope_of_run(self._root, self._covers, None)
        before = FilesBefore(self._root, scope.named or (), scope.listed)
        with OpenedFiles(self._root, scope.listed) as opened:
            seen = placed(watch(command, Path.cwd()), Path.cwd(), self._root)
        place = {**({"task": task} if task else {}), **_selector(step)}
        arguments = {**place, **receipt_arguments(seen, self._root, scope.covered(opened.paths), before)}
        try:
            kept = spool.append(str(self._asker.settings.home), str(Path.cwd()), arguments, name=spool.PROOF)
        except OSError:  # as in a client's sandbox
            self._say_not_recorded()
            return seen.exit_code
        what = "the receipt is kept here and sent to it later" if kept else "the receipt could not be kept"
        self._say(f"{seen.command} -> exit {seen.exit_code}; {self._asker.settings.server} does not answer: {what}")
        return seen.exit_code or (0 if kept else int(Exit.REFUSED))

    def _task_of(self, step: str | None) -> str | None:
        """The task of a step that is named by its id; a path such as s:1 needs the task in focus instead."""
        if step is None or not STEP.fullmatch(step.upper()):
            return None
        found = self._asker.call("open", {"id": step.upper()})
        return str(found.envelope["result"]["task"]) if found.ok else None

    def _name_tasks(self, command: list[str]) -> None:
        """Print this command once for each open task, when it is unclear which task is meant."""
        from clew.runner.witness import shell_line

        listed = self._asker.call("tasks_context", {"plans_limit": 0, "tasks_limit": 200})
        rows = [row for row in listed.envelope["result"]["tasks"] if row["status"] in OPEN] if listed.ok else []
        for row in sorted(rows, key=lambda row: -row["updated_at_ms"])[:SHOWN]:
            self._say(f"  {row['title']}: clew prove --task {row['id']} -- {shell_line(command)}")

    def repeat(self, task: str | None, stale: bool) -> int:
        """Run the commands of seen receipts again, each for the files it covered. Returns the highest exit code.

        All stale proofs of the workspace where no task is named; the task in focus without `stale`.
        """
        before = len(self.receipts)
        tasks = self._all_tasks() if stale and task is None else [task]
        worst = max((self._repeat_task(named, stale) for named in tasks), default=0)
        if not worst and len(self.receipts) == before:
            self._say("Nothing to run again.")
        return worst

    def _all_tasks(self) -> list[str | None]:
        found: list[str | None] = []
        cursor = 0
        while cursor is not None:
            page = {"plans_limit": 0, "tasks_limit": TASKS_A_PAGE, "tasks_cursor": cursor}
            result = self._asker.call("tasks_context", page).envelope["result"]
            found += [row["id"] for row in result["tasks"]]
            cursor = result["tasks_pagination"]["next_cursor"]
        return found

    def _repeat_task(self, task: str | None, stale: bool) -> int:
        known = self._asker.call("tasks_proofs", {"task": task} if task else {})
        if not known.ok:
            return show_answer(known, self._quiet)
        result = known.envelope["result"]
        wanted = [row for row in result["steps"] if not stale or row["state"] == "stale"]
        runs = [(proof, id) for proof in wanted for id in proof["repeat"]]
        return max((self._again(result["target"]["id"], proof, id) for proof, id in runs), default=0)

    def _again(self, task: str, proof: Row, id: str) -> int:
        from clew.project_files import FilesBefore
        from clew.runner.witness import watch

        receipt = self._asker.call("open", {"id": id}).envelope["result"]["receipt"]
        self._say(f"{proof['path']}: {receipt['command']}")
        # In the project's root, because receipts store their commands relative to it.
        before = FilesBefore(self._root, receipt["files"])
        seen = watch([receipt["command"]], self._root)
        place = {"task": task, "step_id": proof["step_id"], "again": receipt["id"]}
        answer = self._record(place, seen, receipt["files"], before)
        return seen.exit_code if answer.ok else show_answer(answer, self._quiet)

    def _record(self, place: Row, seen: WitnessedRun, paths: list[str], before: FilesBefore) -> ShellReply | Answer:
        from clew.runner.witness import receipt_arguments

        arguments = {**place, **receipt_arguments(seen, self._root, paths, before)}
        answer = self._asker.call("tasks_receipt_record", arguments, client="clew-prove", witness="prove")
        if answer.ok:
            self.receipts.append(answer.envelope["result"])
            self._say(_line(answer.envelope["result"], seen))
        return answer

    def _say_not_recorded(self) -> None:
        from clew.unrecorded import explanation

        sys.stderr.write(f"{explanation(str(self._asker.settings.home))}\n")

    def _say(self, line: str) -> None:
        if not self._quiet:
            sys.stderr.write(f"{line}\n")


def _is_read_only(answer: ShellReply | Answer) -> bool:
    error = answer.envelope["error"]
    return bool(error) and error["code"] == "STORE_READ_ONLY"


def _selector(step: str | None) -> Row:
    if step is None:
        return {}
    return {"step_id": step.upper()} if STEP.fullmatch(step.upper()) else {"path": step}


def _naming(known: ShellReply | Answer, command: str) -> list[str]:
    """The steps that name a command and are open, or were closed with a proof that no longer holds."""
    rows = [row for row in known.envelope["result"]["steps"] if row["state"] != "proven" or not row["completed"]]
    return [row["step_id"] for row in rows if " ".join(command.split()) in row["tests"]]


def _began(known: ShellReply | Answer, step: str | None) -> int | None:
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
