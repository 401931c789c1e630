"""Folds: what the lanes of accumulators make together, in all lanes; of several rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tilewright.tile.builder import Builder
from tilewright.tile.functions import arithmetic
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value

Combine: TypeAlias = Callable[[Builder, Value, Value], Value]


def _operation(operation: Operation) -> Combine:
    return lambda b, left, right: b.apply(operation, left, right)


COMBINE: Mapping[str, Combine] = {
    "add": _operation(Operation.ADD),
    "multiply": _operation(Operation.MULTIPLY),
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "larger": _operation(Operation.LARGER),
    "smaller": _operation(Operation.SMALLER),
}
"""The associative functions of reductions."""
NAN_IGNORING: Mapping[str, str] = {"maximum": "larger", "minimum": "smaller"}
"""What takes their place where it does not matter what becomes of NaN: one instruction instead of three."""


def folded(b: Builder, combine: Combine, totals: Sequence[Value]) -> list[Value]:
    """All lanes of each value by halves, the lower half first, in all lanes.

    Halves of two values meet in one, until each has its part of one: bit for bit what each would be alone.
    """
    lanes = totals[0].type.lanes
    if len(totals) == 1 or lanes < len(totals):
        return [_in_all_lanes(b, _alone(b, combine, total), lanes, 0) for total in totals]
    part, parts = lanes, list(totals)
    while len(parts) > 1:
        part //= 2
        lower = [lane // part * 2 * part + lane % part for lane in range(lanes)]
        upper = [lane + part for lane in lower]
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [combine(b, b.shuffle(pair, lower), b.shuffle(pair, upper)) for pair in pairs]
    (found,) = parts
    while part > 1:
        part //= 2
        found = combine(b, found, b.shuffle((found,), [lane ^ part for lane in range(lanes)]))
    return [_in_all_lanes(b, found, lanes, way * lanes // len(totals)) for way in range(len(totals))]


def _alone(b: Builder, combine: Combine, value: Value) -> Value:
    """All lanes of one value, as one."""
    while value.type.lanes > 1:
        half = value.type.lanes // 2
        value = combine(b, b.shuffle((value,), range(half)), b.shuffle((value,), range(half, 2 * half)))
    return value


def _in_all_lanes(b: Builder, value: Value, lanes: int, lane: int) -> Value:
    if value.type.lanes == 1:
        return b.splat(value, lanes) if lanes > 1 else value
    return b.shuffle((value,), [lane] * lanes)
