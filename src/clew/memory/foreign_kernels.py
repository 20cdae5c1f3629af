"""Kernels as Mind-Mem ships them: which of their keys steer Clew's recall, and which are known and steer nothing.

Mind-Mem itself reads k1, b and the weights of fields; its other keys are decoration there too. A weight that somebody
tuned keeps its proportion: Statement at twice what Mind-Mem ships makes Clew's headline count twice.
"""

from __future__ import annotations

from clew.memory.kernel_defaults import DEFAULTS, Setting

SCALED: dict[tuple[str, str], tuple[str, float]] = {
    ("fields", "Statement"): ("title", 3.0),
    ("fields", "Description"): ("body", 1.2),
    ("fields", "Tags"): ("tags", 0.8),
}
"""Section and key of `recall.mind` -> the weight of Clew that it scales, and the value that Mind-Mem ships."""

_FIELDS = """
    Title Name Summary Purpose RootCause Fix Prevention Keywords Context Rationale ProposedFix History Statement
    Description Tags
"""
_KEYS: dict[str, dict[str, str]] = {
    "recall": {
        "fields": _FIELDS,
        "retrieval": "wide_k max_expansions bigram_boost chunk_blend_alpha",
        "boost": "active_boost todo_doing_boost high_priority_boost",
    },
    "rm3": {
        "rm3": "enabled alpha fb_terms fb_docs min_idf mu",
        "prf": "single_hop_weight multi_hop_weight min_cooccurrence max_terms max_df_ratio",
    },
    "rerank": {
        "weights": "entity_overlap time_overlap bigram_phrase recency speaker_match speaker_mismatch",
        "context_pack": "max_adjacency max_diversity max_pronoun_rescue",
        "anchor": "enabled insert_position",
    },
    "temporal": {
        "scoring": "recency_weight date_boost expand_query extra_limit_factor",
        "date_normalization": "month_expansion year_month_combo",
        "decay": "horizon_days floor",
    },
    "adversarial": {
        "scoring": "recency_weight date_boost expand_query extra_limit_factor",
        "detection": "strong_negation_boost ever_boost verification_boost",
        "skeptical": "enabled force_morph_only",
    },
    "hybrid": {
        "fusion": "rrf_k bm25_weight vector_weight",
        "vector": "model onnx_backend",
        "fallback": "graceful_degradation log_fallback",
    },
    "intent": {
        "routing": "min_confidence",
        "graph": "min_depth_for_boost",
        "weights": "WHY WHEN ENTITY WHAT HOW LIST VERIFY COMPARE TRACE",
    },
}
KNOWN: dict[str, dict[str, frozenset[str]]] = {
    kernel: {section: frozenset(keys.split()) for section, keys in sections.items()}
    for kernel, sections in _KEYS.items()
}
"""Kernel -> section -> the keys that Mind-Mem has there and Clew has not."""


def is_foreign(kernel: str, section: str, key: str) -> bool:
    return key in KNOWN.get(kernel, {}).get(section, ())


def scaled(kernel: str, section: str, key: str, value: str) -> tuple[str, Setting] | None:
    """The weight of Clew that a key of Mind-Mem stands for, with its value; None when there is no such weight."""
    target = SCALED.get((section, key)) if kernel == "recall" else None
    try:
        factor = float(value) / target[1] if target else 1.0
    except ValueError:
        return None
    if target is None or not 0 <= factor <= 10:
        return None
    default = float(DEFAULTS[kernel][section][target[0]].default)
    return target[0], min(default * factor, 10.0)
