"""Who uses keys, a reader of the screen or a large pointer: axe-core finds nothing on any place, in any dialog, in both
themes, on a desk and on a phone; and the focus never falls to the body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import stage
from tests.browser.pages.conftest import Reader
from tests.browser.screenshots import SMALL
from tests.browser.story import Story
from tests.faces.web.server import Server

ROOT = Path(__file__).parents[3]
AXE = ROOT / ".venv" / "tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """
const [only, done] = arguments;
const rules = { "target-size": { enabled: true } };
const asked = only.length ? { runOnly: { type: "rule", values: only } } : { rules };
axe.run(document, { resultTypes: ["violations"], ...asked }).then((found) => done(
  found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 140))}`),
));
"""
DESK = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
COLOURS = ["color-contrast", "link-in-text-block"]
"""What another theme can change; the rest is looked at once."""
ASKED = "know/recall/why%20were%20seats%20sold%20twice/all"


def everywhere(story: Story) -> list[str]:
    """Every place and every view of it, with something in each."""
    return [
        *("inbox", "inbox/later", "now", "now/board", f"now/board/{story.task}", f"now/session/{story.session}"),
        *("now/job", f"now/job/{story.job_ids[0]}", ASKED, "know/lists?kind=decision", "know/areas"),
        *("know/around/H-gap", "home", "home?since=month"),
        *("know/branches/main/lease-first", "inbox?kind=conflict", "history", "settings"),
        *("settings/health", "home/agents", "home/projects", f"o/{story.task}"),
    ]


ALIKE = """
const words = (node) => (node.getAttribute("aria-label") ?? node.textContent).replace(/\\s+/g, " ").trim();
const names = [...document.querySelectorAll("main button, #panel button, dialog button")]
  .filter((node) => node.checkVisibility()).map(words);
return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
"""
"""Names that two buttons share: whoever hears a name must know which one it is."""


for_module = pytest.fixture(scope="module")
# A store of its own: what other tests call alike is not the page's fault.
home, server, driver, clew = (for_module(part) for part in (stage.home, stage.server, stage.driver, stage.clew))


@pytest.fixture(scope="module")
def story(home: Path, server: Server) -> Iterator[Story]:
    story = Story(home).tell()
    yield story
    story.close()


@pytest.fixture
def axe(page: Reader) -> Iterator[Reader]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make check` installs it beside the page's other checks")
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    yield page
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def judged(page: Reader, place: str) -> list[str]:
    page.js("location.hash = '#/ws/' + arguments[0]", place)
    page.until("location.hash.startsWith('#/ws/' + arguments[0])", place.partition("?")[0])
    page.settled()
    page.until("!document.querySelector('main .skeleton')")
    found = [f"{place}: the focus fell to the body"] if page.there(FALLEN) else []
    return found + looked_at(page, place)


def looked_at(page: Reader, name: str) -> list[str]:
    """What axe finds in what is shown now, all of it in one theme and the colours in the other."""
    found = [f"{name}: two buttons are called {words!r}" for words in page.js(ALIKE)]
    for theme, rules in (("light", []), ("dark", COLOURS)):
        page.js("document.documentElement.dataset.theme = arguments[0]", theme)
        found += [f"{name} {theme}: the edge of a field is faint: {field}" for field in page.js(FAINT_EDGES)]
        seen: Any = page.driver.execute_async_script(RUN, rules)
        found += [f"{name} {theme} {line}" for line in seen]
    return found


FAINT_EDGES = """
const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
  .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const opaque = (colour) => (parts(colour)[3] ?? 1) > 0.99;
const ground = (node) => {
  for (let at = node.parentElement; at; at = at.parentElement) {
    const { backgroundColor } = getComputedStyle(at);
    if (opaque(backgroundColor)) return parts(backgroundColor);
  }
  return [255, 255, 255];
};
const faint = [];
const fields = "input:not([type=checkbox], [type=radio], [type=range]), select, textarea";
for (const node of document.querySelectorAll(fields)) {
  if (!node.checkVisibility()) continue;
  const { borderTopColor, borderTopWidth } = getComputedStyle(node);
  const [one, two] = [light(parts(borderTopColor)), light(ground(node))].sort((a, b) => b - a);
  const ratio = (one + 0.05) / (two + 0.05);
  if (!parseFloat(borderTopWidth) || ratio < 3) faint.push(`${node.id || node.className}: ${ratio.toFixed(2)}`);
}
return faint;
"""
"""Fields whose edge can hardly be told from what they stand on."""
FALLEN = "document.activeElement === document.body"


sizes = pytest.mark.parametrize("size", [DESK, SMALL], ids=["desk", "phone"])


@sizes
def test_axe_finds_nothing_on_any_place(axe: Reader, story: Story, size: dict[str, Any]) -> None:
    prepared(axe, size)
    found = [line for place in everywhere(story) for line in judged(axe, place)]
    assert not found, "\n".join(found)


def prepared(page: Reader, size: dict[str, Any]) -> None:
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.open("ws/now/board")
    page.settled()
    page.js(AXE.read_text(encoding="utf-8"))


def at(page: Reader, place: str, ready: str) -> None:
    """Goes there by a link, so that what was put into the page stays in it."""
    page.js("location.hash = '#/ws/' + arguments[0]", place)
    page.until("location.hash.startsWith('#/ws/' + arguments[0])", place.partition("?")[0])
    page.find(ready)
    page.settled()


BESIDE = {
    "#graph": "#turn",
}
"""Every picture, and where the same stands in words: beside it, or one press away."""


def test_beside_every_picture_stands_the_same_in_words(page: Reader, story: Story) -> None:
    page.open("ws/now/board")
    page.find(".board")
    for place, picture in ((f"now/session/{story.session}", "#graph"),):
        at(page, place, picture)
        page.until("document.querySelector(arguments[0])?.checkVisibility()", BESIDE[picture])
    at(page, f"now/session/{story.session}", "#graph[data-drawn] .node p")
    page.press_on("#turn")
    page.says("#outline, .outline", "Two seats are sold twice")


@dataclass(frozen=True)
class Layer:
    """Something that opens above a place: where, the keys or the button that open it, and what then stands."""

    name: str
    place: str
    ready: str
    opens: str
    stands: str


def layers(story: Story) -> list[Layer]:
    task = f"now/board/{story.task}"
    return [
        Layer("search", "now/board", ".board", "press #search", "#find-anything"),
        Layer("keys", "inbox", ".matter", "?", "#keys-help"),
        Layer("create", "now/board", ".board", "c", "#create [data-make]"),
        Layer("new plan", "now/board", ".board", 'press [data-make="plan"]', "#ask-title"),
        Layer("new task", "now/board", ".board", 'press [data-make="task"]', "#ask-title"),
        Layer("name", "inbox", ".matter", "press #you", "dialog[open] input"),
        Layer("later", "inbox", "#ways [data-act=later]:not([aria-disabled])", "h", "dialog[open]"),
        Layer("answer", "inbox", "#ways [data-act=later]:not([aria-disabled])", "a", "dialog[open], #matter textarea"),
        Layer("step", task, '#steps [data-act="block"]', 'press #steps [data-act="block"]', "#ask"),
        Layer("note", task, '#steps [data-act="note"]', 'press #steps [data-act="note"]', "#ask"),
    ]


def opened(page: Reader, layer: Layer) -> None:
    at(page, layer.place, layer.ready)
    if layer.opens.startswith("press "):
        button = layer.opens.removeprefix("press ")
        page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", button)
        page.press_on(button)
    else:
        page.keys(layer.opens)
    page.until("document.querySelector(arguments[0])?.checkVisibility()", layer.stands)


@sizes
def test_axe_finds_nothing_in_dialogs_forms_and_the_panel(axe: Reader, story: Story, size: dict[str, Any]) -> None:
    prepared(axe, size)
    found: list[str] = []
    for layer in layers(story):
        if size is SMALL and layer.ready.startswith("#ways"):
            continue  # a phone shows the list first; the form is the same one
        opened(axe, layer)
        found += looked_at(axe, layer.name)
        axe.keys(Keys.ESCAPE)
        axe.gone("dialog[open]")
        if axe.there(FALLEN):
            found.append(f"{layer.name}: the focus fell to the body")
    at(axe, "now/board", ".board")
    for record in (story.task, "H-gap", story.job_ids[0], "a:inventory", story.session):
        axe.js("location.hash = '#/ws/o/' + encodeURIComponent(arguments[0])", record)
        axe.until("document.querySelector('#panel .record-head')?.textContent.includes(arguments[0])", record)
        found += looked_at(axe, f"panel of {record}")
    assert not found, "\n".join(found)


WATCH = """
window.fallen = [];
let was = document.activeElement;
(function look() {
  const now = document.activeElement;
  if (now === document.body && was !== document.body)
    window.fallen.push(`${location.hash}: after ${was.outerHTML.slice(0, 100)}`);
  was = now;
  requestAnimationFrame(look);
})();
"""
"""Looks at every frame who has the focus, and keeps from whom it fell to the body."""


def answered(page: Reader, **values: str) -> None:
    """Fills the open form and sends it by its button."""
    for name, value in values.items():
        page.type(f"#ask-{name}", value)
    page.press_on("#ask .primary")
    page.gone("#ask")


def pressed(page: Reader, selector: str) -> None:
    page.find(selector)
    page.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
    page.press_on(selector)


def test_the_focus_never_falls_to_the_body(page: Reader, story: Story) -> None:
    page.open("ws/now/board")
    page.find(".board")
    page.settled()
    page.js(WATCH)
    for walk in (walk_through_inbox, walk_through_work, walk_through_knowledge, walk_through_reasoning):
        walk(page, story)
    assert page.js("return window.fallen") == []


def walk_through_inbox(page: Reader, story: Story) -> None:
    at(page, "inbox", "#ways [data-act=later]:not([aria-disabled])")
    before = len(page.all(".matter:not(.gone)"))
    page.keys("j")
    page.keys("k")
    page.keys("h")
    page.find("dialog[open]")
    page.keys(Keys.ESCAPE)
    page.gone("dialog[open]")
    pressed(page, '.matter[data-matter^="P-"]')
    page.find("#ways [data-act=approve]")
    # What has just come up is not pressed by a hand that was on its way to something else.
    page.until("!document.querySelector('[data-fresh]')")
    pressed(page, "#ways [data-act=approve]")
    page.until("document.querySelectorAll('.matter:not(.gone)').length < arguments[0]", before)
    page.keys("z")
    page.until("document.querySelectorAll('.matter:not(.gone)').length === arguments[0]", before)


def walk_through_work(page: Reader, story: Story) -> None:
    at(page, f"now/board/{story.task}", '#steps [data-act="note"]')
    pressed(page, '#steps [data-act="note"]')
    answered(page, note="Seen from the pier")
    page.find("#notices .notice")
    page.settled()
    pressed(page, '#steps [data-act="block"]')
    answered(page, reason="The tide")
    page.says("#steps", "The tide")
    pressed(page, '#steps [data-act="unblock"]')
    page.until("!document.querySelector('#steps').textContent.includes('The tide')")
    at(page, "now/board", ".board")
    pressed(page, '[data-make="plan"]')
    answered(page, title="Walk the quay")
    page.says("#panel .record-title", "Walk the quay")
    page.keys(Keys.ESCAPE)
    page.until("document.getElementById('panel').hidden")


def walk_through_knowledge(page: Reader, story: Story) -> None:
    at(page, "know/areas", "#area-table")
    pressed(page, '#area-table [data-row="a:inventory"] .area-name')
    page.says("#panel .record-title", "Seats")
    at(page, "know/around/H-gap", "#around [data-near]")
    pressed(page, '[data-near="D-unique"] a.what')
    page.says("#panel .record-title", "Unique constraint")
    pressed(page, "#panel .panel-body a[href*='/o/']")
    page.until("!document.querySelector('#panel .record-title')?.textContent.includes('Unique constraint')")
    page.find("#panel .record-title")
    pressed(page, "#panel .panel-top button")
    page.until("document.getElementById('panel').hidden")
    page.chord(Keys.CONTROL, "k")
    page.type("#find-anything", "records")
    page.keys(Keys.ENTER)
    page.until("location.hash.startsWith('#/ws/know/lists')")
    page.find("#records li")
    page.settled()


def walk_through_reasoning(page: Reader, story: Story) -> None:
    at(page, f"now/session/{story.session}", "#graph[data-drawn] .node p")
    pressed(page, f'.node[data-id="{story.session}:1"]')
    page.find("#detail pre.text, #detail .prose")
    page.keys(Keys.ESCAPE)
    page.until("document.getElementById('detail').hidden")
    pressed(page, "#turn")
    page.until("document.getElementById('graph').hidden")
    pressed(page, "#turn")
    page.until("!document.getElementById('graph').hidden")
    pressed(page, "#find")
    page.keys(*"seat")
    page.until("document.getElementById('found').textContent")
    page.keys(Keys.ESCAPE)
