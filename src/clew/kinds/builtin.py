"""Every kind of record that Clew keeps. A further kind is one more declaration, here or in a plugin (`catalogue`)."""

from __future__ import annotations

from clew.kinds.kind import BLOCK, CARD, Kind, KindFamily, Owner
from clew.kinds.state import State
from clew.kinds.statuses import (
    ACCEPTED,
    ACTIVE,
    APPLIED,
    BLOCKED,
    CANCELED,
    DEFERRED,
    DOING,
    DONE,
    EXPIRED,
    OPEN,
    PENDING,
    PENDING_REVIEW,
    PROPOSED,
    REJECTED,
    RESOLVED,
    RETRACTED,
    REVOKED,
    ROLLED_BACK,
    STAGED,
    SUPERSEDED,
    TODO,
)

RECORDED_DECISIONS = "knowledge/DECISIONS.md"
"""Where `remember` keeps decisions with short ids, and those that wait: in DECISIONS.md itself Mind-Mem's validator
refuses both, and a single refusal keeps that program from applying anything."""
PROPOSALS_FILE = "intelligence/proposed/EDITS_PROPOSED.md"
DURABLE_STATES = {
    ACTIVE: State.IN_FORCE,
    PROPOSED: State.PROPOSED,
    SUPERSEDED: State.REPLACED,
    REJECTED: State.WITHDRAWN,
    RETRACTED: State.WITHDRAWN,
}
_DURABLE_FIELDS = "Date, Status, Statement, Title, Rationale, About, Supersedes, RestsOn, ReviewBy, Author"
_NOTED = {OPEN: State.IN_FORCE}
"""A card that says what happened was never a question, whatever its status was when it was written."""
_FINDING = {OPEN: State.OPEN, RESOLVED: State.SETTLED, DEFERRED: State.OPEN}


def durable_kind(name: str, prefix: str, file: str, heading: str, **given: object) -> Kind:
    """A kind of which each record holds until it is replaced or withdrawn. Ids are `PREFIX-N`."""
    declared: dict[str, object] = {
        "states": DURABLE_STATES,
        "as_card": _NOTED,
        "required": ("Date", "Status", "Statement"),
        "fields": _DURABLE_FIELDS,
        "compared": True,
        **given,
    }
    return Kind(name, KindFamily.DURABLE, BLOCK, prefix=prefix, file=file, heading=heading, **declared)  # type: ignore[arg-type]


RULE = durable_kind(
    "rule",
    "R",
    "knowledge/RULES.md",
    "Rules",
    synonyms=(
        *("constraint", "policy", "invariant", "convention", "style", "guideline"),
        *("requirement", "must"),
    ),
    section="rules",
    label="",
    binds=1.0,
    owner=Owner.USER,
)
PREFERENCE = durable_kind(
    "preference",
    "U",
    "knowledge/PREFERENCES.md",
    "Preferences of the user",
    synonyms=("pref", "wish", "taste", "likes", "user_preference"),
    section="rules",
    binds=1.0,
    owner=Owner.USER,
)
DECISION = durable_kind(
    "decision",
    "D",
    "decisions/DECISIONS.md",
    "Decisions",
    synonyms=("choice", "decided", "adr", "resolution"),
    states={ACTIVE: State.IN_FORCE, SUPERSEDED: State.REPLACED, REVOKED: State.WITHDRAWN},
    # A card that rejects an alternative says what was ruled out, and that holds.
    as_card={**_NOTED, REJECTED: State.IN_FORCE},
    required=("Date", "Status", "Scope", "Statement", "Rationale", "Supersedes", "Tags", "Sources"),
    fields="",
    section="decisions",
    label="",
    binds=0.5,
)
REJECTED_ALTERNATIVE = durable_kind(
    "rejected",
    "X",
    "knowledge/REJECTED.md",
    "Rejected alternatives",
    plural="rejections",
    synonyms=(
        *("rejection", "rejected_alternative", "alternative", "dead_end", "dont", "do_not"),
        "anti_pattern",
    ),
    section="decisions",
    label="REJECTED",
    binds=1.0,
)
FACT = durable_kind(
    "fact",
    "F",
    "knowledge/FACTS.md",
    "Facts",
    synonyms=(*("knowledge", "info", "information", "observation", "context", "truth", "reference"),),
    section="known",
)
LESSON = durable_kind(
    "lesson",
    "L",
    "knowledge/LESSONS.md",
    "Lessons",
    synonyms=("learning", "learned", "gotcha", "pitfall", "insight", "warning", "tip"),
    section="known",
    binds=1.0,
    # A lesson reports what happened, and two events do not contradict.
    compared=False,
)

QUESTION = Kind(
    "question",
    KindFamily.OPEN,
    CARD,
    ("open_question", "unknown", "issue"),
    states={OPEN: State.OPEN, RESOLVED: State.SETTLED},
    section="open",
    label="",
)
HYPOTHESIS = Kind(
    "hypothesis",
    KindFamily.OPEN,
    CARD,
    ("idea", "guess", "assumption", "theory", "suspicion"),
    "hypotheses",
    states={OPEN: State.OPEN, ACCEPTED: State.SETTLED},
    section="open",
)
TEST = Kind("test", KindFamily.HAPPENED, CARD, ("experiment", "check", "trial"), states=_NOTED)
EVIDENCE = Kind(
    "evidence",
    KindFamily.HAPPENED,
    CARD,
    ("finding", "result", "measurement", "proof", "log", "output"),
    states=_NOTED,
)
NOTE = Kind(
    "note",
    KindFamily.HAPPENED,
    CARD,
    (*("memo", "comment", "remark", "update", "progress", "summary", "misc", "other"),),
    states=_NOTED,
)
THOUGHT = Kind("thought", KindFamily.THINKING, "thought", ("reasoning", "reflection"))
SESSION = Kind("session", KindFamily.THINKING, "session", form=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOTEBOOK = Kind("notebook", KindFamily.THINKING, "notebook", form=r"NB-\d{3,}")
PATTERN = Kind("pattern", KindFamily.THINKING, "pattern")

_WORK = {ACTIVE: State.OPEN}
PLAN = Kind("plan", KindFamily.WORK, "task", form=r"PLAN-\d{3,}", states=_WORK)
TASK = Kind("task", KindFamily.WORK, "task", ("todo",), form=r"TASK-\d{3,}", states=_WORK)
STEP = Kind("step", KindFamily.WORK, "task", form=r"STEP-[0-9A-F]{8,}", states=_WORK)
JOB = Kind("job", KindFamily.WORK, "task", form=r"JOB-\d{3,}", states=_WORK)
PROOF = Kind("proof", KindFamily.HAPPENED, "evidence")
RECEIPT = Kind("receipt", KindFamily.HAPPENED, "receipt", form=r"RCPT-\d{3,}")

_ENTITIES = (
    Kind(
        "task",
        KindFamily.ENTITY,
        BLOCK,
        prefix="T",
        file="tasks/TASKS.md",
        heading="Tasks",
        required=(
            *("Date", "Title", "Status", "Priority", "Project", "Due", "Owner"),
            *("Context", "Next", "Dependencies", "Sources", "History"),
        ),
        states={
            **dict.fromkeys((TODO, DOING, BLOCKED), State.OPEN),
            DONE: State.SETTLED,
            CANCELED: State.WITHDRAWN,
        },
        live=(TODO, DOING, BLOCKED),
    ),
    Kind(
        "project",
        KindFamily.ENTITY,
        BLOCK,
        prefix="PRJ",
        file="entities/projects.md",
        heading="Projects",
        fields="Name, Status, Owner, Description, Keywords, Links, Sources",
        example="PRJ-<slug>",
    ),
    Kind(
        "person",
        KindFamily.ENTITY,
        BLOCK,
        prefix="PER",
        file="entities/people.md",
        heading="People",
        fields="Name, Role, Context, Sources",
        example="PER-<slug>",
    ),
    Kind(
        "tool",
        KindFamily.ENTITY,
        BLOCK,
        prefix="TOOL",
        file="entities/tools.md",
        heading="Tools",
        fields="Name, Purpose, Status, Sources",
        example="TOOL-<slug>",
    ),
    Kind(
        "incident",
        KindFamily.ENTITY,
        BLOCK,
        prefix="INC",
        file="entities/incidents.md",
        heading="Incidents",
        required=(*("Date", "Title", "Impact", "Summary", "RootCause", "Fix", "Prevention", "Sources"),),
        example="INC-YYYYMMDD-<slug>",
    ),
    Kind(
        "fact",
        KindFamily.ENTITY,
        BLOCK,
        prefix="FACT",
        file="shared/intelligence/LEDGER.md",
        heading="Facts shared between agents",
        fields="Date, Source, Confidence, Type, Text, SourceBlock, Status",
        live=(PENDING_REVIEW, ACCEPTED),
        # Shared facts wait for review. Facts elsewhere, such as cards of a talk, are like any other block.
        hidden_as=(PENDING_REVIEW, REJECTED),
    ),
)
_BOOKKEEPING = (
    Kind(
        "contradiction",
        KindFamily.BOOKKEEPING,
        BLOCK,
        prefix="C",
        file="intelligence/CONTRADICTIONS.md",
        heading="Contradictions",
        required=("Date", "Status"),
        states=_FINDING,
        live=(OPEN,),
    ),
    Kind(
        "drift",
        KindFamily.BOOKKEEPING,
        BLOCK,
        prefix="DREF",
        file="intelligence/DRIFT.md",
        heading="Drift",
        required=("Date", "Status"),
        states=_FINDING,
        live=(OPEN,),
        searched_as=(OPEN, DEFERRED),
    ),
    Kind(
        "signal",
        KindFamily.BOOKKEEPING,
        BLOCK,
        prefix="SIG",
        file="intelligence/SIGNALS.md",
        heading="Signals that wait for review",
        required=(
            *("Date", "Type", "Source", "Confidence", "Priority", "Status", "Excerpt"),
            "ContentHash",
        ),
        states={
            PENDING: State.PROPOSED,
            ACCEPTED: State.SETTLED,
            REJECTED: State.WITHDRAWN,
            DEFERRED: State.PROPOSED,
            RESOLVED: State.SETTLED,
        },
        live=(PENDING,),
        # What came of a signal is kept elsewhere; what was rejected should not come back.
        searched_as=(PENDING,),
    ),
    Kind(
        "proposal",
        KindFamily.BOOKKEEPING,
        BLOCK,
        prefix="P",
        file=PROPOSALS_FILE,
        heading="Proposed edits",
        required=(
            *("ProposalId", "Type", "TargetBlock", "Risk", "Evidence", "Rollback", "Ops"),
            *("Fingerprint", "Status"),
        ),
        states={
            STAGED: State.PROPOSED,
            APPLIED: State.SETTLED,
            REJECTED: State.WITHDRAWN,
            DEFERRED: State.PROPOSED,
            EXPIRED: State.EXPIRED,
            ROLLED_BACK: State.WITHDRAWN,
        },
        live=(STAGED,),
        searched=False,
    ),
    *(
        Kind(name, KindFamily.BOOKKEEPING, BLOCK, prefix=prefix, file=file, heading=heading, searched=False)
        for name, prefix, file, heading in (
            ("impact", "I", "intelligence/IMPACT.md", "Impact"),
            ("briefing", "B", "intelligence/BRIEFINGS.md", "Briefings"),
            ("audit", "A", "intelligence/AUDIT.md", "Audit"),
            ("receipt", "AR", "intelligence/applied", ""),
        )
    ),
    Kind("summary", KindFamily.BOOKKEEPING, BLOCK, prefix="W", file="summaries/weekly"),
)

KINDS: tuple[Kind, ...] = (
    *(RULE, PREFERENCE, DECISION, REJECTED_ALTERNATIVE, FACT, LESSON),
    *(QUESTION, HYPOTHESIS, TEST, EVIDENCE, NOTE, THOUGHT, SESSION, NOTEBOOK, PATTERN),
    *(PLAN, TASK, STEP, JOB, PROOF, RECEIPT),
    *_ENTITIES,
    *_BOOKKEEPING,
)
