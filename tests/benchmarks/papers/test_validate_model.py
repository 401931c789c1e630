"""The validation benchmark on a small problem: its schedules are the paper's, and replaying a part is as good as all."""

from __future__ import annotations

import pytest

from benchmarks.papers.validate_model import (
    Setting,
    agreement,
    draw,
    measure,
    paper_prediction_bytes,
    predicted_bytes,
    simulated_bytes,
)

TILES = {"m": 12, "l": 32, "k": 16, "n": 64}


def setting(case: str, *, packing: str = "ahead", exact: bool = True) -> Setting:
    return Setting(case, "32x8", 192, "matmul_avx2_f32_6x16", 0.65, packing, 16, exact)


@pytest.mark.parametrize("packing", ["ahead", "tiles"])
@pytest.mark.parametrize("case", ["d", "e"])
def test_predictions_are_those_of_the_papers_orders(case: str, packing: str) -> None:
    one = setting(case, packing=packing)
    assert predicted_bytes(one, TILES) == paper_prediction_bytes(one, TILES)


@pytest.mark.parametrize("case", ["d", "e", "f"])
def test_a_few_blocks_tell_what_all_blocks_move(case: str) -> None:
    whole, part = (simulated_bytes(setting(case, exact=exact), TILES) for exact in (True, False))
    assert part[0] == pytest.approx(whole[0], rel=0.02)
    assert part[1] == pytest.approx(whole[1], rel=0.02)


def test_drawn_tilings_fit_and_are_distinct() -> None:
    tilings = list(draw(setting("d"), 10))
    assert len({tuple(tiles.values()) for tiles in tilings}) == 10
    points = [measure(setting("d"), tiles) for tiles in tilings[:2]]
    assert all(point.used_bytes <= 0.65 * (32 << 10) for point in points)
    assert agreement(points, [point.simulated_bytes for point in points]).r_squared == 1
