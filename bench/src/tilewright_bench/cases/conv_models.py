"""The convolutions of the seven models that SConv is measured with, as their publications and the ONNX Model Zoo have them.

V. Ferrari et al., "Advancing Direct Convolution using Convolution Slicing Optimization and ISA Extensions", 2023, section 7: 393
convolutions, 219 of them pointwise with a step of 1. The tables have as many. Batch 1, images of 224 x 224.

- ResNet (K. He et al., arXiv:1512.03385, table 1): the first convolution of a bottleneck has the step of a stage, as in the
  publication and the zoo's "v1"; with the step at its 3 x 3 convolution, 225 would be pointwise with a step of 1.
- VGG-16 (K. Simonyan, A. Zisserman, arXiv:1409.1556, column D of table 1).
- SqueezeNet 1.1 (F. Iandola et al., arXiv:1602.07360, and its repository): pools of 3 that move by 2, rounded up.
- GoogLeNet (C. Szegedy et al., arXiv:1409.4842, table 1), without the auxiliary classifiers.
- Inception-v2 (S. Ioffe, C. Szegedy, arXiv:1502.03167, figure 5): the network with batch normalisation, whose pool projections in
  4c and 4d have 128 filters in all implementations, where the figure says 96.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from tilewright_bench.cases.conv_shapes import ConvShape, conv


def resnet_18() -> Iterator[ConvShape]:
    """Blocks of two 3 x 3 convolutions; a shortcut by 1 x 1 where the number of channels changes."""
    yield conv(3, 64, 224, 7, stride=2)
    channels, size = 64, 56
    for stage, filters in enumerate((64, 128, 256, 512)):
        for block in range(2):
            step = 2 if stage and not block else 1
            yield conv(channels, filters, size, 3, stride=step)
            if channels != filters:
                yield conv(channels, filters, size, 1, stride=step)
            channels, size = filters, size // step
            yield conv(channels, filters, size, 3)


def bottlenecks(depths: tuple[int, ...]) -> Iterator[ConvShape]:
    """ResNet-50 and deeper: blocks of 1 x 1, 3 x 3 and 1 x 1 convolutions, `depths` of them in each stage."""
    yield conv(3, 64, 224, 7, stride=2)
    channels, size = 64, 56
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        for block in range(depth):
            step = 2 if stage and not block else 1
            yield conv(channels, width, size, 1, stride=step)
            if not block:
                yield conv(channels, 4 * width, size, 1, stride=step)
            channels, size = 4 * width, size // step
            yield conv(width, width, size, 3)
            yield conv(width, channels, size, 1)


def vgg_16() -> Iterator[ConvShape]:
    """3 x 3 convolutions between pools that halve the image."""
    channels = 3
    for size, filters, count in ((224, 64, 2), (112, 128, 2), (56, 256, 3), (28, 512, 3), (14, 512, 3)):
        for _ in range(count):
            yield conv(channels, filters, size, 3)
            channels = filters


def squeezenet() -> Iterator[ConvShape]:
    """Fire modules: a 1 x 1 convolution to few channels, and 1 x 1 and 3 x 3 convolutions of these side by side."""
    yield conv(3, 64, 224, 3, stride=2, padding=0)
    channels = 64
    for size, squeezed, expanded in (
        *((55, 16, 64), (55, 16, 64), (27, 32, 128), (27, 32, 128)),
        *((13, 48, 192), (13, 48, 192), (13, 64, 256), (13, 64, 256)),
    ):
        yield conv(channels, squeezed, size, 1)
        yield conv(squeezed, expanded, size, 1)
        yield conv(squeezed, expanded, size, 3)
        channels = 2 * expanded
    yield conv(channels, 1000, 13, 1)


GOOGLENET = (
    (28, 192, 64, (96, 128), (16, 32), 32),
    (28, 256, 128, (128, 192), (32, 96), 64),
    (14, 480, 192, (96, 208), (16, 48), 64),
    (14, 512, 160, (112, 224), (24, 64), 64),
    (14, 512, 128, (128, 256), (24, 64), 64),
    (14, 512, 112, (144, 288), (32, 64), 64),
    (14, 528, 256, (160, 320), (32, 128), 128),
    (7, 832, 256, (160, 320), (32, 128), 128),
    (7, 832, 384, (192, 384), (48, 128), 128),
)
"""Image, channels, filters of 1 x 1, of 3 x 3 behind their reduction, of 5 x 5 behind theirs, and of the pool's projection."""


def googlenet() -> Iterator[ConvShape]:
    """Four branches side by side."""
    yield from _inception_stem()
    for size, channels, plain, three, five, projection in GOOGLENET:
        yield conv(channels, plain, size, 1)
        for kernel, (reduced, filters) in ((3, three), (5, five)):
            yield conv(channels, reduced, size, 1)
            yield conv(reduced, filters, size, kernel)
        yield conv(channels, projection, size, 1)


INCEPTION_V2 = (
    (28, 192, 64, (64, 64), (64, 96), 32),
    (28, 256, 64, (64, 96), (64, 96), 64),
    (28, 320, 0, (128, 160), (64, 96), 0),
    (14, 576, 224, (64, 96), (96, 128), 128),
    (14, 576, 192, (96, 128), (96, 128), 128),
    (14, 576, 160, (128, 160), (128, 160), 128),
    (14, 608, 96, (128, 192), (160, 192), 128),
    (14, 608, 0, (128, 192), (192, 256), 0),
    (7, 1056, 352, (192, 320), (160, 224), 128),
    (7, 1024, 352, (192, 320), (192, 224), 128),
)
"""As above, with two 3 x 3 convolutions in place of one of 5 x 5. A block without 1 x 1 filters halves the image."""


def inception_v2() -> Iterator[ConvShape]:
    """Four branches side by side, or two and a pool with a step of 2."""
    yield from _inception_stem()
    for size, channels, plain, (reduced, filters), (doubly_reduced, doubled), projection in INCEPTION_V2:
        step = 1 if plain else 2
        if plain:
            yield conv(channels, plain, size, 1)
            yield conv(channels, projection, size, 1)
        yield conv(channels, reduced, size, 1)
        yield conv(reduced, filters, size, 3, stride=step)
        yield conv(channels, doubly_reduced, size, 1)
        yield conv(doubly_reduced, doubled, size, 3)
        yield conv(doubled, doubled, size, 3, stride=step)


def _inception_stem() -> Iterator[ConvShape]:
    yield conv(3, 64, 224, 7, stride=2)
    yield conv(64, 64, 56, 1)
    yield conv(64, 192, 56, 3)


MODELS: dict[str, Callable[[], Iterator[ConvShape]]] = {
    "googlenet": googlenet,
    "inception_v2": inception_v2,
    "resnet_18": resnet_18,
    "resnet_50": partial(bottlenecks, (3, 4, 6, 3)),
    "resnet_152": partial(bottlenecks, (3, 8, 36, 3)),
    "squeezenet": squeezenet,
    "vgg_16": vgg_16,
}


def layers(model: str) -> Counter[ConvShape]:
    """How often each shape occurs in a model, in the order of their first occurrence.

    >>> sum(layers("resnet_152").values()), len(layers("resnet_152"))
    (155, 20)
    >>> sum(sum(layers(model).values()) for model in MODELS)
    393
    """
    return Counter(MODELS[model]())
