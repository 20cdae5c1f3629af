"""Positions answers as a dict would, before and after what is recent is merged into the arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.index import postings as positions
from clew.index.postings import ABSENT, Positions

IDS = st.lists(st.integers(0, 30), unique=True, max_size=12)
STEP = st.tuples(st.sampled_from(["put", "drop", "ask"]), IDS, st.integers(0, 100))


@given(st.lists(STEP, max_size=20), st.integers(0, 20))
def test_it_answers_as_a_dict_would(steps: list[tuple[str, list[int], int]], most_recent: int) -> None:
    held: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "MOST_RECENT", most_recent)
        found = Positions()
        for action, ids, first in steps:
            if action == "put":
                found.put(np.array(ids, np.int64), first)
                held.update(zip(ids, range(first, first + len(ids)), strict=True))
            elif action == "drop":
                found.drop(np.array(ids, np.int64))
                for id in ids:
                    held.pop(id, None)
            else:
                assert found.of(np.array(ids, np.int64)).tolist() == [held.get(id, ABSENT) for id in ids]
            for id in range(31):
                assert found.get(id) == held.get(id)
                assert (id in found) == (id in held)


def test_an_unknown_id_is_no_position() -> None:
    with pytest.raises(KeyError):
        Positions()[5]
