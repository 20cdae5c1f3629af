"""Pictures of every page, light and dark, from sample data: `PYTHONPATH=src python -m tests.browser.screenshots`.

They go to docs/images/. Looking at them is part of changing the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.chromium import Page, chromium
from tests.faces.web.server import Server

TARGET = Path(__file__).parents[2] / "docs" / "images"
SIZE = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
THOUGHTS = (
    ("H", "The writer starves because the lock is held while files are rendered."),
    ("Q", "Who holds the lock longest?"),
    ("E", "Profile: 80 % of the time is spent in fsync inside the transaction."),
    ("A", "All writers use the same file system."),
    ("P", "Move rendering behind the commit and measure again."),
    ("O", "Eight processes: worst wait 4.1 s before, 0.3 s after."),
    ("X", "A bigger busy timeout would help."),
    ("C", "The lock was held too long; rendering after the commit mends it."),
)


class Sample:
    """A small team's work on one problem."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = self._server.call(name, **arguments)
        assert answer["success"], answer["error"]
        result: dict[str, Any] = answer["result"]
        return result

    def session(self) -> str:
        session: str = self.call("start_new", title="Why does the writer starve?", tags=["storage"])["sessionId"]
        told = {"sessionId": session, "nextThoughtNeeded": True}
        for number, (kind, text) in enumerate(THOUGHTS, 1):
            self.call("thought", thought=f"S{number}|{kind}|{f'[S{number - 1}]' if number > 1 else ''}| {text}", **told)
        revision = "S9|R|^[S1]| Not rendering as such: fsync inside the transaction is what blocks the others."
        self.call("thought", thought=revision, isRevision=True, revisesThought=1, **told)
        for branch, fork, texts in (
            ("two-files", 3, ("H|| One file for each writer?", "Q|| Who merges them?", "X|| Twice the trouble.")),
            ("daemon", 5, ("H|| One process that writes for all.", "O|| One more thing that must run.")),
        ):
            for number, text in enumerate(texts, 1):
                start = {"branchFromThought": fork} if number == 1 else {}
                self.call("thought", thought=f"S{number}|{text}", branchId=branch, **start, **told)
        for title in ("Which model ranks best?", "Migration to PostgreSQL"):
            other = self.call("start_new", title=title)["sessionId"]
            self.call("thought", thought="S1|Q|| Where to begin?", nextThoughtNeeded=True, sessionId=other)
        return session

    def work(self) -> str:
        steps = [
            {
                "title": "Measure how long writers wait",
                "success_criteria": ["p95 is written down"],
                "tests": ["make bench"],
            },
            {"title": "Render after the commit", "success_criteria": ["No file is written under the lock"]},
            {"title": "Measure again", "success_criteria": ["p95 under 0.5 s"], "tests": ["make bench"]},
        ]
        plan = self.call("tasks_macro_start", plan_title="Writers", task_title="Stop the starving", steps=steps)
        for title in ("Explain the lock in the guide", "Remove the busy timeout"):
            self.call("tasks_macro_start", plan=plan["plan_id"], task_title=title, steps=steps[1:2])
        self.call("tasks_jobs_create", title="Benchmark on eight processes", prompt="Run make bench and report p95.")
        self.call("tasks_jobs_create", title="Review the migration", prompt="Read the change and say what is missing.")
        self.call("tasks_jobs_message", job="JOB-001", message="Use the big machine, please.")
        return str(plan["task_id"])

    def cards(self) -> None:
        card = {"op": "node_upsert", "status": "open"}
        self.call("graph_apply", branch="main", ops=[
            {**card, "id": "Q-lock", "type": "question", "title": "Who holds the lock longest?"},
            {**card, "id": "H-render", "type": "hypothesis", "title": "Rendering under the lock starves writers"},
            {**card, "id": "H-timeout", "type": "hypothesis", "title": "The timeout is too short", "status": "closed"},
            {**card, "id": "T-eight", "type": "test", "title": "Eight writers for a minute"},
            {**card, "id": "E-profile", "type": "evidence", "title": "80 % of it in fsync", "text": "perf, 60 s"},
            {**card, "id": "D-after", "type": "decision", "title": "Render after the commit", "tags": ["a:storage"]},
            {"op": "edge_upsert", "from": "H-render", "rel": "answers", "to": "Q-lock"},
            {"op": "edge_upsert", "from": "T-eight", "rel": "tests", "to": "H-render"},
            {"op": "edge_upsert", "from": "E-profile", "rel": "supports", "to": "H-render"},
            {"op": "edge_upsert", "from": "H-render", "rel": "supports", "to": "D-after"},
        ])  # fmt: skip
        self.call("branch_create", name="daemon", **{"from": "main"})
        change = {"op": "node_upsert", "id": "D-after", "type": "decision", "title": "Render after the commit"}
        self.call("graph_apply", branch="daemon", ops=[{**change, "text": "A daemon renders; writers only queue."}])
        self.call("graph_apply", branch="main", ops=[{**change, "text": "Each writer renders once it has let go."}])
        self.call("graph_merge", **{"from": "daemon"}, into="main")

    def memory(self) -> None:
        for said in ("Render files only after the commit", "Keep one store for each team"):
            self.call("propose_update", block_type="decision", statement=said, rationale="Writers waited four seconds.")
        self.call(
            "notes_commit", branch="main", title="Locks", content="Writers starve when the lock is held too long."
        )

    def anchors(self) -> None:
        part = {"kind": "component", "parent_id": "a:core"}
        face = {"kind": "boundary", "parent_id": "a:faces"}
        self.call("anchors_bootstrap", anchors=[
            {"id": "a:core", "title": "Core", "kind": "component", "description": "What every face rests on."},
            {"id": "a:faces", "title": "Faces", "kind": "boundary"},
            {**part, "id": "a:storage", "title": "Storage"},
            {**part, "id": "a:recall", "title": "Recall", "depends_on": ["a:storage"]},
            {**face, "id": "a:web", "title": "Observatory", "depends_on": ["a:recall"]},
        ])  # fmt: skip


def take(page: Page, session: str, task: str, theme: str) -> None:
    def shot(name: str, place: str, ready: str, script: str = "", then: str = "main", last: str = "") -> None:
        page.open(place)
        page.until("document.querySelector(arguments[0])", ready)
        page.js(script)
        page.until("document.querySelector(arguments[0])", then)
        page.js(last)
        page.driver.execute_async_script("setTimeout(arguments[0], 700)")
        page.driver.save_screenshot(str(TARGET / f"{name}-{theme}.png"))

    page.open("home")
    page.until("document.querySelector('#tabs a')")
    page.js("localStorage.setItem('clew.theme', JSON.stringify(arguments[0]))", theme)
    ask = (
        "document.getElementById('sources').value = 'all';"
        "document.getElementById('query').value = 'why do writers starve';"
        "document.querySelector('form.ask').requestSubmit()"
    )
    choose = "document.querySelector('[data-card=H-render]').dispatchEvent(new Event('click'))"
    first = "document.querySelector('.node').click()"
    why = "document.querySelector('.result details').open = true"
    shot("reasoning", f"reasoning/{session}", ".node", first, "#detail .figures")
    shot("home", "home", "#log")
    shot("cards", "cards/main", "[data-card]", choose, "#card h2")
    shot("conflicts", "cards/main/conflicts", "[data-conflict]")
    shot("work", "work", ".board")
    shot("task", f"work/{task}", "#steps")
    shot("jobs", "jobs", "#open-jobs")
    shot("job", "jobs/JOB-001", "#thread")
    shot("recall", "memory", "#query", ask, ".result details", why)
    shot("review", "memory/review", "article.proposal")
    shot("map", "map/a%3Astorage", "#lens h2")


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        server = Server(Path(place) / "home", CLEW_EMBEDDING_MODEL="none")
        try:
            sample = Sample(server)
            session, task = sample.session(), sample.work()
            for fill in (sample.cards, sample.memory, sample.anchors):
                fill()
            with chromium(Path(place) / "profile") as driver:
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
                page = Page(driver, server.address)
                for theme in ("light", "dark"):
                    take(page, session, task, theme)
        finally:
            server.stop()
    sys.stdout.write("".join(f"{path.name} {path.stat().st_size}\n" for path in sorted(TARGET.glob("*.png"))))


if __name__ == "__main__":
    main()
