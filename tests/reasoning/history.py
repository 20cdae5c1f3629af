"""Random branch histories, and the plainest possible model of what they should show."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.conftest import Caller

_numbers = itertools.count()

NODES = ("A", "B", "C")
VALUES = ("one", "two", "three")
START: list[tuple[Any, ...]] = [
    ("put", 0, "A", "one"),
    ("put", 0, "B", "one"),
    ("edge", 0, "A", "B"),
    ("branch", 0),
]
"""Something to inherit and a branch that does, so that few steps already meet."""


@st.composite
def histories(draw: st.DrawFn, most: int = 20) -> list[tuple[Any, ...]]:
    """Steps over branches that are created on the way; a branch is named by its number."""
    steps: list[tuple[Any, ...]] = draw(st.sampled_from(([], START, START)))[:]
    branches = 2 if steps else 1
    for _ in range(draw(st.integers(3, most))):
        where = draw(st.integers(0, branches - 1))
        what = draw(st.sampled_from(("put", "put", "put", "drop", "edge", "unedge", "note", "branch")))
        if what == "branch":
            branches += 1
            steps.append(("branch", where))
        elif what in ("put", "note"):
            steps.append((what, where, draw(st.sampled_from(NODES)), draw(st.sampled_from(VALUES))))
        elif what == "drop":
            steps.append((what, where, draw(st.sampled_from(NODES))))
        else:
            steps.append((what, where, draw(st.sampled_from(NODES)), draw(st.sampled_from(NODES))))
    return steps


@dataclass
class Model:
    """Every write ever made, in order; a view is found by looking at all of them."""

    bases: list[tuple[int, int] | None] = field(default_factory=lambda: [None])
    nodes: list[tuple[int, int, str, str | None]] = field(default_factory=list)
    edges: list[tuple[int, int, tuple[str, str, str], bool]] = field(default_factory=list)
    notes: list[tuple[int, int, str]] = field(default_factory=list)

    def sees(self, branch: int, cutoff: float = float("inf")) -> list[tuple[int, float]]:
        """(branch, cutoff) of everything a branch shows."""
        found = [(branch, cutoff)]
        base = self.bases[branch]
        return found + (self.sees(base[0], min(base[1], cutoff)) if base else [])

    def visible(self, log: list[Any], branch: int, cutoff: float = float("inf")) -> list[Any]:
        parts = self.sees(branch, cutoff)
        return [row for row in log if any(row[1] == part and row[0] <= end for part, end in parts)]

    def node_states(self, branch: int, cutoff: float = float("inf")) -> dict[str, tuple[int, str | None]]:
        states: dict[str, tuple[int, str | None]] = {}
        for seq, _, key, value in self.visible(self.nodes, branch, cutoff):
            states[key] = (seq, value)
        return states

    def edge_states(self, branch: int, cutoff: float = float("inf")) -> dict[tuple[str, str, str], tuple[int, bool]]:
        states: dict[tuple[str, str, str], tuple[int, bool]] = {}
        for seq, _, key, there in self.visible(self.edges, branch, cutoff):
            states[key] = (seq, there)
        return states

    def live_nodes(self, branch: int, cutoff: float = float("inf")) -> list[tuple[str, str]]:
        """(id, text), newest first."""
        states = self.node_states(branch, cutoff)
        ordered = sorted(((seq, key, value) for key, (seq, value) in states.items() if value), reverse=True)
        return [(key, value) for _, key, value in ordered]

    def live_edges(self, branch: int, cutoff: float = float("inf")) -> set[tuple[str, str, str]]:
        return {key for key, (_, there) in self.edge_states(branch, cutoff).items() if there}


class Play:
    """Plays a history against Clew and the model alike, in a workspace of its own."""

    def __init__(self, call: Caller, steps: list[tuple[Any, ...]]) -> None:
        self.call = call
        self.workspace = f"history-{next(_numbers)}"
        self.model = Model()
        for step in steps:
            getattr(self, step[0])(*step[1:])

    def name(self, branch: int) -> str:
        return f"b{branch}" if branch else "main"

    def run(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.call(name, workspace=self.workspace, **arguments)

    def apply(self, branch: int, **op: Any) -> int:
        named = {key.rstrip("_"): value for key, value in op.items()}
        return int(self.run("graph_apply", branch=self.name(branch), doc="graph", ops=[named])["last_seq"])

    def branch(self, base: int) -> None:
        made = self.run("branch_create", name=f"b{len(self.model.bases)}", from_=self.name(base))
        self.model.bases.append((base, made["branch"]["base_seq"]))

    def put(self, branch: int, id: str, text: str) -> None:
        seq = self.apply(branch, op="node_upsert", id=id, type="note", text=text, tags=[text], status=id.lower())
        self.model.nodes.append((seq, branch, id, text))

    def drop(self, branch: int, id: str) -> None:
        state = self.model.node_states(branch).get(id)
        if state is None or state[1] is None:
            return
        gone = [key for key in self.model.live_edges(branch) if id in (key[0], key[2])]
        seq = self.apply(branch, op="node_delete", id=id)
        # The edges at the node go with it, each with a seq of its own just before the node's.
        for key in gone:
            self.model.edges.append((seq, branch, key, False))
        self.model.nodes.append((seq, branch, id, None))

    def edge(self, branch: int, start: str, end: str) -> None:
        live = {key for key, _ in self.model.live_nodes(branch)}
        if start in live and end in live:
            seq = self.apply(branch, op="edge_upsert", from_=start, rel="supports", to=end)
            self.model.edges.append((seq, branch, (start, "supports", end), True))

    def unedge(self, branch: int, start: str, end: str) -> None:
        if (start, "supports", end) in self.model.live_edges(branch):
            seq = self.apply(branch, op="edge_delete", from_=start, rel="supports", to=end)
            self.model.edges.append((seq, branch, (start, "supports", end), False))

    def note(self, branch: int, title: str, content: str) -> None:
        entry = self.run("notes_commit", branch=self.name(branch), content=content, title=title)["entry"]
        self.model.notes.append((entry["seq"], branch, content))

    def shown_nodes(self, branch: int, **more: Any) -> list[tuple[str, str]]:
        result = self.run("graph_query", branch=self.name(branch), doc="graph", **more)
        return [(node["id"], node["text"]) for node in result["nodes"]]

    def shown_edges(self, branch: int, **more: Any) -> set[tuple[str, str, str]]:
        result = self.run("graph_query", branch=self.name(branch), doc="graph", **more)
        return {(edge["from"], edge["rel"], edge["to"]) for edge in result["edges"]}
