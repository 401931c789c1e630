"""Winograd F(2x2, 3x3): 16 products for four results, 2.25 times fewer than sums over nine taps."""

from __future__ import annotations

from tilewright.graph.licences import Licence
from tilewright.plan.algorithms.winograd.tiles import winograd
from tilewright.precision import Precision

ALGORITHM = winograd(outputs=2, licence=Licence.CHECKED, precision=Precision.FLOAT32)
