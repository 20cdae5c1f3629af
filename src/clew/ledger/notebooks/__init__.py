"""Notebooks: prose and code in cells, kept durably, run in a sandbox by a process of its own."""
