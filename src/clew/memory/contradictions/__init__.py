"""Contradictions between decisions, found in plain statements and signatures, kept as blocks."""
