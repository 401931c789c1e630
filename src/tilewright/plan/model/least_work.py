"""Least work: how many points of an operator any schedule computes, counted from what its consumers read, back from the sink.

A producer that computes required regions of its consumers (see `required_regions`) leaves out what none of them reads: what
slices and strides skip, and what lies beyond the guards of a part of a concatenation. All other axes are computed whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.graph.types import Access, Chain, Operator, planned_extent
from tilewright.plan.chain_analysis import derived_once
from tilewright.plan.element_types import outer_bytes, product_type
from tilewright.plan.model.kernel_work import flops
from tilewright.plan.model.masked_work import needed_keys, needed_share
from tilewright.plan.regions.footprint import distinct_values, swept_elements
from tilewright.plan.regions.required_regions import Reading, readings
from tilewright.plan.regions.trip_counts import planned_sizes

Sizes = Mapping[str, int]


@derived_once
def needed_sizes(chain: Chain) -> Mapping[str, Sizes]:
    """For every operator, the points along every axis of the chain that have to be computed: the size, or fewer."""
    sizes = planned_sizes(chain)
    found: dict[str, Sizes] = {}
    for operator in reversed(chain.operators):
        following = readings(chain, operator) if chain.consumers(operator.write.tensor) else {}
        restricted = {
            axis: max(_positions(reading, found[reading.consumer], sizes, sizes[axis]) for reading in ways)
            for axis, ways in following.items()
        }
        found[operator.name] = {**sizes, **restricted}
    return found


def least_bytes(chain: Chain) -> int:
    """Of all inputs and the output, what any schedule touches: a tensor that is read twice counts once, no more than it has."""

    def touched(operator: Operator, access: Access) -> int:
        needed = needed_sizes(chain)[operator.name]
        count = min(int(swept_elements(access, needed, needed)), _elements(chain, access.tensor))
        return int(count * needed_keys(chain, operator.name, access))

    return outer_bytes(chain, touched)


def least_flops(chain: Chain) -> dict[str, int]:
    """Of all contractions, by element type of the products: a multiplication and an addition for every point that is needed."""
    needed = needed_sizes(chain)
    counts: dict[str, int] = {}
    for contraction in (operator for operator in chain.operators if operator.is_contraction()):
        count = round(flops(contraction, needed[contraction.name]) * needed_share(chain, contraction.name))
        dtype = product_type(chain, contraction)
        counts[dtype] = counts.get(dtype, 0) + count
    return counts


def _elements(chain: Chain, tensor: str) -> int:
    return prod(max(planned_extent(extent), 1) for extent in chain.tensor(tensor).shape)


def _positions(reading: Reading, needed: Sizes, sizes: Sizes, extent: int) -> int:
    """The least number of positions inside the tensor that a reading takes: of points that lie anywhere on its axes."""
    index = reading.index
    if all(needed[axis] == sizes[axis] for axis in index.axes()):
        positions = int(distinct_values(index, sizes))
    else:
        positions = 1 + sum(needed[axis] - 1 for axis in index.axes())
    low, high = index.bounds(sizes)
    return max(positions - max(-low, 0) - max(high - extent + 1, 0), 1)
