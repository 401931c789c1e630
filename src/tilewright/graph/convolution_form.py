"""Convolution form: an operator seen as a convolution, from its index maps and guards alone, whatever recorded it.

    y[n, g M + m, o] = sum over c and k of image[n, g C + c, o * stride + k * dilation + offset] * w[g M + m, c, k]

for outputs o and taps k, in any order of the dimensions of the three tensors, and with any number of spatial dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.graph.expressions.extents import Extent, minus, plus, times
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Access, Axis, AxisKind, Operator


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Windows along one dimension of the image: output o and tap k see the element o * stride + k * dilation + offset."""

    output: Axis
    tap: Axis | None
    """None for windows of one tap."""
    stride: int
    dilation: int
    """1 for windows of one tap."""
    offset: int
    """Element that the first tap of the first window sees: minus the padding before the image."""
    first: int | None
    """Least element that is real by the guard; None where the guard sets no lower limit."""
    last: int | None
    """Largest element that is real by the guard; None where the guard sets no upper limit."""
    dimension: int
    """Of the image."""

    @property
    def taps(self) -> int:
        """Taps of a window, the kernel's extent."""
        return 1 if self.tap is None else _whole(self.tap.extent)

    @property
    def span(self) -> int:
        """Elements from the first to the last of a window."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def seen(self) -> Extent:
        """Elements from the first of the first window to the last of the last window, padding included."""
        return plus(times(minus(self.output.extent, 1), self.stride), self.span)

    @property
    def begin(self) -> int:
        """Elements of padding before the first real element that windows see; 0 where the guard sets no lower limit."""
        return 0 if self.first is None else max(self.first - self.offset, 0)

    @property
    def end(self) -> Extent:
        """Elements of padding behind the last real element that windows see; 0 where the guard sets no upper limit."""
        if self.last is None:
            return 0
        behind = minus(plus(self.offset, self.seen), self.last + 1)
        return max(behind, 0) if isinstance(behind, int) else behind

    def is_pointwise(self) -> bool:
        """Whether output o sees element o alone, which is always real."""
        return self.tap is None and (self.stride, self.offset, self.first, self.last) == (1, 0, None, None)


@dataclass(frozen=True, slots=True)
class ConvolutionForm:
    """A convolution: which read is the image, what every axis is for, and where the dimensions are.

    Any axis may be missing except the outputs of `windows`. Extents of groups, filters, channels and taps are integers; those of
    batches and outputs may be known at run time only. Accesses are those of the operator: offsets of a channel or a batch (a
    slice that is read through) stay in their indices.
    """

    operator: Operator
    image: int
    """Number of the read of the image; the filters are the other read."""
    batch: tuple[Axis, ...]
    """Of the image and the result; every image of the batch meets the same filters."""
    group: Axis | None
    """Of both operands and the result."""
    filters: Axis | None
    """Filters of one group: of the filters and the result."""
    channels: Axis | None
    """Channels of one group, which are summed: of both operands. None where each sum has one channel."""
    windows: tuple[SlidingWindow, ...]
    """In the order of the operator's axes, one for each output axis."""
    channel_dimension: int | None
    """Of the image: groups and channels. None where the image has one channel and no dimension for it."""

    @property
    def image_access(self) -> Access:
        """The read of the image."""
        return self.operator.reads[self.image]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return _extent(self.group)

    @property
    def filters_per_group(self) -> int:
        """The filters of one group: the channel multiplier of a depthwise convolution."""
        return _extent(self.filters)

    @property
    def channels_per_group(self) -> int:
        """The channels of one group."""
        return _extent(self.channels)

    @property
    def taps(self) -> tuple[int, ...]:
        """The kernel's extents."""
        return tuple(window.taps for window in self.windows)

    def is_pointwise(self) -> bool:
        """Whether every output sees one pixel, its counterpart: a product of matrices."""
        return all(window.is_pointwise() for window in self.windows)

    def image_layout(self) -> str:
        """The image's dimensions in order: N for a batch, C for channels, D, H, W for space, 1 for a constant index."""
        letters = {window.dimension: letter for window, letter in zip(self.windows, self._letters(), strict=True)}
        letters |= {} if self.channel_dimension is None else {self.channel_dimension: "C"}
        indices = self.image_access.indices
        return "".join(letters.get(place, "N" if index.terms else "1") for place, index in enumerate(indices))

    def result_layout(self) -> str | None:
        """The result's dimensions in order, as those of the image; None where a dimension is none of these."""
        letters = {axis.name: "N" for axis in self.batch}
        letters |= {window.output.name: letter for window, letter in zip(self.windows, self._letters(), strict=True)}
        channels = number((self.group, self.filters))
        known = {axis_index(name): letter for name, letter in letters.items()} | ({channels: "C"} if channels.terms else {})
        return _layout(self.operator.write, known)

    def _letters(self) -> str:
        rank = len(self.windows)
        return "DHW"[-rank:] if rank <= 3 else "S" * rank

    @staticmethod
    def of(operator: Operator) -> ConvolutionForm | None:
        """The form of an operator; None for everything else than a convolution.

        It covers sums of products of two reads of which one has no guard and no lookups (the filters) and the other (the image)
        has windows: with stride, dilation, padding of any value on any side, groups, depthwise with and without multiplier,
        taps of extent 1 left out, either operand first, every layout, batches of no or several axes, and outputs and batches
        known at run time. Where every window is one pixel, the output axes are those behind the filters' axes; there must be
        two of them, as a product of two matrices is no convolution.

        It leaves out: images read by anything else than plain axes, windows and g C + c (digits of a reshape, diagonals), guards
        whose constraints are not limits of one window each, two windows along one dimension or one tap in two, lookups, and
        extents of channels, filters or taps that are known at run time only.

        >>> from tilewright.graph.builders.convolutions.convolution import convolution
        >>> from tilewright.graph.builders.convolutions.windows import Window
        >>> from tilewright.graph.types import Tensor
        >>> window = Window((5,), (3,), strides=(2,), dilations=(1,), begins=(1,), ends=(1,), outputs=(3,))
        >>> x, w = Tensor("x", (1, 8, 5)), Tensor("w", (4, 8, 3))
        >>> form = ConvolutionForm.of(convolution(x, w, window, 1, name="conv", result="y")[0])
        >>> form.image_layout(), form.result_layout(), form.channels_per_group, form.filters_per_group
        ('NCW', 'NCW', 8, 4)
        >>> [(w.stride, w.dilation, w.taps, w.begin, w.end) for w in form.windows]
        [(2, 1, 3, 1, 1)]
        """
        if not operator.is_product_sum() or any(access.lookups for access in operator.reads):
            return None
        forms = [form for image in (0, 1) if (form := _form(operator, image)) is not None]
        moving = [form for form in forms if not form.is_pointwise()]
        if moving:
            return moving[0] if len(moving) == 1 else None
        return next((form for form in forms if len(form.windows) > 1), None)


def number(axes: tuple[Axis | None, ...]) -> Index:
    """The number whose digits are the axes that there are, the last one changing fastest; their extents are integers.

    >>> str(number((Axis("g", 2), None, Axis("m", 4))))
    '4*g + m'
    """
    total = Index()
    for axis in axes:
        total = total if axis is None else total * _whole(axis.extent) + axis_index(axis.name)
    return total


def _form(operator: Operator, image: int) -> ConvolutionForm | None:
    read, filters = operator.reads[image], operator.reads[1 - image]
    if filters.guard is not None or not all(index.is_affine() for index in (*read.indices, *filters.indices)):
        return None
    parallel = [axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL]
    of_image = [axis for axis in parallel if axis.name not in filters.axes()]
    groups = [axis for axis in parallel if axis.name in filters.axes() & read.axes()]
    rows = [axis for axis in parallel if axis.name in filters.axes() - read.axes()]
    windows = _windows(operator, read, of_image)
    if windows is None or max(len(groups), len(rows)) > 1 or any(axis.name not in read.axes() for axis in of_image):
        return None
    slid, taps = {window.output.name for window in windows}, {window.tap.name for window in windows if window.tap is not None}
    channels = [axis for axis in operator.reduction_axes() if axis.name not in taps]
    batch = tuple(axis for axis in of_image if axis.name not in slid)
    if len(channels) > 1 or not windows or not _are_whole((*groups, *rows, *channels)):
        return None
    group, row, channel = ((axes[0] if axes else None) for axes in (groups, rows, channels))
    place = _channel_dimension(read, group, channel)
    if place is None or not _is_complete(read, filters, batch, windows, place, channel):
        return None
    return ConvolutionForm(operator, image, batch, group, row, channel, windows, place if place >= 0 else None)


def _windows(operator: Operator, read: Access, of_image: list[Axis]) -> tuple[SlidingWindow, ...] | None:
    """The windows along all output axes; None where an axis of the image is neither of a batch nor of a window."""
    parallel = [axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL]
    outside = [place for place, name in enumerate(parallel) if name not in {axis.name for axis in of_image}]
    behind = set(parallel[min(outside, default=0) :]) if outside else set[str]()
    guarded = read.guard.axes() if read.guard is not None else frozenset[str]()
    found: list[SlidingWindow] = []
    for axis in of_image:
        places = [place for place, index in enumerate(read.indices) if axis.name in index.axes()]
        is_plain = (
            len(places) == 1 and len(read.indices[places[0]].terms) == 1 and read.indices[places[0]].coefficient(axis.name) == 1
        )
        if is_plain and axis.name not in behind | guarded:
            continue
        window = _window(operator, read, axis, places[0]) if len(places) == 1 else None
        if window is None:
            return None
        found.append(window)
    taps = [window.tap.name for window in found if window.tap is not None]
    return tuple(found) if len(set(taps)) == len(taps) else None


def _window(operator: Operator, read: Access, output: Axis, dimension: int) -> SlidingWindow | None:
    index = read.indices[dimension]
    stride = index.coefficient(output.name)
    steps = {str(atom): step for atom, step in index.terms if atom != output.name}
    taps = {axis.name: axis for axis in operator.reduction_axes() if isinstance(axis.extent, int)}
    if stride < 1 or len(steps) > 1 or not steps.keys() <= taps.keys() or min(steps.values(), default=1) < 1:
        return None
    limits = _limits(read, output, index)
    if limits is None:
        return None
    tap = next((taps[name] for name in steps), None)
    return SlidingWindow(output, tap, stride, next(iter(steps.values()), 1), index.constant, *limits, dimension)


def _limits(read: Access, output: Axis, index: Index) -> tuple[int | None, int | None] | None:
    """The least and the largest real element, by the constraints that speak of an output; None where one is no such limit."""
    first: int | None = None
    last: int | None = None
    for limit in read.guard.constraints if read.guard is not None else ():
        if output.name not in limit.axes():
            continue
        factor, rest = divmod(limit.coefficient(output.name), index.coefficient(output.name))
        if rest or not factor or not limit.is_affine() or (limit - index * factor).terms:
            return None
        slack = limit.constant - index.constant * factor  # factor * element + slack >= 0
        if factor > 0:
            least = -(slack // factor)
            first = least if first is None else max(first, least)
        else:
            most = slack // -factor
            last = most if last is None else min(last, most)
    return first, last


def _channel_dimension(read: Access, group: Axis | None, channel: Axis | None) -> int | None:
    """The dimension with groups and channels; -1 where there are neither; None where another index holds one of them."""
    wanted = number((group, channel))
    if not wanted.terms:
        return -1
    places = [place for place, index in enumerate(read.indices) if index.axes() & wanted.axes()]
    return places[0] if len(places) == 1 and Index(read.indices[places[0]].terms) == wanted else None


def _is_complete(
    read: Access, filters: Access, batch: tuple[Axis, ...], windows: tuple[SlidingWindow, ...], place: int, channel: Axis | None
) -> bool:
    """Whether windows, channels and batches are all indices of the image, filters have all reduced axes, guards limit windows."""
    slid = {window.dimension for window in windows}
    others = [index for at, index in enumerate(read.indices) if at != place and at not in slid and index.terms]
    taps = {window.tap.name for window in windows if window.tap is not None} | ({channel.name} if channel is not None else set())
    outputs = {window.output.name for window in windows}
    limits = read.guard.constraints if read.guard is not None else ()
    is_batch = sorted(str(Index(index.terms)) for index in others) == sorted(axis.name for axis in batch)
    return is_batch and len(slid) == len(windows) and taps <= filters.axes() and all(limit.axes() & outputs for limit in limits)


def _layout(access: Access, letters: dict[Index, str]) -> str | None:
    found = [letters.get(Index(index.terms)) if index.terms else "1" for index in access.indices]
    return "".join(letter for letter in found if letter) if None not in found else None


def _are_whole(axes: tuple[Axis, ...]) -> bool:
    return all(isinstance(axis.extent, int) for axis in axes)


def _extent(axis: Axis | None) -> int:
    return 1 if axis is None else _whole(axis.extent)


def _whole(extent: Extent) -> int:
    assert isinstance(extent, int)
    return extent
