"""The shapes are what the seed draws, and everyone computes them: never a time."""

from __future__ import annotations

import pytest

from benchmarks.studies.depthwise import YARDSTICKS, row, table
from benchmarks.studies.parts.depthwise_cases import LIBRARIES, TABLE, DepthwiseCase, depthwise, drawn, layer_lists, own
from tilewright_bench.measurement.harness import CaseResult, Timing

DRAWN = """
3 512@14 s2, 3 32@80 s2, 3 192@28 s2, 5 960@7, 3 16@112 s2, 3 960@7, 5 1152@7, 5 1392@10, 3 58@56 s2, 7 768@7,
7 40@56, 3 128@56, 3 16@80, 3 576@14, 3 184@14, 5 240@14, 5 72@56 s2, 5 480@14, 3 288@38 s2, 3 116@14,
7 96@56, 7 320@7, 3 64@112 s2, 3 64@40 s2, 3 672@14, 3 88@28, 5 120@28, 3 1152@7, 5 576@19, 3 116@28 s2
"""


def test_the_seed_draws_these() -> None:
    texts = [f"{shape.kernel[0]} {shape.channels}@{shape.image[0]}{' s2' if shape.stride[0] == 2 else ''}" for shape in drawn()]
    assert texts == " ".join(DRAWN.split()).split(", ")
    assert {shape for layers in layer_lists().values() for shape in layers} >= set(drawn())


def test_layers_are_what_the_study_says() -> None:
    for shape in {*drawn(), *YARDSTICKS}:
        assert 7 <= shape.image[0] <= 112
        assert shape.groups == shape.channels == shape.filters


@pytest.mark.parametrize("prepare", [own, *LIBRARIES.values()])
def test_results(prepare) -> None:
    case = DepthwiseCase(depthwise(5, 6, 9, 2), TABLE)
    pytest.importorskip(prepare.__name__ if prepare is not own else "tilewright")
    (contender,) = prepare(case, 1)
    contender.call()
    assert case.error(contender.result()) < 1e-5


def test_table() -> None:
    timings = (Timing("tilewright", 2e-3, 0.0), Timing("openvino", 3e-3, 0.0, to_own=1.5))
    result = CaseResult("3x3_6-6_9_g6", TABLE, True, 10**6, 4000, 1e9, "L2", 1e9, timings)
    text = table([row(result)])
    assert "2.0000" in text
    assert "50%" in text
    assert "geometric mean 1.500" in text
    assert "below 1.0: none" in text
