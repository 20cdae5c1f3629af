"""The kernels a workspace begins with: every section, key, type and range that the recall pipeline reads."""

from __future__ import annotations

from dataclasses import dataclass

Setting = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its default, whose type it keeps, and the values it may take."""

    default: Setting
    low: float = 0.0
    high: float = 1000.0
    choices: tuple[str, ...] = ()


def _weights(low: float, high: float, **defaults: float) -> dict[str, Key]:
    return {name: Key(value, low, high) for name, value in defaults.items()}


DEFAULTS: dict[str, dict[str, dict[str, Key]]] = {
    "recall": {
        "bm25": {"k1": Key(1.2, 0, 10), "b": Key(0.75, 0, 1)},
        "fields": _weights(
            0,
            10,
            Statement=3.0,
            Title=2.5,
            Name=2.0,
            Summary=1.5,
            Description=1.2,
            Purpose=1.2,
            RootCause=1.2,
            Fix=1.2,
            Prevention=1.0,
            Tags=0.8,
            Keywords=0.8,
            Context=0.5,
            Rationale=0.5,
            ProposedFix=0.5,
            History=0.3,
        ),
        "retrieval": {
            "wide_k": Key(200, 1, 2000),
            "max_expansions": Key(8, 0, 50),
            "bigram_boost": Key(0.25, 0, 5),
            "chunk_blend_alpha": Key(0.6, 0, 1),
        },
        "boost": _weights(0.1, 10, active_boost=1.2, todo_doing_boost=1.1, high_priority_boost=1.1),
    },
    "rm3": {
        "rm3": {
            "enabled": Key(False),
            "alpha": Key(0.6, 0, 1),
            "fb_terms": Key(10, 0, 100),
            "fb_docs": Key(5, 1, 50),
            "min_idf": Key(1.0, 0, 20),
            "mu": Key(2000.0, 0, 100_000),
        },
        "prf": {
            "single_hop_weight": Key(0.4, 0, 1),
            "multi_hop_weight": Key(0.25, 0, 1),
            "min_cooccurrence": Key(2, 1, 50),
            "max_terms": Key(8, 0, 100),
            "max_df_ratio": Key(0.3, 0, 1),
        },
    },
    "rerank": {
        "weights": _weights(
            -10,
            10,
            entity_overlap=0.30,
            time_overlap=0.15,
            bigram_phrase=0.15,
            recency=0.10,
            speaker_match=0.25,
            speaker_mismatch=-0.10,
        ),
        "context_pack": {
            "max_adjacency": Key(2, 0, 20),
            "max_diversity": Key(5, 0, 20),
            "max_pronoun_rescue": Key(3, 0, 20),
        },
        "anchor": {"enabled": Key(True), "insert_position": Key(1, 1, 100)},
    },
    "temporal": {
        "scoring": {
            "recency_weight": Key(0.6, 0, 1),
            "date_boost": Key(2.0, 0, 10),
            "expand_query": Key(True),
            "extra_limit_factor": Key(1.5, 1, 5),
        },
        "date_normalization": {"month_expansion": Key(True), "year_month_combo": Key(True)},
        "decay": {"horizon_days": Key(365, 1, 100_000), "floor": Key(0.1, 0, 1)},
    },
    "adversarial": {
        "scoring": {
            "recency_weight": Key(0.3, 0, 1),
            "date_boost": Key(1.0, 0, 10),
            "expand_query": Key("morph_only", choices=("full", "morph_only", "none")),
            "extra_limit_factor": Key(1.0, 1, 5),
        },
        "detection": _weights(0, 20, strong_negation_boost=3.0, ever_boost=2.0, verification_boost=1.5),
        "skeptical": {"enabled": Key(True), "force_morph_only": Key(True)},
    },
    "hybrid": {
        "fusion": {
            "rrf_k": Key(60, 1, 10_000),
            "bm25_weight": Key(1.0, 0, 100),
            "vector_weight": Key(1.0, 0, 100),
        },
        "vector": {"enabled": Key(True), "min_similarity": Key(0.3, -1, 1)},
    },
    "intent": {
        "routing": {"min_confidence": Key(0.3, 0, 1)},
        "graph": {"min_depth_for_boost": Key(2, 0, 10)},
        "weights": _weights(
            0,
            10,
            WHY=1.0,
            WHEN=1.0,
            ENTITY=1.0,
            WHAT=1.0,
            HOW=1.0,
            LIST=1.0,
            VERIFY=1.2,
            COMPARE=1.0,
            TRACE=1.1,
        ),
    },
}


def printed(value: Setting) -> str:
    """A setting as a kernel file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def kernel_text(name: str) -> str:
    """The file a workspace begins with."""
    lines = [f"# {name}: settings of the recall pipeline. The next call uses what stands here."]
    for section, keys in DEFAULTS[name].items():
        lines += ["", f"[{section}]", *(f"{key} = {printed(spec.default)}" for key, spec in keys.items())]
    return "\n".join([*lines, ""])
