"""The way from a short tool list to every operation: find by words, then read or call by name.

The table holds words that people use for what operations do, beside the words of their own descriptions.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clew.errors import ClewError, suggest
from clew.index.terms import terms
from clew.registry.budget import Budget, Follow, Trim
from clew.registry.catalogue import OperationEntry, catalogue
from clew.registry.context import Context
from clew.registry.envelope import Answer, command
from clew.registry.operation import AgentForm, Bounded, Input, Name, View, operation
from clew.registry.toolsets import AGENT_TOOLS
from clew.registry.wishes import WISHES

FILLERS = """
a an the i me my we our us you your it its this that these those is are was were be been am do did does done to of in on
at by for with from and or as so if than then what which how can could should would will shall may might please
some something any anything someone somebody thing things there here about into one up off new own has have had let
make get give want need use using used go just now not no also only very more already while over away two whole
"""
"""Words that say nothing about what is wanted."""

OBJECTS = """
decision rule preference fact lesson record memory note question task step plan project file source code idea thought
card work user agent session proposal text name list show test tests side
"""
"""Words for what is acted upon: most operations act on it, so they say less than the word for what is to be done."""
OBJECT_WEIGHT = 0.45
DAILY_WEIGHT = 1.4
"""What an agent does every day is meant more often than the rest."""
WISH_WEIGHT = 2.0
"""How much more an operation is meant whose wish (`wishes`) has all the words that are asked with."""
DAILY = frozenset((*AGENT_TOOLS, "undo", "restore", "erase", "inbox_list", "why"))

EVERYDAY_WORDS: dict[str, str] = {
    "storage": "where database file path location stored disk",
    "vacuum": "size disk space shrink compact large storage bytes cleanup old logs",
    "sync_instructions": "agents.md claude.md write rules file instructions update managed block",
    "comment_list": "questions people asked open unanswered thread",
    "comment_answer": "answer question of person reply respond user asked thread",
    "area_heat": "coverage hot cold areas fresh least most known where knowledge missing gaps",
    "export_bundle": "hand over share signed verify file whole",
    "decide": "settle dispute conflict choose between both keep either resolve contradiction",
    "record_around": "linked related neighbours depends depend connections graph surrounding links",
    "session_get": "show reasoning thoughts earlier session read",
    "session_list": "list sessions earlier past thinking reasoning",
    "record_list": "list all records decisions replaced superseded withdrawn status kind author filter by"
    " which many count per",
    "backfill": "import notes markdown obsidian docs readme adr vault existing documents onboard history cursor rules",
    "comment_ask": "ask comment question record thread",
    "insight": "statistics usage figures how much useful helpful"
    " how many records per kind count total growth questions unanswered numbers",
    "sync": "share another machine team exchange remote git copy",
    "guard_propose": "forbid prevent block protect guard never touch file command enforce"
    " stop agents agent editing edits edit deny disallow ban migrations folder directory warn before running dangerous",
    "history_search": "earlier session conversation chat said old previous coding client"
    " show reasoning transcript discussed talked chats another client",
    "audit": "duplicates same twice outdated stale unsupported quality clean cleanup secrets",
    "edit_record": "review date schedule remind revisit check correct typo wording",
    "workspace_at": "state past earlier moment time travel then as of",
    "workspace_since": "changed since difference yesterday between dates compare new",
    "digest": "summary report period week weekly day daily month happened done activity today yesterday standup recap",
    "inbox_list": "waits wait waiting human person user review approval pending inbox attention asks needs answer",
    "decision_view": "proposal decide sides compare approve",
    "blame": "line commit touched who file changed code author",
    "why": "reason because ground rationale justify rest rests premise behind explain"
    " depends depend rely relies fact what breaks affected impact wrong based",
    "resume": "continue where left off was back again lost context memory standing state start"
    " session catch up fresh morning pick begin bind binds applies constraints"
    " overview brief briefing situation next",
    "remember": "jot put aside save keep store write down note record memorize preference prefer rule decide"
    " lesson learn fact future later sessions always never tell told said like likes"
    " wants link file about attach"
    " two decisions both hold coexist beside although look contradictory contradict learned thumb",
    "recall": "mention search look lookup find remember memory know known why when who choose chose"
    " decide fact answer what did tell told said say mention anywhere concern about"
    " file everything related past earlier before",
    "undo": "undo my last change write mistake revert take back taken oops reverse wrote"
    " again as before accident accidentally",
    "restore": "replaced bring back again withdrawn replaced deleted recover record retracted superseded"
    " unretract reinstate withdrew put valid wrongly revive",
    "retract": "forget delete remove wrong mistake false obsolete outdated withdraw revoke"
    " cancel memory reopen closed step task again open disown receipt proof longer"
    " holds hold true invalid anymore stop abandon untrue expired applies mistaken"
    " drop",
    "erase": "erase purge wipe shred gdpr privacy personal data really delete text for good"
    " everywhere secret leaked password permanently forever destroy trace completely",
    "start": "kick off set up plan begin create task todo list plan work project steps",
    "close": "finish done complete mark check tick step proof prove tests passed",
    "think": "brainstorm reason reflect consider idea thought problem step by work through"
    " weigh aloud options alternative",
    "open": "show view read item record id details get full whole content text",
    "status": "where am overview workspaces current state health who",
    "workspace_use": "switch change select choose list workspaces project",
    "workspace_list": "workspaces projects all available show",
    "tasks_macro_start": "begin new task todo list checklist create work strict require proof",
    "tasks_create": "new add task todo plan project checklist subtask",
    "tasks_snapshot": "where was continue left off resume next what do status progress",
    "tasks_resume_super": "continue where left off catch up context full",
    "tasks_macro_close_step": "finish done complete mark check tick off step proof",
    "tasks_done": "finish complete mark check tick off",
    "tasks_macro_finish": "complete done end task wrap up",
    "tasks_complete": "finish done end park postpone cancel task pause later shelve status"
    " put hold suspend freeze resume status",
    "tasks_decompose": "subtask break down split add steps todo insert middle between more another extra step",
    "tasks_define": "acceptance criteria require proof tests requirement",
    "tasks_edit": "rename update modify require proof strict mode priority",
    "tasks_macro_delegate": "hand over off delegate assign background job worker another agent",
    "tasks_handoff": "hand over off handover takeover transfer summary report successor hand next"
    " session colleague pass work",
    "tasks_evidence_capture": "attach test output log proof prove result artifact file command passed report"
    " attach test output log proof prove result artifact file command passed report",
    "tasks_proofs": "proof valid stale outdated still verify evidence require"
    " proofs which steps missing lacking without unproven no run rerun tests again expired changed files",
    "tasks_progress": "reopen closed step open again",
    "tasks_undo": "revert roll back task plan",
    "tasks_redo": "revert again reapply",
    "tasks_context": "list all tasks plans todo open show",
    "tasks_history": "who did changed log activity audit when steps timeline what happened to task",
    "tasks_delete": "remove drop forget task",
    "tasks_block": "stuck waiting blocked impediment unblock",
    "tasks_note": "comment remark progress log write on",
    "tasks_plan": "todo checklist outline",
    "tasks_focus_set": "switch current active work select task",
    "tasks_radar": "next what do blockers overview now",
    "tasks_step_lease_claim": "lock reserve exclusive nobody else edits own claim",
    "tasks_step_lease_release": "unlock free give up",
    "tasks_jobs_create": "background run queue schedule async worker delegate",
    "tasks_jobs_list": "background running queue",
    "tasks_jobs_message": "answer reply question tell respond",
    "tasks_jobs_requeue": "retry again failed rerun restart repeat",
    "tasks_jobs_tail": "follow log progress output watch",
    "tasks_jobs_open": "job details state why failed",
    "tasks_lint": "problems quality check plan",
    "tasks_templates_list": "boilerplate scaffold",
    "think_card": "remember save note write down decision hypothesis question idea record log preference",
    "think_add_decision": "decide write down record log chose",
    "think_add_hypothesis": "record guess assume theory suspect",
    "think_add_question": "ask open unknown unclear user wait",
    "think_add_evidence": "prove attach proof result observation",
    "think_add_test": "experiment check try",
    "think_frontier": "open questions unanswered unresolved todo list",
    "think_query": "search list cards questions decisions find",
    "think_next": "what do next",
    "think_link": "connect relate reference depends",
    "think_pin": "important favorite star highlight sticky",
    "think_publish": "share final canonical",
    "think_watch": "monitor overview",
    "think_set_status": "resolve answer confirm disprove change state",
    "notes_commit": "remember save note write down jot append comment log",
    "propose_update": "remember save decision preference rule policy write down record suggest",
    "propose_edit": "change correct fix wrong memory remove update preference rule delete",
    "approve_apply": "accept confirm merge change memory agree approve waiting proposal apply",
    "reject_proposal": "decline refuse deny suggestion no",
    "defer_proposal": "later postpone snooze",
    "rollback_proposal": "undo revert applied proposal roll back receipt memory",
    "list_proposals": "waits pending review queue approval suggestions waiting",
    "governance": "require review approval turn everything policy mode settings rules",
    "list_contradictions": "conflicting conflict disagree inconsistent decisions clash"
    " which records contradict each other",
    "scan": "broken wrong health inconsistent check problems memory conflicting overdue reviews drift",
    "block_history": "who changed did when version versions blame author audit decision wrote edited"
    " rule history earlier wording",
    "list_blocks": "all memory decisions rules preferences show everything remembered",
    "share_fact": "tell agents team publish knowledge",
    "list_facts": "shared team knowledge waits review",
    "review_fact": "approve decline accept",
    "capture": "extract conversation chat log learn automatically",
    "export_memory": "backup back up save archive dump download copy export file everything snapshot",
    "import_memory": "restore backup load upload recover",
    "export_thoughtbox": "backup archive copy sessions",
    "hybrid_search": "semantic meaning lookup find look memory",
    "find_similar": "related like duplicates near same",
    "category_summary": "overview topic everything know summarize",
    "prefetch": "context relevant preload",
    "events_list": "who did happened today activity recent history log audit changes news yesterday",
    "agents_active": "who other agents working online team activity people alive who is here doing else",
    "diagnostics": "broken problem error health doctor wrong repair fix anything",
    "thoughtbox_gateway": "brainstorm reason chain of thought problem",
    "thought": "brainstorm reason reflect idea problem think through",
    "start_new": "begin new thinking reasoning brainstorm session problem",
    "load_context": "continue resume left off session",
    "session_update": "rename title change tag",
    "session_complete": "finish end close",
    "session_extract_learnings": "learned lessons insights takeaways",
    "session_search": "find old reasoning past thoughts",
    "knowledge_create_pattern": "learned lesson save reuse reusable insight best practice store pattern checklist"
    " recipe",
    "knowledge_write_scratchpad": "temporary note draft memo",
    "mental_models_list_models": "framework technique first principles method",
    "notebook_run_cell": "execute run code python javascript script calculate compute",
    "notebook_create": "code python javascript script playground",
    "transcripts_search": "old chat conversation history previous messages said",
    "transcripts_digest": "old chat conversation previous last sessions",
    "branch_create": "fork new experiment alternative",
    "checkout": "switch change branch",
    "diff": "compare difference two branches notes changed",
    "graph_diff": "compare difference two branches cards",
    "merge": "combine join bring together two branches",
    "graph_merge": "combine join two branches cards reasoning",
    "graph_conflicts": "merge conflict both changed",
    "reset": "go back earlier undo move head",
    "log": "history commits notes past",
    "anchors_list": "areas components modules map architecture",
    "macro_anchor_note": "remember about component module area file",
    "context_pack": "everything context bundle summary prompt",
    "model_use": "embedding semantic switch change",
    "help": "how works manual guide instructions documentation",
    "skill": "rules guide prompt instructions behave",
    "op_search": "which tool can what commands list operations functions",
}
"""By operation; names that do not exist yet do no harm. Add a word here when somebody used one in vain."""


_NEXT = Follow("next_offset", lambda whole, result: _following(result["offset"] + len(result["operations"]), result))
SEARCH_BUDGET = Budget(
    (
        Trim("operations", drop="last", floor=1, count="count", follow=_NEXT),
        Trim("operations", drop="last", count="count", follow=_NEXT),
    ),
    16_000,
    keep=("query",),
)


_FILLERS = frozenset(terms(FILLERS))
_OBJECTS = frozenset(terms(OBJECTS))


class OpSearch(Bounded):
    names_workspace = False
    synonyms: ClassVar[dict[str, str]] = dict.fromkeys(("q", "text", "search", "words"), "query")

    query: Annotated[Name, Field(description="Words, or the name of an operation.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Most operations to return.")] = 8
    offset: Annotated[int, Field(ge=0, le=10_000, description="Operations to pass over.")] = 0
    detail: Annotated[
        Literal["names", "summary", "schema"], Field(description="schema adds arguments and an example.")
    ] = "summary"


def search_lines(result: dict[str, Any], default_workspace: str) -> list[str]:
    """A line for each operation; of one that was named, its arguments and an example too."""
    found = result["operations"]
    if not found:
        return ["no operation fits; try other words"]
    if len(found) == 1 and "arguments" in found[0]:
        return _schema_lines(found[0])
    lines = [": ".join(filter(None, (item["name"], item.get("summary")))) for item in found]
    left = result["total"] - result["next_offset"] if result.get("next_offset") else 0
    on = {"query": result["query"], "offset": result.get("next_offset")}
    more = [f"and {left} more: {command('op_search', on)}"] if left else []
    return [*lines, *more, "op_search with a name shows its arguments"]


def _schema_lines(item: dict[str, Any]) -> list[str]:
    schema = item["arguments"]
    required = set(schema.get("required", ()))
    arguments = [
        f"  {name}{'' if name in required else '?'}: {_type(part)}{' - ' if part.get('description') else ''}"
        f"{part.get('description', '')}"
        for name, part in schema.get("properties", {}).items()
        if name not in ("workspace", "max_chars")
    ]
    door = "op_read" if item["read_only"] else "op_call"
    example = command(door, {"name": item["name"], "arguments": item["example"] or {}})
    return [f"{item['name']}: {item['summary']}", *arguments, f"example: {example}"]


def _type(part: dict[str, Any]) -> str:
    if "enum" in part:
        return "|".join(str(choice) for choice in part["enum"])
    kinds = part.get("anyOf") or part.get("oneOf")
    if kinds:
        return "|".join(dict.fromkeys(_type(kind) for kind in kinds if kind.get("type") != "null"))
    return str(part.get("type") or "any")


@operation(
    "op_search",
    mode="own",
    budget=SEARCH_BUDGET,
    example={"query": "merge branches"},
    view=View(agent=AgentForm(("query",), search_lines)),
)
def op_search(ctx: Context, args: OpSearch) -> dict[str, Any]:
    """Find operations by words; returns names, summaries or full schemas.

    Everything Clew can do is an operation. The tool list shows only the daily ones; the others are found here and run
    with op_read or op_call.
    """
    found = search(args.query)
    shown = found[args.offset : args.offset + args.limit]
    named = catalogue().find(args.query.strip()) is not None
    detail = "schema" if named and args.detail == "summary" else args.detail
    return {
        "query": args.query,
        "operations": [described(entry, detail) for entry in shown],
        "count": len(shown),
        "offset": args.offset,
        "total": len(found),
        "next_offset": _following(args.offset + len(shown), {"total": len(found)}),
        "truncated": args.offset + len(shown) < len(found),
    }


def _following(after: int, result: dict[str, Any]) -> int | None:
    return after if after < result["total"] else None


def search(query: str) -> list[OperationEntry]:
    """Operations by how well they answer the words; an exact name answers alone, no words give all of them."""
    exact = catalogue().find(query.strip())
    if exact is not None:
        return [exact]
    asked = set(terms(query))
    if not asked:
        return list(catalogue().operations)
    index = _index()
    wanted = asked - _FILLERS or asked
    likeness = _like_wishes(frozenset(wanted))
    scored = [
        (sum(fields.get(term, 0.0) for term in wanted) * (1 + WISH_WEIGHT * likeness.get(entry.name, 0.0) ** 2), entry)
        for entry, fields in index
    ]
    ranked = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].name))
    return [entry for _, entry in ranked]


def _like_wishes(wanted: frozenset[str]) -> dict[str, float]:
    """How much the most alike wish of each operation is like this one: the share of their terms that both have."""
    wishes, rare = _wishes()
    unknown = max(rare.values())

    def weight(of: frozenset[str]) -> float:
        return sum(rare.get(term, unknown) ** 2 for term in of)

    whole = weight(wanted)
    found: dict[str, float] = {}
    for name, terms_of in wishes:
        both = weight(wanted & terms_of)
        # One word in common is a coincidence, unless it is all that a wish says.
        if both and (len(wanted & terms_of) > 1 or wanted == terms_of):
            found[name] = max(found.get(name, 0.0), both / math.sqrt(whole * weight(terms_of)))
    return found


@cache
def _wishes() -> tuple[list[tuple[str, frozenset[str]]], dict[str, float]]:
    """The terms of each wish, and how rare each term is among them."""
    placed = [(name, frozenset(terms(wish)) - _FILLERS) for name, wishes in WISHES.items() for wish in wishes]
    spread = Counter(term for _, of in placed for term in of)
    return placed, {term: math.log(1 + len(placed) / count) for term, count in spread.items()}


@cache
def _index() -> list[tuple[OperationEntry, dict[str, float]]]:
    """Each operation with the weight of each of its terms: where it stands, and how few operations have it."""
    placed = [(entry, _placed(entry)) for entry in catalogue().operations]
    spread = Counter(term for _, fields in placed for term in fields)
    rare = {
        term: math.log(1 + len(placed) / count) * (OBJECT_WEIGHT if term in _OBJECTS else 1.0)
        for term, count in spread.items()
    }
    return [(entry, {term: weight * rare[term] for term, weight in fields.items()}) for entry, fields in placed]


def _placed(entry: OperationEntry) -> dict[str, float]:
    """The best place of each term: the name says most, then the words people use, then the summary."""
    arguments = " ".join(entry.input_schema.get("properties", {}))
    places = (
        (f"{entry.description} {arguments}", 0.4),
        (entry.summary, 1.5),
        (" ".join(WISHES.get(entry.name, ())), 1.0),
        (EVERYDAY_WORDS.get(entry.name, ""), 3.0),
        (f"{entry.name.replace('_', ' ')} {entry.name}", 3.0),
    )
    daily = DAILY_WEIGHT if entry.name in DAILY else 1.0
    return {term: weight * daily for text, weight in places for term in terms(text)}


def described(entry: OperationEntry, detail: str) -> dict[str, Any]:
    if detail == "names":
        return {"name": entry.name}
    short = {"name": entry.name, "summary": entry.summary, "read_only": entry.read_only}
    if detail == "summary":
        return short
    return {
        **short,
        "description": entry.description,
        "destructive": entry.destructive,
        "arguments": entry.input_schema,
        "example": entry.example,
    }


_CALL_NAMES = {
    **dict.fromkeys(("operation", "op", "tool", "method", "tool_name"), "name"),
    **dict.fromkeys(("args", "params", "parameters", "input"), "arguments"),
}


def _refused_only(result: dict[str, Any], default_workspace: str) -> list[str]:
    return []  # what it answers is the other operation's; only its own refusals are shown


_DOOR = View(agent=AgentForm(("name", "arguments"), _refused_only))


class Forwarded(Input):
    """A name and its arguments, also where these stand beside the name."""

    names_workspace = False

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:
        inner = given.get("arguments", {}) if isinstance(given, dict) else None
        if not isinstance(inner, dict):
            return given
        beside = {name: value for name, value in given.items() if name not in cls.model_fields and name not in inner}
        rest = {name: value for name, value in given.items() if name not in beside}
        return {**rest, "arguments": {**beside, **inner}} if beside and "name" in given else given


class OpRead(Forwarded):
    synonyms: ClassVar[dict[str, str]] = _CALL_NAMES

    name: Annotated[Name, Field(description="Operation to run; it must be read-only.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


class OpCall(Forwarded):
    synonyms: ClassVar[dict[str, str]] = _CALL_NAMES
    # Masked when the operation that they are meant for is called, which then says so.
    exact = ("arguments",)

    name: Annotated[Name, Field(description="Operation to run.")]
    arguments: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


@operation("op_read", mode="own", example={"name": "branch_list"}, view=_DOOR)
def op_read(ctx: Context, args: OpRead) -> Answer:
    """Run any read-only operation by name."""
    entry = catalogue().find(args.name)
    if entry is not None and not entry.read_only:
        raise ClewError(
            "NOT_ALLOWED",
            f"{entry.name} writes; op_read runs read-only operations",
            "Use op_call.",
            suggestions=[suggest("op_call", "Runs it.", "high", name=entry.name, arguments=args.arguments)],
        )
    return _forward(ctx, args)


@operation("op_call", writes=True, mode="own", destructive=True, example={"name": "branch_list"}, view=_DOOR)
def op_call(ctx: Context, args: OpCall) -> Answer:
    """Run any operation by name, writing ones included."""
    return _forward(ctx, args)


def _forward(ctx: Context, args: OpRead | OpCall) -> Answer:
    """The answer is the operation's own, as if it had been called directly."""
    if args.name in {"op_read", "op_call"}:
        raise ClewError(
            "INVALID_INPUT",
            f"{args.name} cannot run itself",
            "Name the operation to run.",
            [{"kind": "value", "field": "name"}],
        )
    # A workspace beside the name is meant for the operation, unless its own arguments name another.
    outer = {} if args.workspace is None else {"workspace": args.workspace}
    # Whose listed tools answer in text reads the others as text too.
    form = {"fmt": "lines"} if ctx.connection.toolset == "agent" else {}
    return ctx.dispatcher.call(args.name, {**form, **outer, **args.arguments}, ctx.connection, ctx.progress)
