"""Numbered schema changes, one SQL file each, run in order under a lock."""
