"""Supported operators: what generated code can compute; all others run as their NumPy reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.graph.exactness import INTEGERS, SHORT_TYPES, scalar_element_type
from tilewright.graph.expressions.scalar import Previous, Scalar, subexpressions
from tilewright.graph.types import Operator, Tensor
from tilewright.kernels.element_access import ELEMENT_TYPES
from tilewright.kernels.functions.scalar_functions import VECTOR_TEXTS, WHOLE_FUNCTIONS, has_double_form

CONNECTIVES = frozenset(("where", "logical_and", "logical_or", "logical_xor", "logical_not"))


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
    exact = scalar_element_type(operator, tensors)
    if not exact and operator.accumulator not in ("float32", "float16", "bfloat16", "bool"):
        yield f"arithmetic in {operator.accumulator}"
    for function in dict.fromkeys(operator.functions()):
        yield "" if _is_known(function, exact) else f"the function {function} in {exact or 'float32'}"
    for scalar in _parts(operator) if exact else ():
        yield "a rescaling rule" if any(isinstance(node, Previous) for node in subexpressions(scalar)) else ""


def _is_known(function: str, exact: str) -> bool:
    """Whether there is code of a function in an exact type, or in vectors."""
    if not exact:
        return function in VECTOR_TEXTS
    in_type = function in WHOLE_FUNCTIONS if exact in INTEGERS else has_double_form(function)
    return in_type or function in CONNECTIVES or has_double_form(function)


def _parts(operator: Operator) -> Iterator[Scalar]:
    yield operator.body
    if operator.reduction is not None:
        yield from (state.contribution for state in operator.reduction.states)
        yield operator.reduction.finish
