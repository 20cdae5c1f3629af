"""`clew review`: what waits for you, one item after the other, answered with one key each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.faces.cli.asking import show_answer
from clew.faces.cli.output import say, show_json
from clew.faces.cli.person import call_as_person, check_person_here
from clew.faces.cli.root import call, opened, settings_of

if TYPE_CHECKING:
    from clew.app import Clew

MOST, ALL = 500, 800_000
SKIP, QUIT = "s", "q"
ANSWERS = {
    "proposal": {"a": "approve", "r": "reject"},
    "fact": {"a": "accept", "r": "reject"},
    "contradiction": {"n": "replace the older", "o": "keep the older", "b": "both hold", "x": "neither holds"},
}
"""The keys of each kind of item; of other kinds the command is shown that answers them."""
VERDICTS = {"n": "replace", "o": "keep", "b": "both", "x": "neither"}


def register(app: typer.Typer) -> None:
    app.command()(review)


def review(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Only list what would be asked, as JSON.")] = False,
) -> None:
    """Go through what waits for you: proposals, facts and contradictions, one key each. Asks at the terminal.

    Example: `clew review`
    """
    if not as_json:
        check_person_here("review")
    with opened(settings_of(ctx)) as clew:
        listed = call(clew, "inbox_list", {"limit": MOST, "max_chars": ALL})
        if not listed.ok:
            raise typer.Exit(show_answer(listed, False))
        items = [item for item in listed.envelope["result"]["items"] if item["kind"] in ANSWERS]
        if as_json:
            show_json(items)
            return
        done = _go_through(clew, items)
    say(f"{done} of {len(items)} decided." if items else "You're all caught up.", "bold")


def _go_through(clew: Clew, items: list[dict[str, Any]]) -> int:
    done = 0
    for number, item in enumerate(items, 1):
        say(f"\n{number} of {len(items)}  {item['id']} {item['kind']}: {item['title']}", "bold")
        _show_sides(clew, item)
        key = _asked(ANSWERS[item["kind"]])
        if key == QUIT:
            break
        if key != SKIP:
            done += _answer(clew, item, key)
    return done


def _asked(answers: dict[str, str]) -> str:
    choices = {**answers, SKIP: "skip", QUIT: "quit"}
    shown = ", ".join(f"[{key}] {words}" for key, words in choices.items())
    while (key := typer.prompt(shown, err=True, default=SKIP, show_default=False).strip().lower()) not in choices:
        say(f"{key} is none of them", "yellow")
    return str(key)


def _show_sides(clew: Clew, item: dict[str, Any]) -> None:
    """The statements that are decided about, with their reasons and authors."""
    viewed = call(clew, "decision_view", {"id": item["id"]})
    cards = viewed.envelope["result"]["cards"] if viewed.ok else []
    for card in cards:
        say(f"  {card['id']} {card['statement']}")
        for fact in (f"why: {card['why']}" if card["why"] else "", f"by {card['author']}" if card["author"] else ""):
            if fact:
                say(f"      {fact}", "dim")
    if not cards and item.get("note"):
        say(f"  {item['note']}")


def _answer(clew: Clew, item: dict[str, Any], key: str) -> bool:
    answer = call_as_person(clew, *_call(clew, item, key))
    if not answer.ok:
        # Somebody else was faster, or it cannot be done so: the next item is not kept waiting for it.
        show_answer(answer, False)
    return answer.ok


def _call(clew: Clew, item: dict[str, Any], key: str) -> tuple[str, dict[str, Any]]:
    id, reason = item["id"], {} if key != "r" else {"reason": typer.prompt("Why", err=True)}
    if item["kind"] == "contradiction":
        viewed = call(clew, "decision_view", {"id": id}).envelope["result"]
        others = [card["id"] for card in viewed["cards"] if card["role"] == "against"]
        return "decide", {"id": viewed["id"], "verdict": VERDICTS[key], "others": others}
    if item["kind"] == "fact":
        return "review_fact", {"fact_id": id, "verdict": "accepted" if key == "a" else "rejected", **reason}
    if key == "a":
        return "approve_apply", {"proposal_id": id, "dry_run": False}
    return "reject_proposal", {"proposal_id": id, **reason}
