"""Convolutional classifiers of 2014 to 2016: images [batch, 3, height, width] to logits.

VGG: K. Simonyan, A. Zisserman, arXiv:1409.1556, table 1; GoogLeNet: C. Szegedy et al., arXiv:1409.4842, table 1, with batch norms
and without auxiliary classifiers; Inception-v2: S. Ioffe, C. Szegedy, arXiv:1502.03167, figure 5, with a plain first convolution;
ResNet of two convolutions: K. He et al., arXiv:1512.03385, table 1; SqueezeNet 1.1: F. Iandola et al., arXiv:1602.07360, and its
authors' revision, which has smaller filters at first and pools earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from benchmarks.onnx_models.cnns import Residual, classifier, conv


def resnet18(*, width: int = 64, depths: Sequence[int] = (2, 2, 2, 2), classes: int = 1000) -> Any:
    """ResNet-18; with depths (3, 4, 6, 3) ResNet-34."""
    layers, inputs = [conv(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)], width
    for stage, depth in enumerate(depths):
        outputs = width * 2**stage
        for number in range(depth):
            stride = 2 if stage and not number else 1
            shortcut = conv(inputs, outputs, 1, stride, activation=None) if inputs != outputs else None
            body = nn.Sequential(conv(inputs, outputs, 3, stride), conv(outputs, outputs, 3, activation=None))
            layers.append(Residual(body, shortcut, nn.ReLU()))
            inputs = outputs
    return classifier(layers, inputs, classes)


VGG_16, VGG_19 = (2, 2, 3, 3, 3), (2, 2, 4, 4, 4)
"""3 x 3 convolutions before each pool."""


def vgg(*, depths: Sequence[int] = VGG_16, width: int = 64, hidden: int = 4096, size: int = 224, classes: int = 1000) -> Any:
    """VGG for images of that size."""
    layers: list[Any] = []
    inputs = 3
    for stage, depth in enumerate(depths):
        outputs = width * min(2**stage, 8)
        for _ in range(depth):
            layers += [nn.Conv2d(inputs, outputs, 3, 1, 1), nn.ReLU()]
            inputs = outputs
        layers.append(nn.MaxPool2d(2))
    widths = (inputs * (size >> len(depths)) ** 2, hidden, hidden)
    linear = [part for one, two in pairwise(widths) for part in (nn.Linear(one, two), nn.ReLU(), nn.Dropout())]
    return keeping_scale(nn.Sequential(*layers, nn.Flatten(), *linear, nn.Linear(hidden, classes)))


class Branches(nn.Sequential):
    """The channels of all branches behind each other."""

    def forward(self, x: Any) -> Any:
        return torch.cat([branch(x) for branch in self], dim=1)


def plain_conv(inputs: int, outputs: int, kernel: int = 1) -> Any:
    """A convolution that keeps the size, with a bias, and ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, 1, kernel // 2), nn.ReLU())


FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""Squeezed channels, and those of each of two expansions."""


def squeezenet(*, first: int = 64, fires: Sequence[tuple[int, int]] = FIRES, classes: int = 1000) -> Any:
    """SqueezeNet 1.1, with a pool before the first, third and fifth of its fire modules."""
    layers, inputs = [nn.Conv2d(3, first, 3, 2), nn.ReLU()], first
    for number, (squeezed, expanded) in enumerate(fires):
        layers += [nn.MaxPool2d(3, 2, ceil_mode=True)] if number in (0, 2, 4) else []
        layers += [plain_conv(inputs, squeezed), Branches(plain_conv(squeezed, expanded), plain_conv(squeezed, expanded, 3))]
        inputs = 2 * expanded
    last = nn.Conv2d(inputs, classes, 1)
    return keeping_scale(nn.Sequential(*layers, nn.Dropout(), last, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()))


Row = tuple[int, int, int, int, int, int]
GOOGLENET: Sequence[Sequence[Row]] = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)
"""By stage and module: channels of 1 x 1, before and after 3 x 3, before and after 5 x 5, after the pool."""


def inception(inputs: int, row: Row) -> Any:
    """GoogLeNet's module."""
    one, before_3, three, before_5, five, pooled = row
    return Branches(
        conv(inputs, one),
        nn.Sequential(conv(inputs, before_3), conv(before_3, three, 3)),
        nn.Sequential(conv(inputs, before_5), conv(before_5, five, 5)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, pooled)),
    )


def inception_stem(first: int, second: int) -> list[Any]:
    """Three convolutions and two pools, to an eighth of the size."""
    pool = [nn.MaxPool2d(3, 2, 1)]
    return [conv(3, first, 7, 2), *pool, conv(first, first), conv(first, second, 3), *pool]


def googlenet(*, first: int = 64, second: int = 192, stages: Sequence[Sequence[Row]] = GOOGLENET, classes: int = 1000) -> Any:
    """GoogLeNet; a pool halves the image between stages."""
    layers, inputs = inception_stem(first, second), second
    for number, rows in enumerate(stages):
        layers += [nn.MaxPool2d(3, 2, 1)] if number else []
        for row in rows:
            layers.append(inception(inputs, row))
            inputs = row[0] + row[2] + row[4] + row[5]
    return classifier(layers, inputs, classes)


INCEPTION_V2: Sequence[Row] = (
    (64, 64, 64, 64, 96, 32),
    (64, 64, 96, 64, 96, 64),
    (0, 128, 160, 64, 96, 0),
    (224, 64, 96, 96, 128, 128),
    (192, 96, 128, 96, 128, 128),
    (160, 128, 160, 128, 160, 96),
    (96, 128, 192, 160, 192, 96),
    (0, 128, 192, 192, 256, 0),
    (352, 192, 320, 160, 224, 128),
    (352, 192, 320, 192, 224, 128),
)
"""Channels of 1 x 1, before and after 3 x 3, before and after two of 3 x 3, after the pool; 0 where a module halves the image."""


def double_inception(inputs: int, row: Row, *, is_last: bool) -> Any:
    """Inception-v2's module: two 3 x 3 convolutions for one of 5 x 5, a mean for the pool apart from the last one."""
    one, before, three, before_two, two, pooled = row
    stride = 1 if one else 2
    branches = [conv(inputs, one)] if one else []
    branches += [nn.Sequential(conv(inputs, before), conv(before, three, 3, stride))]
    branches += [nn.Sequential(conv(inputs, before_two), conv(before_two, two, 3), conv(two, two, 3, stride))]
    pool = nn.AvgPool2d(3, 1, 1) if one and not is_last else nn.MaxPool2d(3, stride, 1)
    return Branches(*branches, nn.Sequential(pool, conv(inputs, pooled)) if pooled else pool)


def inception_v2(*, first: int = 64, second: int = 192, rows: Sequence[Row] = INCEPTION_V2, classes: int = 1000) -> Any:
    """Inception-v2."""
    layers, inputs = inception_stem(first, second), second
    for row in rows:
        layers.append(double_inception(inputs, row, is_last=row is rows[-1]))
        inputs = row[0] + row[2] + row[4] + (row[5] or inputs)
    return classifier(layers, inputs, classes)


def keeping_scale(module: Any) -> Any:
    """The module, whose weights keep the scale of numbers without batch norms (K. He et al., arXiv:1502.01852, equation 10)."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
    return module
