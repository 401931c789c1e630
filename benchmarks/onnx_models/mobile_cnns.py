"""Convolutional classifiers found by search, as published: the rows of their papers' tables.

MobileNetV3-large: A. Howard et al., arXiv:1905.02244, table 1; EfficientNet-B0: M. Tan, Q. Le, arXiv:1905.11946, table 1;
RegNetY-8.0GF: I. Radosavovic et al., arXiv:2003.13678, figure 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from benchmarks.onnx_models.cnns import SqueezeExcite, bottleneck, classifier, conv, inverted, rounded

V3Row = tuple[int, int, int, bool, bool, int]
MOBILENET_V3_LARGE: Sequence[V3Row] = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)
"""Kernel, width, outputs, squeeze-excite, hard swish in place of ReLU, stride."""


def mobilenet_v3_large(*, rows: Sequence[V3Row] = MOBILENET_V3_LARGE, hidden: int = 1280, classes: int = 1000) -> Any:
    """MobileNetV3-large, or some of its rows."""

    def excite(width: int) -> Any:
        return SqueezeExcite(width, rounded(width / 4), nn.ReLU, nn.Hardsigmoid)

    layers, inputs = [conv(3, 16, 3, 2, activation=nn.Hardswish)], 16
    for kernel, width, outputs, is_excited, is_swish, stride in rows:
        activation, scaled = nn.Hardswish if is_swish else nn.ReLU, excite if is_excited else None
        layers.append(inverted(inputs, outputs, stride, width=width, kernel=kernel, activation=activation, excite=scaled))
        inputs = outputs
    width = 6 * inputs
    layers.append(conv(inputs, width, activation=nn.Hardswish))
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, hidden), nn.Hardswish(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, *head, nn.Linear(hidden, classes))


B0Row = tuple[int, int, int, int, int]
EFFICIENTNET_B0: Sequence[B0Row] = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)
"""Expansion, outputs, blocks, stride of the first, kernel."""


def efficientnet_b0(*, rows: Sequence[B0Row] = EFFICIENTNET_B0, last: int = 1280, classes: int = 1000) -> Any:
    """EfficientNet-B0, or some of its rows."""
    layers, inputs = [conv(3, 32, 3, 2, activation=nn.SiLU)], 32
    for expand, outputs, blocks, stride, kernel in rows:
        for number in range(blocks):
            layers.append(_excited(inputs, outputs, 1 if number else stride, expand, kernel))
            inputs = outputs
    return classifier([*layers, conv(inputs, last, activation=nn.SiLU)], last, classes)


def _excited(inputs: int, outputs: int, stride: int, expand: int, kernel: int) -> Any:
    """EfficientNet's block: a quarter of its inputs are the hidden channels of squeeze-excite."""

    def excite(width: int) -> Any:
        return SqueezeExcite(width, max(1, inputs // 4), nn.SiLU)

    return inverted(inputs, outputs, stride, width=expand * inputs, kernel=kernel, activation=nn.SiLU, excite=excite)


def regnety_8gf(
    *, widths: Sequence[int] = (224, 448, 896, 2016), depths: Sequence[int] = (2, 4, 10, 1), group: int = 56, classes: int = 1000
) -> Any:
    """RegNetY-8.0GF: groups of 56 channels."""
    layers, inputs = [conv(3, 32, 3, 2)], 32
    for outputs, depth in zip(widths, depths, strict=True):
        for number in range(depth):
            stride = 1 if number else 2
            layers.append(bottleneck(inputs, outputs, stride, outputs=outputs, groups=outputs // group, excite=round(inputs / 4)))
            inputs = outputs
    return classifier(layers, inputs, classes)
