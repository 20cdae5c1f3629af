"""The map: areas inside areas, arrows to what they rest on, the lens of one."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from tests.browser.pages.conftest import Reader
from tests.conftest import Caller

INSIDE = """(() => {
  const box = (id) => document.querySelector(`[data-anchor="${id}"] .ground`).getBoundingClientRect();
  const [outer, inner] = [box("a:quay"), box("a:rope")];
  return outer.left < inner.left && inner.right < outer.right && outer.top < inner.top && inner.bottom < outer.bottom;
})()"""
NAMED = "[...document.querySelectorAll('path.depends title')].some((name) => name.textContent === arguments[0])"


def test_anchors_are_a_picture_and_a_click_opens_the_lens(page: Reader, agent: Caller) -> None:
    agent("anchors_bootstrap", anchors=[
        {"id": "a:quay", "title": "Quay", "kind": "component"},
        {"id": "a:crane", "title": "Crane", "kind": "component", "parent_id": "a:quay", "refs": ["src/crane.py"]},
        {"id": "a:rope", "title": "Rope", "kind": "boundary", "parent_id": "a:quay", "depends_on": ["a:crane"]},
    ])  # fmt: skip
    agent("macro_anchor_note", anchor="a:crane", title="Crane", content="The crane creaks")
    page.open("map")
    page.find('[data-anchor="a:rope"]')
    assert page.there(INSIDE), "an area is drawn around those it contains"
    page.until(
        "[...document.querySelectorAll('path.depends title')].some((n) => n.textContent === 'a:rope rests on a:crane')"
    )
    page.click('[data-anchor="a:crane"]')
    page.says("#lens h2", "Crane")
    page.says("#lens", "src/crane.py")
    page.says("#lens", "The crane creaks")
    page.js("document.querySelector('[data-anchor=\"a:rope\"]').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.says("#lens h2", "Rope")
    page.says("#lens", "rests on Crane")
    page.reload()
    page.says("#lens h2", "Rope")


def test_a_circle_of_parents_is_drawn_all_the_same(page: Reader, agent: Caller) -> None:
    ring = {"kind": "component"}
    agent("anchors_bootstrap", anchors=[
        {**ring, "id": "a:ring1", "title": "One", "parent_id": "a:ring2", "depends_on": ["a:ring2"]},
        {**ring, "id": "a:ring2", "title": "Two", "parent_id": "a:ring1", "depends_on": ["a:ring1"]},
    ])  # fmt: skip
    page.open("map")
    page.find('[data-anchor="a:ring1"]')
    page.find('[data-anchor="a:ring2"]')
