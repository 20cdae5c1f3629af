"""A small team's week on a ferry booking service: something of everything, as it would really look.

Used for the pictures in docs/images and by tests that look at every page at once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from clew.app import Clew, open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings
from tests.people import person

ROOT = Path(__file__).parents[2]
LEASE = 300_000
"""Runners stay alive for as long as anybody looks."""
THOUGHTS = (
    ("H", "Two seats are sold twice because the check and the sale are separate statements."),
    ("Q", "Does it happen on quiet days too?"),
    ("E", "Logs of 14 days: 31 double sales, all between 07:40 and 08:15, when the commuter boat fills up."),
    ("A", "Every sale goes through the booking service; nobody writes to the table directly."),
    ("P", "Replay the peak against a copy of the database with 40 clients at once."),
    ("O", "The replay sells 6 of 400 seats twice with the present code, none with a unique constraint."),
    ("X", "A lock in the web process would do."),
    ("C", "A unique constraint on (departure, seat) closes it; the service answers 409 and offers the next seat."),
)
BRANCHES = (
    (
        "queue",
        3,
        (
            "H|| One queue for each departure, one writer?",
            "Q|| What does the customer see while the queue is long?",
            "X|| A spinner at 07:50. No.",
        ),
    ),
    (
        "lease",
        5,
        (
            "H|| Lease a seat for two minutes while the customer pays.",
            "O|| Nine in ten pay within 70 seconds.",
            "C|| Worth doing after the constraint.",
        ),
    ),
)
STEPS: list[dict[str, Any]] = [
    {
        "title": "Reproduce the double sale",
        "success_criteria": ["A test sells one seat twice on the old code"],
        "tests": ["pytest tests/test_peak.py"],
    },
    {
        "title": "Add the unique constraint",
        "success_criteria": ["The migration runs on a copy of production", "No seat is sold twice in the replay"],
        "tests": ["pytest tests/test_peak.py", "make migrate-copy"],
    },
    {
        "title": "Answer 409 and offer the next seat",
        "success_criteria": ["The customer sees a free seat, not an error"],
        "tests": ["pytest tests/test_booking.py"],
    },
    {"title": "Tell the harbour office", "success_criteria": ["Their refund list is empty for a week"]},
]

JOBS = (
    ("Replay the peak on eight cores", "Run make replay with 40 and with 80 clients and report double sales."),
    ("Review the constraint migration", "Read migrations/0042 and say what could lock the table."),
    ("Translate the refund mail", "German and Danish; keep the tone."),
    ("Measure the sweep", "How long does seat_lease take to sweep with 10,000 rows?"),
)


class Story:
    """Fills a store as several people and agents would."""

    def __init__(self, home: Path, workspace: str = "ws") -> None:
        flags = {"home": home, "workspace": workspace, "embedding_model": "none"}
        self.clew: Clew = open_clew(load_settings(flags, {}, home))
        self.session = ""
        self.task = ""
        self.job_ids: list[str] = []
        self._claims: dict[str, int] = {}

    def call(self, name: str, agent: str | None = "claude", /, **arguments: Any) -> dict[str, Any]:
        named = {key.rstrip("_"): value for key, value in arguments.items()}
        author = agent and agent.removeprefix("runner:")
        connection = person("@anna") if author == "anna" else Connection(toolset="full", agent_id=author)
        answer = self.clew.dispatcher.call(name, named, connection)
        assert answer.ok, (name, answer.envelope["error"])
        result: dict[str, Any] = answer.envelope["result"]
        return result

    def tell(self) -> Story:
        for part in (self.anchors, self.memory, self.think, self.work, self.cards, self.jobs):
            part()
        return self

    def close(self) -> None:
        self.clew.close()

    def think(self) -> None:
        title = "Why are seats sold twice at the morning peak?"
        self.session = self.call("start_new", title=title, tags=["booking", "incident"])["sessionId"]
        told = {"sessionId": self.session, "nextThoughtNeeded": True}
        for number, (kind, text) in enumerate(THOUGHTS, 1):
            before = f"[S{number - 1}]" if number > 1 else ""
            self.call("thought", thought=f"S{number}|{kind}|{before}| {text}", **told)
        revised = "S9|R|^[S1]| Not the statements as such: nothing in the database forbids the second sale."
        self.call("thought", thought=revised, isRevision=True, revisesThought=1, **told)
        for branch, fork, texts in BRANCHES:
            for number, text in enumerate(texts, 1):
                start = {"branchFromThought": fork} if number == 1 else {}
                self.call("thought", "codex", thought=f"S{number}|{text}", branchId=branch, **start, **told)
        for other in ("Which mail provider reaches the islands?", "Timetable import without downtime"):
            session = self.call("start_new", "anna", title=other)["sessionId"]
            for number, text in enumerate(("Q|| Where does it hurt today?", "E|| Three complaints since June."), 1):
                self.call(
                    "thought", "anna", thought=f"S{number}|{text}", nextThoughtNeeded=number < 2, sessionId=session
                )

    def work(self) -> None:
        plan = self.call("tasks_macro_start", plan_title="Sell each seat once", task_title="Close the gap", steps=STEPS)
        self.task = plan["task_id"]
        here = {"task": self.task}
        tied = {"type": "decision", "title": "The database refuses the second sale", "tags": ["a:inventory"]}
        self.call("think_card", card=tied, target=self.task)
        self._prove("s:0", "pytest tests/test_peak.py")
        self.call(
            "tasks_macro_close_step", **here, path="s:0", checkpoints="all", note="Fails on the old code, as hoped"
        )
        self._prove("s:1", "make migrate-copy", stale=True)
        self.call("tasks_verify", **here, path="s:1", checkpoints={"criteria": {"confirmed": True}})
        self.call("tasks_block", **here, path="s:3", blocked=True, reason="The office answers on Mondays only")
        self.call("tasks_note", **here, path="s:1", note="The copy has 2.1 million bookings; the index takes 40 s.")
        self.call("tasks_step_lease_claim", "codex", **here, path="s:2", agent_id="codex")
        leased = [{"title": "Write the lease design", "success_criteria": ["Reviewed by Anna"]}]
        self.call("tasks_macro_start", plan=plan["plan_id"], task_title="Lease a seat while paying", steps=leased)
        parked = self.call("tasks_macro_start", plan=plan["plan_id"], task_title="Group bookings", steps=leased)
        self.call("tasks_complete", task=parked["task_id"], status="PARKED")
        set_up = [{"title": "Publish the records", "success_criteria": ["The test mail passes"]}]
        mail = self.call("tasks_create", "anna", kind="plan", title="Mail that arrives")["id"]
        self.call("tasks_macro_create_done", "anna", plan=mail, task_title="Set SPF and DKIM", steps=set_up)
        for title, status in (("Resend bounced tickets", "ACTIVE"), ("Plain text part", "TODO")):
            found = self.call("tasks_macro_start", "anna", plan=mail, task_title=title, steps=leased)
            if status == "ACTIVE":
                self.call("tasks_complete", "anna", task=found["task_id"], status=status)
        self.call("tasks_complete", task=self.task, status="ACTIVE")
        self.call("tasks_focus_set", task=self.task)

    def _prove(self, path: str, command: str, stale: bool = False) -> None:
        """A run over a file of this repository; over an older one when the proof shall be stale."""
        file = "pyproject.toml"
        digest = hashlib.sha256(b"as it was" if stale else (ROOT / file).read_bytes()).hexdigest()
        run = {"command": command, "exit_code": 0, "output": "12 passed", "files": {file: digest}}
        self.call("tasks_evidence_capture", task=self.task, path=path, artifacts=[run], checks=[f"CMD: {command}"])

    def cards(self) -> None:
        card = {"op": "node_upsert", "status": "open"}
        seat = "a:inventory"
        self.call("tasks_focus_clear")
        self.call("graph_apply", branch="main", ops=[
            {**card, "id": "F-peak", "type": "frame", "title": "The morning peak", "tags": ["a:booking"]},
            {**card, "id": "Q-twice", "type": "question", "title": "Why are seats sold twice?", "tags": [seat]},
            {**card, "id": "H-gap", "type": "hypothesis", "title": "Check and sale are not one step", "tags": [seat]},
            {**card, "id": "H-cache", "type": "hypothesis", "title": "A stale cache", "status": "closed"},
            {**card, "id": "H-clock", "type": "hypothesis", "title": "The kiosks' clocks drift", "tags": ["a:web"]},
            {**card, "id": "T-replay", "type": "test", "title": "Replay the peak with 40 clients"},
            {**card, "id": "E-logs", "type": "evidence", "title": "31 double sales in 14 days", "text": "07:40-08:15"},
            {**card, "id": "E-replay", "type": "evidence", "title": "6 seats of 400, then none", "text": "make replay"},
            {**card, "id": "D-unique", "type": "decision", "title": "Unique constraint on departure and seat",
             "text": "The database refuses the second sale; the service offers the next seat.", "tags": [seat]},
            {**card, "id": "D-lease", "type": "decision", "title": "Lease seats for two minutes", "tags": [seat]},
            {"op": "edge_upsert", "from": "F-peak", "rel": "frames", "to": "Q-twice"},
            {"op": "edge_upsert", "from": "H-gap", "rel": "answers", "to": "Q-twice"},
            {"op": "edge_upsert", "from": "H-cache", "rel": "answers", "to": "Q-twice"},
            {"op": "edge_upsert", "from": "H-clock", "rel": "answers", "to": "Q-twice"},
            {"op": "edge_upsert", "from": "T-replay", "rel": "tests", "to": "H-gap"},
            {"op": "edge_upsert", "from": "E-logs", "rel": "supports", "to": "H-gap"},
            {"op": "edge_upsert", "from": "E-replay", "rel": "supports", "to": "D-unique"},
            {"op": "edge_upsert", "from": "E-replay", "rel": "blocks", "to": "H-cache"},
            {"op": "edge_upsert", "from": "H-gap", "rel": "supports", "to": "D-unique"},
            {"op": "edge_upsert", "from": "D-unique", "rel": "supports", "to": "D-lease"},
        ])  # fmt: skip
        self.call("branch_create", name="lease-first", from_="main")
        lease = {"op": "node_upsert", "id": "D-lease", "type": "decision", "title": "Lease seats for two minutes"}
        more = {**card, "id": "E-pay", "type": "evidence", "title": "Nine in ten pay within 70 seconds"}
        self.call("graph_apply", "codex", branch="lease-first", ops=[
            {**lease, "status": "open", "text": "A row in seat_lease, swept every 10 s.", "tags": [seat]},
            more, {"op": "edge_upsert", "from": "E-pay", "rel": "supports", "to": "D-lease"},
        ])  # fmt: skip
        self.call("notes_commit", "codex", branch="lease-first", title="Lease", content="Sweep, or expire on read?")
        told = "A column leased_until on the seat; it expires when it is read."
        self.call("graph_apply", branch="main", ops=[{**lease, "status": "open", "text": told, "tags": [seat]}])
        self.call("graph_merge", "codex", from_="lease-first", into="main")
        self.call("graph_apply", "codex", branch="lease-first", ops=[
            {**card, "id": "Q-abuse", "type": "question", "title": "Can one person lease the whole boat?"},
            {**card, "id": "E-sweep", "type": "evidence", "title": "A sweep takes 40 ms", "text": "10,000 rows"},
            {"op": "edge_upsert", "from": "E-sweep", "rel": "supports", "to": "D-lease"},
        ])  # fmt: skip

    def memory(self) -> None:
        for statement, why, more in (
            ("Use PostgreSQL for bookings", "Constraints that hold under load.", {"tags": "database, booking"}),
            ("Prices are integers in cents", "Rounding cost us 112 euros in May.", {"tags": "money"}),
            ("Tickets are sent as PDF and as plain text", "Two islands block HTML mail.", {"tags": "mail"}),
            ("Retry a failed payment at most twice", "The bank locks the card.", {"review_by": "2026-01-31"}),
        ):
            self.decide(statement, rationale=why, **more)
        self.decide("Do not retry a failed payment", rationale="Customers were charged twice.", tags="payments")
        first = self.call("list_blocks", words="cents")["blocks"][0]["block_id"]
        edit = {
            "op": "update_field",
            "target": first,
            "field": "Rationale",
            "value": "Rounding cost 112 euros in May 2026.",
        }
        changed = self.call("propose_edit", "anna", ops=[edit], rationale="Say which year")
        self.call("approve_apply", "anna", proposal_id=changed["proposal_id"], dry_run=False)
        lower = self.call("propose_update", block_type="decision", statement="Log card numbers for support")
        self.call("reject_proposal", "anna", proposal_id=lower["proposal_id"], reason="Never. The bank forbids it.")
        for statement, why in (
            ("Refuse the second sale in the database", "31 double sales in 14 days, none in the replay since."),
            ("Lease a seat for two minutes while the customer pays", "Nine in ten pay within 70 seconds."),
        ):
            told = {"block_type": "decision", "statement": statement, "rationale": why, "tags": "booking"}
            self.call("propose_update", **told, confidence="high")
        note = "Seats were sold twice because nothing in the database forbade the second sale."
        self.call("notes_commit", branch="main", title="Double sales", content=note)

    def decide(self, statement: str, **more: Any) -> str:
        found = self.call("propose_update", block_type="decision", statement=statement, **more)
        self.call("approve_apply", "anna", proposal_id=found["proposal_id"], dry_run=False)
        return str(found["block_id"])

    def anchors(self) -> None:
        core = {"kind": "component", "parent_id": "a:ferry"}
        face = {"kind": "boundary", "parent_id": "a:faces"}
        self.call("anchors_bootstrap", anchors=[
            {"id": "a:ferry", "title": "Ferry", "kind": "component", "description": "Boats, seats and people."},
            {"id": "a:faces", "title": "What customers see", "kind": "boundary"},
            {**core, "id": "a:inventory", "title": "Seats", "description": "Which seat of which departure is free.",
             "refs": ["src/inventory.py", "migrations/0042_unique_seat.sql"]},
            {**core, "id": "a:booking", "title": "Booking", "depends_on": ["a:inventory", "a:payments"]},
            {**core, "id": "a:payments", "title": "Payments"},
            {**face, "id": "a:web", "title": "Web shop", "depends_on": ["a:booking"]},
            {**face, "id": "a:kiosk", "title": "Kiosk at the pier", "depends_on": ["a:booking"]},
            {**face, "id": "a:mail", "title": "Tickets by mail", "depends_on": ["a:booking"], "status": "deprecated"},
        ])  # fmt: skip

    def jobs(self) -> None:
        replay, review, mail, _ = self.job_ids = [self._job(title, prompt) for title, prompt in JOBS]
        one, two = "runner:harbour-1", "runner:harbour-2"
        self._claim(one, replay)
        self._say(one, replay, "progress", "40 clients: 0 double sales")
        self._say(one, replay, "question", "The copy is from Sunday. Shall I fetch a newer one before the 80?")
        self._claim(two, mail)
        self._say(two, mail, "progress", "Danish done")
        ended = {"job": mail, "runner_id": two, "claim_revision": self._claims[mail], "status": "DONE"}
        self.call("tasks_jobs_complete", **ended, summary="Both languages, shorter", refs=["LINK: docs/mail"])
        self._claim(two, review)
        self._say(two, review, "progress", "The index is built CONCURRENTLY; no lock seen")
        self._say(two, review, "error", "psql: connection refused by the copy")
        self.call("tasks_jobs_message", "anna", job=replay, message="Sunday is fine.")
        self._say(one, replay, "question", "And the 80: on the same copy, or after a reset?")

    def _job(self, title: str, prompt: str) -> str:
        created = self.call("tasks_jobs_create", title=title, prompt=prompt, task=self.task)
        return str(created["job"]["job_id"])

    def _claim(self, runner: str, job: str) -> None:
        alive = {"runner_id": runner, "status": "live", "active_job_id": job, "lease_ttl_ms": LEASE}
        self.call("tasks_runner_heartbeat", runner, **alive)
        self._claims[job] = self.call("tasks_jobs_claim", runner, job=job, runner_id=runner)["job"]["revision"]

    def _say(self, runner: str, job: str, kind: str, message: str) -> None:
        told = {"job": job, "runner_id": runner, "claim_revision": self._claims[job]}
        self.call("tasks_jobs_report", runner, **told, kind=kind, message=message)
