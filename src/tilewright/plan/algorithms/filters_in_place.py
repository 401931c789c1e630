"""Direct convolution of an image in its place, with lanes along filters: nothing is copied or padded.

    sums[batch, output, filter] = sum over rows of taps, channels, taps of a row of image[...] * filters[block of filters, ...]

Constant filters lie in blocks of some vectors, in the order in which a block's sums take them. Sums stand with their filters
last, and a map puts them into their places. Taps outside of the image are left out: their products are zeros if filters are
finite, which is checked where these are known (`constant_recipe.extreme_constants`); of taps that no output sees inside, as of
small images, not even filters are read.

E. Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions", arXiv:1808.05567, SC 2018, sum so with filters and
channels in blocks; here images keep their layout.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import Index, constant, floordiv, mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.licences import Licence
from tilewright.graph.types import WEIGHTED_SUM, Access, Axis, AxisKind, Guard, Operator, Tensor, element_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected, found_once
from tilewright.plan.algorithms.padded_image import Slide, SlidingProduct, sliding_product
from tilewright.plan.algorithms.product_roles import Axes, Build, each, number, plain, points, roles_of, unchanged

LEAST_LANES_USED = 0.9
"""Of vectors along the pixels of groups that no window moves over: fuller ones are multiplied where they lie."""
VECTORS = 2
"""Of filters in a block: every pixel that is broadcast is multiplied by so many."""
MOST_TAPS = 256
"""Of a row: of those that not all pixels of a tile see, steps are written down one after the other."""


@found_once
def applies(problem: Problem) -> bool:
    """Whether several constant filters of floats, half a vector or more, meet windows of several taps, and any channels, or few
    pixels of groups."""
    sliding = _sliding(problem)
    if sliding is None or {problem.operand(read).dtype for read in (0, 1)} != {"float32"} or len(sliding.summed_channels) != 1:
        return False
    roles, last, guard = sliding.roles, sliding.slides[-1].tap, sliding.roles.image.guard
    fills = len(roles.filters) == 1 and 2 * points(roles.filters) >= problem.machine.lanes(element_bytes("float32"))
    has_few_taps = last is None or points((last,)) <= MOST_TAPS
    meets_some = points(sliding.taps) > 1 or not roles.is_moving
    has_windows = meets_some and points(sliding.summed_channels) > 0 and has_few_taps
    is_padded_by_zeros = guard is None or (guard.otherwise == 0 and not problem.tensors[roles.weights.tensor].is_extreme)
    return fills and has_windows and is_padded_by_zeros and roles.has_constant_filters


def _sliding(problem: Problem) -> SlidingProduct | None:
    """Windows, or the pixels of an image, as one row, that meet the filters of their groups and would leave lanes empty."""
    found = sliding_product(problem)
    if found is not None or not any(map(problem.is_constant, range(len(problem.operator.reads)))):
        return found
    roles = roles_of(problem, least_outputs=1)
    if roles is None or roles.is_moving or not roles.group or len(roles.outputs) != 1:
        return None
    (pixel,), lanes = roles.outputs, problem.machine.lanes(element_bytes("float32"))
    fills = points((pixel,)) > LEAST_LANES_USED * lanes * -(-points((pixel,)) // lanes)
    return None if fills or roles.image.innermost() != pixel.name else SlidingProduct(roles, (Slide(pixel, None, 1, 1),))


def _expand(problem: Problem, builder: Builder) -> Tensor:
    """Blocks of filters, the sums, and a map."""
    sliding = expected(_sliding(problem))
    roles = sliding.roles
    summed = _summed(sliding)
    filters = _blocks(sliding, builder, summed)
    dimensions = (*each((*roles.batch, *roles.outputs)), roles.result_channels)
    first, summed = _seen(sliding, summed)
    axes = (*roles.batch, *roles.group, *roles.outputs, *roles.filters, *summed)
    reads = tuple(read.mapped(lambda index: index.substitute(first)) for read in (_image(sliding, summed[-1]), filters))

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        write = Access(result, tuple(map(number, dimensions)))
        operator = Operator(name, "conv", axes, reads, write, Load(0), WEIGHTED_SUM, problem.operator.accumulator)
        shape = tuple(axes[0].extent if len(axes) == 1 else points(axes) for axes in dimensions)
        return operator, Tensor(result, shape, problem.result.dtype)

    product = builder.record(build, kind="conv")
    place = (*plain((*roles.batch, *roles.outputs)), roles.channels)
    return roles.in_place(builder, Access(product.name, place), "fold", merges=True)


def _summed(sliding: SlidingProduct) -> Axes:
    """Taps of all dimensions but the last, channels, and taps of the last; of one point where the operator has none."""
    roles, last = sliding.roles, sliding.slides[-1].tap
    around = tuple(slide.tap for slide in sliding.slides[:-1] if slide.tap is not None)
    return (*around, *sliding.summed_channels, last or roles.axis("k", 1, AxisKind.REDUCTION))


def _seen(sliding: SlidingProduct, summed: Axes) -> tuple[dict[str, Index], Axes]:
    """The summed axes without taps before the first, and behind the last, that any output sees inside of the image; the others by
    these."""
    places, axes = dict[str, Index](), dict[str, Axis]()
    for slide in sliding.slides:
        if slide.tap is not None and (inside := _inside(sliding, slide, slide.tap)):
            places[slide.tap.name] = axis_index(slide.tap.name) + inside[0]
            axes[slide.tap.name] = replace(slide.tap, extent=inside[-1] + 1 - inside[0])
    return places, tuple(axes.get(axis.name, axis) for axis in summed)


def _inside(sliding: SlidingProduct, slide: Slide, tap: Axis) -> list[int]:
    """The taps of a dimension for which each end of the image is behind, or before, some output."""
    guard = sliding.roles.image.guard
    limits = [limit for limit in guard.constraints if tap.name in limit.axes() and not limit.extents()] if guard else []
    name, last = slide.output.name, points((slide.output,)) - 1
    most = [(limit.constant + max(0, limit.coefficient(name) * last), limit.coefficient(tap.name)) for limit in limits]
    return [number for number in range(points((tap,))) if all(farthest + by_tap * number >= 0 for farthest, by_tap in most)]


def _image(sliding: SlidingProduct, tap: Axis) -> Access:
    """The image, by the taps of the last dimension even if these are one."""
    slide, image = sliding.slides[-1], sliding.roles.image
    if slide.tap is not None:
        return image
    return image.mapped(lambda index: index + axis_index(tap.name) * (index.coefficient(slide.output.name) // slide.stride))


def _blocks(sliding: SlidingProduct, builder: Builder, summed: Axes) -> Access:
    """The filters [group, block, summed axes, filter of a block]; those behind the last are zeros."""
    roles = sliding.roles
    (filters,) = roles.filters
    count = points((filters,))
    change = unchanged if roles.image.guard is None else _checked
    size = min(count, VECTORS * roles.problem.machine.lanes(element_bytes("float32")))
    if count <= size:
        dimensions = each((*roles.group, *summed, filters))
        return Access(
            roles.move(builder, dimensions, roles.weights, "filters", change).name, plain((*roles.group, *summed, filters))
        )
    block, lane = roles.axis("block", -(-count // size)), roles.axis("lane", size)
    place = axis_index(block.name) * size + axis_index(lane.name)
    read = roles.weights.mapped(lambda index: index.substitute({filters.name: place}))
    if count % size:
        read = Access(read.tensor, read.indices, Guard((constant(count - 1) - place,), 0.0))
    dimensions = each((*roles.group, block, *summed, lane))
    panels = roles.move(builder, dimensions, read, "filters", change)
    number_of = axis_index(filters.name)
    return Access(panels.name, (*plain(roles.group), floordiv(number_of, size), *plain(summed), mod(number_of, size)))


def _checked(build: Build) -> Build:
    """A map that says that its elements are finite."""

    def checked(*, name: str, result: str) -> tuple[Operator, Tensor]:
        operator, tensor = build(name=name, result=result)
        return replace(operator, body=apply(REPORT_NOT_FINITE, operator.body)), tensor

    return checked


ALGORITHM = Algorithm("filters in place", Licence.EXACT, applies, _expand)
