"""The page knows kinds, ids and events from the declarations, never from a list of its own."""

import re
from pathlib import Path

import clew.faces.web
from clew.registry.build import PAGE_FACTS, page_facts
from clew.store.workspaces import EVENT_TYPES

SCRIPTS = Path(clew.faces.web.__file__).parent / "static" / "js"


def test_the_generated_module_says_what_is_declared() -> None:
    assert PAGE_FACTS.read_text(encoding="utf-8") == page_facts(), "run make index"


def test_the_page_has_words_only_for_events_that_exist() -> None:
    page_facts()  # declares every event
    text = (SCRIPTS / "happenings.js").read_text(encoding="utf-8")
    labels = text[text.index("const LABELS") : text.index("};", text.index("const LABELS"))]
    named = {*re.findall(r'^\s*(\w+): "', labels, re.MULTILINE), *re.findall(r'[^.]type === "(\w+)"', text)}
    assert len(named) > 25
    assert named - set(EVENT_TYPES) == set()
