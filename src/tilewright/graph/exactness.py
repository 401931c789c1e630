"""Choice between exact computation, in the type of an operator's accumulator, and vectors of float32.

Kernels know one vector type. Truth values, halves and integers that an operator with a float32 accumulator reads are converted
to it where they are loaded; integers and doubles as accumulators are no floats: such operators are computed in vectors of their
type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.dtypes import FLOATS, INTEGER_BITS, POWER_TYPE
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Parameter, Scalar, subexpressions
from tilewright.graph.types import Operator, Tensor

INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
BYTES = frozenset(("int8", "uint8"))
HALVES = frozenset(("float16", "bfloat16"))
SHORT_TYPES = frozenset((*FLOATS, *INTEGER_BITS, POWER_TYPE))
"""Types of elements in memory, a byte each, with which only maps in float32 compute."""
IN_FLOAT32 = frozenset(("bool", "int8", "int16", "uint8", "uint16", "float16", "bfloat16", "float32")) | SHORT_TYPES
"""Types whose values all are float32 values."""
LANE_TYPES = frozenset(("int8", "int16", "int32", "uint8", "uint16"))
"""Types that lanes of 32 bits hold, and of which they keep the low bits."""
WRAPPING = frozenset(("add", "subtract", "multiply", "negative"))
"""Functions whose results, modulo 2^32, do not depend on whether numbers have a sign."""
INT32_BITS = 32
LARGEST_WHOLE = 1 << 24
"""Up to it float32 holds every whole number."""


def computed_type(operator: Operator) -> str:
    """The element type of the lanes that an operator is computed in: truth values and halves are widened to float32."""
    return "float32" if operator.accumulator in HALVES or operator.accumulator == "bool" else operator.accumulator


def exact_element_type(operator: Operator, tensors: Mapping[str, Tensor]) -> str:
    """The element type in which an operator is computed exactly, "" if vectors of float32 compute it.

    Halves take two roundings from what float32 does not hold; one is right, and so these go through float64.

    >>> from tilewright.graph.builders.elementwise import body_of, elementwise
    >>> x, y = Tensor("x", (4,), "int8"), Tensor("y", (4,), "float32")
    >>> add, _ = elementwise(body_of("square"), [x], name="f", result="z")
    >>> mixed, _ = elementwise(body_of("add"), [x, y], name="f", result="z", dtype="float32")
    >>> exact_element_type(add, {"x": x}), exact_element_type(mixed, {"x": x, "y": y})
    ('int32', '')
    """
    loaded = (read for number, read in enumerate(operator.reads) if number not in operator.looked_up())
    return exact_type(operator.accumulator, (tensors[read.tensor].dtype for read in loaded))


def exact_type(accumulator: str, loaded: Iterable[str]) -> str:
    """The same, given the accumulator and the types that are loaded.

    >>> exact_type("float16", ["float32"]), exact_type("float16", ["float32", "int32"])
    ('', 'float64')
    """
    if accumulator in INTEGERS or accumulator == "float64":
        return accumulator
    return "float64" if accumulator in HALVES and not IN_FLOAT32.issuperset(loaded) else ""


def has_integer_lanes(operator: Operator, reads: Sequence[str], written: str) -> bool:
    """Whether vectors of int32 compute a map, given the element types of its reads and of what it writes.

    >>> from tilewright.graph.builders.elementwise import body_of, elementwise
    >>> x = Tensor("x", (4,), "int8")
    >>> add, _ = elementwise(body_of("square"), [x], name="f", result="z")
    >>> more, _ = elementwise(body_of("add"), [x, x], name="f", result="z")
    >>> has_integer_lanes(add, ["int8"], "int8"), has_integer_lanes(more, ["int8", "int8"], "int8")
    (False, True)
    """
    return operator.is_map() and written in LANE_TYPES and _has_integer_body(operator, reads)


def _has_integer_body(operator: Operator, reads: Sequence[str]) -> bool:
    is_plain = all(read.is_affine() for read in operator.reads) and set(reads) <= LANE_TYPES
    functions = {node.function for node in subexpressions(operator.body) if isinstance(node, Apply)}
    leaves = all(_has_lanes(node) for node in subexpressions(operator.body))
    return operator.accumulator == "int32" and is_plain and leaves and functions <= WRAPPING | {"right_shift"}


def _has_lanes(node: Scalar) -> bool:
    if isinstance(node, Apply) and node.function == "right_shift":
        return isinstance(by := node.operands[1], Literal) and 0 <= by.value < INT32_BITS and by.value == int(by.value)
    if isinstance(node, Literal):
        return abs(node.value) < 2**31 and node.value == int(node.value)
    return not isinstance(node, AxisValue | Parameter)
