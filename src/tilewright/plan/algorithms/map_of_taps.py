"""Map of taps: filters of one channel are a map of the padded image, the sum of the products of all taps."""

from __future__ import annotations

from functools import reduce
from itertools import product

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index, constant
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.types import Access, Operator, Tensor
from tilewright.plan.algorithms import channel_lanes, sliding_sums
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, padded, sliding_product
from tilewright.plan.algorithms.product_roles import points

LARGEST_BODY = 64
"""Products in one body, whose text and registers grow with them."""


def applies(problem: Problem) -> bool:
    """Whether every sum is one of the taps of one channel, and they are few enough to be written out.

    Where rows stream past, or lanes run along channels, every vector is loaded once, not once for every tap: nothing is left to
    choose.
    """
    if sliding_sums.applies(problem) or channel_lanes.applies(problem):
        return False
    sliding = sliding_product(problem)
    if sliding is None:
        return False
    reduced, taps = points(sliding.roles.reduced), points(sliding.taps)
    return reduced == taps <= LARGEST_BODY


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image, and the map."""
    sliding = sliding_product(problem)
    assert sliding is not None
    return builder.record(_taps, sliding, padded(builder, sliding), kind="conv")


def _taps(sliding: SlidingProduct, image: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The sum over all taps, in the order of the reduction; channels that are summed have one point each."""
    roles = sliding.roles
    operator = roles.problem.operator
    taps = [dict(zip((axis.name for axis in roles.reduced), map(constant, place), strict=True)) for place in _places(sliding)]
    reads = [Access(image.name, tuple(index.substitute(tap) for index in _position(sliding))) for tap in taps]
    weights = roles.weights
    reads += [Access(weights.tensor, tuple(index.substitute(tap) for index in weights.indices)) for tap in taps]
    products: list[Scalar] = [apply("multiply", Load(tap), Load(len(taps) + tap)) for tap in range(len(taps))]
    body = reduce(lambda left, right: apply("add", left, right), products)
    axes = (*roles.batch, *roles.group, *roles.filters, *roles.outputs)
    write = Access(result, operator.write.indices)
    shape, dtype = roles.problem.result.shape, roles.problem.result.dtype
    return Operator(name, "conv", axes, tuple(reads), write, body, accumulator=operator.accumulator), Tensor(result, shape, dtype)


def _places(sliding: SlidingProduct) -> product[tuple[int, ...]]:
    return product(*(range(points((axis,))) for axis in sliding.roles.reduced))


def _position(sliding: SlidingProduct) -> tuple[Index, ...]:
    return (*sliding.image_dimensions(), *(slide.position() for slide in sliding.slides))


ALGORITHM = Algorithm("map of taps", Licence.EXACT, applies, expand)
