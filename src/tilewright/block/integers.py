"""Integer expressions: sizes, offsets, positions and conditions, folded as they are built, in no language.

A constant is a Python integer, a variable says what it stands for, and an operation applies a function to expressions. Conditions
hold unless they are 0. `+`, `-`, `*` and `//` build expressions; `==` compares them as data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import reduce
from typing import TypeAlias

from tilewright.records import record


class Symbolic:
    """An integer that is not constant: a `Variable` or an `Operation`.

    >>> m, n = Variable(VariableKind.EXTENT, "m"), Variable(VariableKind.EXTENT, "n")
    >>> 1 + m + 2 == m + 3, 2 * m * 3 == m * 6, m + n - m == n
    (True, True, True)
    """

    __slots__ = ()

    def __add__(self, other: IntegerExpression) -> IntegerExpression:
        return self if isinstance(other, int) and other == 0 else _flat(Function.ADD, 0, self, other)

    def __sub__(self, other: IntegerExpression) -> IntegerExpression:
        return _difference(self, other)

    def __rsub__(self, other: int) -> IntegerExpression:
        return _difference(other, self)

    def __mul__(self, other: IntegerExpression) -> IntegerExpression:
        if isinstance(other, int) and 0 <= other <= 1:
            return self if other else 0
        return _flat(Function.MULTIPLY, 1, self, other)

    def __floordiv__(self, divisor: int) -> IntegerExpression:
        return self if divisor == 1 else Operation(Function.FLOOR_DIVIDE, (self, divisor))

    __radd__ = __add__
    __rmul__ = __mul__


IntegerExpression: TypeAlias = int | Symbolic


class VariableKind(StrEnum):
    """What a variable stands for, in a word that begins its name in generated text.

    Of run-time sizes: an extent, by the name of its dimension or the text of its formula; a stride in elements, by the tensor and
    the number of its dimension. Of the current block of an axis: its start and its size, by the axis and how many loops over it
    stand around, if any, or by the operator whose required region it is.

    Of the required region of an operator along an axis, so many blocks before the current one: where it begins, where it ends,
    and where the operator goes on in it, behind what the block before has left. Of masks: the first point along an axis that they
    let through, and how many there are from it on; a value of the data that limits an axis, by number; from where and up to where
    a mask does nothing, by its operator.

    Of loops that are a function: a stride without a tensor, and an offset, by number; the depth and the columns of a copy. Of the
    text that is generated: a local value, by its name there.
    """

    EXTENT = "extent"
    STRIDE = "stride"
    BLOCK_START = "at"
    BLOCK_SIZE = "size"
    REQUIRED_START = "reach from"
    REQUIRED_STOP = "reach to"
    COMPUTED_START = "reach begin"
    DOMAIN_START = "first"
    DOMAIN_SIZE = "count"
    MASK_LIMIT = "limit"
    PLAIN_START = "plain from"
    PLAIN_STOP = "plain to"
    OFFSET = "offset"
    DEPTH = "depth"
    COLUMNS = "columns"
    LOCAL = "local"


@record
class Variable(Symbolic):
    """An integer by what it stands for: `of` an axis, a tensor, a dimension or an operator; `operator` is that of a region."""

    kind: VariableKind
    of: str = ""
    number: int | None = None
    operator: str = ""


class Function(StrEnum):
    """What an operation computes. Quotients are rounded towards zero, and remainders are theirs; floor divisions round down.

    A choice is its second operand where the first, a condition, holds; else the third.
    """

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    FLOOR_DIVIDE = "floor divide"
    QUOTIENT = "quotient"
    REMAINDER = "remainder"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    EQUAL = "equal"
    UNEQUAL = "unequal"
    LESS = "less"
    ANY = "any"
    ALL = "all"
    CHOOSE = "choose"


@record
class Operation(Symbolic):
    """A function of expressions; sums, products, ANY and ALL have two operands or more, the constant of a sum or product last."""

    function: Function
    operands: tuple[IntegerExpression, ...]


def _truncated(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


EVALUATION: Mapping[Function, Callable[[int, int], int]] = {
    Function.ADD: operator.add,
    Function.SUBTRACT: operator.sub,
    Function.MULTIPLY: operator.mul,
    Function.FLOOR_DIVIDE: operator.floordiv,
    Function.QUOTIENT: _truncated,
    Function.REMAINDER: lambda dividend, divisor: dividend - _truncated(dividend, divisor) * divisor,
    Function.MINIMUM: min,
    Function.MAXIMUM: max,
    Function.EQUAL: operator.eq,
    Function.UNEQUAL: operator.ne,
    Function.LESS: operator.lt,
    Function.ANY: lambda this, that: this != 0 or that != 0,
    Function.ALL: lambda this, that: this != 0 and that != 0,
}


def nodes(value: IntegerExpression) -> Iterator[Operation]:
    """All operations in an expression.

    >>> [str(node.function) for node in nodes(maximum(Variable(VariableKind.EXTENT, "m") // 2, 3))]
    ['maximum', 'floor divide']
    """
    if isinstance(value, Operation):
        yield value
        for operand in value.operands:
            yield from nodes(operand)


def minimum(value: IntegerExpression, bound: IntegerExpression) -> IntegerExpression:
    """The smaller of two values."""
    return value if value == bound else _applied(Function.MINIMUM, value, bound)


def maximum(value: IntegerExpression, bound: IntegerExpression) -> IntegerExpression:
    """The larger of two values.

    >>> m = Variable(VariableKind.EXTENT, "m")
    >>> maximum(m, m + 2) == m + 2
    True
    """
    for this, that in ((value, bound), (bound, value)):
        ahead = this - that
        if isinstance(ahead, int):
            return this if ahead >= 0 else that
    return Operation(Function.MAXIMUM, (value, bound))


def choose(condition: IntegerExpression, this: IntegerExpression, that: IntegerExpression) -> IntegerExpression:
    """`this` where the condition holds, else `that`."""
    if this == that or isinstance(condition, int):
        return this if condition or this == that else that
    return Operation(Function.CHOOSE, (condition, this, that))


def ceil_divide(value: IntegerExpression, divisor: int) -> IntegerExpression:
    """The quotient, rounded up, for values >= 0."""
    return quotient(value + (divisor - 1), divisor)


def quotient(value: IntegerExpression, divisor: IntegerExpression) -> IntegerExpression:
    """The quotient, rounded towards zero."""
    return value if divisor == 1 else _applied(Function.QUOTIENT, value, divisor)


def remainder(value: IntegerExpression, divisor: IntegerExpression) -> IntegerExpression:
    """The remainder of `quotient`."""
    return 0 if divisor == 1 else _applied(Function.REMAINDER, value, divisor)


def round_up(value: IntegerExpression, multiple: int) -> IntegerExpression:
    """The next multiple of a value >= 0."""
    return ceil_divide(value, multiple) * multiple


def round_down(value: IntegerExpression, multiple: int) -> IntegerExpression:
    """The multiple that is not above a value >= 0."""
    return quotient(value, multiple) * multiple


def equal(value: IntegerExpression, right: IntegerExpression) -> IntegerExpression:
    """1 if equal, else 0."""
    return 1 if value == right else _applied(Function.EQUAL, value, right)


def unequal(value: IntegerExpression, right: IntegerExpression) -> IntegerExpression:
    """0 if equal, else 1."""
    return 0 if value == right else _applied(Function.UNEQUAL, value, right)


def less(value: IntegerExpression, right: IntegerExpression) -> IntegerExpression:
    """1 if a value is less than another, else 0."""
    return 0 if value == right else _applied(Function.LESS, value, right)


def any_of(*conditions: IntegerExpression) -> IntegerExpression:
    """1 if one of the conditions holds; 0 for none.

    >>> condition = unequal(Variable(VariableKind.EXTENT, "k"), 0)
    >>> any_of(0, condition) == condition
    True
    """
    return _connected(Function.ANY, 0, conditions)


def all_of(*conditions: IntegerExpression) -> IntegerExpression:
    """1 if all conditions hold."""
    return _connected(Function.ALL, 1, conditions)


def evaluated(value: IntegerExpression, variables: Mapping[Variable, int]) -> int:
    """What an expression is, given its variables.

    >>> m, k = Variable(VariableKind.EXTENT, "m"), Variable(VariableKind.EXTENT, "k")
    >>> evaluated(m * 64 + round_up(k, 16), {m: 2, k: 17})
    160
    """
    if isinstance(value, int):
        return value
    if isinstance(value, Variable):
        return variables[value]
    assert isinstance(value, Operation)
    if value.function is Function.CHOOSE:
        return evaluated(value.operands[1 if evaluated(value.operands[0], variables) else 2], variables)
    return int(reduce(EVALUATION[value.function], (evaluated(operand, variables) for operand in value.operands)))


def _applied(function: Function, value: IntegerExpression, right: IntegerExpression) -> IntegerExpression:
    if isinstance(value, int) and isinstance(right, int):
        return int(EVALUATION[function](value, right))
    return Operation(function, (value, right))


def _flat(function: Function, neutral: int, *values: IntegerExpression) -> IntegerExpression:
    """A sum or a product, whose constants are folded into one."""
    flat = [part for value in values for part in _operands(value, function)]
    number = reduce(EVALUATION[function], (part for part in flat if isinstance(part, int)), neutral)
    symbolic = [part for part in flat if not isinstance(part, int)]
    return _joined(function, [*symbolic, number] if number != neutral or not symbolic else symbolic)


def _difference(value: IntegerExpression, subtrahend: IntegerExpression) -> IntegerExpression:
    """A term of a sum that is subtracted is left out."""
    parts = _operands(value, Function.ADD)
    if subtrahend in parts:
        position = parts.index(subtrahend)
        return _flat(Function.ADD, 0, *parts[:position], *parts[position + 1 :])
    return value if subtrahend == 0 else Operation(Function.SUBTRACT, (value, subtrahend))


def _connected(function: Function, neutral: int, conditions: Sequence[IntegerExpression]) -> IntegerExpression:
    if 1 - neutral in conditions:
        return 1 - neutral
    left = list(dict.fromkeys(condition for condition in conditions if condition != neutral))
    return _joined(function, left) if left else neutral


def _operands(value: IntegerExpression, function: Function) -> tuple[IntegerExpression, ...]:
    return value.operands if isinstance(value, Operation) and value.function is function else (value,)


def _joined(function: Function, operands: Sequence[IntegerExpression]) -> IntegerExpression:
    return operands[0] if len(operands) == 1 else Operation(function, tuple(operands))
