"""What a project already knows, read into memory as candidates that a person approves.

`port` says what a source is. Each module of `sources` is one; `backfill` finds them, previews them and keeps what they
hold. docs/importers.md describes how to add one.
"""
