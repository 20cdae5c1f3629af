"""Rows, transactions, migrations, events and the search index.

Imports nothing of Clew but errors, ids, clock and settings.
"""
