"""Every deviation that was found is answered: pinned as in the original, or deliberate with its reason."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from clew.registry.reference import SeedContract, contracts

ROOT = Path(__file__).parents[2]
CONTRACTS = {contract.name: contract for contract in contracts()}
FOUND = {"branchmind": 18 + 15, "thoughtbox": 23 + 8 + 15, "mind-mem": 35 + 12}
"""How many deviations the comparison with each original numbered; BranchMind has five small ones besides."""


@cache
def functions(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("name", FOUND)
def test_no_deviation_is_left_unanswered(name: str) -> None:
    contract = CONTRACTS[name]
    assert len([id for id in contract.causes if not id.startswith("S")]) == FOUND[name]
    assert contract.unanswered == []


@pytest.mark.parametrize("name", FOUND)
def test_every_answer_names_a_deviation_and_a_test_that_exists(name: str) -> None:
    contract = CONTRACTS[name]
    for causes, test in answers(contract):
        assert set(causes) <= set(contract.causes), causes
        path, _, function = test.partition("::")
        assert function.startswith("test_") and function in functions(path), test


def answers(contract: SeedContract) -> list[tuple[list[str], str]]:
    kept = [([item.cause], item.test) for item in contract.kept]
    return kept + [(list(item.causes), item.test) for item in contract.differences]


@pytest.mark.parametrize("name", FOUND)
def test_what_is_deliberate_says_why(name: str) -> None:
    for item in CONTRACTS[name].differences:
        assert len(item.why.split()) > 4 and item.original != item.clew, item.what
