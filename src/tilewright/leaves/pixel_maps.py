"""Elementwise operators between pixels, whose few channels lie side by side, and planes of channels.

Lanes run along the pixels. Where elements of all channels of some pixels are loaded or stored, shuffles take them apart and put
them together.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.arrays import Quantity
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.statements import VectorLoops
from tilewright.graph.types import Access, Operator
from tilewright.leaves import elementwise_maps
from tilewright.leaves.declaration import Constraints, CostProblem, Leaf, LoweredTile, Mismatch, Problem, Refusal
from tilewright.leaves.tile_programs import pixels

NAME = "pixel maps"
PIXELS, CHANNELS = "pixels", "channels"
"""The roles of axes."""
LEAST_CHANNELS, MOST_CHANNELS = 2, 4
LEAST_PIXELS = 8
SHUFFLE_CYCLES = 1.0
"""Of a vector of a channel and one of the vectors that its elements lie in [AMD EPYC, Zen 4: 0.7 to 1.1]."""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """A map of which planes become pixels, or pixels planes."""
    operator = problem.operator
    if not operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    if any(not _has_strides(access) for access in operator.reads):
        return Refusal(NAME, Mismatch.POSITIONS)
    extents = {axis.name: axis.extent for axis in operator.axes}
    for access in (operator.write, *operator.reads):
        found = _axes_of_pixels(access, extents)
        if found and _has_planes(operator, *found) and not _is_guarded(operator, *found):
            return (LeafBinding(NAME, tuple(zip((PIXELS, CHANNELS), found, strict=True)), element_type=problem.exact_type),)
    return Refusal(NAME, Mismatch.LANES)


def _has_strides(access: Access) -> bool:
    """Whether its elements lie at strides."""
    return not access.lookups and all(index.is_affine() for index in access.indices)


def _is_guarded(operator: Operator, pixels: str, channels: str) -> bool:
    """Whether elements of a pixel may not be there: limits of one other axis are decided before."""
    limits = (limit for access in operator.reads if access.guard is not None for limit in access.guard.constraints)
    return any(len(limit.terms) != 1 or limit.axes() & {pixels, channels} for limit in limits)


def _axes_of_pixels(access: Access, extents: Mapping[str, object]) -> tuple[str, str] | None:
    """The last two axes, if the last one has a few channels, and the other enough pixels: of two dimensions, or of one.

    Loops that lowering adds may have other positions beside their axes.
    """
    found = _in_one_dimension(access, extents) or _in_two_dimensions(access)
    if found is None:
        return None
    pixels, channels = found
    columns, few = extents.get(pixels), extents.get(channels)
    is_known = isinstance(few, int) and LEAST_CHANNELS <= few <= MOST_CHANNELS
    is_wide = columns is not None and (not isinstance(columns, int) or columns >= LEAST_PIXELS)
    return (pixels, channels) if is_known and is_wide else None


def _in_two_dimensions(access: Access) -> tuple[str, str] | None:
    last = access.indices[-2:]
    return (str(last[0]), str(last[1])) if len(last) == 2 and all(index.is_axis() for index in last) else None


def _in_one_dimension(access: Access, extents: Mapping[str, object]) -> tuple[str, str] | None:
    """Of pixel * channels + channel."""
    steps = {step: str(atom) for atom, step in access.indices[-1].terms} if access.indices else {}
    if len(steps) != 2 or 1 not in steps or access.indices[-1].constant:
        return None
    (distance,) = steps.keys() - {1}
    return (steps[distance], steps[1]) if extents.get(steps[1]) == distance else None


def _has_planes(operator: Operator, pixels: str, channels: str) -> bool:
    """Whether the result has planes, or has pixels, and something else has the other."""
    last = operator.write.innermost()
    if last == pixels:
        return channels in operator.write.axes()
    return last == channels and any(access.innermost() == pixels for access in operator.reads)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """A pass with the functions of all points, a shuffle for every vector that a channel's elements lie in but one, and what is
    collected element by element."""
    roles = dict(binding.axes)
    channels, lanes = problem.sizes[roles[CHANNELS]], problem.lanes
    vectors = elementwise_maps.points(problem) / lanes
    collected = sum(_is_collected(access, roles[PIXELS], roles[CHANNELS]) for access in problem.operator.reads)
    cycles = vectors * (channels - 1) * SHUFFLE_CYCLES
    cycles += vectors / channels * collected * lanes * problem.coefficients.scalar_step_cycles
    passes = elementwise_maps.whole_pass_seconds(binding, problem) + elementwise_maps.strided_seconds(problem, (roles[CHANNELS],))
    return passes + cycles / problem.machine.frequency_hz


def _is_collected(access: Access, pixels: str, channels: str) -> bool:
    """Whether neighbouring pixels lie apart, and not their channels between them."""
    return pixels in access.axes() and access.innermost() not in (pixels, channels)


def constraints(binding: LeafBinding) -> Constraints:
    """All channels of a pixel stay together."""
    return Constraints(frozenset((dict(binding.axes)[CHANNELS],)), shares_loops=True)


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box."""
    roles = dict(binding.axes)
    return pixels.lowered(loops, roles[PIXELS], roles[CHANNELS])


LEAF = Leaf(NAME, order=3, match=match, seconds=seconds, lower=lower, constraints=constraints)
