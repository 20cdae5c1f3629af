"""The kernels of a new workspace: every section, key, type and range that the recall pipeline reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

Setting = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its default, which also defines the type, and the range of values."""

    default: Setting
    low: float = 0.0
    high: float = 1000.0
    choices: tuple[str, ...] = ()


def _weights(low: float, high: float, **defaults: float) -> dict[str, Key]:
    return {name: Key(value, low, high) for name, value in defaults.items()}


def _intent(expansion: str, graph_depth: int, rerank: str) -> dict[str, Key]:
    return {
        "expansion": Key(expansion, choices=EXPANSIONS),
        "graph_depth": Key(graph_depth, 0, 4),
        "rerank": Key(rerank, choices=RERANKS),
    }


RETIRED = frozenset({"floor", "floor_words", "floor_words_pages", "floor_meaning", "floor_meaning_pages"})
"""Sections of older kernel files that are no longer read."""
EXPANSIONS = ("none", "rm3", "date", "entity", "broad", "exact", "multi", "chain")
RERANKS = ("default", "causal", "temporal", "exact", "procedural", "diversity", "evidence", "balanced")

# `rerank.weights` is fitted by `benchmarks/fit_recall.py` on conversations; `rerank.meaning`,
# `rerank.pages` and `hybrid.fusion` by `benchmarks/left_out.py` on all shapes together.
_RERANK = _weights(
    -50, 50, window=3.8, lead=6.7, document=3.1, coverage=2.1, proximity=0.3, phrase=6.0,
    speaker=0.9, entity=1.5, question=-0.8, answer=0.9, length=2.5, cue=0.9, graph=2.5, status=-3.0,
    kind=1.2,
)  # fmt: skip
_RERANK_BY_MEANING = _weights(
    -50, 50, window=2.3, lead=1.9, document=1.9, coverage=2.2, proximity=0.7, speaker=1.0,
    question=-1.0, answer=0.3, length=2.0, date=2.4, cue=0.2, graph=3.2, kind=2.5,
)  # fmt: skip
DEFAULTS: dict[str, dict[str, dict[str, Key]]] = {
    "recall": {
        "fields": _weights(0, 10, title=1.6, body=1.0, tags=1.2, speaker=1.0),
        # For short remarks and for pages; the average length of an item selects a value between them.
        "bm25": {
            "k1": Key(0.8, 0, 10),
            "long_k1": Key(1.5, 0, 10),
            "b": Key(0.1, 0, 1),
            "long_b": Key(0.9, 0, 1),
            "document_b": Key(0.5, 0, 1),
        },
        # The share of a neighbour's words that counts as an item's own, by distance, on both sides and
        # before it only.
        "context": {
            **_weights(0, 2, around_1=0.5, around_2=0.25, around_3=0.1, before_1=0.7, before_2=0.3),
            "long_words": Key(60.0, 1, 100_000),
            "loose": Key(0.4, 0, 1),
        },
        # `tail`: how far below the best a result may score and still be shown.
        "search": {
            "candidates": Key(400, 10, 5000),
            "prefix_words": Key(12, 0, 100),
            "typo_words": Key(3, 0, 20),
            "tail": Key(8.0, 0, 1000),
        },
    },
    "rm3": {"expansion": {"terms": Key(6, 0, 50), "weight": Key(0.15, 0, 1), "items": Key(5, 1, 50)}},
    "rerank": {
        "weights": _RERANK,
        # Weights if vectors are compared: words no longer have to express what semantic similarity does.
        "meaning": _RERANK_BY_MEANING,
        # Weights among pages: items that are long, or self-contained. `from` and `to` define the share
        # of pages in a collection from which they begin to apply, and from which they apply fully.
        "pages": {
            "from": Key(0.4, 0, 1),
            "to": Key(0.9, 0, 1),
            **_weights(-50, 50, document=1.3, coverage=0.1, speaker=3.4, dense=10.5),
        },
        # The same if no vectors are compared: words must express what semantic similarity would.
        "pages_words": _weights(-50, 50, document=2.0, coverage=0.0, speaker=3.2),
        "cues": {
            "causal": Key("because since reason cause due therefore hence so why led result decided"),
            "procedural": Key("first then step run use install configure start finally next command must"),
        },
    },
    "temporal": {
        "time": _weights(-50, 50, date=3.4, recency=2.0),
        "dates": {"near_days": Key(14.0, 0, 3650), "pause_hours": Key(4.0, 0, 100_000)},
        "words": {
            "temporal": Key(
                "yesterday today tonight tomorrow last next ago week month year weekend morning since recently just"
                " monday tuesday wednesday thursday friday saturday sunday january february march april june july"
                " august september october november december"
            )
        },
    },
    "adversarial": {
        "verify": {
            "proximity_factor": Key(2.0, 0, 10),
            "evidence": Key(
                "verified confirmed proof passed failed measured tested evidence shows actually true false"
            ),
        }
    },
    "hybrid": {
        "fusion": _weights(-50, 50, dense=6.2),
        "vector": {
            "enabled": Key(True),
            "candidates": Key(200, 0, 5000),
            "min_similarity": Key(0.12, -1, 1),
            "in_process": Key(200_000, 0, 10_000_000),
        },
    },
    "intent": {
        "WHY": _intent("rm3", 2, "causal"),
        "WHEN": _intent("date", 1, "temporal"),
        "ENTITY": _intent("entity", 1, "exact"),
        "WHAT": _intent("none", 1, "default"),
        "HOW": _intent("rm3", 2, "procedural"),
        "LIST": _intent("broad", 0, "diversity"),
        "VERIFY": _intent("exact", 1, "evidence"),
        "COMPARE": _intent("multi", 2, "balanced"),
        "TRACE": _intent("chain", 3, "temporal"),
    },
}


def printed(value: Setting) -> str:
    """A setting formatted for a kernel file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@cache
def kernel_text(name: str) -> str:
    """The kernel file of a new workspace."""
    lines = [f"# {name}: settings of the recall pipeline. The next call uses what stands here."]
    for section, keys in DEFAULTS[name].items():
        lines += ["", f"[{section}]", *(f"{key} = {printed(spec.default)}" for key, spec in keys.items())]
    return "\n".join([*lines, ""])
