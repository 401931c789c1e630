"""Padded rows: a product over the rows of outputs, whose windows are read in place from the padded image.

Every row of outputs is one row of columns, so that what follows (bias, activation, filters of one tap) walks the same rows and
columns: one chain pads some rows of the image, multiplies, and goes on. Rows of few outputs would leave lanes unused.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, Operator, Tensor, element_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, at_positions, filters_by, padded, sliding_product
from tilewright.plan.algorithms.product_roles import extents, moved, parallel, plain, points

LEAST_COLUMNS = 64
"""Of a row of outputs: columns of a tile of micro kernels."""
LEAST_USED = 0.9
"""Share of the lanes of a row's vectors that have outputs."""


def applies(problem: Problem) -> bool:
    """Whether rows of outputs are long, fill vectors, and lie side by side in the result."""
    sliding = sliding_product(problem)
    if sliding is None or len(sliding.slides) < 2 or not sliding.roles.filters:
        return False
    output = sliding.slides[-1].output
    length, lanes = points((output,)), problem.machine.vector_bits // (8 * element_bytes(problem.result.dtype))
    fills = length >= LEAST_USED * lanes * -(-length // lanes)
    return problem.operator.write.innermost() == output.name and length >= LEAST_COLUMNS and fills


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The image, the filters with their taps first, and the product in the place of the result."""
    sliding = sliding_product(problem)
    assert sliding is not None
    image = _windows(builder, sliding) if sliding.slides[-1].stride > 1 else _padded(builder, sliding)
    filters = builder.record(filters_by, sliding, sliding.weight_axes, kind="filters")
    return builder.record(_product, sliding, image, Access(filters.name, plain(sliding.weight_axes)), kind="conv")


def _padded(builder: Builder, sliding: SlidingProduct) -> Access:
    """The padded image, read at windows."""
    image = padded(builder, sliding)
    return Access(image.name, (*sliding.image_dimensions(), *(slide.position() for slide in sliding.slides)))


def _windows(builder: Builder, sliding: SlidingProduct) -> Access:
    """A copy of the padded image for every tap along columns, of the columns that it sees; rows are read at windows."""
    copy = builder.record(_copied, sliding, kind="unfold")
    rows = (slide.position() for slide in sliding.slides[:-1])
    return Access(copy.name, (*plain(_copied_axes(sliding)), *rows, *plain((sliding.slides[-1].output,))))


def _copied_axes(sliding: SlidingProduct) -> tuple[Axis, ...]:
    """What the copy has an element for beside positions of rows and outputs along columns."""
    tap = sliding.slides[-1].tap
    return (*sliding.roles.batch, *sliding.channels, *((tap,) if tap is not None else ()))


def _copied(sliding: SlidingProduct, *, name: str, result: str) -> tuple[Operator, Tensor]:
    by_row = replace(sliding, slides=sliding.slides[:-1])
    axes = (*parallel(_copied_axes(sliding)), *by_row.seen_axes(), sliding.slides[-1].output)
    read = at_positions(by_row, sliding.roles.image)
    return moved(sliding.roles, axes, read, plain(axes), extents(axes), "unfold", name=name, result=result)


def _product(sliding: SlidingProduct, image: Access, weights: Access, *, name: str, result: str) -> tuple[Operator, Tensor]:
    problem, roles = sliding.roles.problem, sliding.roles
    axes = (*roles.batch, *roles.group, *roles.filters, *roles.outputs, *roles.reduced)
    write = Access(result, problem.operator.write.indices)
    operator = Operator(name, "conv", axes, (image, weights), write, PRODUCT, SUM, problem.operator.accumulator)
    return operator, Tensor(result, problem.result.shape, problem.result.dtype)


ALGORITHM = Algorithm("padded rows", Licence.EXACT, applies, expand)
