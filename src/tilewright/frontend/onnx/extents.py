"""Shape arithmetic at import: small arrays of integers some of which are extents known at run time.

Exporters compute shapes by nodes (Shape, Gather, Concat, ...). With extents that have no value yet, these still fold: elements
are moved as they are, arithmetic gives expressions of them (`graph/expressions/extents.py`), and comparisons are answered where
ranges decide them (`s == -1`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import TilewrightError, Undecided, UnsupportedOperation
from tilewright.frontend.onnx.model import Array, Node
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.graph.expressions import extents as arithmetic
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, cuts_between, least_extent, minus, range_of

MOVES = ("Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Reshape", "Transpose", "Expand", "Tile", "Split", "Flatten", "Pad")
"""Operators whose reference implementation moves elements of any kind."""


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
    if function is None or not all(np.dtype(value.dtype).kind in "iub" for value in inputs):
        return None  # arithmetic of extents would drop what is behind the point of others
    try:
        return _array(np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), object), _result_type(node.operator, dtype))
    except Undecided:
        raise
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


def _undecided(question: str, a: Extent, b: Extent, comparison: str = "") -> Undecided:
    problem = Undecided(f"{question} of {a} and {b} has no answer while a model is imported")
    return problem.with_cuts(cuts_between(a, b, comparison))


def _divide(a: Any, b: Any) -> Any:
    """ONNX rounds quotients of integers toward zero: rounding down needs operands of which none is negative."""
    a, b = _exact(a), _exact(b)
    if isinstance(a, int) and isinstance(b, int) and b:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if least_extent(a) < 0:
        raise _undecided("the order", a, 0, "<")
    return arithmetic.quotient(a, b)


def _less(a: Any, b: Any) -> bool:
    low, high = range_of(minus(_exact(a), _exact(b)))
    if low < 0 <= high:
        raise _undecided("the order", _exact(a), _exact(b), "<")
    return high < 0


def _equal(a: Any, b: Any) -> bool:
    sign = arithmetic.compared(_exact(a), _exact(b))
    if sign is None:
        raise _undecided("the equality", _exact(a), _exact(b))
    return sign == 0


def _exact(value: Any) -> Extent:
    return value if isinstance(value, SymbolicExtent) else int(value)


def _of_exact(function: Callable[..., Extent]) -> Callable[..., Extent]:
    """A function of extents, of operands that may be NumPy's integers."""
    return lambda *operands: function(*map(_exact, operands))


_ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "Add": _of_exact(arithmetic.plus),
    "Sub": _of_exact(minus),
    "Mul": _of_exact(arithmetic.times),
    "Div": _divide,
    "Mod": _of_exact(arithmetic.remainder),
    "Neg": _of_exact(lambda a: arithmetic.times(a, -1)),
    "Max": _of_exact(arithmetic.maximum),
    "Min": _of_exact(arithmetic.minimum),
    "Equal": _equal,
    "Less": _less,
    "Greater": lambda a, b: _less(b, a),
    "LessOrEqual": lambda a, b: not _less(b, a),
    "GreaterOrEqual": lambda a, b: not _less(a, b),
    "Where": lambda condition, a, b: a if condition else b,
}
