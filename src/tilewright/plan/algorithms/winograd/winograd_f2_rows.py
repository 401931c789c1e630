"""Winograd F(2x2, 3x3) whose tiles are rows of one product: for images of few tiles, where a row of tiles fills no micro tile."""

from __future__ import annotations

from tilewright.graph.licences import Licence
from tilewright.plan.algorithms.winograd.tiles import winograd
from tilewright.precision import Precision

ALGORITHM = winograd(outputs=2, licence=Licence.CHECKED, precision=Precision.FLOAT32, tiles_in_rows=True)
