"""Depthwise convolution, filters of one channel, without a product of matrices: three algorithms.

"sliding sums": weighted sums of floats over windows of the image in its place, with no padded copy of it, where rows of the image
can stream past. "channel lanes": the same with lanes along channels that lie last. "map of taps": an elementwise operator on the
padded image, the sum of the products of all taps; it is for what the others do not take, for it loads a vector for every tap.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import product

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import constant
from tilewright.graph.expressions.scalar import Load, Scalar, apply
from tilewright.graph.licences import Licence
from tilewright.graph.types import WEIGHTED_SUM, Access, Operator, Tensor
from tilewright.leaves.registry import is_taken
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected, found_once
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, padded, sliding_product
from tilewright.plan.algorithms.product_roles import points

LARGEST_BODY = 64
"""Products in one body, whose text and registers grow with them."""


MOST_GATHERED = 9
"""Taps that a map gathers: of 33, the map took 11 times as long as sums along the columns."""
MOST_DIMENSIONS = 3
"""Along which windows move; channel lanes see two."""


def _windows(problem: Problem) -> SlidingProduct | None:
    """The windows of an operator whose every sum is one of the taps of one channel of floats; extents of outputs are any."""
    sliding = sliding_product(problem, any_outputs=True)
    if sliding is None or {problem.operand(read).dtype for read in (0, 1)} != {"float32"}:
        return None
    return sliding if points(sliding.roles.reduced) == points(sliding.taps) else None


@found_once
def _slides(problem: Problem) -> bool:
    """Whether rows of the image can stream past the weighted sums, or past tiles of them."""
    return any(_is_taken(problem, leaf) for leaf in ("row streaming", "window tiles"))


def _is_taken(problem: Problem, leaf: str) -> bool:
    sliding = _windows(problem)
    return sliding is not None and is_taken(leaf, _sums_in_place(sliding), problem.tensors)


@found_once
def is_by_tiles(problem: Problem) -> bool:
    """Whether tiles of sums see windows of one filter for each channel, or would if the result lay as the image does.

    Products of one row, and maps that read columns apart, are 3 to 8 times slower.
    """
    sliding = _windows(problem)
    if sliding is None or sliding.roles.filters:
        return False
    is_last = sliding.slides[-1].output.name in sliding.roles.image.indices[-1].axes()
    return (is_last and len(sliding.slides) == MOST_DIMENSIONS) or _is_taken(problem, "window tiles")


def _slide(problem: Problem, builder: Builder) -> Tensor:
    """The sums, in the order of the operator."""
    builder.operators.append(_sums_in_place(expected(_windows(problem))))
    return problem.result


def _sums_in_place(sliding: SlidingProduct) -> Operator:
    """The operator as weighted sums of what it reads of the image, whose extents nothing depends on."""
    reads = (sliding.roles.image, sliding.roles.weights)
    return replace(sliding.roles.problem.operator, reads=reads, body=Load(0), reduction=WEIGHTED_SUM)


def _has_channel_lanes(problem: Problem) -> bool:
    """Whether channels lie side by side."""
    sliding = _windows(problem)
    if sliding is None or len(sliding.roles.group) != 1 or sliding.roles.filters or not 1 <= len(sliding.taps) <= 2:
        return False
    roles = sliding.roles
    return all(access.indices[-1].axes() == {roles.group[0].name} for access in (roles.image, problem.operator.write))


def _sum_by_channel_lanes(problem: Problem, builder: Builder) -> Tensor:
    """Filters with channels last, and the sums, of whose channels those that are summed have one point each."""
    sliding = expected(_windows(problem))
    weights = filters_by(builder, sliding, (*sliding.taps, *sliding.roles.group))
    outer = tuple(axis for axis in problem.operator.axes if axis not in sliding.roles.reduced)
    operator = replace(_sums_in_place(sliding), axes=(*outer, *sliding.taps), reads=(sliding.roles.image, weights))
    builder.operators.append(operator)
    return problem.result


def _has_few_taps(problem: Problem) -> bool:
    """Whether the sums are of few enough taps to be written out.

    Where rows stream past, or lanes run along channels, every vector is loaded once, not once for every tap: nothing is left to
    choose.
    """
    if _slides(problem) or _has_channel_lanes(problem) or is_by_tiles(problem):
        return False
    sliding = sliding_product(problem)
    if sliding is None or not points(sliding.roles.reduced) == points(sliding.taps) <= LARGEST_BODY:
        return False
    return not _is_turned(sliding) or points(sliding.taps) <= MOST_GATHERED


def _is_turned(sliding: SlidingProduct) -> bool:
    """Whether columns lie side by side in the image, but not in the result: a map would gather every tap."""
    columns, last = sliding.slides[-1].output.name, sliding.roles.problem.operator.write.indices[-1]
    return columns in sliding.roles.image.indices[-1].axes() and columns not in last.axes()


def _map(problem: Problem, builder: Builder) -> Tensor:
    """The padded image, and the sum over all taps in the order of the reduction; summed channels have one point each."""
    sliding = expected(sliding_product(problem))
    roles, image = sliding.roles, padded(builder, sliding)
    places = product(*(range(points((axis,))) for axis in roles.reduced))
    taps = [dict(zip((axis.name for axis in roles.reduced), map(constant, place), strict=True)) for place in places]
    windows = Access(image.name, (*sliding.image_dimensions(), *sliding.positions))
    ends = product((windows, roles.weights), taps)
    reads = [Access(read.tensor, tuple(index.substitute(tap) for index in read.indices)) for read, tap in ends]
    products: list[Scalar] = [apply("multiply", Load(tap), Load(len(taps) + tap)) for tap in range(len(taps))]
    body = reduce(lambda left, right: apply("add", left, right), products)
    axes = (*roles.batch, *roles.result_channels, *roles.outputs)

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        write = replace(problem.operator.write, tensor=result)
        made = replace(problem.operator, name=name, axes=axes, reads=tuple(reads), write=write, body=body, reduction=None)
        return made, Tensor(result, problem.result.shape, problem.result.dtype)

    return builder.record(build, kind="conv")


SLIDING_SUMS = Algorithm("sliding sums", Licence.EXACT, _slides, _slide)
CHANNEL_LANES = Algorithm("channel lanes", Licence.EXACT, _has_channel_lanes, _sum_by_channel_lanes)
MAP_OF_TAPS = Algorithm("map of taps", Licence.EXACT, _has_few_taps, _map)
ALGORITHMS = (SLIDING_SUMS, CHANNEL_LANES, MAP_OF_TAPS)
