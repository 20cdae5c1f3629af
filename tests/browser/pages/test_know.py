"""Know: lists whose filters are in the address, the neighbourhood of a record, the areas."""

from __future__ import annotations

from typing import Any

from clew.project_files import take_snapshot
from tests.browser.pages.conftest import Reader
from tests.browser.pages.test_memory import decide
from tests.conftest import ROOT, Caller
from tests.tasks.test_receipts import prove as seen_run

ROWS = "[...document.querySelectorAll('#records > li')].map((row) => row.dataset.key).sort().join()"
NEAR = "[...document.querySelectorAll('#around [data-near]')].map((row) => row.dataset.near).sort().join()"


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


def test_the_neighbourhood_of_a_record_is_a_tree(page: Reader, agent: Caller) -> None:
    names = ["reef", "wreck", "chart", "pilot", "tide"]
    cards(agent, "main", *({"id": name, "type": "note", "title": f"The {name}"} for name in names))
    for start, end in (("reef", "chart"), ("wreck", "reef"), ("pilot", "wreck"), ("tide", "pilot")):
        link(agent, start, "supports", end)
    page.open("ws/o/reef")
    page.says("h1", "The reef")
    page.press_on('[data-act="around"]')
    page.until(f"{NEAR} === 'chart,pilot,wreck'")
    assert page.js("return location.hash") == "#/ws/know/around/reef"
    page.says("#around-count", "3 records within 2 steps; 1 more")
    assert page.text('[data-near="chart"]').startswith("supports"), "what it points to"
    assert page.text('[data-near="wreck"]').startswith("supported by"), "what points to it"
    assert page.all('[data-near="wreck"] [data-near="pilot"]'), "under the record that it is linked with"
    page.press_on('[data-more="pilot"]')
    page.until(f"{NEAR} === 'chart,pilot,tide,wreck'")
    page.reload()
    page.until(f"{NEAR} === 'chart,pilot,tide,wreck'")
    page.js("history.back()")
    page.until(f"{NEAR} === 'chart,pilot,wreck'")
    page.press_on('.head nav a[href$="depth=1"]')
    page.until(f"{NEAR} === 'chart,wreck'")
    page.press_on('[data-near="wreck"] a.button[href$="around/wreck"]')
    page.until("location.hash === '#/ws/know/around/wreck'")
    page.says("h1", "Around “The wreck”")
    page.press_on('[data-near="reef"] a.what')
    page.says("#panel .record-title", "The reef")


def test_areas_are_a_table_with_bars_that_leads_to_the_lists(page: Reader, agent: Caller) -> None:
    agent("anchors_bootstrap", anchors=[
        {"id": "a:galley", "title": "Galley", "kind": "component", "refs": ["src/galley.py"]},
        {"id": "a:oven", "title": "Oven", "kind": "component", "parent_id": "a:galley", "depends_on": ["a:bilge"]},
        {"id": "a:bilge", "title": "Bilge", "kind": "component"},
        {"id": "a:ring1", "title": "One", "kind": "component", "parent_id": "a:ring2"},
        {"id": "a:ring2", "title": "Two", "kind": "component", "parent_id": "a:ring1"},
    ])  # fmt: skip
    cards(
        agent,
        "main",
        *({"id": f"GA{n}", "type": "note", "title": f"Galley {n}", "tags": ["a:galley"]} for n in range(4)),
        {"id": "GQ", "type": "question", "title": "Who cooks?", "text": "See src/galley.py", "tags": ["a:galley"]},
    )
    page.open("ws/know/areas")
    page.until(f"{ROW_OF}?.textContent.startsWith('Galley51')", "a:galley")
    known = page.js(f"return {ROW_OF}.querySelector('progress').value", "a:galley")
    assert known == 5, "the bar says what the number says"
    page.says("#file-table", "src/galley.py")
    inner, outer = (page.js(f"return {ROW_OF}.querySelector('a').offsetLeft", id) for id in ("a:oven", "a:galley"))
    assert inner > outer, "an area stands below the one that it is part of"
    page.find('[data-row="a:ring1"]')  # parts of each other are listed all the same
    tops = "[...document.querySelector('tr[data-row=\"a:galley\"]').cells].map((cell) => cell.offsetTop)"
    assert len(set(page.js(f"return {tops}"))) == 1, "all cells of a row stand on one line"
    page.press_on('#area-table [data-row="a:oven"] th a')
    page.says("#panel .record-title", "Oven")
    page.says("#panel .facts", "a:bilge")
    page.press_on("#panel .panel-top button")
    page.until("document.getElementById('panel').hidden")
    page.press_on('#area-table [data-row="a:galley"] th a')
    page.press_on('#panel [data-records="a:galley"]')
    page.until(f"{ROWS} === 'GA0,GA1,GA2,GA3,GQ'")
    assert "area=a%3Agalley" in page.js("return location.hash")


ROW_OF = "document.querySelector(`tr[data-row='${arguments[0]}']`)"


def test_chips_of_tasks_and_steps_look_like_all_chips(page: Reader, agent: Caller) -> None:
    steps = [{"title": "Splice the halyard eye", "success_criteria": ["It holds"]}]
    agent("tasks_macro_start", plan_title="Ropes", task_title="Mend the halyard eye", steps=steps)
    page.open("ws/know/recall/halyard%20eye/tasks")
    page.until("document.querySelectorAll('.result header .kind').length >= 2")
    looks = page.each(".result header .kind, .result .badge", "[e.offsetHeight < 30, getComputedStyle(e).boxShadow]")
    assert all(look == [True, "none"] for look in looks), "no mark has the size or the shadow of a card of the board"
    left = page.each(".result header .kind", "[e.offsetWidth, e.getBoundingClientRect().left]")
    assert len(set(map(tuple, left))) == 1 and left[0][0] == 20, "the icons stand in one column of 20 px"


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
    page.says(f'#records [data-key="{new}"]', "proven")
    assert not page.all(f'#records [data-key="{old}"] .badge.good'), "green is for what still stands"
    page.settled()
    page.js("document.querySelector('[data-facet=stale]').scrollIntoView({block: 'center'})")
    page.press_on("[data-facet=stale]")
    page.until("location.hash.includes('stale=yes')")
    page.until("!document.querySelector(arguments[0])", f'#records [data-key="{new}"]')
    page.find(f'#records [data-key="{old}"]')


def test_what_a_record_replaces_is_a_link_said_once(page: Reader, agent: Caller) -> None:
    old = agent("remember", kind="rule", text="Whistle once before casting off")["id"]
    new = agent("remember", kind="rule", text="Whistle twice before casting off", replaces=[old])
    if new.get("proposal"):
        agent("approve_apply", proposal_id=new["proposal"], dry_run=False)
    page.open(f"ws/o/{new['id']}")
    page.says("main h1", "Whistle twice before casting off")
    page.settled()
    assert len(page.all(f'main .page a[href$="/o/{old}"]')) == 1
    page.press_on(f'main .links a[href$="/o/{old}"]')
    page.says("#panel .record-title", "Whistle once before casting off")
