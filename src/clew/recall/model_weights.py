"""The int8 weights of a model, laid out so that loading it takes little memory; its vectors stay the same to the bit.

The installed model stores each matrix as int8 numbers with scales, and nodes (`Cast`, then `Mul`) make floats of
them. The runtime evaluates those nodes while it loads: for a moment it holds every matrix four times, and afterwards
the table of word vectors as 47 MB of floats, of which a text needs a few rows. `laid_out` rewrites the file
beforehand: each product is made here and stands in a file that the runtime maps, and the table stays int8: its rows are
looked up first and made floats then. A session takes 50 MB this way instead of 100, and no more while it is made
instead of 210.

An ONNX file is a protocol buffer: a message is a row of fields, each with its number. Only the fields that are needed
are read; everything else is handed on as it is.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

MODEL, WEIGHTS = "model.onnx", "weights.bin"
# Numbers of fields, and of the two types of numbers, from onnx.proto.
_GRAPH = 7
_NODE, _INITIALIZER = 1, 5
_INPUT, _OUTPUT, _NODE_NAME, _OP, _ATTRIBUTE = 1, 2, 3, 4, 5
_WHOLE = 3
_DIMS, _TYPE, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
_FLOAT, _INT8 = 1, 3
_ELSEWHERE = 1
"""The `data_location` of a tensor that stands in another file."""
_BRANCHING = frozenset({"If", "Loop", "Scan"})
"""Nodes with graphs inside, which may use what this module would take away."""
_PAGE = 4096
"""Tensors begin at multiples of this, as mapping needs it."""


@dataclass(frozen=True)
class _Node:
    whole: bytes
    op: str
    inputs: list[str]
    outputs: list[str]


@dataclass(frozen=True)
class _Tensor:
    name: str
    type: int
    dims: list[int]
    raw: memoryview

    def array(self) -> NDArray[np.generic]:
        return np.frombuffer(self.raw, np.int8 if self.type == _INT8 else np.float32).reshape(self.dims)


@dataclass(frozen=True)
class _Product:
    """A matrix that the model makes of int8 numbers and scales, and the nodes that do it."""

    numbers: _Tensor
    scales: _Tensor
    cast: _Node
    multiply: _Node

    @property
    def name(self) -> str:
        return self.multiply.outputs[0]


@contextmanager
def laid_out(model: Path) -> Iterator[Path]:
    """The model to load in place of this one; itself if it has no such weights or there is no room for the files.

    The files are gone afterwards: what the runtime has mapped, it keeps. A system that does not let go of mapped files
    (Windows) leaves them in its directory for temporary ones."""
    with ExitStack() as stack:
        chosen = model
        with suppress(OSError, ValueError, LookupError):
            folder = tempfile.TemporaryDirectory(prefix="clew-model-", ignore_cleanup_errors=True)
            place = Path(stack.enter_context(folder)).resolve()
            if _write(memoryview(model.read_bytes()), place):
                chosen = place / MODEL
        yield chosen


def _write(model: memoryview, folder: Path) -> bool:
    """Write the rewritten model; False if there is nothing to rewrite."""
    fields = list(_fields(model))
    graph = {number: value for number, value, _ in fields}[_GRAPH]
    nodes = [_node(value) for number, value, _ in _fields(graph) if number == _NODE]
    given = [_tensor(value) for number, value, _ in _fields(graph) if number == _INITIALIZER]
    tensors = {item.name: item for item in given if item is not None}
    products = _products(nodes, tensors)
    if not products:
        return False
    with (folder / WEIGHTS).open("wb") as weights:
        rewritten = _rewritten(graph, nodes, products, weights)
    kept = [bytes(whole) for number, _, whole in fields if number != _GRAPH]
    (folder / MODEL).write_bytes(b"".join([*kept, _field(_GRAPH, rewritten)]))
    return True


def _products(nodes: list[_Node], tensors: dict[str, _Tensor]) -> dict[str, _Product]:
    """What the model makes of int8 tensors, by name; only what nothing else needs the parts of."""
    if any(node.op in _BRANCHING for node in nodes):
        return {}
    uses = Counter(name for node in nodes for name in node.inputs)
    casts = {node.outputs[0]: node for node in nodes if node.op == "Cast" and _is(tensors, node.inputs[0], _INT8)}
    found: dict[str, _Product] = {}
    for node in nodes:
        cast = casts.get(node.inputs[0]) if node.op == "Mul" else None
        if cast is None or not _is(tensors, node.inputs[1], _FLOAT):
            continue
        if all(uses[name] == 1 for name in (*cast.inputs, *node.inputs)):
            product = _Product(tensors[cast.inputs[0]], tensors[node.inputs[1]], cast, node)
            found[product.name] = product
    return found


def _is(tensors: dict[str, _Tensor], name: str, type: int) -> bool:
    return name in tensors and tensors[name].type == type


def _rewritten(graph: memoryview, nodes: list[_Node], products: dict[str, _Product], weights: BinaryIO) -> bytes:
    """The graph with each product as a tensor of `weights`, or made after the look-up of its rows."""
    tables = _tables(nodes, products)
    gone = {id(node) for item in products.values() for node in (item.cast, item.multiply)}
    parts = [bytes(whole) for number, _, whole in _fields(graph) if number not in (_NODE, _INITIALIZER)]
    for node in nodes:
        if node.op == "Gather" and node.inputs[0] in tables:
            parts += [_field(_NODE, made) for made in _looked_up(node, products[node.inputs[0]])]
        elif id(node) not in gone:
            parts.append(_field(_NODE, node.whole))
    parts += _other_tensors(graph, products, tables)
    parts += [_field(_INITIALIZER, _placed(item, name in tables, weights)) for name, item in products.items()]
    return b"".join(parts)


def _other_tensors(graph: memoryview, products: dict[str, _Product], tables: set[str]) -> list[bytes]:
    replaced = {item.numbers.name for item in products.values()}
    replaced |= {item.scales.name for item in products.values() if item.name not in tables}
    named = ((_tensor(value), whole) for number, value, whole in _fields(graph) if number == _INITIALIZER)
    return [bytes(whole) for item, whole in named if item is None or item.name not in replaced]


def _tables(nodes: list[_Node], products: dict[str, _Product]) -> set[str]:
    """Products that are only used for looking up rows, with a scale for each row."""
    rows = {name for name, item in products.items() if item.scales.dims == [item.numbers.dims[0], 1]}
    others = {name for node in nodes for at, name in enumerate(node.inputs) if node.op != "Gather" or at != 0}
    # A look-up along another axis than the first says so in an attribute.
    sideways = {node.inputs[0] for node in nodes if node.op == "Gather" and not _by_rows(node)}
    return rows - others - sideways


def _by_rows(gather: _Node) -> bool:
    attributes = [value for number, value, _ in _fields(memoryview(gather.whole)) if number == _ATTRIBUTE]
    return all(_number(value) == 0 for item in attributes for number, value, _ in _fields(item) if number == _WHOLE)


def _looked_up(gather: _Node, product: _Product) -> list[bytes]:
    """Rows of int8 numbers, rows of scales, and the product of the two."""
    ids, (rows, floats, scales) = gather.inputs[1], [f"{product.name}/{part}" for part in ("rows", "floats", "scales")]
    return [
        _rewired(gather, [product.numbers.name, ids], [rows]),
        _rewired(product.cast, [rows], [floats]),
        _rewired(gather, [product.scales.name, ids], [scales]),
        _rewired(product.multiply, [floats, scales], gather.outputs),
    ]


def _placed(product: _Product, table: bool, weights: BinaryIO) -> bytes:
    """The tensor of a product, written into the file of weights."""
    if table:
        name, type, array = product.numbers.name, _INT8, product.numbers.array()
    else:
        name, type = product.name, _FLOAT
        array = np.multiply(product.numbers.array(), product.scales.array(), dtype=np.float32)
    weights.seek(-(-weights.tell() // _PAGE) * _PAGE)
    place = {"location": WEIGHTS, "offset": str(weights.tell()), "length": str(array.nbytes)}
    weights.write(np.ascontiguousarray(array).data.cast("B"))
    told = [_field(_DIMS, size) for size in array.shape]
    told += [_field(_TYPE, type), _field(_NAME, name.encode()), _field(_LOCATION, _ELSEWHERE)]
    told += [_field(_EXTERNAL, _field(1, key.encode()) + _field(2, value.encode())) for key, value in place.items()]
    return b"".join(told)


def _node(data: memoryview) -> _Node:
    texts: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _OP: []}
    for number, value, _ in _fields(data):
        if number in texts:
            texts[number].append(str(value, "utf-8"))
    return _Node(bytes(data), "".join(texts[_OP]), texts[_INPUT], texts[_OUTPUT])


def _rewired(node: _Node, inputs: list[str], outputs: list[str]) -> bytes:
    """The same node between other values, without its name, which must not occur twice."""
    ends = [_field(_INPUT, name.encode()) for name in inputs] + [_field(_OUTPUT, name.encode()) for name in outputs]
    changed = (_INPUT, _OUTPUT, _NODE_NAME)
    kept = [bytes(whole) for number, _, whole in _fields(memoryview(node.whole)) if number not in changed]
    return b"".join(ends + kept)


def _tensor(data: memoryview) -> _Tensor | None:
    """A tensor whose numbers stand in the model as bytes; None for others."""
    found: dict[int, list[memoryview]] = {}
    for number, value, _ in _fields(data):
        found.setdefault(number, []).append(value)
    if _RAW not in found or _NAME not in found:
        return None
    dims = [_number(value) for value in found.get(_DIMS, [])]
    return _Tensor(str(found[_NAME][0], "utf-8"), _number(found[_TYPE][0]), dims, found[_RAW][0])


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Each field of a message: its number, its value, and all of it with its head."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at)
        kind, begin = key & 7, at
        if kind == 0:
            _, end = _varint(data, at)
        elif kind == 2:
            size, begin = _varint(data, at)
            end = begin + size
        else:
            end = begin + {1: 8, 5: 4}[kind]
        yield key >> 3, data[begin:end], data[start:end]
        at = end


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _number(value: memoryview) -> int:
    return _varint(value, 0)[0]


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _encoded(number << 3) + _encoded(value)
    return _encoded(number << 3 | 2) + _encoded(len(value)) + value


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
