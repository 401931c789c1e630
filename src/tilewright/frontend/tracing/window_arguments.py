"""Arguments of convolutions and pools: numbers and padding of every spatial dimension, layouts, and what errors say of them.

Messages name dimensions by the letters of a layout: N (batch), C (channels), D, H, W (space); O and I are the filters' channels.
"""

from __future__ import annotations

import operator
from typing import Any

from tilewright.errors import ShapeError, Undecided
from tilewright.frontend.tracing.location import located, user_location
from tilewright.graph.builders.convolutions.windows import PaddedWindow, Padding, Same, Taps, Window, windows_over
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import SymbolicExtent
from tilewright.records import record

Pads = tuple[tuple[int, ...], tuple[int, ...]]
"""(before, behind) every spatial dimension."""
SPACE = "DHW"
PADDINGS = ("valid", "same", "same_upper", "same_lower")


def space(rank: int) -> str:
    """The letters of the spatial dimensions.

    >>> space(2)
    'HW'
    """
    return SPACE[len(SPACE) - rank :]


def numbers(name: str, value: Any, rank: int, what: str, least: int = 1) -> tuple[int, ...]:
    """A whole number for every spatial dimension, or the same for all of them. Raises `ShapeError`."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    try:
        found = tuple(map(operator.index, given))
    except TypeError:
        found = ()
    if len(found) != rank or min(found, default=least) < least:
        why = f"{name} is an integer from {least} on, or one for each of the dimensions {', '.join(space(rank))}"
        raise ShapeError(f"{what} with {name}={value!r}", where=user_location(), why=why)
    return found


def places(name: str, layout: Any, canonical: str, what: str) -> tuple[int, ...]:
    """Where the dimensions that `canonical` names lie. Raises `ShapeError` for what is no order of its letters.

    >>> places("layout", "NHWC", "NCHW", "conv2d")
    (0, 3, 1, 2)
    """
    if not isinstance(layout, str) or sorted(layout) != sorted(canonical):
        why = f"it is an order of the dimensions {', '.join(canonical)}"
        hint = f"{name}={canonical!r} is the default"
        raise ShapeError(f"{what} with {name}={layout!r}", where=user_location(), why=why, hint=hint)
    return tuple(map(layout.index, canonical))


@record
class WindowArguments:
    """What the user says about windows, for every spatial dimension."""

    what: str
    """The operation and its operands, which messages begin with."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Any
    """As the user gave it."""

    @property
    def rank(self) -> int:
        """How many spatial dimensions there are."""
        return len(self.kernel)

    def spans(self) -> tuple[int, ...]:
        """Elements from the first to the last of a window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def windows(self, extents: Shape, *, ceil_mode: bool = False) -> Window | PaddedWindow:
        """The windows over spatial dimensions of these extents.

        Raises `ShapeError` where no window fits, and `Undecided` where that depends on the value of a run-time extent.
        """
        padding = self._padding()
        try:
            found = windows_over(extents, Taps(self.kernel, self.strides, self.dilations), padding, ceil_mode=ceil_mode)
        except ShapeError as error:
            error.message = f"{self.what}: {error.message}"
            raise located(error) from None
        if isinstance(found, Window):
            for d, count in enumerate(found.outputs):
                if count < 1:
                    raise self._too_large(d, found.extents[d], found.begins[d] + found.ends[d])
        return found

    def _padding(self) -> Padding:
        if not isinstance(self.padding, str):
            return explicit_padding(self.padding, self.rank, self.what)
        name = self.padding.lower()
        if name not in PADDINGS:
            hint = f"use one of {', '.join(PADDINGS)}, or numbers of elements"
            raise ShapeError(f"{self.what} with padding={self.padding!r}", where=user_location(), hint=hint)
        if name == "valid":
            return (0,) * self.rank, (0,) * self.rank
        return Same.LOWER if name == "same_lower" else Same.UPPER

    def _too_large(self, d: int, extent: int, padding: int) -> ShapeError:
        span, letter = self.spans()[d], space(self.rank)[d]
        taps = f"{self.kernel[d]} taps with a dilation of {self.dilations[d]}: " if self.dilations[d] > 1 else ""
        why = f"along {letter} a window has {taps}{span} elements, and the image {extent} and {padding} of padding"
        hint = f"pad {letter} by {span - extent - padding} more, or use a smaller kernel"
        return ShapeError(f"{self.what}: the kernel is larger than the padded image", where=user_location(), why=why, hint=hint)


def explicit_padding(padding: Any, rank: int, what: str) -> Pads:
    """Padding as numbers: one for all, or for each dimension one or a pair (before, behind). Raises `ShapeError`."""
    given = tuple(padding) if isinstance(padding, tuple | list) else (padding,) * rank
    pairs = [tuple(part) if isinstance(part, tuple | list) else (part, part) for part in given]
    try:
        found = [tuple(map(operator.index, pair)) for pair in pairs]
    except TypeError:
        found = []
    if len(found) != rank or any(len(pair) != 2 for pair in found):
        dimensions = ", ".join(space(rank))
        why = f"it is a number, a name, or for each of the dimensions {dimensions} a number or a pair (before, behind)"
        hint = f"names are {', '.join(PADDINGS)}"
        raise ShapeError(f"{what} with padding={padding!r}", where=user_location(), why=why, hint=hint)
    if any(side < 0 for pair in found for side in pair):
        why, hint = "padding adds elements: it is 0 or more", "cut elements off by a slice: x[..., 1:-1]"
        raise ShapeError(f"{what} with padding={padding!r}", where=user_location(), why=why, hint=hint)
    return tuple(pair[0] for pair in found), tuple(pair[1] for pair in found)


def known_extents(extents: Shape, what: str) -> tuple[int, ...]:
    """Extents as integers. Raises `Undecided` for those known at run time."""
    for extent in extents:
        if isinstance(extent, SymbolicExtent):
            why = f"{extent} is known at run time only, and windows need its value"
            raise Undecided(f"{what}, of extents {shape_text(extents)}", where=user_location(), why=why)
    return tuple(extent for extent in extents if isinstance(extent, int))
