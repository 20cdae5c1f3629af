"""The reasoning engine: derives signals and next actions from cards that a view shows. It does not use the store."""

from clew.reasoning.engine.rules import VERSION, run

__all__ = ["VERSION", "run"]
