"""Refusing costs little, however much is wrong: one caller must not keep the others waiting."""

from __future__ import annotations

import time

import pytest

from tests.conftest import Caller


def refusal(call: Caller, name: str, **arguments: object) -> tuple[dict[str, object], float]:
    begun = time.process_time()
    error = call.answer(name, **arguments).envelope["error"]
    return error, time.process_time() - begun


def test_hundreds_of_thousands_of_unknown_arguments(call: Caller) -> None:
    error, seconds = refusal(call, "status", **{f"argument_{number}": 1 for number in range(200_000)})
    assert error["code"] == "INVALID_INPUT"
    assert "200000 arguments are given" in str(error["message"])
    assert seconds < 3


@pytest.mark.parametrize("inner", [{"card": {f"x{n}": 1 for n in range(50_000)}}, {"card": {"tags": [1] * 50_000}}])
def test_tens_of_thousands_of_faults_inside_an_argument(call: Caller, inner: dict[str, object]) -> None:
    error, seconds = refusal(call, "think_card", **inner)
    assert error["code"] == "INVALID_INPUT"
    assert len(str(error)) < 20_000
    assert seconds < 5


def test_a_few_are_explained_as_ever(call: Caller) -> None:
    error, _ = refusal(call, "status", verbositty="full")
    assert "did you mean verbosity?" in str(error["message"])
