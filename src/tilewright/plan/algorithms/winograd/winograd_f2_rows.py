"""Winograd F(2x2, 3x3) whose tiles are rows of one product: for images of few tiles, where a row of tiles fills no micro tile."""

from __future__ import annotations

from tilewright.plan.algorithms.definition import Accuracy
from tilewright.plan.algorithms.winograd.tiles import winograd

ALGORITHM = winograd(outputs=2, accuracy=Accuracy.CHECKED, tiles_in_rows=True)
