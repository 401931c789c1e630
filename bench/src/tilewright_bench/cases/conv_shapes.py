"""Shapes of single convolutions, and their names.

3x3_64-128_56_s2 has 3 x 3 taps, 64 channels, 128 filters, an image of 56 x 56 points, and moves by 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from tilewright.errors import TilewrightError

Extents = tuple[int, ...]
"""One number for each dimension of space."""
NAME = re.compile(r"([\dx]+)_(\d+)-(\d+)_([\dx]+)((?:_[sdgp][\dx]+)*)")


@dataclass(frozen=True, slots=True)
class ConvShape:
    """A convolution of one image [channels, *image] by filters [filters, channels / groups, *kernel]; extents in elements.

    `padding` is that of both sides of a dimension.
    """

    channels: int
    filters: int
    image: Extents
    kernel: Extents
    stride: Extents
    dilation: Extents
    padding: Extents
    groups: int = 1

    @property
    def name(self) -> str:
        """The name, without what is usual: steps of 1, no dilation, one group, as many outputs as points.

        >>> conv(64, 128, 56, 3, stride=2).name, conv(240, 240, 28, 5, groups=240).name, conv(3, 64, (48, 100), (3, 1)).name
        ('3x3_64-128_56_s2', '5x5_240-240_28_g240', '3x1_3-64_48x100')
        """
        parts = ["x".join(map(str, self.kernel)), f"{self.channels}-{self.filters}", _text(self.image)]
        parts += [f"s{_text(self.stride)}"] if set(self.stride) != {1} else []
        parts += [f"d{_text(self.dilation)}"] if set(self.dilation) != {1} else []
        parts += [f"g{self.groups}"] if self.groups > 1 else []
        parts += [f"p{_text(self.padding)}"] if self.padding != half_window(self.kernel, self.dilation) else []
        return "_".join(parts)

    @property
    def output(self) -> Extents:
        """Points of a filter's result.

        >>> conv(3, 64, 224, 7, stride=2).output
        (112, 112)
        """
        sizes = zip(self.image, self.kernel, self.stride, self.dilation, self.padding, strict=True)
        return tuple((points + 2 * border - gap * (taps - 1) - 1) // step + 1 for points, taps, step, gap, border in sizes)

    @property
    def image_shape(self) -> Extents:
        """(1, channels, points of each dimension)."""
        return (1, self.channels, *self.image)

    @property
    def filter_shape(self) -> Extents:
        """(filters, channels that each sees, taps of each dimension)."""
        return (self.filters, self.channels // self.groups, *self.kernel)

    @property
    def result_shape(self) -> Extents:
        """(1, filters, outputs of each dimension)."""
        return (1, self.filters, *self.output)

    @property
    def is_pointwise(self) -> bool:
        """Whether filters have one tap and see every point: a product of matrices without any copy.

        >>> conv(64, 256, 56, 1).is_pointwise, conv(256, 512, 56, 1, stride=2).is_pointwise
        (True, False)
        """
        return set(self.kernel) == set(self.stride) == {1} and set(self.padding) == {0}

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every tap of every output, those on padding included.

        >>> conv(64, 64, 56, 3).flops
        231211008
        """
        return 2 * prod(self.filter_shape) * prod(self.output)

    @property
    def moved_bytes(self) -> int:
        """Image, filters and result, each once, in float32."""
        return 4 * (prod(self.image_shape) + prod(self.filter_shape) + prod(self.result_shape))


def conv(
    channels: int,
    filters: int,
    image: int | Extents,
    kernel: int | Extents,
    *,
    stride: int | Extents = 1,
    dilation: int | Extents = 1,
    groups: int = 1,
    padding: int | Extents | None = None,
) -> ConvShape:
    """A shape of two dimensions, unless a tuple says otherwise; padding of half a window unless it is given.

    >>> conv(80, 384, (3000,), 3) == conv(80, 384, (3000,), (3,))
    True
    """
    given = (image, kernel, stride, dilation, padding)
    rank = next((len(extents) for extents in given if isinstance(extents, tuple)), 2)
    points, taps, steps, gaps = (_each(extents, rank) for extents in (image, kernel, stride, dilation))
    borders = half_window(taps, gaps) if padding is None else _each(padding, rank)
    return ConvShape(channels, filters, points, taps, steps, gaps, borders, groups)


def half_window(kernel: Extents, dilation: Extents) -> Extents:
    """The padding by which a window of odd extents sees as much on either side of every point."""
    return tuple(gap * (taps - 1) // 2 for taps, gap in zip(kernel, dilation, strict=True))


def named_shape(name: str) -> ConvShape:
    """The shape of that name. Raises `TilewrightError` for a name that says none.

    >>> named_shape("3x3_64-128_56_s2") == conv(64, 128, 56, 3, stride=2)
    True
    >>> named_shape("7_512-512_1500_g512").output
    (1500,)
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise _refused(name, "it does not read as taps_channels-filters_points")
    kernel = _extents(found[1])
    options = {part[0]: _extents(part[1:]) for part in found[5].split("_") if part}
    rank = len(kernel)
    image, stride, dilation = (
        _each_of(extents, rank, name) for extents in (_extents(found[4]), options.get("s"), options.get("d"))
    )
    padding = _each_of(options["p"], rank, name) if "p" in options else None
    shape = conv(
        int(found[2]),
        int(found[3]),
        image,
        kernel,
        stride=stride,
        dilation=dilation,
        groups=prod(options.get("g", (1,))),
        padding=padding,
    )
    extents = (shape.groups, shape.channels, shape.filters, *shape.image, *shape.kernel, *shape.stride, *shape.dilation)
    if min(extents) < 1:
        raise _refused(name, "an extent is zero")
    if shape.channels % shape.groups or shape.filters % shape.groups:
        raise _refused(name, f"{shape.groups} groups do not divide {shape.channels} channels and {shape.filters} filters")
    if min(shape.output) < 1:
        raise _refused(name, "the window is larger than the padded image")
    return shape


def named_shapes(names: Iterable[str]) -> tuple[ConvShape, ...]:
    """The shapes of these names."""
    return tuple(map(named_shape, names))


def _refused(name: str, why: str) -> TilewrightError:
    return TilewrightError(
        f"{name!r} names no convolution", why=why, hint="as 3x3_64-128_56_s2: _s step, _d dilation, _g groups, _p padding follow"
    )


def _text(extents: Extents) -> str:
    return str(extents[0]) if len(set(extents)) == 1 else "x".join(map(str, extents))


def _extents(text: str) -> Extents:
    return tuple(int(part) for part in text.split("x") if part)


def _each(extents: int | Extents, rank: int) -> Extents:
    return (extents,) * rank if isinstance(extents, int) else extents


def _each_of(extents: Extents | None, rank: int, name: str) -> Extents:
    """One number for all dimensions, or one for each; 1 where nothing was said."""
    found = extents or (1,)
    if len(found) not in (1, rank):
        raise _refused(name, f"{len(found)} numbers for {rank} dimensions")
    return found * rank if len(found) == 1 else found
