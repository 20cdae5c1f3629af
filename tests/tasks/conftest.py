"""A plan with one task of two steps, on each engine."""

from __future__ import annotations

import pytest

from tests.conftest import Caller

STEP = {"title": "Parse", "success_criteria": ["rows are read"], "tests": ["make test"]}
OTHER = {"title": "Write", "success_criteria": ["rows are written"]}


@pytest.fixture
def task(call: Caller) -> str:
    plan = call("tasks_create", title="Importer")["id"]
    return str(call("tasks_create", title="Read files", parent=plan, steps=[STEP, OTHER])["id"])
