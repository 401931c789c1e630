"""Operators that slice, repeat, resize, slide windows and pick elements, with attributes at random: reference implementation
and lowering give what the formula of the operator's schema says, element by element."""

from __future__ import annotations

from itertools import product
from math import ceil, floor, trunc
from typing import Any

import numpy as np
import pytest

from tests.support.node_tests import NodeTest
from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import definition

ROUNDS = 20


def agree(name: str, version: int, *operands: Any, expected: Any, **attributes: Any) -> None:
    """Fails unless reference implementation and lowering (if it can) give what is expected; None expects a `ShapeError`."""
    found = definition(name, version)
    assert found is not None
    test = NodeTest(name, found, attributes, operands, (np.zeros(1) if expected is None else expected,), 1e-4, 1e-5)
    for results in (test.referenced, test.interpreted):
        try:
            if expected is None:
                with pytest.raises(ShapeError):
                    results()
            else:
                test.check(results())
        except UnsupportedOperation:
            assert results == test.interpreted, "a reference implementation does it all"


def sliced(x: np.ndarray, start: int, end: int, step: int) -> np.ndarray:
    """Along the first dimension, as Slice-13 clamps: the ends of a walk backwards lie one before the first element."""
    extent = len(x)
    start, end = (bound + extent if bound < 0 else bound for bound in (start, end))
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start, end = min(max(start, 0), high), min(max(end, low), high)
    places = []
    while 0 <= start < extent and (start < end if step > 0 else start > end):
        places.append(start)
        start += step
    return x[np.array(places, int)]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_slices(seed):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((generator.integers(0, 7), 3)).astype(np.float32)
    start, end = generator.choice([-9, -3, -1, 0, 1, 2, 5, 9, 2**31 - 1, -(2**31) + 1, 2**63 - 1, -(2**63)], 2)
    step = generator.choice([-3, -2, -1, 1, 2, 3])
    ends = (np.array([value]) for value in (start, end, 0, step))
    agree("Slice", 13, x, *ends, expected=sliced(x, int(start), int(end), int(step)))


@pytest.mark.parametrize("shape", list(product([0, 1, 3], [0, 1, 2])))
@pytest.mark.parametrize("wanted", [(), (1,), (0,), (1, 1), (3, 1), (0, 2), (1, 0), (2, 1, 1), (0, 1, 1)])
def test_expansions(shape, wanted):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    try:
        expected = np.broadcast_to(x, np.broadcast_shapes(shape, wanted))
    except ValueError:
        expected = None
    agree("Expand", 13, x, np.array(wanted, np.int64), expected=expected)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("version", [11, 13])
def test_one_of_the_largest(seed, version):
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 3, generator.integers(1, 5, generator.integers(1, 4))).astype(np.float32)
    x[generator.random(x.shape) < 0.2] = generator.choice([np.nan, np.inf, -np.inf])
    axis = int(generator.integers(-x.ndim, x.ndim))
    rows = np.moveaxis(x, axis, -1) if version == 13 else x.reshape(int(np.prod(x.shape[: axis % x.ndim])), -1)
    hot = np.zeros(rows.shape, np.float32)
    for row in np.ndindex(rows.shape[:-1]):
        hot[(*row, int(np.argmax(rows[row])))] = 1
    expected = np.moveaxis(hot, -1, axis) if version == 13 else hot.reshape(x.shape)
    agree("Hardmax", version, x, expected=expected, axis=axis)


def padding(total: int, auto_pad: str) -> tuple[int, int]:
    return (total // 2, total - total // 2) if auto_pad == "SAME_UPPER" else (total - total // 2, total // 2)


def transposed(x: np.ndarray, w: np.ndarray, attributes: dict[str, Any]) -> np.ndarray | None:
    """ConvTranspose of one spatial dimension by its schema; None where no result is left."""
    (stride,), (dilation,), group = attributes["strides"], attributes["dilations"], attributes["group"]
    (more,) = attributes["output_padding"]
    reach = stride * (x.shape[2] - 1) + more + (w.shape[2] - 1) * dilation + 1
    begin, end = attributes.get("pads", (0, 0))
    if attributes.get("auto_pad", "NOTSET").startswith("SAME"):
        begin, end = padding(max(reach - x.shape[2] * stride, 0), attributes["auto_pad"])
        end = reach - begin - x.shape[2] * stride
    if reach - begin - end < 1:
        return None
    result = np.zeros((x.shape[0], group * w.shape[1], reach - begin - end), np.float32)
    inside, outside = w.shape[0] // group, w.shape[1]
    for n, g, c, m, i, k in np.ndindex(x.shape[0], group, inside, outside, x.shape[2], w.shape[2]):
        place = i * stride + k * dilation - begin
        if 0 <= place < result.shape[2]:
            result[n, g * outside + m, place] += x[n, g * inside + c, i] * w[g * inside + c, m, k]
    return result


@pytest.mark.parametrize("seed", range(2 * ROUNDS))
def test_transposed_convolutions(seed):
    generator = np.random.default_rng(seed)
    group, inside, outside, batch = (int(n) for n in generator.integers(1, 3, 4))
    x = generator.standard_normal((batch, group * inside, generator.integers(1, 6))).astype(np.float32)
    w = generator.standard_normal((group * inside, outside, generator.integers(1, 4))).astype(np.float32)
    stride = int(generator.integers(1, 4))
    attributes = {"strides": [stride], "dilations": [int(generator.integers(1, 3))], "group": group}
    attributes["output_padding"] = [int(generator.integers(0, stride))]
    if generator.random() < 0.6:
        attributes["pads"] = generator.integers(0, 3, 2).tolist()
    else:
        attributes["auto_pad"] = str(generator.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    agree("ConvTranspose", 11, x, w, expected=transposed(x, w, attributes), **attributes)


def pooled(name: str, x: np.ndarray, attributes: dict[str, Any]) -> np.ndarray | None:
    """A pooling of one spatial dimension by its schema, whose quotients are those of C++; None where it is refused."""
    (kernel,), (stride,), (dilation,) = (attributes[key] for key in ("kernel_shape", "strides", "dilations"))
    begin, end = attributes.get("pads", (0, 0))
    extent, span = x.shape[2], (kernel - 1) * dilation + 1
    if attributes.get("auto_pad", "NOTSET").startswith("SAME"):
        begin, end = padding(max((ceil(extent / stride) - 1) * stride + span - extent, 0), attributes["auto_pad"])
    rounded = ceil if attributes["ceil_mode"] else trunc
    count = rounded((extent + begin + end - span) / stride) + 1
    if count < 0:
        return None
    if count == 0:
        return x[..., :0]
    results = []
    for start in range(-begin, count * stride - begin, stride):
        if start < extent + end and (start < extent or not attributes["ceil_mode"]):
            places = [start + k * dilation for k in range(kernel)]
            seen = [place for place in places if 0 <= place < extent]
            results.append(combined(name, x[..., seen], sum(place < extent + end for place in places), attributes))
    return np.stack(results, axis=-1).astype(np.float32)


def combined(name: str, window: np.ndarray, padded: int, attributes: dict[str, Any]) -> np.ndarray:
    if name == "MaxPool":
        return window.max(axis=-1, initial=-np.inf)
    if name == "LpPool":
        return (np.abs(window) ** attributes["p"]).sum(axis=-1) ** (1 / attributes["p"])
    return window.sum(axis=-1) / max(padded if attributes["count_include_pad"] else window.shape[-1], 1)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("name", ["MaxPool", "AveragePool", "LpPool"])
def test_windows(name, seed):
    generator = np.random.default_rng(seed)
    kernel = int(generator.integers(1, 5))
    x = generator.standard_normal((2, 1, generator.integers(1, 8))).astype(np.float32)
    attributes: dict[str, Any] = {"kernel_shape": [kernel], "strides": [int(generator.integers(1, 4))]}
    attributes |= {"dilations": [int(generator.integers(1, 3))], "ceil_mode": int(generator.integers(2))}
    attributes |= {"count_include_pad": int(generator.integers(2))} if name == "AveragePool" else {}
    attributes |= {"p": int(generator.integers(1, 4))} if name == "LpPool" else {}
    if generator.random() < 0.6:
        attributes["pads"] = generator.integers(0, kernel, 2).tolist()
    else:
        attributes["auto_pad"] = str(generator.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    agree(name, 22, x, expected=pooled(name, x, attributes), **attributes)


@pytest.mark.parametrize("kernel", range(3, 8))
@pytest.mark.parametrize("name", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_larger_than_what_they_see(name, kernel):
    """By less than a step they stand out, by a step there is none, by more they are refused; as in onnxruntime."""
    x = np.array([[[3, 2]]], np.float32)
    attributes: dict[str, Any] = {"kernel_shape": [kernel], "strides": [3], "ceil_mode": 0, "dilations": [1]}
    attributes |= {"count_include_pad": 1} if name == "AveragePool" else {}
    attributes |= {"p": 1} if name == "LpPool" else {}
    value = {"MaxPool": 3, "AveragePool": 2.5, "LpPool": 5}[name]
    expected = {3: [value], 4: [value], 5: [], 6: [], 7: []}[kernel]
    agree(name, 22, x, expected=np.array([[expected]], np.float32), **attributes)
    agree(name, 22, x, expected=None, **(attributes | {"kernel_shape": [8]}))


def nearest(x: np.ndarray, scale: float, nearest_mode: str) -> np.ndarray:
    """Resize-13 along the last dimension by half pixels, with float32's rounding of positions."""
    count = floor(x.shape[-1] * float(np.float32(scale)))
    places = [float((np.float32(o) + np.float32(0.5)) / np.float32(scale) - np.float32(0.5)) for o in range(count)]
    rounding = {
        "round_prefer_floor": lambda place: ceil(place - 0.5),
        "round_prefer_ceil": lambda place: floor(place + 0.5),
        "floor": floor,
        "ceil": ceil,
    }
    return x[..., [min(max(rounding[nearest_mode](place), 0), x.shape[-1] - 1) for place in places]]


@pytest.mark.parametrize("nearest_mode", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("scale", [0.5, 0.6, 0.7, 1.0, 1.5, 2.0, 2.3, 3.0])
def test_nearest_elements(scale, nearest_mode):
    for extent in (1, 2, 5, 7, 10):
        x = np.arange(2 * extent, dtype=np.float32).reshape(2, extent)
        expected, scales = nearest(x, scale, nearest_mode), np.array([1, scale], np.float32)
        agree("Resize", 13, x, None, scales, expected=expected, mode="nearest", nearest_mode=nearest_mode)
