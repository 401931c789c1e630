"""Padded rows: a product over the rows of outputs, whose windows are read in place from the padded image.

Every row of outputs is one row of columns, so that what follows (bias, activation, filters of one tap) walks the same rows and
columns: one chain pads some rows of the image, multiplies, and goes on. Rows of few outputs would leave lanes unused.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Tensor, element_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, at_positions, filters_by, padded, sliding_product
from tilewright.plan.algorithms.product_roles import each, plain, points, sums

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
    sliding = expected(sliding_product(problem))
    roles, operator, result = sliding.roles, problem.operator, problem.result
    image = _windows(builder, sliding) if sliding.slides[-1].stride > 1 else _padded(builder, sliding)
    reads = image, filters_by(builder, sliding, sliding.weight_axes)
    axes = (*roles.batch, *roles.result_channels, *roles.outputs, *roles.reduced)
    return sums(builder, axes, reads, operator.write.indices, result.shape, operator.accumulator, result.dtype)


def _padded(builder: Builder, sliding: SlidingProduct) -> Access:
    """The padded image, read at windows."""
    return Access(padded(builder, sliding).name, (*sliding.image_dimensions(), *sliding.positions))


def _windows(builder: Builder, sliding: SlidingProduct) -> Access:
    """A copy of the padded image for every tap along columns, of the columns that it sees; rows are read at windows."""
    by_row, last = replace(sliding, slides=sliding.slides[:-1]), sliding.slides[-1]
    outer = (*sliding.roles.batch, *sliding.channels, *((last.tap,) if last.tap is not None else ()))
    axes = (*outer, *by_row.seen_axes(), last.output)
    copy = sliding.roles.move(builder, each(axes), at_positions(by_row, sliding.roles.image), "unfold")
    return Access(copy.name, (*plain(outer), *by_row.positions, *plain((last.output,))))


ALGORITHM = Algorithm("padded rows", Licence.EXACT, applies, expand)
