"""The search index: items, their words and vectors, written with what is found.

Built on the store and independent of any domain: a module that wants something to be found passes an `Item` to
`items`.
"""
