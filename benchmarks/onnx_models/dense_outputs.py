"""Networks with an answer for every place of an image: U-Net, a detector in the style of YOLO, and YOLOv8.

O. Ronneberger, P. Fischer, T. Brox, arXiv:1505.04597 (2015); J. Redmon, A. Farhadi, arXiv:1804.02767 (2018); distances as
distributions: X. Li et al., arXiv:2006.04388 (2020); YOLOv8: D. Reis et al., arXiv:2305.09972 (2023), figure 2.
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

    def __init__(self, inputs: int, outputs: int, blocks: int, *, is_residual: bool = True) -> None:
        super().__init__()
        half = outputs // 2
        self.first, self.last = silu_conv(inputs, outputs), silu_conv(half * (2 + blocks), outputs)
        bodies = [nn.Sequential(silu_conv(half, half, 3), silu_conv(half, half, 3)) for _ in range(blocks)]
        self.blocks = nn.ModuleList(Residual(body) if is_residual else body for body in bodies)

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
        self.fine = nn.Sequential(
            silu_conv(3, width, 3, 2), silu_conv(width, 2 * width, 3, 2), SplitBlock(2 * width, 2 * width, blocks)
        )
        self.coarse = nn.Sequential(
            silu_conv(2 * width, 4 * width, 3, 2), SplitBlock(4 * width, 4 * width, blocks), PoolPyramid(4 * width)
        )
        self.merge = SplitBlock(6 * width, 2 * width, blocks)
        self.down = silu_conv(2 * width, 2 * width, 3, 2)
        self.merge_coarse = SplitBlock(6 * width, 4 * width, blocks)
        self.heads = nn.ModuleList(self._head(inputs, 4 * bins + classes) for inputs in (2 * width, 4 * width))
        self.register_buffer("steps", torch.arange(bins, dtype=torch.float32).view(1, 1, bins, 1))

    def forward(self, image: Any) -> Any:
        fine = self.fine(image)
        coarse = self.coarse(fine)
        fine = self.merge(torch.cat([fine, functional.interpolate(coarse, scale_factor=2.0, mode="nearest")], dim=1))
        coarse = self.merge_coarse(torch.cat([self.down(fine), coarse], dim=1))
        results = [found(head(x), self.steps, stride) for head, x, stride in zip(self.heads, (fine, coarse), (4, 8), strict=True)]
        return torch.cat(results, dim=2)

    @staticmethod
    def _head(inputs: int, outputs: int) -> Any:
        return nn.Sequential(silu_conv(inputs, inputs, 3), nn.Conv2d(inputs, outputs, 1))


def found(x: Any, steps: Any, stride: int) -> Any:
    """One scale's boxes and probabilities [batch, 4 + classes, places], of distributions over `steps` and logits of classes."""
    batch, channels, height, width = x.shape
    bins = steps.shape[2]
    boxes, scores = x.view(batch, channels, height * width).split([4 * bins, channels - 4 * bins], dim=1)
    shares = boxes.view(batch, 4, bins, height * width).softmax(dim=2)
    before, behind = (shares * steps).sum(dim=2).chunk(2, dim=1)
    rows = torch.arange(height, device=x.device, dtype=x.dtype) + 0.5
    columns = torch.arange(width, device=x.device, dtype=x.dtype) + 0.5
    grid_rows, grid_columns = torch.meshgrid(rows, columns, indexing="ij")
    places = torch.stack([grid_columns.flatten(), grid_rows.flatten()])
    start, end = places - before, places + behind
    return torch.cat([(start + end) / 2 * stride, (end - start) * stride, scores.sigmoid()], dim=1)


class YoloHead(nn.Module):
    """Distances and classes of one scale, by two networks of 3 x 3 convolutions side by side."""

    def __init__(self, inputs: int, hidden: int, classes: int, bins: int) -> None:
        super().__init__()
        self.boxes, self.scores = (
            self._part(inputs, max(hidden, 4 * bins), 4 * bins),
            self._part(inputs, max(hidden, classes), classes),
        )

    def forward(self, x: Any) -> Any:
        return torch.cat([self.boxes(x), self.scores(x)], dim=1)

    @staticmethod
    def _part(inputs: int, hidden: int, outputs: int) -> Any:
        return nn.Sequential(silu_conv(inputs, hidden, 3), silu_conv(hidden, hidden, 3), nn.Conv2d(hidden, outputs, 1))


class Yolo(nn.Module):
    """YOLOv8, by default its smallest: images of multiples of 32 to [batch, 4 + classes, places], at three scales."""

    def __init__(
        self, *, width: int = 16, depths: tuple[int, int, int, int] = (1, 2, 2, 1), classes: int = 80, bins: int = 16
    ) -> None:
        super().__init__()
        w, blocks = width, depths[0]
        stem = nn.Sequential(silu_conv(3, w, 3, 2), self._stage(w, 2 * w, depths[0]), self._stage(2 * w, 4 * w, depths[1]))
        last = nn.Sequential(self._stage(8 * w, 16 * w, depths[3]), PoolPyramid(16 * w))
        self.backbone = nn.ModuleList([stem, self._stage(4 * w, 8 * w, depths[2]), last])
        self.up = nn.ModuleList([self._merge(24 * w, 8 * w, blocks), self._merge(12 * w, 4 * w, blocks)])
        self.halved = nn.ModuleList([silu_conv(4 * w, 4 * w, 3, 2), silu_conv(8 * w, 8 * w, 3, 2)])
        self.down = nn.ModuleList([self._merge(12 * w, 8 * w, blocks), self._merge(24 * w, 16 * w, blocks)])
        self.heads = nn.ModuleList(YoloHead(n * w, 4 * w, classes, bins) for n in (4, 8, 16))
        self.register_buffer("steps", torch.arange(bins, dtype=torch.float32).view(1, 1, bins, 1))

    def forward(self, image: Any) -> Any:
        fine, middle, coarse = self._scales(image)
        middle = self.up[0](torch.cat([_doubled(coarse), middle], dim=1))
        fine = self.up[1](torch.cat([_doubled(middle), fine], dim=1))
        middle = self.down[0](torch.cat([self.halved[0](fine), middle], dim=1))
        coarse = self.down[1](torch.cat([self.halved[1](middle), coarse], dim=1))
        scales = zip(self.heads, (fine, middle, coarse), (8, 16, 32), strict=True)
        return torch.cat([found(head(x), self.steps, stride) for head, x, stride in scales], dim=2)

    def _scales(self, image: Any) -> list[Any]:
        results = []
        for stage in self.backbone:
            image = stage(image)
            results.append(image)
        return results

    @staticmethod
    def _stage(inputs: int, outputs: int, blocks: int) -> Any:
        return nn.Sequential(silu_conv(inputs, outputs, 3, 2), SplitBlock(outputs, outputs, blocks))

    @staticmethod
    def _merge(inputs: int, outputs: int, blocks: int) -> Any:
        return SplitBlock(inputs, outputs, blocks, is_residual=False)


def _doubled(x: Any) -> Any:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def silu_conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> Any:
    """A convolution with batch norm and SiLU."""
    return conv(inputs, outputs, kernel, stride, activation=nn.SiLU)
