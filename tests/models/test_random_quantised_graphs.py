"""Random chains of quantised layers: bit for bit where their definition is exact, at most one step apart where not.

The bounds are `tests.support.random.qdq.reals`: where all scales are powers of two, float32 rounds nothing and one result is
right, ties included. Where they are not, a result has two values only if it lies within some roundings of the
middle of two steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.support.random.onnx.growing import plain_options  # noqa: E402
from tests.support.random.qdq.judging import outcome, shrunk  # noqa: E402
from tests.support.random.qdq.reals import Reals, exactly, linear, quantised  # noqa: E402
from tests.support.random.qdq.styles import program  # noqa: E402
from tests.support.sweeps import EQUAL, WRONG, Outcome  # noqa: E402

MOST_UNDECIDED = 0.002
"""Share of the results of arbitrary scales that may be one of two steps."""


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("seed", range(14))
def test_results_are_what_the_definition_allows(seed: int) -> None:
    one = program(seed, 3)
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"
    assert not found.as_numpy


@pytest.mark.parametrize("seed", range(100, 120))
def test_bounds_hold_for_onnxruntime_node_by_node(seed: int) -> None:
    """Without its integer kernels, which saturate sums of 16 bits on machines without VNNI."""
    one = program(seed, with_integers=False)
    onnx.checker.check_model(one.model(), full_check=True)
    session = onnxruntime.InferenceSession(one.model().SerializeToString(), plain_options())
    assert not one.difference(session.run(list(one.results), one.feeds))


def test_few_results_are_undecided() -> None:
    """None where scales are powers of two and no sigmoid is in between."""
    many = [program(seed) for seed in range(200, 260)]
    steps = [(name, one) for one in many for name in one.results if one.types[name] != "float32"]
    undecided = [one.results[name].low != one.results[name].high for name, one in steps]
    assert np.concatenate([each.reshape(-1) for each in undecided]).mean() < MOST_UNDECIDED
    exact = [one for one in many if all(_is_power_of_two(scale) for scale in _scales(one))]
    plain = [one for one in exact if "Sigmoid" not in {node.op_type for node in one.nodes}]
    assert len(plain) > len(many) // 8
    assert sum(not all(one.results[name].is_exact() for name in one.results) for one in plain) <= len(plain) // 4


def test_programs_reach_both_ends_of_bytes_and_every_operator() -> None:
    many = [program(seed) for seed in range(300, 400)]
    names = {node.op_type for one in many for node in one.nodes}
    layers = {"MatMul", "Gemm", "Conv", "Add", "Mul", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "Sigmoid"}
    assert layers | {"Relu", "LeakyRelu", "QLinearMatMul", "QLinearConv", "MatMulInteger", "ConvInteger"} <= names
    ends = {
        (one.types[n], end) for one in many for n, value in one.results.items() for end in (value.low.min(), value.high.max())
    }
    assert {("uint8", 0.0), ("uint8", 255.0), ("int8", -128.0), ("int8", 127.0)} <= ends


def test_wrong_results_are_seen() -> None:
    one = program(7)
    name, value = next((name, value) for name, value in one.results.items() if one.types[name] != "float32")
    alone = replace(one, results={name: value})
    right = value.low.astype(one.types[name])
    assert not alone.difference([right])
    wrong = right.copy()
    wrong.flat[0] = wrong.flat[0] - 1 if wrong.flat[0] > 0 else wrong.flat[0] + 1
    assert "1 of" in alone.difference([wrong])


def test_failing_programs_keep_one_result() -> None:
    """A compiler that cannot concatenate: what leads to one wrong result is left."""

    def judge(one: object) -> Outcome:
        return Outcome(WRONG, "planted") if any(node.op_type == "Concat" for node in one.nodes) else Outcome(EQUAL)  # type: ignore[attr-defined]

    found = [one for one in map(program, range(400, 440)) if judge(one).kind == WRONG and len(one.results) > 1]
    assert found
    assert all(len(shrunk(one, WRONG, judge).results) == 1 for one in found)


def test_ties_of_exact_numbers_are_even() -> None:
    assert quantised(exactly([0.5, 1.5, 2.5], 0.25), 1.0, 0, "uint8").low.tolist() == [0, 2, 2]


def test_intervals_hold_every_product() -> None:
    random = np.random.default_rng(0)
    low = random.standard_normal((2, 5, 4))
    x, y = Reals(low[0], low[0] + 0.1), Reals(low[1].T, low[1].T + 0.2)
    both = linear(np.matmul, x, y)
    for _ in range(20):
        found = (x.low + random.random((5, 4)) * 0.1) @ (y.low + random.random((4, 5)) * 0.2)
        assert ((both.low <= found) & (found <= both.high)).all()


def _scales(one: object) -> list[float]:
    """The scales of quantised values."""
    constants, nodes = one.constants, one.nodes  # type: ignore[attr-defined]
    return [float(constants[node.input[1]].reshape(-1)[0]) for node in nodes if node.op_type.endswith("izeLinear")]


def _is_power_of_two(value: float) -> bool:
    return float(np.frexp(value)[0]) == 0.5
