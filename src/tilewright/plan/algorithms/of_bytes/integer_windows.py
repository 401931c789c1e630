"""Convolution of bytes less their zero points: zero points leave the sums, and any algorithm for convolutions computes these.

The equation is that of `integer_product.py`; an image is unsigned and filters are signed. It needs a sum over all taps of a
window, those that stand out of the image included: there the guard gives the zero point itself, whose difference is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Tensor
from tilewright.plan.algorithms import (
    depthwise,
    filter_lanes,
    im2col,
    pixel_rows,
    pixels_of_bytes,
    pointwise,
    shifted_rows,
    windows_by_columns,
)
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.of_bytes.integer_product import (
    LEFT,
    RIGHT,
    Factor,
    are_bytes,
    factors,
    in_types,
    needs_change,
    plain_product,
    put_together,
)
from tilewright.plan.algorithms.product_roles import roles_of

IMAGE, FILTERS = LEFT, RIGHT
"""What the micro kernels multiply."""


def applies(base: Algorithm, problem: Problem) -> bool:
    """Whether zero points or signs keep an algorithm from an operator that it could compute otherwise."""
    found = factors(problem.operator)
    if not are_bytes(problem, found):
        return False
    plain = _plain(problem, found)
    return needs_change(problem, found, _types(plain)) and base.applies(plain)


def expand(base: Algorithm, problem: Problem, builder: Builder) -> Tensor:
    """Bytes of the types that micro kernels take, their sums by an algorithm, and a map that takes the zero points out."""
    found = factors(problem.operator)
    changed = in_types(problem, builder, found, _types(_plain(problem, found)))
    constants = {new.access.tensor for old, new in zip(found, changed, strict=True) if old.access.tensor in problem.constants}
    sums = builder.declare(Tensor(builder.unique("t"), problem.result.shape, "int32"))
    inner = _plain(problem, changed)
    operator = replace(inner.operator, write=replace(inner.operator.write, tensor=sums.name))
    inner = Problem(operator, builder.tensors, problem.constants | constants, problem.machine)
    return put_together(problem, builder, base.expand(inner, builder), changed)


def _plain(problem: Problem, found: Sequence[Factor]) -> Problem:
    """The operator without zero points."""
    return replace(problem, operator=plain_product(problem.operator, found))


def _types(plain: Problem) -> list[str]:
    """The element type of each factor."""
    roles = roles_of(plain, least_outputs=1)
    image = roles is None or roles.image == plain.operator.reads[0]
    return [IMAGE, FILTERS] if image else [FILTERS, IMAGE]


def _with_zero_points(base: Algorithm) -> Algorithm:
    licence = Licence.EXACT
    return Algorithm(f"zero points apart, {base.name}", licence, partial(applies, base), partial(expand, base), base.reads_tiles)


PRODUCTS = (pointwise, im2col, windows_by_columns, shifted_rows, pixel_rows, pixels_of_bytes, filter_lanes)
BASES = (*(module.ALGORITHM for module in PRODUCTS), depthwise.MAP_OF_TAPS)
ALGORITHMS = tuple(map(_with_zero_points, BASES))
