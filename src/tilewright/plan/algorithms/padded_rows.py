"""Padded rows: a product over the rows of outputs, whose windows are read in place from the padded image.

Every row of outputs is one row of columns, so that what follows (bias, activation, filters of one tap) walks the same rows and
columns: one chain pads some rows of the image, multiplies, and goes on. Rows of few outputs would leave lanes unused.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, Operator, Tensor
from tilewright.plan.algorithms.definition import Accuracy, Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, padded, sliding_product
from tilewright.plan.algorithms.product_roles import extents, moved, parallel, plain, points

LEAST_COLUMNS = 192
"""Of a row of outputs: columns of a few tiles of micro kernels."""


def applies(problem: Problem) -> bool:
    """Whether rows of outputs are long and lie side by side, in the result as in the windows."""
    sliding = sliding_product(problem)
    if sliding is None or len(sliding.slides) < 2 or not sliding.roles.filters:
        return False
    columns = sliding.slides[-1]
    is_last = problem.operator.write.innermost() == columns.output.name
    return is_last and columns.stride == 1 and points((columns.output,)) >= LEAST_COLUMNS


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image, the filters with their taps first, and the product in the place of the result."""
    sliding = sliding_product(problem)
    assert sliding is not None
    image = padded(builder, sliding)
    read = Access(image.name, (*sliding.image_dimensions(), *(slide.position() for slide in sliding.slides)))
    filters = builder.record(filters_by_tap, sliding, kind="filters")
    return builder.record(_product, sliding, read, Access(filters.name, plain(_weight_axes(sliding))), kind="conv")


def _weight_axes(sliding: SlidingProduct) -> tuple[Axis, ...]:
    taps = [slide.tap for slide in sliding.slides if slide.tap is not None]
    channels = [axis for axis in sliding.roles.reduced if axis not in taps]
    return (*taps, *sliding.roles.group, *sliding.roles.filters, *channels)


def filters_by_tap(sliding: SlidingProduct, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The filters of one tap as a matrix, tap by tap."""
    axes = parallel(_weight_axes(sliding))
    return moved(sliding.roles, axes, sliding.roles.weights, plain(axes), extents(axes), "filters", name=name, result=result)


def _product(sliding: SlidingProduct, image: Access, weights: Access, *, name: str, result: str) -> tuple[Operator, Tensor]:
    problem, roles = sliding.roles.problem, sliding.roles
    axes = (*roles.batch, *roles.group, *roles.filters, *roles.outputs, *roles.reduced)
    write = Access(result, problem.operator.write.indices)
    operator = Operator(name, "conv", axes, (image, weights), write, PRODUCT, SUM, problem.operator.accumulator)
    return operator, Tensor(result, problem.result.shape, problem.result.dtype)


ALGORITHM = Algorithm("padded rows", Accuracy.REORDERED, applies, expand)
