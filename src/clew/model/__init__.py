"""The small transformer that comes with Clew: it makes vectors of texts, and judges pairs of statements.

Its weights are in a package of their own (`clew-memory-model`). It needs numpy only: a runtime for models takes longer
to load than this takes to answer, and processes of one store that have different extras must give one answer.
"""
