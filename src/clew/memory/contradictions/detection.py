"""Contradictions between decisions: found when a decision changes, kept as blocks, resolved when one side goes.

One entry stands for one pair. It is open while both sides are live and clash, and resolved as soon as they do not; a
person may defer it. The file, `scan`, `list_contradictions` and the resource read the same blocks, so they agree.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from clew.ids import MENTIONED
from clew.memory import blocks
from clew.memory.blocks import Block
from clew.memory.contradictions.judgement import forms_of, judge, may_clash, sharpness, words_of
from clew.memory.contradictions.names import REJECTED, Naming, lookup_words
from clew.memory.contradictions.signatures import Signature, conflict, signatures
from clew.memory.contradictions.statements import Clash
from clew.memory.files.markdown import listed, one_line, parse_block, set_field
from clew.memory.governance.patches import ProposalDraft
from clew.memory.kinds import prefix_of, put_away
from clew.memory.marks import normal_words
from clew.registry.context import Context

if TYPE_CHECKING:
    from clew.memory.scan import ScanReport

PREFIX = "C"
COMPARED = ("D", "R", "U", "X", "F")
"""Kinds of records that can contradict each other."""
LEARNED = ("L",)
"""Kinds that are only looked up for repeats: a lesson tells what happened, and two events do not contradict."""
HEARD = ("active", "proposed")
"""In which status a record's words are known to others."""
ORIGIN = "contradictions"
SOURCE = "clew"
MAKER = "scan"
"""By whom the proposals are that resolve contradictions."""
CANDIDATES = 60
"""Decisions compared with a changed one, those that share most words first: bounds the cost of one write."""
NEAREST, OF_MANY, MANY = 8, 2, 10
"""Of these the ones that a new record is read beside, where few come in at once and where many do: reading a pair
takes some milliseconds. In plain words, nearly all contradictions were among the two nearest of one side; four find
one more in a hundred and raise three more false alarms."""
MOST_READ, LARGE = 600, 500
"""Pairs that the model reads at the most where many records come in at once: each record beside the one nearest to it
first, then beside the second. Where more than `LARGE` come in, it reads only what may be a contradiction by words
alone: a folder of 10,000 decisions comes in as ten times 1,000, and to read more would take longer than all the
rest."""
MOST_CHARS = 4_000
"""Of a statement: what goes on for longer is prose, and reading it takes time in which others wait for the store."""
REPEATED = 0.6
"""Share of common words from which a statement nearly repeats another: three of five."""
COMMON = 200
"""A word that more decisions hold than this says nothing about any of them."""


@dataclass(frozen=True, slots=True)
class Found:
    first: str
    second: str
    severity: str
    kind: str
    reason: str
    confidence: float


def follow(ctx: Context, ids: Sequence[str], written: Mapping[str, Block] | None = None) -> None:
    """After blocks changed: settle their entries and compare the changed decisions with their neighbours.

    `written` has the newest version of each; without it they are read.
    """
    wanted = [id for id in dict.fromkeys(ids) if prefix_of(id) in (*COMPARED, *LEARNED)]
    if not wanted:
        return
    newest = blocks.current(ctx, ids=wanted, status=HEARD) if written is None else [written[id] for id in wanted]
    known = _heard(newest)
    live = {block.id: block for block in known if block.status == "active" and prefix_of(block.id) in COMPARED}
    settle(ctx, set(wanted))
    assertions = {block.id: _assertion(block) for block in known}
    sayings = {id: _saying(assertion) for id, assertion in assertions.items()}
    _learn_words(ctx, wanted, sayings.values())
    entries = _known(ctx) if live else {}
    is_large = len(live) > LARGE
    most = CANDIDATES if is_large else OF_MANY if len(live) > MANY else NEAREST
    near = nearby(ctx, [sayings[id] for id in live], in_sharp_ones=is_large)
    pairs = _pairs(ctx, {id: assertions[id] for id in live}, near, most)
    for found in _conflicts(pairs, if_suspicious=is_large):
        _keep(ctx, found, entries)


def _heard(versions: Iterable[Block]) -> list[Block]:
    """What others know of. An entry would show what an agent keeps for itself, so that is compared with nothing."""
    found = (item for item in versions if not item.gone and item.status in HEARD and not put_away(item.file))
    return sorted(found, key=lambda item: item.id)


def _learn_words(ctx: Context, ids: Sequence[str], sayings: Iterable[Saying]) -> None:
    ctx.tx.many("DELETE FROM decision_word WHERE workspace = ? AND id = ?", [(ctx.workspace, id) for id in ids])
    rows = [
        (ctx.workspace, word, saying.sharp, saying.id)
        for saying in sayings
        for word in sorted(saying.words | saying.forms)
    ]
    if rows:
        ctx.tx.many("INSERT INTO decision_word (workspace, word, sharp, id) VALUES (?, ?, ?, ?)", rows)


class Assertion(NamedTuple):
    """What is compared of a block. A tuple, because reading files in makes thousands."""

    block: Block
    scope: str
    statement: str
    signatures: list[Signature]

    @property
    def id(self) -> str:
        return self.block.id


def _assertion(block: Block) -> Assertion:
    return Assertion(block, block.get("Scope").lower() or "global", statement_of(block), signatures(block.text))


def _pairs(
    ctx: Context, live: dict[str, Assertion], nearest: dict[str, list[str]], most: int
) -> list[tuple[Assertion, Assertion]]:
    """Each changed decision with the live ones it may clash with: all with their nearest, then with their second."""
    near = {id: ids[:most] for id, ids in nearest.items()}
    others = {id for ids in near.values() for id in ids} - set(live)
    known = {**live, **{block.id: _assertion(block) for block in _live(ctx, others)}}
    turns = zip_longest(*([(min(id, other), max(id, other)) for other in ids] for id, ids in near.items()))
    ordered = dict.fromkeys(pair for turn in turns for pair in turn if pair is not None)
    return [(known[one], known[other]) for one, other in ordered if one in known and other in known]


class Saying(NamedTuple):
    """The words by which a decision is found, and how sharply it speaks (see `judgement.sharpness`)."""

    id: str
    words: set[str]
    forms: set[str]
    sharp: int

    def asked(self, in_sharp_ones: bool) -> list[tuple[str, int]]:
        """The words to look up, each with the least sharpness that the other side must have.

        By words alone two plain statements (0) clash only in a slot; a denial (2) may clash with anything about its
        subject. So where nothing else judges, the two sharpnesses must add up to 2.
        """
        least = 2 - self.sharp if in_sharp_ones else 0
        return [*((form, 0) for form in sorted(self.forms)), *((word, least) for word in sorted(self.words))]


def _saying(assertion: Assertion) -> Saying:
    """By what an assertion is found. Forms are keys that only decisions about the very same thing share."""
    said = assertion.statement
    forms = forms_of(said) | {f"signature:{item.group}" for item in assertion.signatures}
    return Saying(assertion.id, words_of(said), forms, sharpness(said))


def nearby(ctx: Context, sayings: list[Saying], *, in_sharp_ones: bool = False) -> dict[str, list[str]]:
    """Live decisions that share words with each, those first that share most and the rarest."""
    wanted = {saying.id: saying.asked(in_sharp_ones) for saying in sayings}
    asked = list(dict.fromkeys(chain.from_iterable(wanted.values())))
    found = ctx.tx.each(_HOLDING, [(ctx.workspace, word, least, COMMON + 1) for word, least in asked])
    holders = {pair: [row["id"] for row in rows] for pair, rows in zip(asked, found, strict=True) if rows}
    return {saying.id: _closest(saying, wanted[saying.id], holders) for saying in sayings}


def _closest(saying: Saying, asked: list[tuple[str, int]], holders: dict[tuple[str, int], list[str]]) -> list[str]:
    shared: dict[str, float] = {}
    for pair in filter(holders.__contains__, asked):
        known = holders[pair]
        if len(known) <= COMMON or pair[0] in saying.forms:
            weight = math.log((COMMON + 2) / len(known))
            for id in known:
                shared[id] = shared.get(id, 0.0) + weight
    shared.pop(saying.id, None)
    # Rounded: sums of the same numbers in another order differ in their last bit.
    return sorted(shared, key=lambda id: (-round(shared[id], 6), id))[:CANDIDATES]


_HOLDING = (
    "SELECT id FROM decision_word WHERE workspace = ? AND word = ? AND sharp >= ? ORDER BY sharp DESC, id DESC LIMIT ?"
)


def _ordered(one: Block, other: Block) -> tuple[Block, Block]:
    return (one, other) if one.id < other.id else (other, one)


def statement_of(block: Block) -> str:
    return statement_as(prefix_of(block.id), block.get("Statement") or block.headline)


def statement_as(prefix: str, text: str) -> str:
    """What a record of this kind claims: a rejected alternative denies what it names."""
    return (f"{REJECTED}{text}" if prefix == "X" else text)[:MOST_CHARS]


def _live(ctx: Context, ids: Iterable[str]) -> list[Block]:
    found = _heard(blocks.current(ctx, ids=ids, status="active"))
    return [block for block in found if prefix_of(block.id) in COMPARED]


def _conflicts(pairs: list[tuple[Assertion, Assertion]], *, if_suspicious: bool = False) -> list[Found]:
    """What contradicts for sure, in the order of the pairs, of which the model reads the first; all of them, or those
    that are suspicious by their words."""
    met = [pair for pair in pairs if _scopes_meet(pair[0].scope, pair[1].scope)]
    exact = {at: item for at, pair in enumerate(met) if (item := _exact_conflict(*pair)) is not None}
    plain = {at: (one.statement, other.statement) for at, (one, other) in enumerate(met) if at not in exact}
    if if_suspicious:
        plain = {at: pair for at, pair in plain.items() if may_clash(*pair)}
    plain = dict(islice(plain.items(), MOST_READ))
    said = zip(plain, judge(list(plain.values())), strict=True)
    found = exact | {at: _plain_conflict(met[at], clash) for at, clash in said if clash is not None and clash.sure}
    return [found[at] for at, (one, other) in enumerate(met) if at in found and not _is_settled(one.block, other.block)]


def _exact_conflict(one: Assertion, other: Assertion) -> Found | None:
    exact = [found for a in one.signatures for b in other.signatures if (found := conflict(a, b)) is not None]
    if not exact:
        return None
    worst = max(exact, key=lambda item: item.confidence)
    return Found(one.id, other.id, worst.severity, "signatures", worst.reason, worst.confidence)


def _plain_conflict(pair: tuple[Assertion, Assertion], plain: Clash) -> Found:
    severity = "high" if plain.confidence >= 0.85 else "medium"
    return Found(pair[0].id, pair[1].id, severity, plain.kind, plain.reason, plain.confidence)


def _scopes_meet(first: str, second: str) -> bool:
    return "global" in (first, second) or first == second


def _is_settled(one: Block, other: Block) -> bool:
    """A decision that names the other as superseded is its successor, not its opponent; or its author said that both
    hold."""
    return other.id in (*one.replaces, *one.beside) or one.id in (*other.replaces, *other.beside)


def objects(block: Block) -> tuple[str, ...]:
    """The records that an entry is about; one written by hand may name them in a sentence only."""
    said = f"{block.get('Statement')} {block.get('Evidence')}"
    named = listed(block.fields.get("Objects")) or MENTIONED.findall(said)
    return tuple(sorted({item for item in named if prefix_of(item) in COMPARED}))


def _ours(entry: Block) -> bool:
    """Whether Clew made the entry. One of a person or of Mind-Mem holds as long as both sides do."""
    return SOURCE in listed(entry.fields.get("Sources"))


def _known(ctx: Context) -> dict[tuple[str, ...], Block]:
    return {objects(block): block for block in blocks.current(ctx, prefix=PREFIX)}


def _keep(ctx: Context, found: Found, known: dict[tuple[str, ...], Block]) -> None:
    pair = (found.first, found.second)
    old = known.get(pair)
    if old is None:
        id = blocks.dated_id(ctx, PREFIX)
        known[pair] = blocks.write(ctx, id, _text(id, blocks.day_of(ctx.now_ms), found), origin=ORIGIN)
    elif old.status == "resolved":
        text = set_field(set_field(old.text, "Status", "open"), "Resolution", "none")
        known[pair] = blocks.write(ctx, old.id, text, origin=ORIGIN)


def _text(id: str, day: str, found: Found) -> str:
    return "\n".join(
        (
            f"[{id}]",
            f"Date: {day}",
            f"Severity: {found.severity}",
            f"Type: {found.kind}",
            f"Statement: {found.first} and {found.second} contradict: {found.reason}",
            "Objects:",
            f"- {found.first}",
            f"- {found.second}",
            f"Confidence: {found.confidence}",
            f"Evidence: {found.reason}",
            "ProposedFix: supersede or revoke one of them, or narrow its scope",
            "Status: open",
            "Resolution: none",
            "Sources:",
            f"- {SOURCE}",
        )
    )


def settle(ctx: Context, touched: set[str] | None) -> None:
    """Resolve entries whose sides no longer clash; all of them, or those of certain decisions."""
    over = endings(ctx, touched)
    for ending in over:
        _resolve(ctx, ending.entry, ending.why)
    _withdraw(ctx, {ending.entry.id for ending in over if not ending.is_twin})


@dataclass(frozen=True, slots=True)
class Ending:
    """An entry that no longer holds, and why; a twin is one of two entries about the same pair."""

    entry: Block
    why: str
    is_twin: bool = False


def endings(ctx: Context, touched: set[str] | None) -> list[Ending]:
    """The entries that would be resolved now. Reads only."""
    entries = blocks.current(ctx, prefix=PREFIX, status=("open", "deferred"))
    chosen = [item for item in entries if touched is None or touched & set(objects(item))]
    ids = [id for item in chosen for id in objects(item)]
    live = {block.id: block for block in _live(ctx, ids)} if ids else {}
    first: dict[tuple[str, ...], str] = {}
    found = []
    for entry in sorted(chosen, key=lambda entry: (not _ours(entry), entry.id)):
        pair = objects(entry)
        if len(pair) != 2:
            continue  # written by hand about something else
        sides = [live[id] for id in pair if id in live]
        if len(sides) < 2 or (_ours(entry) and not _still_clash(entry, *_ordered(sides[0], sides[1]))):
            found.append(Ending(entry, f"no longer so on {blocks.day_of(ctx.now_ms)}"))
        elif first.setdefault(pair, entry.id) != entry.id:
            found.append(Ending(entry, f"the same pair as {first[pair]}", is_twin=True))
    return found


def _still_clash(entry: Block, one: Block, other: Block) -> bool:
    """Whether two sides still contradict each other; they do while neither was written since the entry was."""
    if max(one.seq, other.seq) < entry.seq:
        return not _is_settled(one, other)
    return bool(_conflicts([(_assertion(one), _assertion(other))]))


def _resolve(ctx: Context, entry: Block, why: str) -> None:
    text = set_field(set_field(entry.text, "Status", "resolved"), "Resolution", why)
    blocks.write(ctx, entry.id, text, origin=ORIGIN)


def _withdraw(ctx: Context, entries: set[str]) -> None:
    """Proposals that a scan made to resolve a contradiction end with it: applied later they would do harm."""
    for proposal in blocks.current(ctx, prefix="P", status="staged") if entries else []:
        ended = entries.intersection(listed(proposal.fields.get("Evidence")))
        if ended and proposal.get("ProposedBy") == MAKER:
            text = set_field(set_field(proposal.text, "Status", "expired"), "Reason", f"{min(ended)} is resolved")
            blocks.write(ctx, proposal.id, text, origin=ORIGIN)


def check(ctx: Context, report: ScanReport) -> None:
    """For `scan`: close entries that no longer hold and report the open ones."""
    settle(ctx, None)
    for entry in blocks.current(ctx, prefix=PREFIX, status="open"):
        report.find("contradiction", entry.get("Statement"), block_id=entry.id)


@dataclass(frozen=True, slots=True)
class Clashing:
    """A live record that a new statement would contradict, or may contradict where it is not sure."""

    block: Block
    reason: str
    sure: bool


def clashing(
    ctx: Context, id: str, statement: str, without: Iterable[str] = (), near: Sequence[str] = ()
) -> list[Clashing]:
    """The live records that a statement would contradict, or may; `id` tells its kind.

    It is read beside those that share most words with it, and beside those that the caller knows to be `near`.
    """
    if prefix_of(id) not in COMPARED:
        return []
    said = statement_as(prefix_of(id), statement)
    saying = Saying(id, words_of(said) | lookup_words(said), forms_of(said), sharpness(said))
    left_out = {id, *without}
    shared, near = ([other for other in ids if other not in left_out] for ids in (nearby(ctx, [saying])[id], near))
    others = {block.id: block for block in _live(ctx, [*shared, *near])}
    read = [other for other in dict.fromkeys([*shared[:NEAREST], *near]) if other in others]
    judged = dict(zip(read, judge([(said, statement_of(others[other])) for other in read]), strict=True))
    naming = Naming(said)
    found = [(block, _against(judged.get(block.id), naming, statement_of(block))) for block in others.values()]
    return [Clashing(block, reason, sure) for block, (reason, sure) in found if reason]


def _against(found: Clash | None, naming: Naming, other: str) -> tuple[str, bool]:
    """Why a statement speaks against another, and whether that is sure; no reason where it does not."""
    return (found.reason, found.sure) if found is not None else (naming.refusal(other) or "", False)


def similar(ctx: Context, id: str, statement: str) -> list[Block]:
    """Records, live or proposed, that nearly say the same: at least REPEATED of all their words are common."""
    words = set(normal_words(statement))
    asked = [(ctx.workspace, word, 0, COMMON + 1) for word in sorted(words_of(statement[:MOST_CHARS]))]
    shared: Counter[str] = Counter(row["id"] for rows in ctx.tx.each(_HOLDING, asked) for row in rows)
    ids = [other for other, _ in shared.most_common(CANDIDATES) if other != id]
    found = _heard(blocks.current(ctx, ids=ids, status=HEARD)) if ids else []
    return [other for other in found if _share(words, set(normal_words(other.headline))) >= REPEATED]


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0


def objections(ctx: Context, draft: ProposalDraft) -> list[str]:
    """Sentences that name the live records which a drafted change would contradict."""
    said = []
    for change in draft.changes.values():
        parsed = parse_block(change.text)
        if one_line(parsed.fields.get("Status")) not in ("", "active"):
            continue
        superseded = listed(parsed.fields.get("Supersedes"))
        found = clashing(ctx, change.id, one_line(parsed.fields.get("Statement")), draft.changes)
        said += [
            f"{change.id} would contradict {item.block.id}: {item.reason}"
            for item in found
            if item.sure and item.block.id not in superseded
        ]
    return said
