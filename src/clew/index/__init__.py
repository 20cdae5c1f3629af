"""The search index: items, their words and vectors, written with what is found.

Built on the store and independent of any domain: a module that makes something searchable passes an `Item` to `items`.
"""
