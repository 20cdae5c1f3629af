"""The search index: items, their words and vectors, written with what is found.

Stands on the store and knows no domain: whoever keeps something findable hands an `Item` to `items`.
"""
