"""Notebooks: prose and code in cells, stored durably, run in a sandbox by a separate process."""
