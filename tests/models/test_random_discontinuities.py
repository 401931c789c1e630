"""Random programs that lead whole numbers to discontinuous functions give NumPy's integers and choices, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from tests.support.random.discontinuities.growing import Growing, Unfit
from tests.support.random.discontinuities.judging import outcome
from tests.support.random.discontinuities.program import difference
from tests.support.random.discontinuities.styles import program
from tests.support.sweeps import EQUAL

COMPILED_NODES = 14


@pytest.mark.parametrize("way", ["rewrites", "traced rewrites"])
def test_rewritten_programs_choose_as_numpy(way: str) -> None:
    for seed in range(25):
        one = program(seed, way)
        found = outcome(one)
        assert found.kind == EQUAL, f"{found}\n{one.text()}"


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize(("way", "seed"), [("session", 3), ("session", 12), ("jit", 5), ("jit", 9)])
def test_compiled_programs_choose_as_numpy(way: str, seed: int) -> None:
    one = program(seed, way, COMPILED_NODES)
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"


def test_what_rounding_decides_is_no_part_of_programs() -> None:
    g = Growing(0, is_traced=False)
    x = g.given(np.arange(12, dtype=np.float32).reshape(3, 4))
    third = g.add("Div", x, g.number(3.0))
    assert g.values[g.add("Floor", third)].is_discrete
    assert not g.values[third].is_discrete
    with pytest.raises(Unfit):
        g.add("Floor", g.add("Tanh", x))
    with pytest.raises(Unfit):
        g.add("Floor", g.add("ReduceSum", third, g.whole(1), keepdims=0))
    assert g.values[g.add("ReduceSum", x, g.whole(1), keepdims=0)].is_exact


def test_last_bits_count_where_a_discontinuous_function_made_them() -> None:
    g = Growing(0, is_traced=False)
    x = g.given(np.arange(12, dtype=np.float32))
    third = g.add("Div", x, g.number(3.0))
    whole = g.add("Floor", third)
    near = [np.nextafter(g.array(name), np.float32(99)) for name in (third, whole)]
    assert not difference(near[0], g.values[third])
    assert "differ" in difference(near[1], g.values[whole])
