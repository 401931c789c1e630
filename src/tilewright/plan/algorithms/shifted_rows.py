"""Shifted rows: a product over the rows of the padded image laid one behind the other, once for every tap.

Column p of the product is the point p of that line, and tap k sees the point p + k Q, with Q points from row to row of the padded
image: sums at the ends of rows are left out afterwards (A. Anderson, A. Vasudevan, C. Keane, D. Gregg, "Low-memory GEMM-based
convolution algorithms for deep neural networks", arXiv:1709.03395, 2017).
"""

from __future__ import annotations

from math import prod

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import Index, constant
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, filters_by, padded, sliding_product
from tilewright.plan.algorithms.product_roles import points


def applies(problem: Problem) -> bool:
    """Whether windows move by one: with steps most sums of a line would be left out."""
    sliding = sliding_product(problem)
    return sliding is not None and all(slide.stride == 1 for slide in sliding.slides)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The padded image as lines, the product, and the sums that are outputs."""
    sliding = expected(sliding_product(problem))
    roles, steps = sliding.roles, _steps(sliding)
    image = padded(builder, sliding)
    line = builder.reshape(image, (*image.shape[: -len(steps)], prod(sliding.seen)))
    pairs = list(zip(sliding.slides, steps, strict=True))
    length = 1 + sum((points((slide.output,)) - 1) * step for slide, step in pairs)
    p = roles.axis("p", length)
    shifted = sum((slide.tap_position() * step for slide, step in pairs), axis_index(p.name))
    read = Access(line.name, (*sliding.image_dimensions(), shifted))
    reads = read, filters_by(builder, sliding, sliding.weight_axes)
    return roles.product_in_place(builder, reads, (p,), roles.reduced, _output(sliding), "crop")


def _steps(sliding: SlidingProduct) -> tuple[int, ...]:
    """Points of the line from one position to the next, along every dimension."""
    return tuple(prod(sliding.seen[d + 1 :]) for d in range(len(sliding.seen)))


def _output(sliding: SlidingProduct) -> Index:
    """The point of the line at which an output is."""
    outputs = ((slide.output, step) for slide, step in zip(sliding.slides, _steps(sliding), strict=True))
    return sum((axis_index(axis.name) * (step if points((axis,)) > 1 else 0) for axis, step in outputs), constant(0))


ALGORITHM = Algorithm("shifted rows", Licence.EXACT, applies, expand)
