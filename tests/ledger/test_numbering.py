"""Numbers under random branches, revisions and gaps, against a model that is a dictionary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.app import Clew
from tests.ledger.conftest import fresh_thinker

CHAINS = ("", "a", "b", "c")


@dataclass
class Model:
    """What a careful person with a sheet of paper would do."""

    numbers: dict[str, list[int]] = field(default_factory=lambda: {"": []})
    origins: dict[str, tuple[str, int]] = field(default_factory=dict)

    def has(self, chain: str, number: int) -> bool:
        return number in self.numbers.get(chain, [])

    def next(self, chain: str) -> int:
        return max(self.numbers[chain], default=self.origins.get(chain, ("", 0))[1]) + 1

    def resolves(self, chain: str, number: int) -> bool:
        while not self.has(chain, number):
            if chain not in self.origins:
                return False
            chain = self.origins[chain][0]
        return True

    def write(self, step: dict[str, Any]) -> int | None:
        """The number the thought gets, or None when it is refused."""
        chain = step.get("branchId", "")
        origin = (step.get("branchFromBranch", ""), step["branchFromThought"]) if "branchFromThought" in step else None
        new = chain not in self.numbers
        if new and (origin is None or not self.has(*origin)):
            return None
        if not new and origin is not None and (origin != self.origins.get(chain) if chain else not self.has(*origin)):
            return None
        number = step.get("thoughtNumber")
        if number is not None and self.has(chain, number):
            return None
        if "revisesThought" in step and not self._would_resolve(chain, origin if new else None, step["revisesThought"]):
            return None
        if new:
            assert origin is not None
            self.numbers[chain], self.origins[chain] = [], origin
        number = number or self._said(chain, step["thought"]) or self.next(chain)
        self.numbers[chain].append(number)
        return number

    def _said(self, chain: str, text: str) -> int | None:
        """The number that a text in the notation bears, if nothing has it."""
        number = int(text[1]) if text[0] == "S" else 0
        return number if number and not self.has(chain, number) else None

    def _would_resolve(self, chain: str, origin: tuple[str, int] | None, number: int) -> bool:
        return self.resolves(origin[0] if origin else chain, number)


numbers = st.integers(1, 9)
texts = st.just("x") | numbers.map(lambda number: f"S{number}|O|x")
steps = st.fixed_dictionaries(
    {"thought": texts},
    optional={
        "branchId": st.sampled_from(CHAINS[1:]),
        "branchFromThought": numbers,
        "thoughtNumber": numbers,
        "revisesThought": numbers,
    },
) | st.builds(
    lambda text, chain, base, number: {
        "thought": text,
        "branchId": chain,
        "branchFromBranch": base,
        "branchFromThought": number,
    },
    texts,
    st.sampled_from(CHAINS[1:]),
    st.sampled_from(CHAINS[1:]),
    numbers,
)


@settings(max_examples=40, deadline=None)
@given(history=st.lists(steps, max_size=25))
def test_numbers_agree_with_a_naive_model(clew: Clew, history: list[dict[str, Any]]) -> None:
    thinker = fresh_thinker(clew)
    model = Model()
    thinker.do("start_new", cipher=True)
    for step in history:
        answer = thinker.answer("thought", nextThoughtNeeded=True, **step)
        expected = model.write(step)
        assert (answer.envelope["result"].get("thoughtNumber") if answer.ok else None) == expected, step
    stored: dict[str, list[int]] = {"": []}
    for item in thinker("session_get", sessionId=thinker.do("get_state")["sessionId"])["thoughts"]:
        stored.setdefault(item.get("branchId", ""), []).append(item["thoughtNumber"])
    assert stored == model.numbers
