"""Integer expressions of generated code: sizes, offsets and conditions, folded as they are built.

A value is an integer, the name of a C variable, or an operation on values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Operation:
    """A C operator or a function of the emitter's prelude applied to values."""

    name: str
    operands: tuple[Value, ...]


Value: TypeAlias = int | str | Operation

EVALUATION: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "tw_min": min,
    "tw_max": max,
}
"""Of the operations of sizes, whose operands are not negative."""


def operations(value: Value) -> Iterator[str]:
    """The names of all operations in a value.

    >>> sorted(operations(maximum("m", floor_divide("n", 2))))
    ['tw_floor_divide', 'tw_max']
    """
    if isinstance(value, Operation):
        yield value.name
        for operand in value.operands:
            yield from operations(operand)


def add(*values: Value) -> Value:
    """The sum, integers folded into one.

    >>> add(1, "m", 2)
    Operation(name='+', operands=('m', 3))
    """
    flat = [part for value in values for part in _operands(value, "+")]
    number = sum(part for part in flat if isinstance(part, int))
    names: list[Value] = [part for part in flat if not isinstance(part, int)]
    return _joined("+", [*names, number] if number or not names else names)


def subtract(value: Value, subtrahend: Value) -> Value:
    """The difference.

    >>> subtract(add("m", "n"), "m")
    'n'
    """
    if subtrahend == 0:
        return value
    if isinstance(value, int) and isinstance(subtrahend, int):
        return value - subtrahend
    parts = _operands(value, "+")
    if subtrahend in parts:
        position = parts.index(subtrahend)
        return add(*parts[:position], *parts[position + 1 :])
    return Operation("-", (value, subtrahend))


def multiply(*values: Value) -> Value:
    """The product, integers folded into one.

    >>> multiply(2, "m", 3)
    Operation(name='*', operands=('m', 6))
    """
    flat = [part for value in values for part in _operands(value, "*")]
    number = 1
    for part in flat:
        number *= part if isinstance(part, int) else 1
    names: list[Value] = [part for part in flat if not isinstance(part, int)]
    if number == 0:
        return 0
    return _joined("*", [*names, number] if number != 1 or not names else names)


def minimum(value: Value, bound: Value) -> Value:
    """The smaller of two values."""
    if isinstance(value, int) and isinstance(bound, int):
        return min(value, bound)
    return value if value == bound else Operation("tw_min", (value, bound))


def maximum(value: Value, bound: Value) -> Value:
    """The larger of two values.

    >>> maximum("m", add("m", 2))
    Operation(name='+', operands=('m', 2))
    """
    for this, that in ((value, bound), (bound, value)):
        ahead = subtract(this, that)
        if isinstance(ahead, int):
            return this if ahead >= 0 else that
    return Operation("tw_max", (value, bound))


def choose(condition: Value, this: Value, that: Value) -> Value:
    """`this` if the condition is not 0, else `that`.

    >>> to_c(choose(equal("m", 0), 3, "m"))
    '(m == 0 ? 3 : m)'
    """
    if this == that or isinstance(condition, int):
        return this if condition or this == that else that
    return Operation("?:", (condition, this, that))


def ceil_divide(value: Value, divisor: int) -> Value:
    """The quotient, rounded up, for values >= 0."""
    if isinstance(value, int):
        return -(-value // divisor)
    return value if divisor == 1 else Operation("/", (add(value, divisor - 1), divisor))


def divide(value: Value, divisor: Value) -> Value:
    """The quotient, rounded down, for values >= 0."""
    if isinstance(value, int) and isinstance(divisor, int):
        return value // divisor
    return value if divisor == 1 else Operation("/", (value, divisor))


def remainder(value: Value, divisor: Value) -> Value:
    """The remainder, for values >= 0."""
    if isinstance(value, int) and isinstance(divisor, int):
        return value % divisor
    return 0 if divisor == 1 else Operation("%", (value, divisor))


def round_up(value: Value, multiple: int) -> Value:
    """The next multiple."""
    return multiply(ceil_divide(value, multiple), multiple)


def round_down(value: Value, multiple: int) -> Value:
    """The multiple that is not above a value >= 0."""
    return multiply(divide(value, multiple), multiple)


def floor_divide(value: Value, divisor: int) -> Value:
    """The quotient by a positive number, rounded down, of any value."""
    if isinstance(value, int):
        return value // divisor
    return value if divisor == 1 else Operation("tw_floor_divide", (value, divisor))


def equal(value: Value, right: Value) -> Value:
    """1 if equal, else 0."""
    if value == right:
        return 1
    if isinstance(value, int) and isinstance(right, int):
        return 0
    return Operation("==", (value, right))


def unequal(value: Value, right: Value) -> Value:
    """0 if equal, else 1."""
    condition = equal(value, right)
    return 1 - condition if isinstance(condition, int) else Operation("!=", (value, right))


def less(value: Value, right: Value) -> Value:
    """1 if a value is less than another, else 0."""
    if isinstance(value, int) and isinstance(right, int):
        return int(value < right)
    return 0 if value == right else Operation("<", (value, right))


def any_of(*conditions: Value) -> Value:
    """1 if one of the conditions holds; 0 for none.

    >>> any_of(0, unequal("k", 0))
    Operation(name='!=', operands=('k', 0))
    """
    if 1 in conditions:
        return 1
    open_conditions = list(dict.fromkeys(condition for condition in conditions if condition != 0))
    return _joined("||", open_conditions) if open_conditions else 0


def all_of(*conditions: Value) -> Value:
    """1 if all conditions hold."""
    if 0 in conditions:
        return 0
    open_conditions = list(dict.fromkeys(condition for condition in conditions if condition != 1))
    return _joined("&&", open_conditions) if open_conditions else 1


def to_c(value: Value) -> str:
    """The C text of a value.

    >>> to_c(add(multiply("m", 64), "k"))
    'm * 64 + k'
    """
    match value:
        case int() | str():
            return str(value)
        case Operation(name, operands) if name.startswith("tw_"):
            return f"{name}({', '.join(map(to_c, operands))})"
        case Operation("?:", (condition, this, that)):
            return f"({to_c(condition)} ? {to_c(this)} : {to_c(that)})"
        case Operation(name, operands):
            return f" {name} ".join(_parenthesised(operand, name) for operand in operands)


def evaluated(value: Value, variables: Mapping[str, int]) -> int:
    """What a value is, given its variables.

    >>> evaluated(add(multiply("m", 64), round_up("k", 16)), {"m": 2, "k": 17})
    160
    """
    match value:
        case int():
            return value
        case str():
            return variables[value]
        case Operation("?:", (condition, this, that)):
            return evaluated(this if evaluated(condition, variables) else that, variables)
        case Operation(name, operands):
            return int(reduce(EVALUATION[name], (evaluated(operand, variables) for operand in operands)))


def pointer(buffer: str, offset: Value) -> str:
    """The C text of a place in a buffer.

    >>> pointer("scores", 0), pointer("scores", 64)
    ('scores', 'scores + 64')
    """
    return buffer if offset == 0 else f"{buffer} + {to_c(offset)}"


def _parenthesised(operand: Value, parent: str) -> str:
    text = to_c(operand)
    atomic = (
        not isinstance(operand, Operation)
        or operand.name.startswith("tw_")
        or operand.name == "?:"
        or (operand.name == "*" and parent in "+-")
    )
    return text if atomic and not text.startswith("-") else f"({text})"


def _operands(value: Value, name: str) -> tuple[Value, ...]:
    return value.operands if isinstance(value, Operation) and value.name == name else (value,)


def _joined(name: str, operands: list[Value]) -> Value:
    return operands[0] if len(operands) == 1 else Operation(name, tuple(operands))
