"""MatMulNBits beside onnxruntime: bits, block sizes, zero points of both kinds, biases, rows, constants and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontend.onnx.operators.contrib.peers import DOMAIN, node_model, three_results
from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel, PositionError
from tilewright.onnx import InferenceSession

FEW = settings(max_examples=5, deadline=None)
ZEROS = ("none", "packed", "floats")


def operands(
    rows: tuple[int, ...], k: int, n: int, block: int, bits: int, zeros: str, *, has_bias: bool = False
) -> dict[str, Any]:
    random = np.random.default_rng(k * n + bits)
    blocks = -(-k // block)
    found = {
        "none": None,
        "packed": random.integers(0, 256, (n, -(-blocks * bits // 8)), np.uint8),
        "floats": random.uniform(0, 1 << bits, (n, blocks)).astype(np.float32),
    }
    return {
        "a": random.standard_normal((*rows, k)).astype(np.float32),
        "b": random.integers(0, 256, (n, blocks, block * bits // 8), np.uint8),
        "scales": random.uniform(-0.02, 0.02, (n, blocks)).astype(np.float32),
        "zero_points": found[zeros],
        "g_idx": None,
        "bias": random.standard_normal(n).astype(np.float32) if has_bias else None,
    }


def assert_close(results: tuple[Any, Any, Any], values: dict[str, Any], tolerance: float = 3e-6) -> None:
    """Within some roundings of the sums of sizes."""
    peer, compiled, reference = results
    assert compiled.shape == peer.shape == reference.shape
    most = np.abs(values["a"]).sum(axis=-1).max() * np.abs(values["scales"]).max() * 255 + 1
    np.testing.assert_allclose(compiled, reference, rtol=0, atol=1e-6 * most)
    np.testing.assert_allclose(compiled, peer, rtol=0, atol=tolerance * most)


@FEW
@given(
    st.sampled_from([(1,), (3,), (1, 2), (5,), (17,)]),
    st.integers(1, 150),
    st.integers(1, 70),
    st.sampled_from([16, 32, 64, 128, 256]),
    st.sampled_from([2, 4, 8]),
    st.sampled_from(ZEROS),
    st.booleans(),
    st.booleans(),
)
def test_products(
    rows: tuple[int, ...], k: int, n: int, block: int, bits: int, zeros: str, has_bias: bool, is_constant: bool
) -> None:
    values = operands(rows, k, n, block, bits, zeros, has_bias=has_bias)
    constants = ("b", "scales", "zero_points") if is_constant else ()
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    has_peer = bits == 4 or zeros != "floats"
    assert_close(three_results("MatMulNBits", values, "float", constants, has_peer=has_peer, **attributes), values)


@pytest.mark.parametrize(("level", "tolerance"), [(0, 3e-6), (1, 3e-6), (4, 3e-3)])
@pytest.mark.parametrize("rows", [1, 20])
def test_levels_of_accuracy(level: int, tolerance: float, rows: int) -> None:
    values = operands((rows,), 128, 64, 32, 4, "none")
    attributes = {"K": 128, "N": 64, "bits": 4, "block_size": 32, "accuracy_level": level}
    assert_close(three_results("MatMulNBits", values, "float", ("b", "scales"), **attributes), values, tolerance)


@FEW
@given(
    st.sampled_from([1, 2, 3, 7, 19]),
    st.integers(1, 150),
    st.integers(1, 70),
    st.sampled_from([16, 32, 64, 128, 256]),
    st.sampled_from([4, 8]),
    st.sampled_from(ZEROS),
    st.booleans(),
)
def test_rounded_rows(rows: int, k: int, n: int, block: int, bits: int, zeros: str, is_constant: bool) -> None:
    """What level 4 rounds is the same for the peer, where quotients are no ties, and whatever way the product takes."""
    values = operands((rows,), k, n, block, bits, zeros)
    constants = ("b", "scales", "zero_points") if is_constant else ()
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block, "accuracy_level": 4}
    has_peer = bits == 4 and zeros != "floats"
    found = three_results("MatMulNBits", values, "float", constants, has_peer=has_peer, **attributes)
    assert_close(found, values, tolerance=2e-3)


def error_of_rounding(values: dict[str, Any], block: int) -> Any:
    """What half a step of every element of a row adds up to, for every result: the bound that docs/correctness.md states."""
    a = values["a"].astype("f8")
    steps = np.maximum(np.abs(a.reshape(len(a), -1, block)).max(axis=-1) / 127, 2.0**-126).repeat(block, axis=-1)
    numbers = values["b"].astype("f8").reshape(len(values["b"]), -1)
    weights = np.abs(np.stack([numbers % 16, numbers // 16], axis=-1).reshape(len(numbers), -1) - 8)
    return 0.5 * steps @ (weights * np.abs(values["scales"].astype("f8")).repeat(block, axis=-1)).T


@pytest.mark.parametrize("size", [1e-44, 1e-38, 1.0, 1e37])
@pytest.mark.parametrize("rows", [1, 5])
def test_rounded_rows_are_half_a_step_off_at_most(size: float, rows: int) -> None:
    values = operands((rows,), 96, 40, 32, 4, "none")
    values["a"] = (values["a"] / 4 * size).astype(np.float32)
    data = node_model("MatMulNBits", values, "float", ("b", "scales"), K=96, N=40, bits=4, block_size=32, accuracy_level=4)
    (found,) = InferenceSession(data.SerializeToString()).run(None, {"a": values["a"]})
    wide = {name: value if value is None or name == "b" else value.astype("f8") for name, value in values.items()}
    numbers = wide["b"].astype("f8").reshape(40, -1)
    weights = (np.stack([numbers % 16, numbers // 16], axis=-1).reshape(40, -1) - 8) * wide["scales"].repeat(32, axis=-1)
    expected = wide["a"] @ weights.T
    sizes = np.abs(wide["a"]) @ np.abs(weights).T
    assert (np.abs(found - expected) <= error_of_rounding(values, 32) * 1.001 + 1e-5 * sizes + 1e-44).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("rows", [1, 6])
def test_rows_that_are_not_finite(wrong: float, level: int, rows: int) -> None:
    """A row is finite or not for itself: at level 4 all of its results are NaN, and else what the sums of products are."""
    values = operands((rows,), 96, 40, 32, 4, "packed")
    values["a"][0, 50] = wrong
    attributes = {"K": 96, "N": 40, "bits": 4, "block_size": 32, "accuracy_level": level}
    with np.errstate(invalid="ignore"):
        _, compiled, reference = three_results("MatMulNBits", values, "float", ("b", "scales", "zero_points"), **attributes)
    assert not np.isfinite(compiled[0]).any()
    assert np.isfinite(compiled[1:]).all()
    if level == 4:
        assert np.isnan(compiled[0]).all()
    np.testing.assert_array_equal(np.isnan(compiled), np.isnan(reference))


def test_few_rows_read_the_packed_bytes_themselves() -> None:
    values = operands((1,), 256, 64, 32, 4, "packed")
    attributes = {"K": 256, "N": 64, "bits": 4, "block_size": 32}
    data = node_model("MatMulNBits", values, "float", ("b", "scales", "zero_points"), **attributes).SerializeToString()
    text = InferenceSession(data).explain()
    assert "nbits_matmul" in text
    assert "(floor(" in text


def test_rows_known_at_run_time_are_divided_where_the_way_changes() -> None:
    values = operands((1, 40), 64, 33, 16, 4, "none")
    model = node_model("MatMulNBits", values, "float", ("b", "scales"), K=64, N=33, bits=4, block_size=16)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "steps"
    session = InferenceSession(model.SerializeToString())
    expected = operator("MatMulNBits", 1, DOMAIN, K=64, N=33, block_size=16).reference(*values.values())
    for steps in (1, 3, 4, 5, 40):
        (found,) = session.run(None, {"a": values["a"][:, :steps]})
        np.testing.assert_allclose(found, expected[:, :steps], rtol=1e-5, atol=1e-5)
    assert "nbits_matmul" in session.explain()


ORDERS = ("as they are", "full", "uneven")


def blocks_of_steps(k: int, block: int, order: str) -> Any:
    """A block for every step: blocks in their order, in any order with as many steps each as there is room, and any blocks."""
    random, plain = np.random.default_rng(k), np.arange(k) // block
    chosen = {"as they are": plain, "full": random.permutation(plain), "uneven": random.integers(0, -(-k // block), k)}
    return chosen[order].astype(np.int32)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("bits", "zeros"), [(2, "none"), (2, "packed"), (4, "none"), (4, "floats"), (8, "packed")])
def test_a_block_for_every_step(bits: int, zeros: str, order: str) -> None:
    """Steps of full blocks are put in order, and rows read packed bytes; others are multiplied by floats. None is rounded."""
    values = operands((2,), 150, 40, 32, bits, zeros)
    values["g_idx"] = blocks_of_steps(150, 32, order)
    attributes = {"K": 150, "N": 40, "block_size": 32, "bits": bits, "accuracy_level": 4}
    has_peer = bits == 4 and zeros == "none"
    constants = ("b", "scales", "zero_points", "g_idx")
    present = [name for name in constants if values[name] is not None]
    assert_close(three_results("MatMulNBits", values, "float", present, has_peer=has_peer, **attributes), values)
    data = node_model("MatMulNBits", values, "float", present, **attributes).SerializeToString()
    assert ("nbits_matmul" in InferenceSession(data).explain()) == (order != "uneven")


@pytest.mark.parametrize("rows", [2, 40])
def test_blocks_of_steps_that_a_call_gives(rows: int) -> None:
    values = operands((rows,), 64, 24, 16, 4, "packed")
    values["g_idx"] = blocks_of_steps(64, 16, "full")
    attributes = {"K": 64, "N": 24, "block_size": 16, "bits": 4}
    assert_close(three_results("MatMulNBits", values, "float", has_peer=False, **attributes), values)


def test_a_block_that_there_is_not() -> None:
    values = operands((2,), 64, 24, 16, 4, "none")
    values["g_idx"] = np.full(64, 4, np.int32)
    attributes = {"K": 64, "N": 24, "block_size": 16, "bits": 4}
    for constants in (("b", "scales", "g_idx"), ("b", "scales")):
        data = node_model("MatMulNBits", values, "float", constants, **attributes).SerializeToString()
        feeds = {name: one for name, one in values.items() if one is not None and name not in constants}
        with pytest.raises(PositionError):
            InferenceSession(data).run(None, feeds)


def test_halves() -> None:
    values = operands((2,), 64, 32, 16, 4, "none")
    values["a"], values["scales"] = values["a"].astype(np.float16), values["scales"].astype(np.float16)
    attributes = {"K": 64, "N": 32, "bits": 4, "block_size": 16}
    data = node_model("MatMulNBits", values, "float16", ("b", "scales"), **attributes).SerializeToString()
    (compiled,) = InferenceSession(data).run(None, {"a": values["a"]})
    expected = operator("MatMulNBits", 1, DOMAIN, **attributes).reference(*values.values())
    np.testing.assert_allclose(compiled.astype("f8"), expected.astype("f8"), rtol=2e-3, atol=1e-4)


WRONG = {
    "bits": ({}, {"bits": 3}, "MatMulNBits of 3 bits", "2, 4 and 8 bits"),
    "block": ({}, {"block_size": 24}, "block_size is 24", "a power of two from 16 on"),
    "scales": ({"scales": np.ones(7, np.float32)}, {}, "scales has the shape (7,)", "(8, 4) or (32,)"),
    "zeros": ({"zero_points": np.zeros((8, 3), np.uint8)}, {}, "zero_points has the shape (8, 3)", "(8, 2) or (16,)"),
    "type": ({"zero_points": np.zeros((8, 4), np.int8)}, {}, "zero_points are of int8", "packed into uint8"),
    "b": ({"b": np.zeros((8, 4, 9), np.uint8)}, {}, "B has the shape (8, 4, 9)", "(8, 4, 8)"),
    "bias": ({"bias": np.zeros(5, np.float32)}, {}, "bias has the shape (5,)", "(8,)"),
    "k": ({}, {"K": 63}, "A has the shape (2, 64)", "its last dimension is K, 63"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_what_is_wrong_is_told(wrong: str) -> None:
    changed, attributes, *texts = WRONG[wrong]
    values = operands((2,), 64, 8, 16, 4, "none") | changed
    data = node_model("MatMulNBits", values, "float", **{"K": 64, "N": 8, "bits": 4, "block_size": 16} | attributes)
    with pytest.raises(InvalidModel) as problem:
        InferenceSession(data.SerializeToString()).run(None, {name: one for name, one in values.items() if one is not None})
    for text in (*texts, "MatMulNBits node"):
        assert text in str(problem.value)
