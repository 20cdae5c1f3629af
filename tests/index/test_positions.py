"""Positions answers as a dict would, whatever order the known ids stand in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.index.postings import ABSENT, positions

IDS = st.lists(st.integers(0, 30), unique=True, max_size=12)


@given(IDS, IDS)
def test_it_answers_as_a_dict_would(wanted: list[int], known: list[int]) -> None:
    place = {id: at for at, id in enumerate(known)}
    found = positions(np.array(wanted, np.int64), np.array(known, np.int64))
    assert found.tolist() == [place.get(id, ABSENT) for id in wanted]
