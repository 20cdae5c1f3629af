"""The weights of the small model that comes with Clew; `clew.model` reads them."""

from pathlib import Path

PAIRS = Path(__file__).with_name("pairs.bin")
"""The word table, and the layers that read two statements as one text."""

ENCODER = Path(__file__).with_name("encoder.bin")
"""The layers that make vectors of texts. They use the same word table."""
