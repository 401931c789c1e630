"""Winograd F(4x4, 3x3): 36 products for sixteen results, four times fewer than sums over nine taps."""

from __future__ import annotations

from tilewright.plan.algorithms.definition import Accuracy
from tilewright.plan.algorithms.winograd.tiles import winograd

ALGORITHM = winograd(outputs=4, accuracy=Accuracy.TILED)
