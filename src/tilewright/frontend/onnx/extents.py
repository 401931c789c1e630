"""Shape arithmetic at import: small arrays of integers some of which are extents known at run time.

Exporters compute shapes by nodes (Shape, Gather, Concat, ...). With extents that have no value yet, these still fold: elements
are moved as they are, sums are extents of their own (`graph/sums_of_extents.py`), and other arithmetic is done where the range
of an extent decides it (`s * 1`, `s == -1`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.frontend.onnx.model import Array, Node
from tilewright.graph.sums_of_extents import minus, plus, value_of
from tilewright.graph.types import Extent, SymbolicExtent

MOVES = frozenset(
    {"Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Reshape", "Transpose", "Expand", "Tile", "Split", "Flatten", "Pad"}
)
"""Operators whose reference implementation moves elements of any kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbolic:
    """Contents some of which are symbolic: an array of objects (integers and `SymbolicExtent`s), and the type it stands for."""

    array: Array
    dtype: str = "int64"

    def evaluate(self, symbols: Mapping[str, int]) -> Array:
        """The array, where symbols have values."""
        flat = [
            value_of(element, symbols) if isinstance(element, SymbolicExtent) else element
            for element in self.array.reshape(-1).tolist()
        ]
        return np.array(flat, self.dtype).reshape(self.array.shape)


def of_extents(extents: Sequence[Extent]) -> Array | Symbolic:
    """A one-dimensional array of extents.

    >>> of_extents((2, 3)).tolist()
    [2, 3]
    """
    if all(isinstance(extent, int) for extent in extents):
        return np.array(extents, np.int64).reshape(-1)
    return Symbolic(_objects(extents, (len(extents),)))


def fold(node: Node, inputs: Sequence[Any]) -> Array | Symbolic | None:
    """The result of a node of which some operands are `Symbolic` and all others known; None where that cannot be said."""
    arrays = [value.array if isinstance(value, Symbolic) else value for value in inputs]
    dtype = next(value.dtype for value in inputs if isinstance(value, Symbolic))
    if node.domain:
        return None
    if node.operator == "Cast":
        return _cast(arrays[0], node.attributes.get("to"))
    if node.operator in MOVES and node.definition is not None:
        return _moved(node, inputs, arrays, dtype)
    function = _ELEMENTWISE.get(node.operator)
    if function is None:
        return None
    try:
        return _array(np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object), _result_type(node.operator, dtype))
    except (UnsupportedOperation, ValueError):
        return None


def _moved(node: Node, inputs: Sequence[Any], arrays: Sequence[Any], dtype: str) -> Array | Symbolic | None:
    """Only data is symbolic, not where it goes to."""
    data = len(inputs) if node.operator == "Concat" else 1
    if node.definition is None or any(isinstance(value, Symbolic) for value in inputs[data:]) or len(node.outputs) != 1:
        return None
    try:
        return _array(np.asarray(node.definition.operator(**node.attributes).reference(*arrays), object), dtype)
    except (TilewrightError, ValueError, IndexError, TypeError):
        return None  # without symbols, the same node says what is wrong


def _cast(array: Array, to: Any) -> Symbolic | None:
    return Symbolic(array, {6: "int32", 7: "int64"}[to]) if to in (6, 7) else None


def _array(array: Array, dtype: str) -> Array | Symbolic:
    if any(isinstance(element, SymbolicExtent) for element in array.reshape(-1).tolist()):
        return Symbolic(array, dtype)
    return array.astype(dtype)


def _objects(values: Sequence[Any], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(values), object)
    array[:] = list(values)
    return array.reshape(shape)


def _result_type(operator: str, dtype: str) -> str:
    return "bool" if operator in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Not", "And", "Or") else dtype


def _range(value: Any) -> tuple[int, int]:
    return (value.low, value.high) if isinstance(value, SymbolicExtent) else (int(value), int(value))


def _undecided(*operands: Any) -> UnsupportedOperation:
    return UnsupportedOperation(f"arithmetic on {' and '.join(map(str, operands))} has no value while a model is imported")


def _add(a: Any, b: Any) -> Any:
    return plus(_exact(a), _exact(b))


def _multiply(a: Any, b: Any) -> Any:
    if 0 in (_number(a), _number(b)):
        return 0
    return _with_neutral(a, b, 1, lambda x, y: x * y)


def _with_neutral(a: Any, b: Any, neutral: int, function: Callable[[int, int], int]) -> Any:
    if isinstance(a, SymbolicExtent) and _number(b) == neutral:
        return a
    if isinstance(b, SymbolicExtent) and _number(a) == neutral:
        return b
    return _plain(function, a, b)


def _subtract(a: Any, b: Any) -> Any:
    difference = _difference(a, b)
    if difference is None:
        raise _undecided(a, b)
    return difference


def _divide(a: Any, b: Any) -> Any:
    if _same(a, b) and _range(a)[0] > 0:
        return 1
    return a if isinstance(a, SymbolicExtent) and _number(b) == 1 else _plain(lambda x, y: int(np.trunc(x / y)), a, b)


def _maximum(a: Any, b: Any) -> Any:
    (a_low, a_high), (b_low, b_high) = _range(a), _range(b)
    difference = _difference(a, b)
    if a_low >= b_high or (isinstance(difference, int) and difference >= 0):
        return a
    if b_low >= a_high or isinstance(difference, int):
        return b
    raise _undecided(a, b)


def _minimum(a: Any, b: Any) -> Any:
    larger = _maximum(a, b)
    return b if larger is a else a


def _less(a: Any, b: Any) -> bool:
    (a_low, a_high), (b_low, b_high) = _range(a), _range(b)
    difference = _difference(a, b)
    if a_high < b_low or (isinstance(difference, int) and difference < 0):
        return True
    if a_low >= b_high or isinstance(difference, int):
        return False
    raise _undecided(a, b)


def _equal(a: Any, b: Any) -> bool:
    (a_low, a_high), (b_low, b_high) = _range(a), _range(b)
    difference = _difference(a, b)
    if isinstance(difference, int):
        return difference == 0
    if a_high < b_low or b_high < a_low:
        return False
    raise _undecided(a, b)


def _where(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _exact(value: Any) -> Extent:
    return value if isinstance(value, SymbolicExtent) else int(value)


def _difference(a: Any, b: Any) -> Extent | None:
    return minus(_exact(a), _exact(b))


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, SymbolicExtent) and a == b


def _number(value: Any) -> int | None:
    return None if isinstance(value, SymbolicExtent) else int(value)


def _plain(function: Callable[[int, int], int], a: Any, b: Any) -> int:
    if isinstance(a, SymbolicExtent) or isinstance(b, SymbolicExtent):
        raise _undecided(a, b)
    return function(int(a), int(b))


_ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "Add": _add,
    "Sub": _subtract,
    "Mul": _multiply,
    "Div": _divide,
    "Max": _maximum,
    "Min": _minimum,
    "Equal": _equal,
    "Less": _less,
    "Greater": lambda a, b: _less(b, a),
    "LessOrEqual": lambda a, b: not _less(b, a),
    "GreaterOrEqual": lambda a, b: not _less(a, b),
    "Where": _where,
}
