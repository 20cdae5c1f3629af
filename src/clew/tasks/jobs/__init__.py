"""Delegated work: jobs, claims on them, what was said about them, and runners. Nothing here executes anything."""
