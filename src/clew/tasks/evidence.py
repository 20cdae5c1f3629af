"""Evidence: what was captured for a step, a task or a plan, and which of it is proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from clew.canonical import Json, picked
from clew.clock import rfc3339
from clew.errors import shorten, unknown_id
from clew.index.items import Item, index_item, mark_item
from clew.kinds import statuses
from clew.registry.context import Context
from clew.store.database import placeholders
from clew.store.rows import TableRow, chunks, find, insert, select, update
from clew.tasks.commands import claims_failure, says_failed
from clew.tasks.proof_receipts import (
    CLAIMED,
    DISOWNED,
    FAILED,
    SAID,
    SEEN,
    ProofReceipt,
    Run,
    command_of,
    is_placeholder,
    is_real,
    latest_receipts,
    plain_line,
    write_receipt,
)
from clew.tasks.steps import Step

MAX_ITEMS = 20
MAX_ARTIFACT_BYTES = 256_000


@dataclass(frozen=True, slots=True)
class Evidence(TableRow):
    """One captured item: an artifact, a check or an attachment."""

    TABLE: ClassVar[str] = "evidence"
    OBJECTS: ClassVar[frozenset[str]] = frozenset({"body", "files"})
    FLAGS: ClassVar[frozenset[str]] = frozenset({"proves"})

    id: str
    number: int
    owner: str
    entity: str
    path: str | None
    kind: str
    text: str
    body: Json | None
    proves: bool
    command: str | None
    exit_code: int | None
    output_digest: str | None
    files: dict[str, str] | None
    event: str
    agent: str | None
    seq: int
    ts_ms: int


@dataclass(frozen=True, slots=True)
class EvidenceDraft:
    """Evidence before it is stored."""

    kind: str
    text: str
    body: Json | None = None
    command: str | None = None
    exit_code: int | None = None
    output_digest: str | None = None
    files: dict[str, str] | None = None
    run: Run | None = None
    """The run that it is from, if Clew observed it."""

    @property
    def proves(self) -> bool:
        """A failed command is worth keeping and proves nothing."""
        # Exit code 0 is not enough: a pipe or `|| true` hides a failure that the text still shows.
        return self.exit_code in (None, 0) and not self._speaks_of_failure()

    @property
    def grade(self) -> str:
        if not self.proves:
            return FAILED
        return CLAIMED if self.run is None else SEEN

    def to_run(self) -> Run | None:
        """The run that the receipt describes; None for links and attachments."""
        if self.run is not None or self.command is None:
            return self.run
        return Run(SAID, self.command, self.exit_code, output_digest=self.output_digest, files=self.files)

    def _speaks_of_failure(self) -> bool:
        if self.run is not None:
            return says_failed(self.run.output_tail or "")
        # A log or a diff may mention errors although nothing failed.
        if self.kind == "artifact" and self.command is None:
            return False
        return self.kind != "attachment" and any(claims_failure(text) for text in (self.text, *_strings(self.body)))


@dataclass(frozen=True, slots=True)
class BackedCheckpoints:
    """Which checkpoints of a step have evidence, and which have proof."""

    evidence: frozenset[str] = field(default_factory=frozenset)
    proof: frozenset[str] = field(default_factory=frozenset)


NOTHING = BackedCheckpoints()


def linked(ctx: Context, entities: Iterable[str]) -> dict[str, BackedCheckpoints]:
    """The evidence of many steps, by checkpoint."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for part in chunks(list(entities)):
        sql = (
            "SELECT entity, checkpoint, max(proves) AS proves FROM evidence_checkpoint"
            f" WHERE workspace = ? AND entity IN ({placeholders(len(part))}) GROUP BY entity, checkpoint"
        )
        rows = ctx.tx.all(sql, ctx.workspace, *part)
        for row in rows:
            evidence, proof = found.setdefault(row["entity"], (set(), set()))
            evidence.add(row["checkpoint"])
            if row["proves"]:
                proof.add(row["checkpoint"])
    return {entity: BackedCheckpoints(*map(frozenset, both)) for entity, both in found.items()}


def without_receipt(ctx: Context, entities: Iterable[str]) -> set[str]:
    """The steps with proof from before there were receipts; for later ones a receipt holds the grade."""
    found: set[str] = set()
    for part in chunks(list(entities)):
        sql = (
            "SELECT DISTINCT entity FROM evidence_checkpoint AS own"
            f" WHERE workspace = ? AND entity IN ({placeholders(len(part))}) AND proves = 1 AND NOT EXISTS"
            " (SELECT 1 FROM proof_receipt WHERE workspace = own.workspace AND evidence = own.evidence)"
        )
        rows = ctx.tx.all(sql, ctx.workspace, *part)
        found.update(row["entity"] for row in rows)
    return found


def disown_evidence(ctx: Context, id: str) -> None:
    """Mark evidence as no proof, also for the checkpoints that it was given for; its content is kept."""
    update(ctx.tx, ctx.workspace, replace(evidence_by_id(ctx, id), proves=False))
    sql = "UPDATE evidence_checkpoint SET proves = 0 WHERE workspace = ? AND evidence = ?"
    ctx.tx.run(sql, ctx.workspace, id)
    mark_item(ctx.tx, ctx.workspace, id, statuses.DISOWNED)


def disown(ctx: Context, receipt: ProofReceipt, why: str) -> None:
    """Receipts are never changed: a new one marks it as invalid, and its evidence proves nothing."""
    run = Run(receipt.source, receipt.command or "", None, again=receipt.id)
    text = f"disowned {receipt.id}: {why}"
    write_receipt(ctx, receipt.owner, receipt.entity, receipt.path, DISOWNED, text, run)
    # The evidence of a deleted task was deleted with it; its receipts are kept.
    if receipt.evidence is not None and find(ctx.tx, ctx.workspace, Evidence, receipt.evidence):
        disown_evidence(ctx, receipt.evidence)


def disown_claims(ctx: Context, step: Step, why: str) -> list[str]:
    """Disown all claims of a step: words must not restore one that was undone. Returns their ids."""
    counting = latest_receipts(ctx, [step.id]).get(step.id, [])
    claims = [receipt for receipt in counting if receipt.grade == CLAIMED and receipt.source == SAID]
    for claim in claims:
        disown(ctx, claim, why)
    return [claim.id for claim in claims]


def linked_to(ctx: Context, entity: str) -> BackedCheckpoints:
    return linked(ctx, [entity]).get(entity, NOTHING)


def evidence_of(ctx: Context, owner: str, limit: int) -> list[Evidence]:
    """The newest evidence of a plan or task and its steps, newest first."""
    where = "owner = ? ORDER BY number DESC LIMIT ?"
    return select(ctx.tx, ctx.workspace, Evidence, where, owner, limit)


def evidence_by_id(ctx: Context, id: str) -> Evidence:
    found = find(ctx.tx, ctx.workspace, Evidence, id)
    if found is None:
        raise unknown_id("evidence", id, "Copy the id from a search result or a task's evidence.")
    return found


def evidence_json(item: Evidence) -> Json:
    return {
        "id": item.id,
        "task": item.owner,
        **picked(item, "entity", "path", "kind", "text", "body", "proves", "command", "exit_code"),
        **picked(item, "output_digest", "files"),
        "event_id": item.event,
        "seq": item.seq,
        "ts": rfc3339(item.ts_ms),
        "ts_ms": item.ts_ms,
    }


def check_drafts(checks: Iterable[str]) -> list[EvidenceDraft]:
    """Checks without list markers; a CMD receipt contains the command that was run."""
    return [EvidenceDraft("check", plain_line(check), command=command_of(check)) for check in checks if is_real(check)]


def attachment_drafts(attachments: Iterable[str]) -> list[EvidenceDraft]:
    return [EvidenceDraft("attachment", text.strip()) for text in attachments if not is_placeholder(text)]


def artifact_drafts(items: Iterable[Mapping[str, Any]]) -> list[EvidenceDraft]:
    return [_artifact(dict(item)) for item in items if _says_something(item)]


def store(
    ctx: Context,
    owner: str,
    entity: str,
    path: str | None,
    drafts: list[EvidenceDraft],
    checkpoints: list[str],
    event: str,
) -> list[Evidence]:
    """Store drafts and link them to checkpoints; each can be found at once."""
    place: Json = {"owner": owner, "entity": entity, "path": path}
    return [_store_one(ctx, draft, checkpoints, {**place, "event": event}) for draft in drafts]


def _store_one(ctx: Context, draft: EvidenceDraft, checkpoints: list[str], place: Json) -> Evidence:
    number = ctx.ws.count("evidence")
    said = ("kind", "text", "body", "proves", "command", "exit_code", "output_digest", "files")
    now: Json = {"agent": ctx.agent, "seq": ctx.ws.seq, "ts_ms": ctx.now_ms}
    item = Evidence(id=f"EV-{number:03d}", number=number, **place, **now, **picked(draft, *said))
    insert(ctx.tx, ctx.workspace, item)
    sql = "INSERT INTO evidence_checkpoint (workspace, entity, evidence, proves, checkpoint) VALUES (?, ?, ?, ?, ?)"
    proves = (ctx.workspace, item.entity, item.id, int(item.proves))
    ctx.tx.many(sql, [(*proves, checkpoint) for checkpoint in checkpoints])
    # Every piece of evidence has a receipt, so that the chain of digests covers everything that was ever captured.
    write_receipt(ctx, item.owner, item.entity, item.path, draft.grade, draft.text, draft.to_run(), item.id)
    index_item(ctx.tx, ctx.workspace, _item(item, draft.grade))
    return item


def _item(item: Evidence, grade: str) -> Item:
    title = shorten(item.text.splitlines()[0] if item.text.strip() else item.kind, 120)
    about = picked(item, "kind", "seq", "ts_ms")
    found = Item(ref=item.id, source="evidence", title=title, body=item.text, **about)
    return replace(found, tags=(item.owner.lower(),), status=grade)


def _artifact(item: Json) -> EvidenceDraft:
    return EvidenceDraft(
        "artifact",
        _summary(item),
        item,
        command=_text(item.get("command")),
        exit_code=_whole(item.get("exit_code")),
        output_digest=_text(item.get("output_digest")),
        files=_digests(item.get("files")),
    )


def _summary(item: Json) -> str:
    for name in ("title", "command", "content", "text", "url", "path", "diff", "stdout"):
        if isinstance(item.get(name), str) and item[name].strip():
            return shorten(item[name], 500)
    return shorten(next(_strings(item), "artifact"), 500)


def _says_something(item: Mapping[str, Any]) -> bool:
    """Whether it has content: an empty object proves nothing, and neither does a template with a placeholder."""
    texts = list(_strings(item))
    return any(text.strip() for text in texts) and not any(is_placeholder(text) for text in texts if text.strip())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _strings(value[key])
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _digests(value: Any) -> dict[str, str] | None:
    """`{path: digest}`, or a list of `{path, digest}`."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict) and {"path", "digest"} <= set(part)]
        value = {part["path"]: part["digest"] for part in parts if isinstance(part["path"], str)}
    if not isinstance(value, dict):
        return None
    return {str(path): str(digest) for path, digest in value.items() if isinstance(digest, str)} or None
