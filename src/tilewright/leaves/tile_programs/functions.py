"""The functions of `graph.expressions.scalar_functions` in tile operations: those of `tile.functions`, and what leaves add.

A function takes the builder and operands of one type, and gives a value of that type; a condition gives a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tilewright.tile.builder import Builder
from tilewright.tile.functions import registry
from tilewright.tile.functions.quotients import rounded_quotient
from tilewright.tile.program import Constant, Value
from tilewright.tile.types import FLOATS

Function: TypeAlias = Callable[..., Value]
CONNECTIVES: Mapping[str, Callable[..., Value]] = {
    "logical_and": lambda left, right: left & right,
    "logical_or": lambda left, right: left | right,
    "logical_xor": lambda left, right: left ^ right,
    "logical_not": lambda mask: ~mask,
}
"""Of masks."""


def left_shift(b: Builder, x: Value, count: Value) -> Value:
    """By as many bits as a constant says, or each lane."""
    return x << count if _is_short(count) else registry.INTEGERS["left_shift"](b, x, count)


def right_shift(b: Builder, x: Value, count: Value) -> Value:
    """By as many bits as a constant says, or each lane."""
    return x >> count if _is_short(count) else registry.INTEGERS["right_shift"](b, x, count)


def _is_short(count: Value) -> bool:
    """Whether a count is known, and below the width of a lane."""
    return isinstance(count, Constant) and 0 <= count.number < count.type.bits


OF_FLOATS: Mapping[str, Function] = {**registry.FLOATS, "rounded_quotient": rounded_quotient}
OF_INTEGERS: Mapping[str, Function] = {**registry.INTEGERS, "left_shift": left_shift, "right_shift": right_shift}


def function_named(name: str, dtype: str) -> Function | None:
    """The function of lanes of a type; None where there is none."""
    return (OF_FLOATS if dtype in FLOATS else OF_INTEGERS).get(name)


def has_integer_form(name: str) -> bool:
    """Whether there is a function of integers; all others are taken of float64."""
    return name in OF_INTEGERS
