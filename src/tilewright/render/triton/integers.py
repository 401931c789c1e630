"""Integer expressions as text of a kernel. Quotients of tensors are rounded towards zero there."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.block.integers import Function, IntegerExpression, Operation, Variable
from tilewright.render.triton.refusals import refused

_INFIX = {
    Function.ADD: " + ",
    Function.SUBTRACT: " - ",
    Function.MULTIPLY: " * ",
    Function.QUOTIENT: " // ",
    Function.REMAINDER: " % ",
    Function.EQUAL: " == ",
    Function.UNEQUAL: " != ",
    Function.LESS: " < ",
    Function.ANY: " | ",
    Function.ALL: " & ",
}
_CALLS = {Function.MINIMUM: "tl.minimum", Function.MAXIMUM: "tl.maximum", Function.CHOOSE: "tl.where"}


def integer_text(value: IntegerExpression, names: Mapping[Variable, str]) -> str:
    """An expression, whose operations stand in parentheses. Raises `UnsupportedOperation` for sizes that a call decides.

    >>> from tilewright.block.integers import VariableKind, minimum
    >>> m = Variable(VariableKind.BLOCK_START, "m")
    >>> integer_text(minimum(m * 2 + 1, 7), {m: "m0"})
    'tl.minimum(((m0 * 2) + 1), 7)'
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Variable):
        if value not in names:
            raise refused(f"the {value.kind} of {value.of}", "its kernels have literals for sizes and strides")
        return names[value]
    assert isinstance(value, Operation)
    operands = [integer_text(operand, names) for operand in value.operands]
    if value.function in _INFIX:
        return f"({_INFIX[value.function].join(operands)})"
    if value.function is Function.FLOOR_DIVIDE:
        return _floor(*operands)
    return f"{_CALLS[value.function]}({', '.join(operands)})"


def _floor(dividend: str, divisor: str) -> str:
    """A quotient that is rounded down, for a positive divisor: floor(x / m) = -((m - 1 - x) // m) for x < 0."""
    return f"tl.where({dividend} < 0, -(({divisor} - 1 - {dividend}) // {divisor}), {dividend} // {divisor})"


def variables_of(value: IntegerExpression) -> frozenset[Variable]:
    """All variables in an expression."""
    if isinstance(value, Variable):
        return frozenset((value,))
    if isinstance(value, Operation):
        return frozenset().union(*map(variables_of, value.operands))
    return frozenset()
