"""Sliding sums: filters of one channel as weighted sums over windows of the image in its place, with no padded copy of it."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Load
from tilewright.graph.types import Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import sliding_product
from tilewright.plan.algorithms.product_roles import points
from tilewright.plan.regions.sliding_sums import WEIGHTED_SUM, sliding_sum


def applies(problem: Problem) -> bool:
    """Whether every sum is one of the taps of one channel of floats, and rows of the image can stream past it."""
    sums = _sums(problem)
    return sums is not None and sliding_sum(sums) is not None


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The sums, in the order of the operator."""
    sums = _sums(problem)
    assert sums is not None
    builder.operators.append(sums)
    return problem.result


def _sums(problem: Problem) -> Operator | None:
    """The operator as weighted sums of what it reads of the image, whose extents nothing depends on."""
    sliding = sliding_product(problem, any_outputs=True)
    if sliding is None or {problem.operand(read).dtype for read in (0, 1)} != {"float32"}:
        return None
    taps = points(sliding.taps)
    if points(sliding.roles.reduced) != taps:
        return None
    reads = (sliding.roles.image, sliding.roles.weights)
    return replace(problem.operator, reads=reads, body=Load(0), reduction=WEIGHTED_SUM)


ALGORITHM = Algorithm("sliding sums", Licence.EXACT, applies, expand)
