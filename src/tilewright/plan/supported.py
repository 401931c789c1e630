"""Supported operators: what generated code can compute; all others run as their NumPy reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.graph.exactness import INTEGERS, SHORT_TYPES, exact_element_type
from tilewright.graph.expressions.scalar import Previous, Scalar, subexpressions
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.types import Operator, Tensor
from tilewright.kernels.element_types import ELEMENT_TYPES
from tilewright.tile.functions import registry

KNOWN = {REPORT_NOT_FINITE, *registry.FLOATS}
"""Functions of vectors. Integers have some of their own, and take the others of float64."""


def obstacle(operator: Operator, tensors: Mapping[str, Tensor]) -> str:
    """Why generated code cannot compute an operator, "" if it can.

    `tensors` has at least those that it reads and writes, by name.

    >>> from tilewright.graph.builders.elementwise import body_of, elementwise
    >>> x = Tensor("x", (4,), "complex64")
    >>> operator, y = elementwise(body_of("add"), [x, x], name="sum", result="y")
    >>> obstacle(operator, {"x": x, "y": y})
    'elements of type complex64'
    """
    return next((problem for problem in _problems(operator, tensors) if problem), "")


def _problems(operator: Operator, tensors: Mapping[str, Tensor]) -> Iterator[str]:
    for access in (*operator.reads, operator.write):
        dtype = tensors[access.tensor].dtype
        yield "" if dtype in ELEMENT_TYPES else f"elements of type {dtype}"
        is_float_map = operator.is_map() and operator.accumulator == "float32" and not operator.looked_up()
        is_read = dtype not in SHORT_TYPES or is_float_map
        yield "" if is_read else f"elements of type {dtype} outside of elementwise operators in float32"
    exact = exact_element_type(operator, tensors)
    if not exact and operator.accumulator not in ("float32", "float16", "bfloat16", "bool"):
        yield f"arithmetic in {operator.accumulator}"
    for function in dict.fromkeys(operator.functions()):
        is_known = function in KNOWN or (exact in INTEGERS and function in registry.INTEGERS)
        yield "" if is_known else f"the function {function} in {exact or 'float32'}"
    for scalar in _parts(operator) if exact else ():
        yield "a rescaling rule" if any(isinstance(node, Previous) for node in subexpressions(scalar)) else ""


def _parts(operator: Operator) -> Iterator[Scalar]:
    yield operator.body
    if operator.reduction is not None:
        yield from (state.contribution for state in operator.reduction.states)
        yield operator.reduction.finish
