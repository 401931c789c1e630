"""Channel lanes: filters of one channel as weighted sums over windows, with lanes along channels that lie last."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, sliding_product
from tilewright.plan.algorithms.product_roles import plain, points
from tilewright.plan.regions.sliding_sums import WEIGHTED_SUM


def applies(problem: Problem) -> bool:
    """Whether every sum is one of the taps of one channel of floats, and channels lie side by side."""
    sliding = sliding_product(problem, any_outputs=True)
    if sliding is None or {problem.operand(read).dtype for read in (0, 1)} != {"float32"}:
        return False
    roles = sliding.roles
    if points(roles.reduced) != points(sliding.taps) or len(roles.group) != 1 or roles.filters or not 1 <= len(sliding.taps) <= 2:
        return False
    return all(access.indices[-1].axes() == {roles.group[0].name} for access in (roles.image, problem.operator.write))


def expand(problem: Problem, builder: Builder) -> Tensor:
    """Filters with channels last, and the sums."""
    sliding = sliding_product(problem, any_outputs=True)
    assert sliding is not None
    filters = builder.record(filters_by, sliding, (*sliding.taps, *sliding.roles.group), kind="filters")
    weights = Access(filters.name, plain((*sliding.taps, *sliding.roles.group)))
    builder.operators.append(_sums(sliding, weights))
    return problem.result


def _sums(sliding: SlidingProduct, weights: Access) -> Operator:
    """The operator as weighted sums of what it reads of the image; channels that are summed have one point each."""
    operator = sliding.roles.problem.operator
    outer = tuple(axis for axis in operator.axes if axis not in sliding.roles.reduced)
    reads = (sliding.roles.image, weights)
    return replace(operator, axes=(*outer, *sliding.taps), reads=reads, body=Load(0), reduction=WEIGHTED_SUM)


ALGORITHM = Algorithm("channel lanes", Licence.EXACT, applies, expand)
