"""QLinear operators beside onnxruntime, over shapes, types, scales and zero points: one step apart at most, and seldom."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.frontend.onnx.operators.contrib.peers import DOMAIN, drawn, steps_apart, three_results
from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel

TYPES = st.sampled_from(["uint8", "int8"])
FEW = settings(max_examples=5, deadline=None)


def parameters(
    random: np.random.Generator, name: str, dtype: str, *, has_zero: bool = True, size: float = 0.02
) -> dict[str, Any]:
    zero = drawn(random, (), dtype) if has_zero else None
    return {f"{name}_scale": np.float32(random.uniform(size / 2, size)), f"{name}_zero": zero}


def assert_agree(
    op_type: str, values: dict[str, Any], dtype: str, constants: Collection[str] = (), peer_share: float = 0.05, **attributes: Any
) -> None:
    """No result is more than a step apart, and few are; of those of onnxruntime `peer_share` may be."""
    peer, compiled, reference = three_results(op_type, values, dtype, constants, **attributes)
    assert steps_apart(compiled, reference) <= 1
    assert steps_apart(compiled, peer) <= 1
    assert np.count_nonzero(compiled != reference) <= 1 + 0.05 * peer.size
    assert np.count_nonzero(compiled != peer) <= 1 + peer_share * peer.size


@FEW
@given(
    st.sampled_from([((3, 37), (3, 37)), ((2, 5, 33), (33,)), ((70,), (1,)), ((2, 1, 4), (3, 1))]),
    TYPES,
    st.sampled_from(["QLinearAdd", "QLinearMul"]),
    st.booleans(),
    st.integers(0, 99),
)
def test_sums_and_products(shapes: Any, dtype: str, op_type: str, has_zero: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for name, shape in zip("ab", shapes, strict=True):
        values |= {name: drawn(random, shape, dtype)} | parameters(random, name, dtype, has_zero=has_zero)
    values |= parameters(random, "c", dtype, size=0.04)
    constants = [name for name in values if "_" in name]
    assert_agree(op_type, values, dtype, constants, has_peer=has_zero)  # onnxruntime takes no QLinearAdd without zero points


@FEW
@given(st.sampled_from([(70,), (3, 37), (2, 3, 5)]), TYPES, st.booleans(), st.booleans(), st.integers(0, 99))
def test_functions(shape: Any, dtype: str, is_relu: bool, has_zero: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {"x": drawn(random, shape, dtype)} | parameters(random, "x", dtype, has_zero=has_zero, size=0.05)
    values |= parameters(random, "y", dtype, size=0.01)
    if is_relu:
        assert_agree("QLinearLeakyRelu", values, dtype, alpha=0.125)
    else:
        assert_agree("QLinearSigmoid", values, dtype)


@FEW
@given(st.sampled_from([(3, 70), (2, 5, 4), (1, 300)]), TYPES, st.sampled_from([11, 13]), st.integers(0, 99))
def test_softmax(shape: Any, dtype: str, opset: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = {"x": drawn(random, shape, dtype)} | parameters(random, "x", dtype, size=0.06) | parameters(random, "y", dtype)
    constants = ("x_scale", "x_zero", "y_scale", "y_zero")
    # exponentials of onnxruntime are whole numbers from a table
    assert_agree("QLinearSoftmax", values, dtype, constants, peer_share=1.0, axis=1, opset=opset)


@FEW
@given(st.integers(1, 9), st.integers(3, 17), TYPES, st.booleans(), st.booleans(), st.integers(0, 99))
def test_pools(channels: int, extent: int, dtype: str, channels_last: bool, with_padding: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = (2, extent, extent + 1, channels) if channels_last else (2, channels, extent, extent + 1)
    values = {"x": drawn(random, shape, dtype)} | parameters(random, "x", dtype) | parameters(random, "y", dtype)
    constants = ("x_scale", "x_zero", "y_scale", "y_zero")
    assert_agree("QLinearGlobalAveragePool", values, dtype, constants, channels_last=int(channels_last))
    windows = {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1], "count_include_pad": int(with_padding)}
    assert_agree("QLinearAveragePool", values, dtype, constants, channels_last=int(channels_last), **windows)


@FEW
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), TYPES, st.booleans(), st.booleans(), st.integers(0, 99))
def test_joins(extents: list[int], dtype: str, is_same: bool, is_constant: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    of_y = parameters(random, "y", dtype)
    values = dict(of_y)
    for number, extent in enumerate(extents):
        name = f"x{number}"
        values[name] = drawn(random, (2, extent, 5), dtype)
        of_part = zip((f"{name}_scale", f"{name}_zero"), of_y.values(), strict=True)
        values |= dict(of_part) if is_same else parameters(random, name, dtype)
    constants = [name for name in values if "_" in name] if is_constant else []
    assert_agree("QLinearConcat", values, dtype, constants, axis=1)


def test_a_join_without_a_zero_point_is_told() -> None:
    with pytest.raises(InvalidModel, match="every part has three"):
        operator("QLinearConcat", 1, DOMAIN, axis=0).reference(
            np.float32(1), np.uint8(0), np.ones((2, 3), np.uint8), np.float32(1)
        )
