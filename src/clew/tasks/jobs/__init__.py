"""Delegated work: jobs, claims on them, what is said about them, and runners. Nothing here executes anything."""
