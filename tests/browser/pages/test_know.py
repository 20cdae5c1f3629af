"""Know: lists whose filters are in the address, the neighbourhood of a record, the heat map of areas."""

from __future__ import annotations

from typing import Any

from selenium.webdriver.common.keys import Keys

from clew.project_files import take_snapshot
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_memory import decide
from tests.conftest import ROOT, Caller
from tests.tasks.test_receipts import prove as seen_run

ROWS = "[...document.querySelectorAll('#records > li')].map((row) => row.dataset.key).sort().join()"
BOXES = "[...document.querySelectorAll('#around [data-box]')].map((box) => box.dataset.box).sort().join()"
PLACED = "document.querySelector(arguments[0]).style.transform"
CROSSED = """(() => {
  // Points along each arrow, as they are painted, and the boxes and names that they must not touch.
  const boxes = [...document.querySelectorAll('#map [data-box]')];
  const leaves = boxes.filter((box) => !box.classList.contains('holds'));
  const names = boxes.filter((box) => box.classList.contains('holds')).flatMap((box) => [...box.children].slice(2));
  const solid = leaves.map((box) => [box.dataset.box, box.querySelector('.ground')]);
  const walls = [...solid, ...names.map((text) => ['', text])].map(([id, node]) => [id, node.getBoundingClientRect()]);
  const hits = [];
  for (const path of document.querySelectorAll('#map path.depends')) {
    const matrix = path.getScreenCTM(), length = path.getTotalLength();
    for (let at = 0; at <= length; at += 4) {
      const {x, y} = path.getPointAtLength(at).matrixTransform(matrix);
      for (const [id, wall] of walls) {
        const own = id && [path.dataset.from, path.dataset.to].includes(id);
        const inside = x > wall.left + 1 && x < wall.right - 1 && y > wall.top + 1 && y < wall.bottom - 1;
        if (inside && !own) hits.push(`${path.dataset.from} to ${path.dataset.to} crosses ${id || 'a name'}`);
      }
    }
  }
  return [...new Set(hits)];
})()"""
OVERFLOW = """[...document.querySelectorAll('#map [data-box]')].flatMap((box) => {
  const ground = box.querySelector('.ground').getBoundingClientRect();
  return [...box.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().right > ground.right - 2)
    .map((text) => text.textContent);
})"""


def cards(agent: Caller, branch: str, *ops: dict[str, Any]) -> None:
    agent("graph_apply", branch=branch, ops=[{"op": "node_upsert", "status": "open", **op} for op in ops])


def link(agent: Caller, start: str, rel: str, end: str) -> None:
    agent("graph_apply", branch="main", ops=[{"op": "edge_upsert", "from": start, "rel": rel, "to": end}])


def test_lists_are_filtered_by_the_address_and_back_leads_through_the_filters(page: Reader, agent: Caller) -> None:
    agent("anchors_bootstrap", anchors=[{"id": "a:lantern", "title": "Lantern", "kind": "component"}])
    block = decide(agent, "Trim the lantern wick weekly")
    cards(
        agent,
        "main",
        {"id": "LW1", "type": "hypothesis", "title": "A lantern wick of hemp smokes", "tags": ["a:lantern"]},
        {"id": "LW2", "type": "hypothesis", "title": "A lantern wick of wool", "status": "closed"},
    )
    page.open("ws/know/lists?words=lantern%20wick")
    page.until(f"{ROWS} === arguments[0]", ",".join(sorted([block, "LW1", "LW2"])))
    page.press_on('[data-facet="kind"][data-value="hypothesis"]')
    page.until(f"{ROWS} === 'LW1,LW2'")
    page.says("h1", "Hypotheses")
    page.press_on('[data-facet="status"][data-value="open"]')
    page.until(f"{ROWS} === 'LW1'")
    page.press_on('#records [data-key="LW1"] a.facet')
    page.until("document.querySelector('#chosen-filters')?.textContent.includes('about Lantern')")
    assert page.js("return location.hash") == (
        "#/ws/know/lists?kind=hypothesis&status=open&words=lantern+wick&area=a%3Alantern"
    )
    page.reload()
    page.until(f"{ROWS} === 'LW1'")
    page.js("history.back()")
    page.gone('#chosen-filters [data-off="area"]')
    page.js("history.back()")
    page.until(f"{ROWS} === 'LW1,LW2'")
    page.press_on('#chosen-filters [data-off="kind"]')
    page.until(f"{ROWS} === arguments[0]", ",".join(sorted([block, "LW1", "LW2"])))
    assert page.value("#list-words") == "lantern wick"


def test_a_list_stands_still_while_others_write_until_the_new_is_asked_for(page: Reader, agent: Caller) -> None:
    cards(agent, "main", {"id": "BUOY1", "type": "note", "title": "Buoyage red"})
    page.open("ws/know/lists?words=buoyage")
    page.until(f"{ROWS} === 'BUOY1'")
    cards(agent, "main", {"id": "BUOY2", "type": "note", "title": "Buoyage green"})
    page.find("#show-new")
    assert page.js(f"return {ROWS}") == "BUOY1", "nothing moves under the pointer"
    page.press_on("#show-new")
    page.until(f"{ROWS} === 'BUOY1,BUOY2'")
    assert page.there("document.activeElement !== document.body")


def test_a_list_has_pages(page: Reader, agent: Caller) -> None:
    cards(agent, "main", *({"id": f"PG{n}", "type": "note", "title": f"Pagination {n}"} for n in range(60)))
    page.open("ws/know/lists?words=pagination")
    page.says("#list-count", "1 to 50 of 60 records")
    page.js("document.querySelector('#older').scrollIntoView()")
    page.press_on("#older")
    page.says("#list-count", "51 to 60 of 60 records")
    page.until("document.querySelectorAll('#records > li').length === 10")
    page.press_on("#newer")
    page.says("#list-count", "1 to 50 of 60 records")


def test_the_neighbourhood_of_a_record_is_a_picture_and_an_outline(page: Reader, agent: Caller) -> None:
    names = ["reef", "wreck", "chart", "pilot", "tide"]
    cards(agent, "main", *({"id": name, "type": "note", "title": f"The {name}"} for name in names))
    for start, end in (("reef", "chart"), ("wreck", "reef"), ("pilot", "wreck"), ("tide", "pilot")):
        link(agent, start, "supports", end)
    page.open("ws/o/reef")
    page.says("h1", "The reef")
    page.press_on('[data-act="around"]')
    page.until(f"{BOXES} === 'chart,pilot,reef,wreck'")
    assert page.js("return location.hash") == "#/ws/know/around/reef"
    sides = page.js(
        "return ['chart', 'reef', 'wreck', 'pilot'].map((id) =>"
        " document.querySelector(`[data-box=${id}]`).getBoundingClientRect().left)"
    )
    assert sides == sorted(sides), "what it points to at the left, what points to it at the right"
    assert page.all('#around path[data-from="wreck"][data-to="reef"]')
    page.says('[data-choose="wreck"]', "← supports")
    page.press_on('[data-choose="pilot"]')
    page.says("#around-chosen h2", "The pilot")
    page.press_on("#around-expand")
    page.until(f"{BOXES} === 'chart,pilot,reef,tide,wreck'")
    page.reload()
    page.until(f"{BOXES} === 'chart,pilot,reef,tide,wreck'")
    page.js("history.back()")
    page.until(f"{BOXES} === 'chart,pilot,reef,wreck'")
    page.press_on('[data-depth="1"]')
    page.until(f"{BOXES} === 'chart,reef,wreck'")
    page.press_on('[data-box="wreck"]')
    page.says("#around-chosen h2", "The wreck")
    page.press_on("#around-go")
    page.until("location.hash === '#/ws/know/around/wreck'")
    page.says("h1", "Around “The wreck”")


def test_a_picture_is_walked_by_keys_and_moved_by_the_camera(page: Reader, agent: Caller) -> None:
    cards(agent, "main", *({"id": name, "type": "note", "title": name} for name in ("bow", "stern", "deck")))
    link(agent, "bow", "supports", "deck")
    link(agent, "stern", "supports", "bow")
    page.open("ws/know/around/bow")
    page.until(f"{BOXES} === 'bow,deck,stern'")
    page.settled()
    page.press_on('[data-box="bow"]')
    page.until("document.activeElement.dataset.box === 'bow'")
    page.keys(Keys.ARROW_RIGHT)
    page.until("document.activeElement.dataset.box === 'stern'")
    page.keys(Keys.ENTER)
    page.says("#around-chosen h2", "stern")
    assert len(page.all('#around [data-box][tabindex="0"]')) == 1, "one stop for Tab, however many boxes"
    page.press_on('#around button[title="Show all (0)"]')
    before = page.js(f"return {PLACED}", "#around .plane")
    page.press_on('#around button[title="Zoom in (+)"]')
    page.until(f"{PLACED} !== arguments[1]", "#around .plane", before)
    page.press_on('#around button[title="Show all (0)"]')
    page.until(f"{PLACED} === arguments[1]", "#around .plane", before)


def test_areas_are_a_heat_map_with_a_table_that_leads_to_the_lists(page: Reader, agent: Caller) -> None:
    agent("anchors_bootstrap", anchors=[
        {"id": "a:galley", "title": "Galley", "kind": "component", "refs": ["src/galley.py"]},
        {"id": "a:bilge", "title": "Bilge", "kind": "component"},
    ])  # fmt: skip
    cards(
        agent,
        "main",
        *({"id": f"GA{n}", "type": "note", "title": f"Galley {n}", "tags": ["a:galley"]} for n in range(4)),
        {"id": "GQ", "type": "question", "title": "Who cooks?", "text": "See src/galley.py", "tags": ["a:galley"]},
    )
    page.open("ws/know/areas")
    page.says('#map [data-anchor="a:galley"]', "5 known · 1 open")
    assert page.js("return document.querySelector('[data-anchor=\"a:galley\"]').dataset.level") == "2"
    assert page.js("return document.querySelector('[data-anchor=\"a:bilge\"]').dataset.level") == "0"
    page.says('#area-table [data-row="a:galley"]', "5")
    page.says("#file-table", "src/galley.py")
    page.press_on('[data-by="fresh"]')
    page.until("document.querySelector('[data-anchor=\"a:galley\"]').dataset.level === '4'")
    page.js("document.querySelector('#area-table [data-row=\"a:galley\"] th a').scrollIntoView()")
    page.press_on('#area-table [data-row="a:galley"] th a')
    page.says("#lens h2", "Galley")
    page.says("#lens", "Who cooks?")
    page.press_on("#area-records")
    page.until(f"{ROWS} === 'GA0,GA1,GA2,GA3,GQ'")
    assert "area=a%3Agalley" in page.js("return location.hash")


def test_no_arrow_of_the_map_crosses_a_box_or_a_name_and_no_word_leaves_its_box(page: Reader, agent: Caller) -> None:
    inner = {"kind": "component", "parent_id": "a:dockyard"}
    agent("anchors_bootstrap", anchors=[
        {"id": "a:dockyard", "title": "Dockyard", "kind": "component"},
        {**inner, "id": "a:slipway", "title": "Slipway", "depends_on": ["a:sawmill"]},
        {**inner, "id": "a:rigging", "title": "Rigging"},
        {**inner, "id": "a:sawmill", "title": "MMMMMMMM WWWWWWWW MMMMMMMM WWWWWWWW"},
        {**inner, "id": "a:paint", "title": "Paint", "depends_on": ["a:rigging", "a:slipway"]},
        {"id": "a:offices", "title": "Offices", "kind": "boundary"},
        {"id": "a:desk", "title": "Old reservation desk in the harbour office", "kind": "boundary",
         "parent_id": "a:offices", "depends_on": ["a:slipway", "a:paint"]},
        {"id": "a:till", "title": "Till", "kind": "boundary", "parent_id": "a:offices", "depends_on": ["a:rigging"]},
    ])  # fmt: skip
    page.open("ws/know/areas")
    page.until("document.querySelectorAll('#map path.depends').length >= 6")
    page.settled()
    assert page.js(f"return {CROSSED}") == []
    assert page.js(f"return {OVERFLOW}") == []


def test_cards_are_narrowed_by_words_and_shown_as_a_table(page: Reader, agent: Caller) -> None:
    agent("branch_create", name="oars", from_="main")
    cards(
        agent,
        "oars",
        {"id": "OAR1", "type": "hypothesis", "title": "Ash oars bend"},
        {"id": "OAR2", "type": "evidence", "title": "Spruce breaks"},
    )
    edge = {"op": "edge_upsert", "from": "OAR2", "rel": "supports", "to": "OAR1"}
    agent("graph_apply", branch="oars", ops=[edge])
    page.open("ws/know/cards/oars?words=oars")
    page.until("document.querySelectorAll('#cards-field [data-card]').length === 1")
    page.type("#card-words", "")
    page.find('[data-card="OAR2"]')
    page.press_on('[data-as="table"]')
    page.says('tr[data-row="OAR2"]', "supports Ash oars bend")
    page.says('tr[data-row="OAR1"]', "Spruce breaks supports this")
    page.press_on('tr[data-row="OAR1"] th a')
    page.says("#card h2", "Ash oars bend")
    assert page.seen("#card h2")


def test_chips_of_tasks_and_steps_look_like_all_chips(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Splice the halyard eye", "success_criteria": ["It holds"]}]
    agent("tasks_macro_start", plan_title="Ropes", task_title="Mend the halyard eye", steps=steps)
    page.open("ws/know/recall/halyard%20eye/tasks")
    page.until("document.querySelectorAll('.result header .kind').length >= 2")
    looks = page.each(".result header .kind, .result .badge", "[e.offsetHeight < 30, getComputedStyle(e).boxShadow]")
    assert all(look == [True, "none"] for look in looks), "no mark has the size or the shadow of a card of the board"
    left = page.each(".result header .kind", "[e.offsetWidth, e.getBoundingClientRect().left]")
    assert len(set(map(tuple, left))) == 1 and left[0][0] == 20, "the icons stand in one column of 20 px"


def test_no_line_of_the_log_ends_in_a_colon(page: Reader, agent: Caller) -> None:
    agent("scan")
    page.open("ws/history/log")
    page.find("#log li")
    page.settled()
    said = page.each("#log li .what, #log li strong", "e.textContent.trim()")
    assert said and not [words for words in said if words.endswith(":")]


def test_stale_proofs_say_so_in_the_list_and_have_a_filter(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Sound the depth", "success_criteria": ["deep"]}, {"title": "Log it", "success_criteria": ["x"]}]
    task = agent("tasks_macro_start", plan_title="Depth", task_title="Sound", steps=steps)["task_id"]
    covered = take_snapshot(ROOT, ["pyproject.toml"])
    stale: dict[str, Any] = {"files": {"pyproject.toml": "0" * 64}}
    fresh: dict[str, Any] = {"files": covered.files, "stamps": covered.stamps}
    old = seen_run(agent.clew, task, "s:0", "sound stale-depth", **stale)["receipt"]["evidence"]
    new = seen_run(agent.clew, task, "s:1", "sound fresh-depth", **fresh)["receipt"]["evidence"]
    page.open("ws/know/lists?kind=proof&words=sound")
    page.says(f'#records [data-key="{old}"]', "stale: pyproject.toml changed since")
    page.says(f'#records [data-key="{new}"]', "seen")
    assert not page.all(f'#records [data-key="{old}"] .badge.good'), "green is for what still stands"
    page.settled()
    page.js("document.querySelector('[data-facet=stale]').scrollIntoView({block: 'center'})")
    page.press_on("[data-facet=stale]")
    page.until("location.hash.includes('stale=yes')")
    page.until("!document.querySelector(arguments[0])", f'#records [data-key="{new}"]')
    page.find(f'#records [data-key="{old}"]')


def test_what_replaces_a_record_is_a_link_in_its_facts(page: Reader, agent: Caller) -> None:
    old = agent("remember", kind="rule", text="Whistle once before casting off")["id"]
    new = agent("remember", kind="rule", text="Whistle twice before casting off", replaces=[old])
    if new.get("proposal"):
        agent("approve_apply", proposal_id=new["proposal"], dry_run=False)
    page.open(f"ws/o/{new['id']}")
    page.says("main h1", "Whistle twice before casting off")
    page.settled()
    page.press_on(f'main .facts a[href$="/o/{old}"]')
    page.says("#panel .record-title", "Whistle once before casting off")
