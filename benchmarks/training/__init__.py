"""Training of `clew-memory-model`: one small network that embeds texts and judges pairs of texts."""
