"""Few channels: the product of a convolution of bytes over an image of few channels, with the taps of a row as one run of steps.

With channels last, the taps of a row and their channels lie side by side: of 7 taps of 3 channels, 21 steps are one run, where
`pixels_of_bytes.py` would have 7 runs of 3. Runs are filled up to whole groups of steps by weights of 0, for which rows of the
image are a pixel longer: 0 times any whole number is 0. That is why operands are integers.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, AxisKind, Guard, Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.padded_image import SlidingProduct, padded_for_tiles, sliding_product
from tilewright.plan.algorithms.pixels_of_bytes import MANY_CHANNELS, is_of_bytes
from tilewright.plan.algorithms.product_roles import Build, Change, digits, each, plain, points, unchanged

GROUP = 4
"""Steps that the largest group of a micro kernel has."""


def applies(problem: Problem) -> bool:
    """Whether constant filters of several neighbouring taps in a row meet a few channels of an image of bytes, all of them."""
    sliding = sliding_product(problem)
    if sliding is None or not is_of_bytes(problem) or not sliding.roles.has_constant_filters:
        return False
    roles, last = sliding.roles, sliding.slides[-1]
    is_row = last.tap is not None and last.dilation == 1 and points((last.tap,)) > 1
    return is_row and not roles.group and len(roles.filters) == len(sliding.channels) == 1 and _channels(sliding) < MANY_CHANNELS


def _channels(sliding: SlidingProduct) -> int:
    return points(sliding.channels)


def expand(problem: Problem, builder: Builder, of_image: Change = unchanged, of_filters: Change = unchanged) -> Tensor:
    """The image with rows of pixels, filters by runs, the product, and every sum in its place.

    Elements are changed where they are copied; weights of 0 have to stay 0.
    """
    sliding = expected(sliding_product(problem))
    roles, run, last = sliding.roles, _run(sliding), sliding.slides[-1]
    pixels = -(-points((run,)) // _channels(sliding))
    more = pixels - points(sliding.taps[-1:])
    lengths = (*sliding.seen[:-1], sliding.seen[-1] + more)
    image = padded_for_tiles(builder, sliding, lengths, lambda build: _in_rows(of_image(build)))
    place = axis_index(last.output.name) * (last.stride * _channels(sliding)) + axis_index(run.name)
    depths = (*sliding.taps[:-1], run)
    by_depth = (*depths, *roles.filters)
    filters = roles.move(builder, each(by_depth), _by_runs(sliding, run), "filters", of_filters)
    windows = Access(image.name, (*plain(roles.batch), *sliding.positions[:-1], place))
    reads = windows, Access(filters.name, plain(by_depth))
    kept = (*roles.batch, *roles.outputs, *roles.filters)
    sums = roles.product(builder, reads, each(kept), depths)
    return roles.in_place(builder, Access(sums.name, plain(kept)), "fold")


def _run(sliding: SlidingProduct) -> Axis:
    """The taps of a row and their channels, in whole groups."""
    steps = points(sliding.taps[-1:]) * _channels(sliding)
    return sliding.roles.axis("run", -(-steps // GROUP) * GROUP, AxisKind.REDUCTION)


def _in_rows(build: Build) -> Build:
    """A map that writes pixels and channels, as one that writes both as one dimension: the same memory."""

    def built(*arguments: object, **options: object) -> tuple[Operator, Tensor]:
        operator, tensor = build(*arguments, **options)
        *outer, pixel, channel = operator.write.indices
        pixels, channels = tensor.shape[-2:]
        assert isinstance(pixels, int)
        assert isinstance(channels, int)
        write = replace(operator.write, indices=(*outer, pixel * channels + channel))
        return replace(operator, write=write), replace(tensor, shape=(*tensor.shape[:-2], pixels * channels))

    return built


def _by_runs(sliding: SlidingProduct, run: Axis) -> Access:
    """The filters, read at taps of other rows, at steps of a run, and with zeros behind the taps of a row."""
    step, taps = axis_index(run.name), (sliding.taps[-1], *sliding.channels)
    places, limits = digits(step, taps), {run.name: points((run,))}
    read = sliding.roles.weights.mapped(lambda index: index.substitute(places, limits))
    return replace(read, guard=Guard((step * -1 + (points(taps) - 1),), 0.0)) if points(taps) < points((run,)) else read


ALGORITHM = Algorithm("few channels", Licence.EXACT, applies, expand)
