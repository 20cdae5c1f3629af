"""The search index: items, their words and vectors, and the compact segments that a starting process reads.

Stands on the store and knows no domain: whoever keeps something findable hands an `Item` to `indexing`.
"""
