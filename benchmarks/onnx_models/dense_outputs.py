"""Networks with an answer for every place of an image: U-Net and a detector in the style of YOLO.

O. Ronneberger, P. Fischer, T. Brox, arXiv:1505.04597 (2015); J. Redmon, A. Farhadi, arXiv:1804.02767 (2018); distances as
distributions: X. Li et al., arXiv:2006.04388 (2020).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.onnx_models.cnns import Residual, conv


def double(inputs: int, outputs: int) -> Any:
    """Two 3 x 3 convolutions."""
    return nn.Sequential(conv(inputs, outputs, 3), conv(outputs, outputs, 3))


class UNet(nn.Module):
    """Images [batch, 3, height, width] to logits of classes at every pixel; sizes are multiples of 2^levels.

    The way up is by transposed convolutions, or bilinear, with `is_bilinear`.
    """

    def __init__(self, *, width: int = 64, levels: int = 4, classes: int = 2, is_bilinear: bool = False) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        self.first = double(3, width)
        self.down = nn.ModuleList(nn.Sequential(nn.MaxPool2d(2), double(one, two)) for one, two in pairwise(widths))
        self.up = nn.ModuleList(self._up(one, is_bilinear) for one in reversed(widths[1:]))
        self.merge = nn.ModuleList(double(one, one // 2) for one in reversed(widths[1:]))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, image: Any) -> Any:
        seen = [self.first(image)]
        for down in self.down:
            seen.append(down(seen[-1]))
        x = seen.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([seen.pop(), up(x)], dim=1))
        return self.last(x)

    @staticmethod
    def _up(inputs: int, is_bilinear: bool) -> Any:
        if not is_bilinear:
            return nn.ConvTranspose2d(inputs, inputs // 2, 2, 2)
        enlarged = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        return nn.Sequential(enlarged, nn.Conv2d(inputs, inputs // 2, 1))


class SplitBlock(nn.Module):
    """Half of the channels through residual blocks; all intermediate results are merged."""

    def __init__(self, inputs: int, outputs: int, blocks: int) -> None:
        super().__init__()
        half = outputs // 2
        self.first, self.last = silu_conv(inputs, outputs), silu_conv(half * (2 + blocks), outputs)
        self.blocks = nn.ModuleList(
            Residual(nn.Sequential(silu_conv(half, half, 3), silu_conv(half, half, 3))) for _ in range(blocks)
        )

    def forward(self, x: Any) -> Any:
        parts = list(self.first(x).chunk(2, dim=1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.last(torch.cat(parts, dim=1))


class PoolPyramid(nn.Module):
    """The image beside its maxima in growing windows."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.last = silu_conv(width, width // 2), silu_conv(2 * width, width)

    def forward(self, x: Any) -> Any:
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, dim=1))


class Detector(nn.Module):
    """Images to [batch, 4 + classes, places]: boxes (centre and size in pixels) and probabilities, at two scales.

    Each side's distance from its place is the mean of a distribution over `bins` multiples of the stride.
    """

    def __init__(self, *, width: int = 32, blocks: int = 1, classes: int = 80, bins: int = 16) -> None:
        super().__init__()
        self.classes, self.bins = classes, bins
        self.fine = nn.Sequential(
            silu_conv(3, width, 3, 2), silu_conv(width, 2 * width, 3, 2), SplitBlock(2 * width, 2 * width, blocks)
        )
        self.coarse = nn.Sequential(
            silu_conv(2 * width, 4 * width, 3, 2), SplitBlock(4 * width, 4 * width, blocks), PoolPyramid(4 * width)
        )
        self.merge = SplitBlock(6 * width, 2 * width, blocks)
        self.down = silu_conv(2 * width, 2 * width, 3, 2)
        self.merge_coarse = SplitBlock(6 * width, 4 * width, blocks)
        self.heads = nn.ModuleList(self._head(inputs) for inputs in (2 * width, 4 * width))
        self.register_buffer("steps", torch.arange(bins, dtype=torch.float32).view(1, 1, bins, 1))

    def forward(self, image: Any) -> Any:
        fine = self.fine(image)
        coarse = self.coarse(fine)
        fine = self.merge(torch.cat([fine, functional.interpolate(coarse, scale_factor=2.0, mode="nearest")], dim=1))
        coarse = self.merge_coarse(torch.cat([self.down(fine), coarse], dim=1))
        found = [self._found(head(x), stride) for head, x, stride in zip(self.heads, (fine, coarse), (4, 8), strict=True)]
        return torch.cat(found, dim=2)

    def _found(self, x: Any, stride: int) -> Any:
        """One scale's boxes and probabilities."""
        batch, channels, height, width = x.shape
        boxes, scores = x.view(batch, channels, height * width).split([4 * self.bins, self.classes], dim=1)
        shares = boxes.view(batch, 4, self.bins, height * width).softmax(dim=2)
        before, behind = (shares * self.steps).sum(dim=2).chunk(2, dim=1)
        rows = torch.arange(height, device=x.device, dtype=x.dtype) + 0.5
        columns = torch.arange(width, device=x.device, dtype=x.dtype) + 0.5
        grid_rows, grid_columns = torch.meshgrid(rows, columns, indexing="ij")
        places = torch.stack([grid_columns.flatten(), grid_rows.flatten()])
        start, end = places - before, places + behind
        return torch.cat([(start + end) / 2 * stride, (end - start) * stride, scores.sigmoid()], dim=1)

    def _head(self, inputs: int) -> Any:
        return nn.Sequential(silu_conv(inputs, inputs, 3), nn.Conv2d(inputs, 4 * self.bins + self.classes, 1))


def silu_conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> Any:
    """A convolution with batch norm and SiLU."""
    return conv(inputs, outputs, kernel, stride, activation=nn.SiLU)
