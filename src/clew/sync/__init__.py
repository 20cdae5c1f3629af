"""Memory that travels: the log of changes of each store, bundles of it, and sync with a folder or a git remote.

Each store is an origin with its own log. A change names the changes that its author saw, so what a record says is
worked out from the set of changes alone, in whatever order and how often they arrive. docs/sync.md describes it.
"""
