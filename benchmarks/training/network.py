"""The network in PyTorch, as it is trained: the encoder of all-MiniLM-L6-v2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

LAYERS, SIZE, HEADS, WIDE = 6, 384, 12, 1536
PASSAGE, QUESTION = 0, 2
"""Segments: a text that is searched, and a question. (1 is the second of a pair, not used here.)"""
DROPPED = 0.1


class Layer(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(SIZE, 3 * SIZE)
        self.attention_output = nn.Linear(SIZE, SIZE)
        self.attention_norm = nn.LayerNorm(SIZE, eps=1e-12)
        self.feed_up = nn.Linear(SIZE, WIDE)
        self.feed_down = nn.Linear(WIDE, SIZE)
        self.output_norm = nn.LayerNorm(SIZE, eps=1e-12)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        count, length, _ = rows.shape
        parts = self.query_key_value(rows).view(count, length, 3, HEADS, SIZE // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = self.attention_output(attended.transpose(1, 2).reshape(count, length, SIZE))
        rows = self.attention_norm(rows + F.dropout(attended, DROPPED, self.training))
        fed = self.feed_down(F.gelu(self.feed_up(rows), approximate="tanh"))
        return self.output_norm(rows + F.dropout(fed, DROPPED, self.training))


class Network(nn.Module):  # type: ignore[misc,unused-ignore]
    words: Tensor

    def __init__(self, positions: int, vocabulary: int) -> None:
        super().__init__()
        # Not trained: the word table is shared with the model that judges pairs.
        self.register_buffer("words", torch.zeros(vocabulary, SIZE), persistent=False)
        self.positions = nn.Parameter(torch.zeros(positions, SIZE))
        self.segments = nn.Parameter(torch.zeros(3, SIZE))
        self.embedding_norm = nn.LayerNorm(SIZE, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def embed(self, ids: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        """The mean over a text's pieces, for each text, of length one.

        Products are made in half the precision; what is compared has the full one.
        """
        with torch.autocast(ids.device.type, torch.bfloat16):
            pooled = self._pooled(ids, segments, mask)
        return F.normalize(pooled.float(), dim=1)

    def _pooled(self, ids: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
        rows = F.embedding(ids, self.words)
        rows = rows + self.positions[: ids.shape[1]] + self.segments[segments]
        rows = F.dropout(self.embedding_norm(rows), DROPPED, self.training)
        for layer in self.layers:
            rows = layer(rows, mask[:, None, None, :])
        weights = mask.unsqueeze(-1).to(rows.dtype)
        return (rows * weights).sum(1) / weights.sum(1)


def network_from(path: Path) -> Network:
    """The network with the weights of the base model."""
    base = dict(np.load(path))
    words = base.pop("words").astype(np.float32) * base.pop("word_scales")[:, None]
    network = Network(len(base["embeddings.position_embeddings.weight"]), len(words))
    network.words.copy_(torch.tensor(words))
    state = {name: torch.tensor(array.astype(np.float32)) for name, array in _renamed(base).items()}
    network.load_state_dict(state)
    return network


def _renamed(base: dict[str, Any]) -> dict[str, Any]:
    segments = base["embeddings.token_type_embeddings.weight"]
    found = {
        "positions": base["embeddings.position_embeddings.weight"],
        # A question begins as what the base model knows: a text by itself.
        "segments": np.concatenate([segments, segments[:1]]),
        "embedding_norm.weight": base["embeddings.LayerNorm.weight"],
        "embedding_norm.bias": base["embeddings.LayerNorm.bias"],
    }
    for layer in range(LAYERS):
        found |= _renamed_layer(base, layer)
    return found


_LAYER_NAMES = {
    "attention_output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_up": "intermediate.dense",
    "feed_down": "output.dense",
    "output_norm": "output.LayerNorm",
}


def _renamed_layer(base: dict[str, Any], layer: int) -> dict[str, Any]:
    def part(name: str) -> Any:
        return base[f"encoder.layer.{layer}.{name}"]

    found = {}
    for end in ("weight", "bias"):
        joined = [part(f"attention.self.{name}.{end}") for name in ("query", "key", "value")]
        found[f"layers.{layer}.query_key_value.{end}"] = np.concatenate(joined)
        for ours, theirs in _LAYER_NAMES.items():
            found[f"layers.{layer}.{ours}.{end}"] = part(f"{theirs}.{end}")
    return found
