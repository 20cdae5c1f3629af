"""The reasoning engine: signals and next actions derived from a slice of cards. It reads and writes no store."""

from clew.reasoning.engine.rules import VERSION, run

__all__ = ["VERSION", "run"]
