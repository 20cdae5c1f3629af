"""Delegated work: jobs, claims on them, their events, and runners. Nothing here executes anything."""
