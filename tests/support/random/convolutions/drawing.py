"""Random programs by style: each kind of convolution with the extents that set it apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tests.support.random.convolutions.program import ANY, EPILOGUES, PROLOGUES, Convolution, Extents
from tests.support.targets import runnable_targets

MOST_MULTIPLICATIONS = 8_000_000
MOST_ELEMENTS = 400_000
CHANNELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 36, 40, 48, 64, 65, 96, 130)
STYLES = (
    *("3x3", "3x3 strided", "square", "pointwise", "pointwise strided", "few pixels", "grouped", "grouped pointwise", "dilated"),
    *("rectangular", "patches", "overlapping patches", "stem", "depthwise", "large depthwise", "1-D", "1-D dilated", "1-D long"),
    *("3-D", "transposed 1-D", "transposed 2-D", "transposed 3-D", "batched", "anything"),
)


def program(seed: int, styles: Sequence[str] = STYLES) -> Convolution:
    """The program of a seed, in one of some styles, small enough to be checked by NumPy."""
    generator = random.Random(seed)
    while True:
        found = _decorated(_drawn(generator, seed, generator.choice(styles)), generator)
        elements = found.batch * (found.channels * prod(found.image) + found.filters * prod(found.output))
        if found.is_right and found.multiplications <= MOST_MULTIPLICATIONS and elements <= MOST_ELEMENTS:
            return found


def _drawn(generator: random.Random, seed: int, style: str) -> Convolution:
    rank = 1 if "1-D" in style else 3 if "3-D" in style else generator.choice((1, 2, 2, 3)) if style == "anything" else 2
    most = {1: 700, 2: 60, 3: 14}[rank]
    size = generator.choice((7, 8, 14, 17, 28, 33, generator.randint(1, most), generator.randint(1, most)))
    image = tuple(size if generator.random() < 0.6 else generator.randint(1, most) for _ in range(rank))
    ones, taps = (1,) * rank, (3,) * rank
    channels, filters = generator.choice(CHANNELS), generator.choice(CHANNELS)
    base = Convolution(seed, style, 1, channels, filters, image, taps, ones, ones, ones, ones)
    found = _of_style(base, generator, style)
    return _padded(found, generator) if generator.random() < 0.7 else found


def _of_style(base: Convolution, generator: random.Random, style: str) -> Convolution:
    rank = len(base.image)
    ones, same = (1,) * rank, lambda extent: (extent,) * rank
    match style:
        case "3x3 strided":
            return replace(base, stride=generator.choice(((2, 2), (2, 2), (1, 2), (2, 1), (3, 3))))
        case "square":
            return replace(base, kernel=same(generator.choice((2, 4, 5, 6, 7))), stride=same(generator.choice((1, 1, 2, 3))))
        case "pointwise" | "pointwise strided":
            stride = same(generator.choice((2, 2, 3))) if "strided" in style else ones
            return replace(base, kernel=ones, stride=stride, begin=same(0), end=same(0))
        case "few pixels":
            image = generator.choice(((1, 1), (2, 2), (7, 7), (1, 7), (3, 5), (14, 14), (9, 1)))
            kernel = generator.choice(((1, 1), (3, 3)))
            return replace(base, image=image, kernel=kernel, begin=same(kernel[0] // 2), end=same(kernel[0] // 2))
        case "grouped" | "grouped pointwise":
            groups, of_each, results = (generator.choice(one) for one in ((2, 3, 4, 8, 12), (1, 2, 4, 8, 16), (1, 2, 4, 8, 16)))
            found = replace(base, channels=groups * of_each, filters=groups * results, groups=groups)
            stride = same(generator.choice((1, 1, 2)))
            return (
                replace(found, kernel=ones, begin=same(0), end=same(0)) if "pointwise" in style else replace(found, stride=stride)
            )
        case "dilated":
            dilation = generator.choice(((2, 2), (3, 3), (1, 2), (6, 6), (12, 12)))
            return replace(base, dilation=dilation, begin=dilation, end=dilation, stride=same(generator.choice((1, 1, 2))))
        case "rectangular":
            kernel = generator.choice(((1, 7), (7, 1), (1, 3), (3, 1), (1, 5), (2, 3), (3, 7)))
            half = tuple(size // 2 for size in kernel)
            return replace(base, kernel=kernel, begin=half, end=half)
        case "patches":
            kernel = same(generator.choice((2, 3, 4, 7, 8, 14, 16)))
            channels = generator.choice((1, 3, 3, 16, 32, base.channels))
            return replace(base, channels=channels, kernel=kernel, stride=kernel, begin=same(0), end=same(0))
        case "overlapping patches":
            size, step = generator.choice(((7, 4), (14, 7), (16, 8), (8, 4), (3, 2), (7, 2)))
            return replace(base, channels=generator.choice((1, 3, 8)), kernel=same(size), stride=same(step))
        case "stem":
            size, step = generator.choice(((3, 2), (7, 2), (3, 1), (6, 2), (5, 2), (7, 4), (4, 4)))
            begin = same(generator.choice((0, size // 2)))
            return replace(base, channels=generator.choice((1, 2, 3, 3, 3, 4)), kernel=same(size), stride=same(step), begin=begin)
        case "depthwise" | "large depthwise":
            size = generator.choice((9, 13, 21, 31) if "large" in style else (3, 3, 5, 7))
            groups, multiple = generator.choice(CHANNELS), generator.choice((1, 1, 1, 2, 3))
            stride, half = same(generator.choice((1, 1, 2))), same(size // 2)
            found = replace(base, channels=groups, filters=groups * multiple, groups=groups)
            return replace(found, kernel=same(size), stride=stride, begin=half, end=half)
        case "1-D" | "1-D dilated" | "1-D long":
            size, dilation = generator.choice((1, 3, 5, 7, 11, 16)), generator.choice((3, 5, 9)) if "dilated" in style else 1
            groups = generator.choice((1, 1, 1, 2, base.channels))
            filters = base.filters if groups <= 2 else base.channels
            half = (dilation * (size - 1) // 2,)
            image = (generator.randint(200, 4000),) if "long" in style else base.image
            found = replace(base, kernel=(size,), dilation=(dilation,), groups=groups, filters=filters, begin=half, end=half)
            return replace(found, image=image, stride=(generator.choice((1, 1, 2, 5)),))
        case "3-D":
            kernel = generator.choice(((3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1), (2, 2, 2), (3, 7, 7)))
            half = tuple(size // 2 for size in kernel)
            groups = base.channels if generator.random() < 0.2 else 1
            found = replace(base, kernel=kernel, begin=half, end=half, groups=groups)
            return replace(
                found,
                filters=base.channels if groups > 1 else base.filters,
                stride=generator.choice(((1, 1, 1), (2, 2, 2), (1, 2, 2))),
            )
        case "transposed 1-D" | "transposed 2-D" | "transposed 3-D":
            return _transposed(base, generator)
        case "batched":
            groups = generator.choice((1, 1, 1, base.channels))
            small = tuple(generator.choice((1, 3, 5, 7, 14)) for _ in range(2))
            filters = base.filters if groups == 1 else base.channels
            return replace(base, batch=generator.choice((2, 3, 5, 8)), image=small, groups=groups, filters=filters)
        case "anything":
            return replace(
                base,
                batch=generator.choice((1, 1, 2)),
                kernel=tuple(generator.randint(1, 5) for _ in range(rank)),
                stride=tuple(generator.randint(1, 4) for _ in range(rank)),
                dilation=tuple(generator.choice((1, 1, 2, 3)) for _ in range(rank)),
            )
    return base


def _transposed(base: Convolution, generator: random.Random) -> Convolution:
    rank = len(base.image)
    size, step = generator.choice(((2, 2), (4, 2), (3, 2), (16, 8), (3, 1), (5, 3), (2, 3), (9, 3), (4, 4), (10, 5)))
    most = 4 if rank == 3 else 9
    size, step = min(size, most) if rank > 1 else size, min(step, most)
    border = generator.choice((0, (size - step) // 2, size // 2)) if size > step else 0
    extra = tuple(generator.randint(0, step - 1) for _ in range(rank)) if generator.random() < 0.2 else ()
    groups = generator.choice((1, 1, 1, 2))
    return replace(
        base,
        transposed=True,
        kernel=(size,) * rank,
        stride=(step,) * rank,
        begin=(max(0, border),) * rank,
        end=(max(0, border),) * rank,
        output_padding=extra,
        groups=groups,
        image=tuple(max(1, points // step) for points in base.image),
    )


def _padded(base: Convolution, generator: random.Random) -> Convolution:
    """Sometimes other padding, each side with its own."""
    if generator.random() < 0.7:
        return base

    def sides() -> Extents:
        return tuple(generator.randint(0, max(0, min(size, 4) - 1)) for size in base.kernel)

    return replace(base, begin=sides(), end=sides())


def _decorated(base: Convolution, generator: random.Random) -> Convolution:
    """What stands before and behind it, special values, and how it is compiled.

    Of infinite filters transposed convolutions differ from their definition at the border, and "fast" may spread infinities.
    """
    prologue = tuple(generator.sample(PROLOGUES, 1)) if generator.random() < 0.3 else ()
    epilogue = tuple(generator.sample(EPILOGUES, generator.choice((0, 1, 1, 2, 2, 3))))
    prologue += ("silu",) if "norm" in "".join(prologue) and generator.random() < 0.5 else ()
    chance = generator.random()
    return replace(
        base,
        prologue=prologue,
        epilogue=tuple(sorted(epilogue, key=lambda name: name == "max pool")),
        has_bias=generator.random() < 0.7,
        is_channels_last=generator.random() < 0.12,
        has_constant_filters=generator.random() < 0.93,
        dynamic=_dynamic(base, generator) if generator.random() < 0.12 else (),
        special="image" if chance < (0.16 if base.transposed else 0.08) else "filters" if chance < 0.16 else "",
        target=generator.choice(("", "", "", "", *runnable_targets())),
        has_two_readers=generator.random() < 0.12,
        algorithm=ANY if generator.random() < 0.5 else "",
        precision="float32" if chance < 0.16 else generator.choice(("float32",) * 8 + ("fast", "strict")),
        threads=generator.choice((1, 1, 1, 1, 3)),
        batch=base.batch if base.batch > 1 or generator.random() < 0.9 else 2,
    )


def _dynamic(base: Convolution, generator: random.Random) -> tuple[int, ...]:
    """The batch, the dimensions of space, or some of all."""
    space = tuple(range(2, 2 + len(base.image)))
    return generator.choice(((0,), space, (0, *space), space[-1:]))
