"""Run-time extents in generated code: the variables that hold them, and how those with a formula follow from dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import assert_never

from tilewright.codegen import names
from tilewright.codegen.expressions import Operation, Value, add, choose, divide, less, multiply, subtract
from tilewright.graph.extents import Extent, Greatest, Least, Quotient, Sum, SymbolicExtent, least_extent
from tilewright.graph.scalar import Parameter
from tilewright.graph.types import Graph, Operator
from tilewright.plan.types import ModelPlan


def extents_in(model_plan: ModelPlan) -> dict[str, SymbolicExtent]:
    """The run-time extents that generated code may speak of, by name: of tensors, of axes, in bodies and in guards."""
    graph = model_plan.graph
    operators = [*graph.operators, *(operator for plan in model_plan.plans for operator in plan.chain.operators)]
    tensors = [*graph.tensors, *(tensor for plan in model_plan.plans for tensor in plan.chain.tensors)]
    found = [*(extent for tensor in tensors for extent in tensor.shape), *(e for operator in operators for e in _of(operator))]
    return {extent.name: extent for extent in found if isinstance(extent, SymbolicExtent)}


def hints(graph: Graph) -> dict[str, int]:
    """The planned values of run-time extents, by the names of their variables."""
    shapes = [extent for tensor in graph.tensors for extent in tensor.shape]
    extents = [*shapes, *(extent for operator in graph.operators for extent in _of(operator))]
    return {names.extent(extent.name): extent.hint for extent in extents if isinstance(extent, SymbolicExtent)}


def _of(operator: Operator) -> Iterator[Extent]:
    yield from (axis.extent for axis in operator.axes)
    yield from (node.extent for node in operator.scalars() if isinstance(node, Parameter) and node.extent is not None)
    yield from operator.guard_extents()


def value_of_formula(extent: Extent, dimensions: Mapping[str, Value]) -> Value:
    """The value of an extent, where dimensions have these values.

    >>> from tilewright.codegen.expressions import to_c
    >>> from tilewright.graph.extents import minimum, plus, quotient, times
    >>> s = SymbolicExtent("s", 1, 9, 9)
    >>> to_c(value_of_formula(plus(times(s, 8), 1), {"s": "n"})), to_c(value_of_formula(quotient(s, 2), {"s": "n"}))
    ('n * 8 + 1', 'n / 2')
    >>> to_c(value_of_formula(minimum(s, 4), {"s": "n"}))
    '(4 < n ? 4 : n)'
    """
    if isinstance(extent, int):
        return extent
    match extent.formula:
        case None:
            return dimensions[extent.name]
        case Sum(terms):
            parts = [multiply(coefficient, *(value_of_formula(f, dimensions) for f in factors)) for coefficient, factors in terms]
            return reduce(lambda total, part: add(total, part), parts)
        case Quotient(dividend, divisor):
            return _floor(dividend, value_of_formula(dividend, dimensions), value_of_formula(divisor, dimensions))
        case Least(first, second):
            this, that = value_of_formula(first, dimensions), value_of_formula(second, dimensions)
            return choose(less(this, that), this, that)
        case Greatest(first, second):
            this, that = value_of_formula(first, dimensions), value_of_formula(second, dimensions)
            return choose(less(this, that), that, this)
        case _:
            assert_never(extent.formula)


def _floor(dividend: Extent, value: Value, divisor: Value) -> Value:
    """C rounds towards zero: floor(x / m) = -((m - 1 - x) / m) for x < 0."""
    if least_extent(dividend) >= 0:
        return divide(value, divisor)
    above = subtract(add(divisor, -1), value)
    return choose(less(value, 0), Operation("-", (0, Operation("/", (above, divisor)))), divide(value, divisor))
