"""Operations declared once: names, inputs, envelope, budgets, dispatch.

Imports the store, never a protocol library.
"""
