"""C text of integer expressions."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.block.integers import Function, IntegerExpression, Operation, Variable, VariableKind, nodes
from tilewright.block.memory import BufferName
from tilewright.c_text.names import buffer_name, variable_name
from tilewright.kernels.helpers import Helper

FLOOR_DIVIDE = Helper("tw_floor_divide", "TW_INLINE long tw_floor_divide(long a, long b) { return a / b - (a % b < 0); }\n")
CALLED = {Function.FLOOR_DIVIDE: FLOOR_DIVIDE.name, Function.MINIMUM: "tw_min", Function.MAXIMUM: "tw_max"}
SIGNS = {
    Function.ADD: "+",
    Function.SUBTRACT: "-",
    Function.MULTIPLY: "*",
    Function.QUOTIENT: "/",
    Function.REMAINDER: "%",
    Function.EQUAL: "==",
    Function.UNEQUAL: "!=",
    Function.LESS: "<",
    Function.ANY: "||",
    Function.ALL: "&&",
}


def local(text: str) -> Variable:
    """A variable of the text, or a term of it in parentheses, in an expression.

    >>> to_c(local("lane") * 4 + local("(f(x))"))
    'lane * 4 + (f(x))'
    """
    return Variable(VariableKind.LOCAL, text)


def to_c(value: IntegerExpression) -> str:
    """The C text of an expression.

    >>> from tilewright.block.integers import choose, equal
    >>> m, k = Variable(VariableKind.BLOCK_START, "m"), Variable(VariableKind.EXTENT, "k")
    >>> to_c(m * 64 + k), to_c(choose(equal(m, 0), 3, m // 2))
    ('at_m * 64 + extent_k', '(at_m == 0 ? 3 : tw_floor_divide(at_m, 2))')
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Variable):
        return variable_name(value)
    assert isinstance(value, Operation)
    function, operands = value.function, value.operands
    if function in CALLED:
        return f"{CALLED[function]}({', '.join(map(to_c, operands))})"
    if function is Function.CHOOSE:
        return "({} ? {} : {})".format(*map(to_c, operands))
    return f" {SIGNS[function]} ".join(_parenthesised(operand, function) for operand in operands)


def pointer(buffer: BufferName, offset: IntegerExpression) -> str:
    """The C text of a place in a buffer.

    >>> pointer(BufferName("scores"), 0), pointer(BufferName("scores"), 64)
    ('scores', 'scores + 64')
    """
    return buffer_name(buffer) if offset == 0 else f"{buffer_name(buffer)} + {to_c(offset)}"


def value_helpers(value: IntegerExpression) -> Iterator[Helper]:
    """The helpers that the text of an expression calls, beside `tw_min` and `tw_max`, which every file has."""
    return (FLOOR_DIVIDE for node in nodes(value) if node.function is Function.FLOOR_DIVIDE)


def _parenthesised(operand: IntegerExpression, parent: Function) -> str:
    text = to_c(operand)
    atomic = (
        not isinstance(operand, Operation)
        or operand.function in CALLED
        or operand.function is Function.CHOOSE
        or (operand.function is Function.MULTIPLY and parent in (Function.ADD, Function.SUBTRACT))
    )
    return text if atomic and not text.startswith("-") else f"({text})"
