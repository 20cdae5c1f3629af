"""Anchors: named areas of the system that knowledge hangs on."""
