"""Convolutions and pools of float64 arrays over sliding windows, written out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.support.random.qdq.reals import Linear


@dataclass(frozen=True, slots=True)
class Windows:
    """Two-dimensional windows: sizes, strides, dilations, and padding at the begins and the ends."""

    sizes: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    def reaches(self) -> tuple[int, int]:
        """Of a window, in elements."""
        return (self.dilations[0] * (self.sizes[0] - 1) + 1, self.dilations[1] * (self.sizes[1] - 1) + 1)

    def fit(self, image: tuple[int, ...]) -> bool:
        """Whether a padded image has a window."""
        return all(
            extent + self.pads[d] + self.pads[d + 2] >= reach
            for d, (extent, reach) in enumerate(zip(image[-2:], self.reaches(), strict=True))
        )

    def of(self, x: Any, outside: float = 0.0) -> Any:
        """(batch, channels, rows, columns, height, width) of an image (batch, channels, height, width)."""
        top, left, bottom, right = self.pads
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=outside)
        every = sliding_window_view(padded, self.reaches(), axis=(2, 3))
        return every[:, :, :: self.strides[0], :: self.strides[1], :: self.dilations[0], :: self.dilations[1]]

    def convolution(self, groups: int) -> Linear:
        """The function of an image and its filters (filters, channels of a group, height, width)."""
        return partial(_convolved, self, groups)

    def maximum(self, x: Any) -> Any:
        """The largest of every window; padding is never that."""
        return self.of(x, -np.inf).max((-2, -1))


def _convolved(windows: Windows, groups: int, x: Any, w: Any) -> Any:
    found = windows.of(x)
    parts = np.split(found, groups, 1), np.split(w, groups, 0)
    return np.concatenate([np.einsum("bcrshw,kchw->bkrs", *pair) for pair in zip(*parts, strict=True)], 1)
