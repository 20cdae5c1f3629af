"""Texts for agents: the operations help, skill (rules for a way of working) and think_playbook."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clew.errors import Suggestion, suggest
from clew.registry.budget import Budget, Clip, Drop, Trim
from clew.registry.context import Context
from clew.registry.envelope import suggestion_line
from clew.registry.operation import Bounded, Name, View, operation

SKILL_VERSION = "0.1.0"

HELP = {
    "LEGEND": (
        "A line is a state or a command; commands can be pasted as they stand.",
        "ERROR: says what is wrong and how to mend it; WARNING: says what was left out or is weak.",
        "REFERENCE: names something that open shows; MORE: says how to read on.",
        "ref= is the one thing to open first, next is the one thing to do, where= is the area of the system.",
    ),
    "DAILY": (
        "tasks_macro_start begins a task, tasks_snapshot shows it, think_card keeps a thought,"
        " tasks_macro_close_step closes a step.",
        "recall finds what is already known; ask it before you decide.",
        "op_search finds every other operation by words; op_read and op_call run one by name.",
        "Leave target out: the focus is used, and without a focus the checked-out branch.",
    ),
    "PROOF": (
        "A step closes through its checkpoints; criteria and tests are always asked for.",
        "Write proof as CMD: what you ran, or LINK: where it can be seen. A placeholder is never proof.",
    ),
    "DELEGATION": (
        "tasks_macro_delegate writes a task with a job; tasks_jobs_radar shows who works and who waits for you.",
        "The server never runs a job: clew runner does.",
    ),
    "ANCHORS": (
        "An anchor such as a:storage names an area of the system; tag cards with it to find them by meaning.",
        "v:canon is shown by default, v:draft only on request.",
    ),
}

PROFILES = {
    "daily": (
        "Begin with tasks_snapshot; end each step with tasks_macro_close_step.",
        "Keep one task in focus and few cards, each with a plain title.",
    ),
    "strict": (
        "Before you close a step: a hypothesis, a test that could refute it, and the strongest counter-position.",
        "State what would change your mind, and when you stop.",
    ),
    "research": (
        "Write the question first, then what you expect, then what you find.",
        "Stop when the stop criterion is met, and keep what was ruled out with the reason.",
    ),
    "teamlead": (
        "Cut work so that each job has one anchor, one outcome and one proof.",
        "Look at the radar before you write; answer questions first, then errors, then what waits for proof.",
    ),
}

SHARED = {
    "CORE LOOP": (
        "Look (tasks_snapshot), think (think_card), act, prove, close (tasks_macro_close_step).",
        "Write down decisions with their reason at the moment you take them.",
    ),
    "PROOF": (
        "Paste the command and its outcome as CMD:, and the place to see it as LINK:.",
        "What was not run is not proven; say so instead.",
    ),
    "ANCHORS": (
        "Tie what stays true to an anchor; tie what is only tried to the step.",
        "Open an anchor before you change its area.",
    ),
}


class Help(Bounded):
    names_workspace = False


@operation("help", mode="own", view=View(is_text=True))
def help(ctx: Context, args: Help) -> dict[str, Any]:
    """Explain the line protocol, proof conventions, delegation and the daily way of working."""
    return _told(ctx, "\n".join(_sections(HELP)), args.max_chars, suggest("help", "The whole text.", "medium"))


class Skill(Bounded):
    names_workspace = False

    profile: Annotated[Literal["daily", "strict", "research", "teamlead"], Field(description="Way of working.")] = (
        "daily"
    )


@operation("skill", mode="own", view=View(is_text=True))
def skill(ctx: Context, args: Skill) -> dict[str, Any]:
    """Give a short pack of rules for one way of working, fit to put into a prompt."""
    head = f"skill profile={args.profile} version={SKILL_VERSION}"
    lines = [head, *_sections({args.profile.upper(): PROFILES[args.profile], **SHARED})]
    whole = suggest("skill", "The whole text.", "medium", profile=args.profile)
    return _told(ctx, "\n".join(lines), args.max_chars, whole)


def _told(ctx: Context, text: str, limit: int | None, whole: Suggestion) -> dict[str, Any]:
    """The text within `limit` characters; where it was cut its last line is the call that gives it whole."""
    if limit is None or len(text) <= limit:
        return {"text": text}
    ctx.suggest(whole)
    more = f"\nMORE: {suggestion_line(whole)}"
    if 2 * len(more) > limit:
        more = ""
    return {"text": cut(text, limit - len(more)) + more, "truncated": True}


def cut(text: str, limit: int) -> str:
    """The text cut to `limit` characters; dots mark a cut."""
    if len(text) <= limit:
        return text
    return text[: limit - 3] + "..." if limit > 3 else text[:limit]


def _sections(sections: dict[str, tuple[str, ...]]) -> list[str]:
    lines = []
    for name, rules in sections.items():
        lines.append(f"[{name}]")
        lines += [f"- {rule}" for rule in rules]
    return lines


Moves = tuple[tuple[str, str], ...]

DEFAULT: Moves = (
    ("frame", "Say in one sentence what is asked, what counts as done and what is out of scope."),
    ("hypothesis", "Write down what you believe is so, in words that could turn out wrong."),
    ("test", "Name the cheapest check that would tell you if it is wrong."),
    ("evidence", "Run it and keep the command and what came out."),
    ("decision", "State what you will do now, why, and what would make you undo it."),
)

SKEPTIC: Moves = (
    ("frame", "State the claim you are about to rely on."),
    ("counter-hypothesis", "Build the strongest case that it is false, as its best critic would."),
    ("falsifier", "Find the smallest check whose outcome differs between the two."),
    ("stop criteria", "Fix beforehand which outcome ends the question, and after how much effort you stop."),
    ("decision", "Run the check, keep the loser with the reason it lost, go on with the winner."),
)

PLAYBOOKS: dict[str, Moves] = {
    "default": DEFAULT,
    "debug": (
        ("frame", "Describe what happens, what should happen, and since when."),
        ("hypothesis", "Name one cause that explains all of it, not only the last symptom."),
        ("test", "Make the fault appear on demand with the smallest input you can find."),
        ("pattern", "If the suspects have an order (commits, versions, flags), prefer the bisect playbook."),
        ("evidence", "Keep one failing run and one passing run that differ in a single thing."),
        ("decision", "Fix the cause, then show that the failing run now passes."),
    ),
    "strict": (
        ("frame", "State the goal, the constraint that hurts most and the proof that will be asked for."),
        ("skeptic-loop", "Counter-hypothesis, then the minimal test that could sink your own, then stop criteria."),
        ("counter", "Write the counter-position as a card that blocks the hypothesis, with a test of its own."),
        ("minimize", "Ask for the simplest thing that could work, and why it would not do."),
        ("breakthrough-loop", "Optional: look for the one lever that makes it ten times better; test that first."),
        ("evidence", "Attach a CMD: line with what you ran and a LINK: line to where it can be seen."),
        ("decision", "Record the way back, the point where you stop, and what would change your mind."),
    ),
    "skeptic": SKEPTIC,
    "skeptic_loop": SKEPTIC,
    "breakthrough": (
        ("frame", "Name the tension: the two things that cannot both be had, so it seems."),
        ("inversion", "Ask how you would make the problem as bad as possible; turn each answer round."),
        ("assumptions", "List 5 things you take for granted; replace 2 of them by their opposite."),
        ("extremes", "Set one quantity to zero, then to a thousand times its size; see what breaks."),
        ("analogy", "Find a field that solved the same shape of problem and take over its trick."),
        ("lever", "Pick the one change that would matter ten times more than the rest."),
        ("test", "Design the one experiment that decides if the lever works."),
        ("stop criteria", "Say when you go back to the plain way."),
    ),
    "bisect": (
        ("frame", "Name the ordered space you search: commits, versions, flags, lines of a file."),
        ("scope", "Find one end that is good and one that is bad, and check both again."),
        ("setup", "Write a check that answers good or bad by itself and in short time."),
        ("loop", "Test the middle, keep the half that holds the change, repeat; about log2 of the size is enough."),
        ("evidence", "Keep the last good and the first bad place with the check's output for each."),
        ("decision", "Explain why that one step made the difference, then fix it there."),
    ),
    "criteria_matrix": (
        ("frame", "Write the choice as one question with a date by which it must be made."),
        ("options", "List the options, doing nothing among them."),
        ("criteria", "Choose 5 to 9 criteria and weigh each from 1 to 5 before you look at any score."),
        ("matrix", "Score every option from 0 to 5 on each criterion, with one line of reason."),
        ("sensitivity", "Change the two heaviest weights by one; does the winner change?"),
        ("decision", "Take the winner, or name what you must learn if the result is not stable."),
        ("next", "Write the first step and the sign by which you will notice a wrong choice."),
    ),
    "experiment": (
        ("frame", "Say which decision waits for this and what it would cost to get it wrong."),
        ("hypothesis", "Put the belief as a statement with a number in it."),
        (
            "experiment",
            "Describe the one setup that decides it: what you change, what you hold still, what you measure.",
        ),
        ("prediction", "Write the outcome you expect, and the one that would prove you wrong, before you run it."),
        ("evidence", "Run it once as planned; keep raw output, command and place."),
        ("decision", "Compare with the prediction and say how sure you are now."),
    ),
    "contradiction": (
        ("frame", "Put both statements side by side in the same terms."),
        ("evidence", "List what carries each one, and how good each piece is."),
        ("disambiguate", "Find the case in which they predict different things."),
        ("run", "Try that case and keep what came out."),
        ("decision", "Close the side that lost with the reason; say where it may still hold."),
    ),
}

MATRIX = {
    "options": ["A", "B"],
    "criteria": [{"name": "correctness", "weight": 5}, {"name": "complexity", "weight": 3}],
}


def playbook(name: str) -> dict[str, Any]:
    """The steps of a playbook; an unknown name gives the default one."""
    steps = [f"{label}: {instruction}" for label, instruction in PLAYBOOKS.get(name, DEFAULT)]
    return {"steps": steps, "matrix_template": MATRIX} if name == "criteria_matrix" else {"steps": steps}


class ThinkPlaybook(Bounded):
    name: Annotated[Name, Field(description="default, strict, skeptic, breakthrough, debug, bisect, experiment, ...")]


PLAYBOOK_BUDGET = Budget(
    (
        Drop("template.matrix_template"),
        Trim("template.steps", drop="last", floor=1),
        Drop("supported"),
        Clip("name", 40),
        Trim("template.steps", drop="last"),
    ),
    keep=("name",),
)


@operation("think_playbook", budget=PLAYBOOK_BUDGET, example={"name": "debug"})
def think_playbook(ctx: Context, args: ThinkPlaybook) -> dict[str, Any]:
    """Give the steps of a playbook, such as strict, debug, bisect, experiment or criteria_matrix."""
    name = args.name.strip().lower()
    return {
        "workspace": ctx.workspace,
        "name": cut(name, 200),
        "known": name in PLAYBOOKS,
        "supported": sorted(PLAYBOOKS),
        "template": playbook(name),
    }
