"""The reasoning engine: signals and next actions derived from a slice of cards. Reads nothing, writes nothing."""

from clew.reasoning.engine.run import VERSION, run

__all__ = ["VERSION", "run"]
