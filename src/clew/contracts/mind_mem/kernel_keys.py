"""The keys of Mind-Mem's own kernels, so that its files are accepted without warnings and mean the same here."""

from __future__ import annotations

from clew.memory.kernels import ForeignKeys, foreign_keys

_SCALED: dict[tuple[str, str], tuple[str, float]] = {
    ("fields", "Statement"): ("title", 3.0),
    ("fields", "Description"): ("body", 1.2),
    ("fields", "Tags"): ("tags", 0.8),
}
"""Section and key of `recall.mind` -> the weight of Clew that it scales, and Mind-Mem's default value."""

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
_IDLE = {"hybrid": (("vector", "enabled"), ("vector", "min_similarity"))}


@foreign_keys("mind_mem")
def keys_of(kernel: str) -> ForeignKeys:
    sections = {section: frozenset(keys.split()) for section, keys in _KEYS.get(kernel, {}).items()}
    return ForeignKeys(sections, _IDLE.get(kernel, ()), _SCALED if kernel == "recall" else {})
