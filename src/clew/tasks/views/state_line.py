"""The lines of the resume family: one state line, then the command to paste.

They are made from the response after truncation, so any part may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.canonical import Json
from clew.errors import shorten
from clew.kinds import statuses
from clew.registry.envelope import command, one_line
from clew.tasks.views.cuts import trimmed_sections

OPEN_CHARS = 8000
MOST_TRIMMED = 3
MOST_TRUNCATED = 3
"""Maximum lines between the state line and the warning in a truncated response."""
PURPOSE, DO, MESSAGE, SUMMARY = 48, 56, 60, 140
HORIZON = ("active", "backlog", "parked", "stale", "done", "total")


def resume_lines(result: Json, default_workspace: str) -> list[str]:
    state = state_line(result, default_workspace)
    # How to start a runner, if jobs wait for one.
    bootstrap = _where(result).get("runner_bootstrap")
    starter = [f"CMD: {one_line(bootstrap['cmd'])}"] if bootstrap else []
    references = _references(result, default_workspace)
    commands = list(_commands(result, default_workspace))
    if result.get("budget", {}).get("truncated"):
        # Leave room for the warning that follows. Related lines are all shown or all left out.
        commands = commands if len(references) + len(commands) <= MOST_TRUNCATED else []
        starter = starter if len(references) + len(commands) + len(starter) <= MOST_TRUNCATED else []
    return [state, *starter, *references, *commands]


def macro_lines(result: Json, default_workspace: str) -> list[str]:
    """The lines of a macro are those of the resume it returns."""
    return resume_lines(result["resume"], default_workspace)


def state_line(result: Json, default_workspace: str) -> str:
    where, ref, grades = _where(result), ref_of(result), (_capsule(result).get("radar") or {}).get("proof")
    segments = [
        _focus(result),
        f"where={where['map']['where']}" if "map" in where else "",
        f"pack={where['pack']}" if where.get("pack") else "",
        *_delegated(where),
        _horizon(where.get("horizon")),
        f"ref={ref}" if ref else "",
        f"proof {grades}" if grades else "",
        _next(result),
        _backup(result, default_workspace),
        _trimmed(result),
    ]
    return " | ".join(segment for segment in segments if segment)


def ref_of(result: Json) -> str:
    """The id to open first. If nothing else fits, a budget keeps it in its own report."""
    return str(result.get("ref") or result.get("budget", {}).get("ref") or "")


def free(text: str, most: int | None = None) -> str:
    """A caller's text inside of a segment, on one line. Bars are replaced, because they separate segments."""
    plain = one_line(text).replace("|", "¦")
    return plain if most is None else shorten(plain, most)


def _capsule(result: Json) -> Json:
    return result.get("capsule") or {}


def _where(result: Json) -> Json:
    return _capsule(result).get("where") or {}


def _focus(result: Json) -> str:
    focus, target = _capsule(result).get("focus"), _capsule(result).get("target") or {}
    title = free(target["title"]) if target.get("title") else ""
    if focus and target.get("id", focus) == focus:
        return f"focus {focus} — {title}" if title else f"focus {focus}"
    return f"target {title}" if title else "ok"


def _delegated(where: Json) -> Iterator[str]:
    job, inbox, runner = where.get("job"), where.get("inbox") or {}, where.get("runner_status")
    running, queued = inbox.get("running", 0), inbox.get("queued", 0)
    if job:
        last = f": {free(job['last'], MESSAGE)}" if job.get("last") else ""
        yield f"job={job['job_id']}({job['status']}{_mark(job['attention'])}){last}"
    if running or queued:
        yield f"inbox running={running} queued={queued}"
    # Runners matter only if there are jobs, or while one is alive.
    if runner and (job or running or queued or runner["live_count"] or runner["idle_count"]):
        yield _runner(runner, running)


def _mark(attention: Json) -> str:
    if attention["has_error"]:
        return "!"
    return "?" if attention["needs_manager"] else "!" if attention["needs_proof"] else ""


def _runner(runner: Json, running: int) -> str:
    alarm = "!" if runner["status"] == "offline" and running else ""
    return f"runner={runner['status']}{alarm} runners={counted_runners(runner)}"


def counted_runners(status: Json) -> str:
    """`none`, or `live:1 idle:0 offline:2`."""
    counts = {name: status.get(f"{name}_count", 0) for name in ("live", "idle", "offline")}
    return " ".join(f"{name}:{count}" for name, count in counts.items()) if any(counts.values()) else "none"


def _horizon(horizon: Json | None) -> str:
    if not horizon or not horizon["total"]:
        return ""
    over = "!" if horizon["over_active_limit"] else ""
    return "horizon " + " ".join(f"{name}={horizon[name]}{over if name == 'active' else ''}" for name in HORIZON)


def _next(result: Json) -> str:
    capsule = _capsule(result)
    action = capsule.get("action")
    if capsule.get("map_first") and capsule.get("map_action"):
        return "next map"
    if action is None:
        return "done" if _is_over(capsule) else ""
    return _next_action(action, capsule)


def _is_over(capsule: Json) -> bool:
    """Whether the work is over. A missing action alone may only mean that a budget removed it."""
    return (capsule.get("target") or {}).get("status") in (statuses.WORK_DONE, statuses.WORK_CANCELED)


def _next_action(action: Json, capsule: Json) -> str:
    purpose = f" ({free(action['purpose'], PURPOSE)})"
    if action["kind"] in ("gate", "reason", "lease", "reopen"):
        needs = f" needs({' '.join(action['needs'])})" if action.get("needs") else ""
        proof = f" proof({' '.join(action['proof'])})" if action.get("proof") else ""
        do = f" do({free(action['do'], DO)})" if action.get("do") else ""
        return f"next gate {action['path']}{needs}{proof}{do}{purpose}"
    if action["kind"] == "finish":
        return f"next finish{purpose}"
    follows = (capsule.get("radar") or {}).get("next") or [action["kind"]]
    return f"next {free(follows[0])}{purpose}"


def _backup(result: Json, default_workspace: str) -> str:
    capsule = _capsule(result)
    chosen = capsule.get("action") if capsule.get("map_first") else capsule.get("prep_action")
    line = _command(chosen, default_workspace) if chosen else ""
    if not line and capsule.get("action"):
        line = paging_command(result, default_workspace)
    # Bars separate segments. In a command they occur only inside JSON strings, where an escape means the same.
    return f"backup {line}".replace("|", "\\u007c") if line else ""


def _trimmed(result: Json) -> str:
    report = result.get("degradation") or {}
    sections = trimmed_sections(report.get("truncated_fields", []))
    return f"trimmed({' '.join(sections[:MOST_TRIMMED])})" if sections else ""


def _command(action: Json, default_workspace: str) -> str:
    return command(action["tool"], action["args"], default_workspace)


def paging_command(result: Json, default_workspace: str) -> str:
    """The call that shows the next page; empty if everything was shown."""
    memory = result.get("memory") or {}
    pages = {
        "notes_cursor": (memory.get("notes") or {}).get("pagination"),
        "trace_cursor": (memory.get("trace") or {}).get("pagination"),
        "cards_cursor": memory.get("cards_pagination"),
    }
    cursors = {name: page["next_cursor"] for name, page in pages.items() if page and page["has_more"]}
    if not cursors:
        return ""
    target = _capsule(result).get("target") or {}
    named = {} if _capsule(result).get("focus") == target.get("id") else {target["kind"]: target["id"]}
    view = {"view": result["view"]} if result.get("view", "smart") != "smart" else {}
    return command("tasks_snapshot", {**cursors, **named, **view, **_workspace(result)}, default_workspace)


def _workspace(result: Json) -> Json:
    return {"workspace": result.get("workspace") or _capsule(result).get("workspace")}


def _commands(result: Json, default_workspace: str) -> Iterator[str]:
    """The command to paste: it adds the work to the map, advances it, shows more, or continues in the plan."""
    capsule = _capsule(result)
    placed, action = capsule.get("map_action"), capsule.get("action")
    if capsule.get("map_first") and placed:
        yield _command(placed, default_workspace)
    elif action:
        if not action["available"]:
            yield f"tools/list toolset={(capsule.get('escalation') or {}).get('toolset', 'full')}"
        yield _command(action, default_workspace)
    elif line := paging_command(result, default_workspace):
        yield line
    elif _is_over(capsule) and capsule["target"].get("parent"):
        args = {"plan": capsule["target"]["parent"], **_workspace(result)}
        yield command("tasks_snapshot", args, default_workspace)


def _references(result: Json, default_workspace: str) -> list[str]:
    found = _new_references(result.get("delta") or {})
    if found:
        first = found[0][1]
    elif result.get("refs") or result.get("budget", {}).get("refs"):
        found = _shown_references(result)
        first = (_capsule(result).get("target") or {}).get("id") or ref_of(result)
    else:
        return []
    found = found[: _most_references(result)]
    lines = [f"REFERENCE: {label} {id}" + (f" | {summary}" if summary else "") for label, id, summary in found]
    jump = {"id": first, "max_chars": OPEN_CHARS, **_workspace(result)}
    return [*lines, command("open", jump, default_workspace)]


def _most_references(result: Json) -> int | None:
    """One if a budget has truncated the response, to leave room for its warning."""
    return 1 if result.get("budget", {}).get("truncated") else None


def news_named(result: Json) -> int:
    """How many of the new items of a delta the lines name."""
    return len(_new_references(result.get("delta") or {})[: _most_references(result)])


def _new_references(delta: Json) -> list[tuple[str, str, str]]:
    found = []
    for name, label in (("decisions", "DECISION"), ("evidence", "EVIDENCE"), ("cards", "CARD"), ("notes", "NOTE")):
        for item in (delta.get(name) or {}).get("items", []):
            found.append((label, item.get("id") or item["ref"], free(item["summary"], SUMMARY)))
    return found


def _shown_references(result: Json) -> list[tuple[str, str, str]]:
    """Up to two cards and a note that were shown, else the work itself."""
    # Ids with an @ are entries of documents, the others are cards.
    refs = _capsule(result).get("refs") or []
    cards, notes = [ref for ref in refs if "@" not in ref][:2], [ref for ref in refs if "@" in ref][:1]
    if not cards and not notes:
        ref = ref_of(result)
        return [(ref.partition("-")[0], ref, "")] if ref else []
    shown = (result.get("memory") or {}).get("cards", [])
    words = {card["id"]: card.get("title") or card.get("text") or "" for card in shown}
    labelled = [("CARD", id, free(words.get(id, ""), SUMMARY)) for id in cards]
    return labelled + [("NOTE", ref, "") for ref in notes]
