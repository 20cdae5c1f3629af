"""Anchors: named areas of the system to which knowledge is attached."""
