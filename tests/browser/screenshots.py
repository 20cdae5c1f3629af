"""Pictures of every page, light and dark, from a story: `PYTHONPATH=src python -m tests.browser.screenshots [NAME...]`.

They go to docs/images/. Looking at them is part of changing the page.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.browser.chromium import Page, chromium
from tests.browser.story import Story
from tests.faces.web.server import Server

TARGET = Path(__file__).parents[2] / "docs" / "images"
WIDE = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
SMALL = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
SETTLED = "!document.querySelector('main[aria-busy]') && document.getElementById('link').textContent === 'live'"


@dataclass(frozen=True)
class Shot:
    name: str
    place: str
    ready: str
    """A selector of what must be there."""
    act: str = ""
    then: str = "main"
    """What must be there after `act`."""
    last: str = ""


def shots(story: Story) -> list[Shot]:
    why = "document.querySelector('.result details').open = true"
    # History at a moment in the middle of what happened, compared with now.
    slide = (
        "Object.assign(document.getElementById('as-of'), {value: Number(document.getElementById('as-of').max) * 0.6})"
    )
    back = f"{slide}.dispatchEvent(new Event('input'))"
    asked = "know/recall/why%20were%20seats%20sold%20twice/all"
    return [
        Shot("inbox", "inbox", ".matter"),
        Shot("now", "now", "#workers"),
        Shot(
            "reasoning",
            f"now/session/{story.session}",
            ".node",
            "document.querySelector('.node').click()",
            "#detail pre.text",
        ),
        Shot("home", "home?since=week", "#digest"),
        Shot("diff", "know/branches/main/lease-first", "#diff-cards"),
        Shot("board", "now/board", ".board"),
        Shot("task", f"now/board/{story.task}", "#steps .proofs"),
        Shot("jobs", "now/job", "#open-jobs"),
        Shot("job", f"now/job/{story.job_ids[0]}", "#thread li"),
        Shot("recall", asked, ".result", why),
        Shot("records", "know/lists", "#records li"),
        Shot("around", "know/around/H-gap", "#around [data-near]"),
        Shot("panel", "now/board", ".board", f"location.hash = '#/ws/o/{story.task}'", "#panel .record-title"),
        Shot("history", "history", "#change-list li, #held a", back, "#change-list li"),
        Shot("health", "settings/health", "main h1"),
        Shot("areas", "know/areas", "#area-table tr"),
    ]


def take(page: Page, shot: Shot, suffix: str) -> None:
    page.open(f"ws/{shot.place}")
    page.until(f"document.querySelector(arguments[0]) && {SETTLED}", shot.ready)
    page.js(shot.act)
    page.until("document.querySelector(arguments[0])", shot.then)
    page.js(shot.last)
    # Redraws after news are throttled; a picture may wait for them.
    page.driver.execute_async_script("setTimeout(arguments[0], 900)")
    page.driver.save_screenshot(str(TARGET / f"{shot.name}-{suffix}.png"))


def choose_theme(page: Page, theme: str) -> None:
    page.open("ws/inbox")
    page.until("document.querySelector('#tabs a')")
    page.js("localStorage.setItem('clew.theme', JSON.stringify(arguments[0]))", theme)


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        home = Path(place) / "home"
        story = Story(home).tell()
        wanted = [shot for shot in shots(story) if not sys.argv[1:] or shot.name in sys.argv[1:]]
        server = Server(home, CLEW_EMBEDDING_MODEL="none")
        try:
            with chromium(Path(place) / "profile") as driver:
                page = Page(driver, server.address)
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WIDE)
                for theme in ("light", "dark"):
                    choose_theme(page, theme)
                    for shot in wanted:
                        take(page, shot, theme)
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SMALL)
                choose_theme(page, "light")
                for shot in wanted:
                    if shot.name in {"inbox", "panel"}:
                        take(page, shot, "small")
                print(*page.problems(), sep="\n")
        finally:
            server.stop()
            story.close()
    print(f"{len(list(TARGET.glob('*.png')))} pictures in {TARGET}")


if __name__ == "__main__":
    main()
