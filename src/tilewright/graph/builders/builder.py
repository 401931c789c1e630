"""The graph under construction: unique names, operators and constants in the order in which they are asked for.

Maps show lower bounds on the elements of the tensors that they make: what a rectifier makes is not negative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from math import inf
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InternalError, TilewrightError, UnsupportedOperation
from tilewright.graph.builders import einsum as einsum_operator
from tilewright.graph.builders import elementwise, norms, reshape, slicing
from tilewright.graph.builders.reshape import POSITIONS
from tilewright.graph.constant_values import magnitudes_of
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Scalar, nesting, with_loads
from tilewright.graph.types import Constant, Extent, Graph, Operator, SymbolicExtent, Tensor, largest_extent

MOST_NESTED = 128
"""Functions one inside the other in a body. Bodies are walked by recursion, which takes up to six of Python's thousand frames a
function to write them to the cache."""
Operand: TypeAlias = Tensor | float
"""A tensor, or a number in its place."""


class NotKnown(TilewrightError):
    """A lowering needs the value of a tensor that is no known constant while the graph is built."""

    def __init__(self, tensor: str) -> None:
        super().__init__(f"the value of {tensor!r} is not known while the graph is built")
        self.tensor = tensor


class Builder:
    """Collects operators, and constant values of tensors where they are known.

    >>> builder = Builder("f")
    >>> x = builder.input("x", (2, 3), "float32")
    >>> y = builder.map("add", builder.map("exp", x), 1.0)
    >>> y.shape, len(builder.graph((y.name,)).operators)
    ((2, 3), 2)
    """

    def __init__(self, name: str) -> None:
        self.name = identifier(name)
        self.tensors: dict[str, Tensor] = {}
        self.operators: list[Operator] = []
        self.inputs: list[str] = []
        self.constants: dict[str, Constant] = {}
        self.known: dict[str, np.ndarray] = {}
        """Constant values by tensor: constants, and integers made of extents (arrays of objects if some extent is symbolic)."""
        self._origins: dict[str, Tensor] = {}
        """The tensor whose elements, row by row, a reshape with computed positions copied, by the copy."""
        self._reshaped: dict[str, Tensor] = {}
        """The tensor that a reshape took, by its result."""
        self._counts: dict[str, int] = {}

    # Tensors

    def input(self, name: str, shape: Sequence[Extent], dtype: str) -> Tensor:
        """A new input of the graph."""
        tensor = self.declare(Tensor(self.unique(name), tuple(shape), dtype))
        self.inputs.append(tensor.name)
        return tensor

    def constant(self, array: Any, name: str = "constant") -> Tensor:
        """A tensor with this constant value; the array must not change any more."""
        value = np.asarray(array)
        tensor = self.declare(Tensor(self.unique(name), value.shape, value.dtype.name, magnitudes_of(value)))
        self.constants[tensor.name] = Constant(value)
        self.known[tensor.name] = value
        return tensor

    def literal(self, array: Any, name: str = "literal") -> Tensor:
        """A small constant whose values generated code may hold: of graphs that are equal but for these, each has its plan."""
        tensor = self.constant(array, name)
        return self.declare(replace(tensor, entries=tuple(np.asarray(array).ravel().tolist())))

    def run_time_constant(self, values: np.ndarray, dtype: str, name: str = "extents") -> Tensor:
        """An array of integers and run-time extents, as data that kernels compute and as a value that is known here."""
        tensor = self.record(elementwise.extents, values, dtype, kind=identifier(name))
        self.known[tensor.name] = values
        return tensor

    def constant_value(self, tensor: Tensor) -> np.ndarray:
        """The constant value of a tensor; raises `NotKnown` if it is not known."""
        if tensor.name not in self.known:
            raise NotKnown(tensor.name)
        return self.known[tensor.name]

    def integers(self, tensor: Tensor) -> tuple[Extent, ...]:
        """The constant value of a tensor of integers, flattened: Python integers and symbolic extents. Raises `NotKnown`."""
        return tuple(v if isinstance(v, SymbolicExtent) else int(v) for v in self.constant_value(tensor).reshape(-1).tolist())

    # Operators

    def record(self, build: Callable[..., tuple[Operator, Tensor]], *arguments: Any, kind: str, **options: Any) -> Tensor:
        """Run a builder of `graph/builders` under unique names and keep the operator; its errors pass through."""
        operator, result = build(*arguments, **options, name=self.unique(kind), result=self.unique("t"))
        _check_positions(operator)
        _check_nesting(operator)
        self.declare(result)
        self.operators.append(operator)
        return result

    def map(self, function: str, *operands: Operand, dtype: str | None = None) -> Tensor:
        """A function of `scalar_functions.FUNCTIONS` or `elementwise.COMPOSITES` at every point, with broadcasting."""
        return self.body(elementwise.body_of(function), *operands, dtype=dtype, kind=function)

    def body(
        self, body: Scalar, *operands: Operand, dtype: str | None = None, accumulator: str | None = None, kind: str = "map"
    ) -> Tensor:
        """A scalar expression at every point; `Load(i)` is the element of operand i. One operand at least is a tensor."""
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        if not tensors:
            raise InternalError(f"{kind} of numbers alone")
        reads = map(Load, count())
        leaves = [next(reads) if isinstance(operand, Tensor) else Literal(float(operand)) for operand in operands]
        used = with_loads(body, dict(enumerate(leaves)))
        build = partial(elementwise.elementwise, kind=kind, dtype=dtype, accumulator=accumulator)
        return self.record(build, used, tensors, kind=kind)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """The same elements in another type, rounded once."""
        for body, between in elementwise.cast_steps(x.dtype, dtype) if x.dtype != dtype else ():
            x = self.body(body, x, dtype=between, kind="cast")
        return x

    def matmul(self, left: Tensor, right: Tensor) -> Tensor:
        """The matrix product, as `numpy.matmul`."""
        return self.record(einsum_operator.matmul, left, right, kind="matmul")

    def einsum(self, subscripts: str, left: Tensor, right: Tensor, *, dtype: str | None = None) -> Tensor:
        """The sum of products of two operands, in NumPy's notation without an ellipsis; of their common type unless told."""
        parsed = einsum_operator.parse(subscripts, [len(left.shape), len(right.shape)])
        return self.record(einsum_operator.einsum, parsed, [left, right], kind="einsum", dtype=dtype)

    def reduce(self, function: str, x: Tensor, axes: Sequence[int] | None = None, *, keepdims: bool = False) -> Tensor:
        """`sum`, `prod`, `max`, `min` or `mean` over some axes, or over all."""
        return self.record(elementwise.reduce, function, x, axes, keepdims, kind=function)

    def softmax(self, x: Tensor, axis: int) -> Tensor:
        """The softmax along an axis."""
        return self.record(norms.softmax, x, axis, kind="softmax")

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """The dimensions in another order."""
        return self.record(reshape.transpose, x, tuple(permutation), kind="transpose")

    def reshape(self, x: Tensor, shape: Sequence[Extent]) -> Tensor:
        """The same elements, row by row, in another shape."""
        if tuple(shape) == x.shape:
            return x
        origin = self._origins.get(x.name, x)
        target, places = reshape.places(origin.shape, tuple(shape))
        if target == origin.shape:
            return origin
        result = reshape.read_at(self.record, origin, target, places, "reshape")
        self._reshaped[result.name] = origin
        if any(isinstance(place, reshape.Position) for place in places):
            self._origins[result.name] = origin
        return result

    def factors(self, x: Tensor) -> list[tuple[Extent, ...]]:
        """For every dimension, what a reshape made it of: of these, further reshapes compute no positions, and do not divide."""
        origin = self._reshaped.get(x.name)
        return reshape.factors(origin.shape, x.shape) if origin else [(extent,) for extent in x.shape]

    def slice(self, x: Tensor, key: tuple[Any, ...]) -> Tensor:
        """Basic slicing, as `x[key]` in NumPy; run-time extents may stand in the key."""
        shape, places = slicing.places(x, key)
        return reshape.read_at(self.record, x, shape, places, "slice")

    def graph(self, outputs: Sequence[str]) -> Graph:
        """The finished graph."""
        tensors, constants = tuple(self.tensors.values()), tuple(self.constants.items())
        return Graph(self.name, tensors, tuple(self.operators), tuple(self.inputs), tuple(outputs), constants)

    # Names

    def declare(self, tensor: Tensor) -> Tensor:
        """Keep a tensor under its name."""
        self.tensors[tensor.name] = tensor
        return tensor

    def unique(self, name: str) -> str:
        """An identifier that no tensor and no operator has: the name itself, or with a number behind it.

        >>> builder = Builder("f")
        >>> [builder.unique("einsum"), builder.unique("einsum"), builder.unique("t")]
        ['einsum', 'einsum_2', 't_1']
        """
        base = identifier(name)
        while True:
            number = self._counts[base] = self._counts.get(base, 0) + 1
            candidate = base if number == 1 and base != "t" else f"{base}_{number}"
            if candidate == base or candidate not in self._counts:
                self._counts.setdefault(candidate, 1)
                return candidate


def identifier(name: str) -> str:
    """A name made of ASCII letters, digits and underscores that starts with a letter.

    >>> identifier("params['w']"), identifier("<lambda>")
    ('params_w', 'lambda')
    """
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return text if text[:1].isalpha() else f"x_{text}".rstrip("_")


def _check_nesting(operator: Operator) -> None:
    """Raises `UnsupportedOperation` for a body that is nested deeper than all that walk through it can follow."""
    depth = nesting(operator.body)
    if depth > MOST_NESTED:
        raise UnsupportedOperation(
            f"{operator.kind} of {len(operator.reads)} operands in one expression",
            where=operator.name,
            why=f"{depth} functions are one inside the other, of at most {MOST_NESTED}",
            hint="compute it from a few operands at a time",
        )


def _check_positions(operator: Operator) -> None:
    """Refuse to compute with positions along an axis that is longer than float32 can count; integers that are stored can."""
    for node in operator.scalars() if operator.kind != POSITIONS else ():
        if isinstance(node, AxisValue) and largest_extent(operator.axis(node.axis).extent) > LARGEST_WHOLE:
            raise UnsupportedOperation(
                f"{operator.kind} along an axis of {operator.axis(node.axis).extent}",
                why=f"it computes with positions, which kernels hold as exact integers up to {LARGEST_WHOLE}",
            )


def least_value(builder: Builder, tensor: Tensor) -> float:
    """A number that no element of a tensor is below; minus infinity where nothing is known. Elements may be NaN all the same.

    >>> builder = Builder("f")
    >>> x = builder.input("x", (2, 3), "float32")
    >>> least_value(builder, builder.map("clip", x, 1.0, 6.0)), least_value(builder, builder.map("minimum", x, 6.0))
    (1.0, -inf)
    """
    if tensor.name in builder.constants and tensor.name in builder.known:
        return _least_constant(builder.known[tensor.name])
    producer = next((operator for operator in reversed(builder.operators) if operator.write.tensor == tensor.name), None)
    return -inf if producer is None or not producer.is_map() else _least(builder, producer, producer.body)


def _least_constant(values: np.ndarray) -> float:
    found = float(values.min()) if values.size and values.dtype.kind in "iuf" else -inf
    return found if found == found else -inf


def _least(builder: Builder, operator: Operator, body: Scalar) -> float:
    """Of an expression in a map: of maxima and minima of numbers and constant tensors."""
    match body:
        case Literal(value):
            return value if value == value else -inf
        case Load(read):
            values = builder.known.get(operator.reads[read].tensor)
            return -inf if values is None or operator.reads[read].guard else _least_constant(values)
        case Apply("maximum", (first, second)):
            return max(_least(builder, operator, first), _least(builder, operator, second))
        case Apply("minimum", (first, second)):
            return min(_least(builder, operator, first), _least(builder, operator, second))
    return -inf
