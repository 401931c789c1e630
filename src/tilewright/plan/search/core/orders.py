"""Orders of outer loops as data for the search core, in the order in which `orders.c` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tilewright.plan.search.core.problem import BeyondLimits, Data, Numbers, Packed

MOST_OUTER_LOOPS = 12
"""What the core has room for."""

Variant: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The axes of outer loops, outermost first, and the intermediates that have circular line buffers along the last of them."""


def packed_orders(variants: Sequence[Variant], numbers: Numbers) -> Packed:
    """Orders of outer loops of one space. Raises `BeyondLimits`."""
    data = Data()
    for outer_loops, line_buffered in variants:
        if len(outer_loops) > MOST_OUTER_LOOPS:
            raise BeyondLimits
        data.counted([numbers.axes[axis] for axis in outer_loops])
        data.integers.append(sum(1 << numbers.tensors[tensor] for tensor in line_buffered))
    return data.packed()
