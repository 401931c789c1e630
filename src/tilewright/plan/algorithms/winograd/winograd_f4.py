"""Winograd F(4x4, 3x3): 36 products for sixteen results, four times fewer than sums over nine taps."""

from __future__ import annotations

from tilewright.graph.licences import Licence
from tilewright.plan.algorithms.winograd.tiles import winograd
from tilewright.precision import Precision

ALGORITHM = winograd(outputs=4, licence=Licence.RANGE, precision=Precision.FAST)
