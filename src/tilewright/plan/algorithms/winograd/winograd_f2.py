"""Winograd F(2x2, 3x3): 16 products for four results, 2.25 times fewer than sums over nine taps."""

from __future__ import annotations

from tilewright.plan.algorithms.definition import Accuracy
from tilewright.plan.algorithms.winograd.tiles import winograd

ALGORITHM = winograd(outputs=2, accuracy=Accuracy.CHECKED)
