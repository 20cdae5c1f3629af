"""A model as a directory of an ONNX file with its tokenizer, small enough to be written by a test.

Each letter has a vector of its own, so a text's vector says which letters it has: enough for what does not depend on
meaning. The ONNX file is a protocol buffer, written field by field.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import numpy as np

SIZE = 16
_FLOAT, _WHOLE = 1, 7
"""Types of numbers."""


def small_onnx(folder: Path, first_token: bool = False) -> Path:
    """`first_token`: whose vector is that of the text's first letter."""
    (folder / "1_Pooling").mkdir(parents=True)
    letters = string.ascii_lowercase + string.digits
    pieces = ["[UNK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "model.onnx").write_bytes(_model(len(pieces)))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(pieces)))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": first_token}))
    return folder


def _tokenizer(pieces: list[str]) -> dict[str, object]:
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {**model, "max_input_chars_per_word": 100, "vocab": vocabulary},
    }


def _model(rows: int) -> bytes:
    table = np.random.default_rng(1).standard_normal((rows, SIZE)).astype("<f4")
    tensor = [_field(1, rows), _field(1, SIZE), _field(2, _FLOAT), _field(8, "table"), _field(9, table.tobytes())]
    node = [_field(1, "table"), _field(1, "input_ids"), _field(2, "last_hidden_state"), _field(4, "Gather")]
    graph = [
        _field(1, b"".join(node)),
        _field(2, "small"),
        _field(5, b"".join(tensor)),
        _field(11, _value("input_ids", _WHOLE, "batch", "length")),
        _field(12, _value("last_hidden_state", _FLOAT, "batch", "length", SIZE)),
    ]
    return _field(1, 8) + _field(7, b"".join(graph)) + _field(8, _field(1, "") + _field(2, 17))


def _value(name: str, kind: int, *dimensions: str | int) -> bytes:
    shape = b"".join(_field(1, _field(1 if isinstance(one, int) else 2, one)) for one in dimensions)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _whole(number << 3) + _whole(value)
    data = value.encode() if isinstance(value, str) else value
    return _whole(number << 3 | 2) + _whole(len(data)) + data


def _whole(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
