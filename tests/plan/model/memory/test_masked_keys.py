"""What a masked chain reads, counted line by line: the keys of each block of rows and no others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.programs import KERNEL, program
from tests.oracles.trace_replay import record
from tests.support.masked_chains import CAUSAL, both, masked_chain, shifted, window
from tilewright.graph.expressions.scalar import Scalar
from tilewright.plan.regions.masks import key_step
from tilewright.plan.schedule import fused_schedule

EXTENTS = {"b": 1, "m": 40, "k": 21, "l": 200, "n": 64}
TILES = {"b": 1, "m": 8, "l": 64, "n": 64, "k": 21}
LINES_PER_ROW = 64 // 16


@pytest.mark.parametrize("outer_loops", ["bm", "bml"])
@pytest.mark.parametrize(
    ("condition", "first", "needed"),
    [(CAUSAL, 0, 40), (shifted(50), 0, 90), (both(shifted(90), window(-70)), 70, 130), (shifted(-100), 0, 1)],
    ids=["causal", "past keys", "window", "nothing"],
)
def test_rows_of_the_values_that_are_touched(outer_loops: str, condition: Scalar, first: int, needed: int) -> None:
    chain = masked_chain(EXTENTS, condition)
    touches = record(program(chain, fused_schedule(chain, outer_loops, {}, TILES)))
    step, panel = key_step([KERNEL.columns], KERNEL.lanes), KERNEL.columns
    start = first // panel * panel
    stop = start + -(-(needed - start) // step) * step
    touched = touches.lines[touches.owners == touches.buffers.index("D")]
    assert len(np.unique(touched)) == (stop - start) * LINES_PER_ROW
