"""Convolutional classifiers: images [batch, 3, height, width] to logits.

ResNet: K. He et al., arXiv:1512.03385; MobileNetV2: M. Sandler et al., arXiv:1801.04381; MobileNetV3: A. Howard et al.,
arXiv:1905.02244; EfficientNet: M. Tan, Q. Le, arXiv:1905.11946; RegNet: I. Radosavovic et al., arXiv:2003.13678; DenseNet: G.
Huang et al., arXiv:1608.06993; ShuffleNetV2: N. Ma et al., arXiv:1807.11164; ConvNeXt: Z. Liu et al., arXiv:2201.03545.
Those from MobileNetV3 on are compact without arguments: they have every kind of block of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, activation: Any = nn.ReLU) -> Any:
    """A convolution that keeps the size (over its stride), batch norm, and an activation unless that is None."""
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


def classifier(features: Sequence[Any], width: int, classes: int) -> Any:
    """Features, their mean over the image, and a linear layer."""
    return nn.Sequential(*features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(width, classes))


class Residual(nn.Module):
    """x + body(x), or shortcut(x) + body(x), and an activation of that."""

    def __init__(self, body: Any, shortcut: Any = None, activation: Any = None) -> None:
        super().__init__()
        self.body, self.shortcut, self.activation = body, shortcut, activation

    def forward(self, x: Any) -> Any:
        total = self.body(x) + (x if self.shortcut is None else self.shortcut(x))
        return total if self.activation is None else self.activation(total)


class SqueezeExcite(nn.Module):
    """Channels scaled by a network of their means."""

    def __init__(self, width: int, hidden: int, activation: Any = nn.ReLU, gate: Any = nn.Sigmoid) -> None:
        super().__init__()
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, hidden, 1), activation(), nn.Conv2d(hidden, width, 1), gate()
        )

    def forward(self, x: Any) -> Any:
        return x * self.scale(x)


def bottleneck(
    inputs: int, width: int, stride: int, *, outputs: int, groups: int = 1, excite: int = 0, branch_scale: float = 1.0
) -> Any:
    """ResNet's block of three convolutions (RegNet's with groups and squeeze-excite).

    `branch_scale` is the mean scale of the last batch norm: below 1, rounding errors of dozens of blocks do not grow from block
    to block (P. Goyal et al., arXiv:1706.02677, section 5.1, begin with 0).
    """
    body = [conv(inputs, width), conv(width, width, 3, stride, groups)]
    body += [SqueezeExcite(width, excite)] if excite else []
    last = conv(width, outputs, activation=None)
    last[1].mean_scale = branch_scale
    body += [last]
    shortcut = conv(inputs, outputs, 1, stride, activation=None) if stride > 1 or inputs != outputs else None
    return Residual(nn.Sequential(*body), shortcut, nn.ReLU())


def resnet50(*, width: int = 64, depths: Sequence[int] = (3, 4, 6, 3), classes: int = 1000, branch_scale: float = 1.0) -> Any:
    """ResNet-50; with other depths its smaller and larger kin."""
    layers, inputs = [conv(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)], width
    for stage, depth in enumerate(depths):
        inner = width * 2**stage
        for number in range(depth):
            stride = 2 if stage and not number else 1
            layers.append(bottleneck(inputs, inner, stride, outputs=4 * inner, branch_scale=branch_scale))
            inputs = 4 * inner
    return classifier(layers, inputs, classes)


def regnet(*, width: int = 48, depths: Sequence[int] = (1, 2, 2), classes: int = 1000) -> Any:
    """RegNetY: bottlenecks with grouped convolutions and squeeze-excite."""
    layers, inputs = [conv(3, width, 3, 2)], width
    for stage, depth in enumerate(depths):
        outputs = width * 2**stage
        for number in range(depth):
            stride = 1 if number else 2
            layers.append(bottleneck(inputs, outputs, stride, outputs=outputs, groups=outputs // 16, excite=inputs // 4))
            inputs = outputs
    return classifier(layers, inputs, classes)


def inverted(
    inputs: int, outputs: int, stride: int, *, width: int, kernel: int = 3, activation: Any = nn.ReLU6, excite: Any = None
) -> Any:
    """`width` channels by a 1 x 1 convolution, filtered channel by channel, and narrow again."""
    body = [conv(inputs, width, activation=activation)] if width > inputs else []
    body += [conv(width, width, kernel, stride, width, activation), *([excite(width)] if excite else [])]
    body += [conv(width, outputs, activation=None)]
    return Residual(nn.Sequential(*body)) if stride == 1 and inputs == outputs else nn.Sequential(*body)


MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Arrangement of table 2 of the paper: expansion, channels, blocks, stride of the first."""


def mobilenet_v2(*, multiplier: float = 1.0, stages: int = len(MOBILENET_V2), classes: int = 1000) -> Any:
    """MobileNetV2, or its first stages."""
    inputs = rounded(32 * multiplier)
    layers = [conv(3, inputs, 3, 2, activation=nn.ReLU6)]
    for expand, channels, blocks, stride in MOBILENET_V2[:stages]:
        for number in range(blocks):
            outputs = rounded(channels * multiplier)
            layers.append(inverted(inputs, outputs, 1 if number else stride, width=expand * inputs))
            inputs = outputs
    last = rounded(1280 * max(multiplier, 1.0)) if stages == len(MOBILENET_V2) else 4 * inputs
    return classifier([*layers, conv(inputs, last, activation=nn.ReLU6)], last, classes)


def mobilenet_v3(*, width: int = 16, classes: int = 1000) -> Any:
    """Blocks of MobileNetV3: hard swish, and squeeze-excite with a hard sigmoid."""

    def excite(channels: int) -> Any:
        return SqueezeExcite(channels, rounded(channels / 4), nn.ReLU, nn.Hardsigmoid)

    layers = [
        conv(3, width, 3, 2, activation=nn.Hardswish),
        inverted(width, width, 1, width=width, activation=nn.ReLU, excite=excite),
        inverted(width, 2 * width, 2, width=4 * width, activation=nn.ReLU),
        inverted(2 * width, 2 * width, 1, width=8 * width, kernel=5, activation=nn.Hardswish, excite=excite),
        conv(2 * width, 8 * width, activation=nn.Hardswish),
    ]
    return classifier(layers, 8 * width, classes)


def efficientnet(*, width: int = 16, classes: int = 1000) -> Any:
    """Blocks of EfficientNet: SiLU, kernels of 3 and 5, squeeze-excite."""

    def excite(channels: int) -> Any:
        return SqueezeExcite(channels, max(1, channels // 24), nn.SiLU)

    shapes = ((2 * width, width, 1, 1, 3), (width, 24, 2, 6, 3), (24, 24, 1, 6, 3), (24, 40, 2, 6, 5), (40, 40, 1, 6, 5))
    blocks = [
        inverted(inputs, outputs, stride, width=expand * inputs, kernel=kernel, activation=nn.SiLU, excite=excite)
        for inputs, outputs, stride, expand, kernel in shapes
    ]
    return classifier([conv(3, 2 * width, 3, 2, activation=nn.SiLU), *blocks, conv(40, 160, activation=nn.SiLU)], 160, classes)


class Dense(nn.Module):
    """Layers that read the outputs of all before them."""

    def __init__(self, inputs: int, growth: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(self._layer(inputs + growth * number, growth) for number in range(layers))

    def forward(self, x: Any) -> Any:
        parts = [x]
        for layer in self.layers:
            parts.append(layer(torch.cat(parts, dim=1)))
        return torch.cat(parts, dim=1)

    @staticmethod
    def _layer(inputs: int, growth: int) -> Any:
        first = [nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, 4 * growth, 1, bias=False)]
        return nn.Sequential(*first, nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False))


def densenet(*, growth: int = 16, depths: Sequence[int] = (3, 4), classes: int = 1000) -> Any:
    """Dense blocks, and between them transitions that halve the channels and the image."""
    layers, inputs = [conv(3, 2 * growth, 7, 2), nn.MaxPool2d(3, 2, 1)], 2 * growth
    for number, depth in enumerate(depths, 1):
        layers.append(Dense(inputs, growth, depth))
        inputs += growth * depth
        if number == len(depths):
            break
        layers += [nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, inputs // 2, 1, bias=False), nn.AvgPool2d(2, 2)]
        inputs //= 2
    return classifier([*layers, nn.BatchNorm2d(inputs), nn.ReLU()], inputs, classes)


class Shuffle(nn.Module):
    """One half of the channels filtered, the other kept (or both filtered, at a stride), and then mixed."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half, seen = outputs // 2, inputs if stride > 1 else inputs // 2
        self.branch = nn.Sequential(conv(seen, half), conv(half, half, 3, stride, half, None), conv(half, half))
        self.other = nn.Sequential(conv(seen, seen, 3, stride, seen, None), conv(seen, half)) if stride > 1 else None

    def forward(self, x: Any) -> Any:
        kept, changed = (x, x) if self.other is not None else x.chunk(2, dim=1)
        x = torch.cat([kept if self.other is None else self.other(kept), self.branch(changed)], dim=1)
        batch, channels, height, width = x.shape
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)


def shufflenet(
    *, first: int = 24, widths: Sequence[int] = (48, 96), depths: Sequence[int] = (2, 2), last: int = 192, classes: int = 1000
) -> Any:
    """ShuffleNetV2: stages whose first block halves the image."""
    layers, inputs = [conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for outputs, depth in zip(widths, depths, strict=True):
        layers += [Shuffle(inputs, outputs, 2), *(Shuffle(outputs, outputs, 1) for _ in range(depth - 1))]
        inputs = outputs
    return classifier([*layers, conv(inputs, last)], last, classes)


class ConvNextBlock(nn.Module):
    """A 7 x 7 filter of every channel, then layer norm and a feed-forward network of channels that come last."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.filter, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width, 1, 1), 0.5))

    def forward(self, x: Any) -> Any:
        return x + self.scale * self.mlp(self.norm(self.filter(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


class ChannelNorm(nn.Module):
    """Layer norm over the channels of an image."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Any) -> Any:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext(*, width: int = 32, depths: Sequence[int] = (1, 2), has_last_norm: bool = False, classes: int = 1000) -> Any:
    """ConvNeXt with as many stages as depths; as published with a norm of the means."""
    layers: list[Any] = [nn.Conv2d(3, width, 4, 4), ChannelNorm(width)]
    for stage, depth in enumerate(depths):
        here = width * 2**stage
        layers += [ChannelNorm(here // 2), nn.Conv2d(here // 2, here, 2, 2)] if stage else []
        layers += [ConvNextBlock(here) for _ in range(depth)]
    outputs = width * 2 ** (len(depths) - 1)
    layers += [nn.AdaptiveAvgPool2d(1), ChannelNorm(outputs)] if has_last_norm else []
    return classifier(layers, outputs, classes)


def rounded(channels: float) -> int:
    """Channels as a multiple of 8, not below 9/10 of what was asked for."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded
