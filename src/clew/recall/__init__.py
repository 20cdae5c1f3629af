"""Ranked search over everything the store holds: plain functions over a transaction."""
