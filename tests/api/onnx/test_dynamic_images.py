"""Convolutions, pools and resized images of dynamic height and width: one library, the reference's numbers, the same bits."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_operators import operator
from tests.support.unet import UNet
from tilewright.onnx import InferenceSession, SessionOptions

CHANNELS, OPSET = 4, 22
EXTENTS = ((2, 17, 23), (1, 8, 40), (3, 9, 9), (1, 33, 7))
"""Batches, heights and widths."""
S2, PAD, SAME = {"strides": [2, 2]}, {"pads": [1, 1, 1, 1]}, {"auto_pad": "SAME_UPPER"}
POOL = {"kernel_shape": [3, 3]}
CASES: dict[str, tuple[str, tuple[int, ...] | None, dict[str, Any]]] = {
    "stride": ("Conv", (8, 4, 3, 3), S2 | PAD),
    "same, before": ("Conv", (8, 4, 3, 4), S2 | {"auto_pad": "SAME_LOWER"}),
    "same, stride longer than the window": ("Conv", (8, 4, 1, 2), SAME | {"strides": [3, 3]}),
    "valid, dilation, groups": ("Conv", (8, 2, 3, 3), {"auto_pad": "VALID", "dilations": [2, 1], "group": 2}),
    "depthwise": ("Conv", (4, 1, 3, 3), PAD | {"group": 4}),
    "three dimensions": ("Conv", (8, 4, 3, 1, 3), {"pads": [1] * 6, "strides": [2, 1, 2]}),
    "transposed": ("ConvTranspose", (4, 6, 3, 3), S2 | PAD | {"output_padding": [1, 1]}),
    "transposed, same, groups": ("ConvTranspose", (4, 3, 3, 3), S2 | {"auto_pad": "SAME_LOWER", "group": 2}),
    "transposed, more cut off than written": ("ConvTranspose", (4, 6, 2, 2), S2 | {"pads": [3, 2, 2, 1]}),
    "maxima, rounded up": ("MaxPool", None, {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [0, 0, 1, 1], "ceil_mode": 1}),
    "maxima, same": ("MaxPool", None, POOL | S2 | SAME),
    "means of elements": ("AveragePool", None, POOL | S2 | PAD | {"ceil_mode": 1}),
    "means with padding": ("AveragePool", None, POOL | S2 | PAD | {"ceil_mode": 1, "count_include_pad": 1}),
    "norms": ("LpPool", None, POOL | S2 | PAD),
    "channels": ("GlobalAveragePool", None, {}),
}
BY_TWO_THREADS = (
    *("stride", "depthwise", "transposed", "maxima, same", "means with padding", "channels"),
    *("nearest, aligned", "linear, to sizes"),
)
"""Threads share the work in one way per kind of window or of positions."""
REPEATED = ("same, before", "same, stride longer than the window", "means of elements", "linear, by scales")
"""Combinations of what the other cases have."""
RESIZED: dict[str, tuple[tuple[float, float] | None, dict[str, Any]]] = {
    "repeated": ((2, 2), {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    "nearest, to sizes": (None, {"mode": "nearest"}),
    "nearest, aligned": (None, {"mode": "nearest", "coordinate_transformation_mode": "align_corners"}),
    "linear, by scales": ((1.5, 0.75), {"mode": "linear"}),
    "linear, to sizes": (None, {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
}


def _session(nodes: list[Any], inputs: dict[str, list[Any]], constants: dict[str, Any], threads: int) -> InferenceSession:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    known = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "images", infos, [result], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    options = SessionOptions()
    options.intra_op_num_threads = threads
    return InferenceSession(model.SerializeToString(), options)


def _check(sessions: list[InferenceSession], calls: list[tuple[dict[str, Any], Any]]) -> None:
    """The last session meets the values in reversed order."""
    results = [sessions[0].run(None, feeds)[0] for feeds, _ in calls]
    for (feeds, expected), result in zip(calls[::-1], results[::-1], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(sessions[-1].run(None, feeds)[0], result)
    assert not sessions[0].numpy_operators
    assert {session.compilation_count for session in sessions} == {1}


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.rest] * (case in REPEATED)) for case in CASES])
def test_windows_over_images_of_all_sizes(case: str) -> None:
    kind, filters, attributes = CASES[case]
    rank = len(filters or (0,) * 4) - 2
    generator = np.random.default_rng(0)
    constants = {} if filters is None else {"w": generator.standard_normal(filters).astype(np.float32)}
    node = helper.make_node(kind, ["x", *constants], ["y"], **attributes)
    counts = (1, 2) if case in BY_TWO_THREADS else (1,)
    sessions = [_session([node], {"x": ["n", CHANNELS, *"hwd"[:rank]]}, constants, threads) for threads in counts]
    calls = []
    for batch, height, width in EXTENTS:
        x = generator.standard_normal((batch, CHANNELS, *(height, width, 9)[:rank])).astype(np.float32)
        expected = operator(kind, OPSET, **attributes).reference(x, *constants.values())
        calls.append(({"x": x}, expected))
    _check(sessions, calls)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.rest] * (case in REPEATED)) for case in RESIZED])
def test_resized_images_of_all_sizes(case: str) -> None:
    """By scales, or to the sizes of another tensor."""
    scales, attributes = RESIZED[case]
    constants = {} if scales is None else {"scales": np.array([1, 1, *scales], np.float32)}
    inputs: dict[str, list[Any]] = {"x": ["n", CHANNELS, "h", "w"]} | (
        {"like": ["n", CHANNELS, "H", "W"]} if scales is None else {}
    )
    nodes = [] if constants else [helper.make_node("Shape", ["like"], ["sizes"])]
    operands = ["x", "", "scales"] if constants else ["x", "", "", "sizes"]
    nodes.append(helper.make_node("Resize", operands, ["y"], **attributes))
    counts = (1, 2) if case in BY_TWO_THREADS else (1,)
    sessions = [_session(nodes, inputs, constants, threads) for threads in counts]
    generator, calls = np.random.default_rng(1), []
    for (batch, *space), (_, *wanted) in zip(EXTENTS, ((0, 20, 9), (0, 8, 80), (0, 1, 10), (0, 60, 7)), strict=True):
        feeds = {"x": generator.standard_normal((batch, CHANNELS, *space)).astype(np.float32)}
        sizes = (batch, CHANNELS, *wanted)
        given = {"scales": constants["scales"]} if constants else {"sizes": np.array(sizes)}
        feeds |= {} if constants else {"like": np.zeros(sizes, np.float32)}
        calls.append((feeds, operator("Resize", OPSET, **attributes).reference(feeds["x"], **given)))
    _check(sessions, calls)


@pytest.mark.parametrize("mode", ["round_prefer_ceil", "round_prefer_floor"])
def test_ties_of_extents_known_at_run_time(mode: str) -> None:
    """The positions that kernels compute are those of NumPy, in float32, and so are their ties."""
    nodes = [helper.make_node("Shape", ["like"], ["sizes"])]
    nodes.append(helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], nearest_mode=mode))
    session = _session(nodes, {"x": ["n"], "like": ["N"]}, {}, 1)
    for extent, output in ((20, 6), (14, 39), (26, 7), (14, 19), (18, 21), (22, 13), (40, 12), (5, 5)):
        feeds = {"x": np.arange(extent, dtype=np.float32), "like": np.zeros(output, np.float32)}
        expected = operator("Resize", OPSET, nearest_mode=mode).reference(feeds["x"], sizes=np.array([output]))
        np.testing.assert_array_equal(session.run(None, feeds)[0], expected)
    assert session.compilation_count == 1


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int64", "bool"])
def test_padding_of_images_of_all_sizes(dtype: str) -> None:
    """Both sides, one side, and elements cut off, of every kind of element: what is read behind the image is not used."""
    pads = np.array([0, 0, 1, 2, 0, 0, 3, -2])
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", ["n", CHANNELS, "h", "w"]), ("y", None))]
    nodes = [helper.make_node("Pad", ["x", "pads"], ["y"])]
    graph = helper.make_graph(nodes, "padded", infos[:1], infos[1:], [numpy_helper.from_array(pads, "pads")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    session = InferenceSession(model.SerializeToString(), SessionOptions())
    for batch, height, width in EXTENTS:
        x = np.random.default_rng(height).integers(0, 9, (batch, CHANNELS, height, width)).astype(dtype)
        expected = np.pad(x[..., :-2], [(0, 0), (0, 0), (1, 3), (2, 0)])
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)
    assert session.compilation_count == 1


def test_infinities_beside_padding_stay_where_they_are() -> None:
    """Zeros of the padding are no products with what lies behind a row in memory."""
    filters = np.ones((1, CHANNELS, 3, 3), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], **PAD)
    session = _session([node], {"x": [1, CHANNELS, "h", "w"]}, {"w": filters}, 1)
    for size in (5, 18):
        x = np.zeros((1, CHANNELS, size, size), np.float32)
        x[:, :, 2, 0] = np.inf
        y = session.run(None, {"x": x})[0]
        assert np.isinf(y[0, 0, 1:4, :2]).all()
        assert np.isfinite(y[0, 0, :, 2:]).all()


@pytest.mark.needs("avx2", "fma")
def test_a_unet_with_group_norms_of_all_sizes_is_one_library() -> None:
    model, generator = UNet((4, 8)).model(), np.random.default_rng(0)
    reference, session = ReferenceEvaluator(model), InferenceSession(model, SessionOptions())
    for height, width in ((4, 6), (8, 4), (2, 22), (16, 16), (12, 6), (6, 6), (4, 18), (2, 2), (10, 4), (8, 14)):
        x = generator.standard_normal((1 + height // 8, 4, height, width)).astype(np.float32)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], reference.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)
    assert session.compilation_count == 1


def test_windows_larger_than_small_images_divide_the_range() -> None:
    filters = np.random.default_rng(2).standard_normal((2, CHANNELS, 5, 5)).astype(np.float32)
    session = _session([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, CHANNELS, "h", "w"]}, {"w": filters}, 1)
    for size in (9, 5, 30):
        x = np.ones((1, CHANNELS, size, size), np.float32)
        expected = operator("Conv", OPSET).reference(x, filters)
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-4, atol=1e-4)
    assert session.compilation_count == 1


def test_positions_of_maxima_are_compiled_for_every_size_and_say_once_why(caplog: pytest.LogCaptureFixture) -> None:
    node = helper.make_node("MaxPool", ["x"], ["largest", "y"], kernel_shape=[2, 2])
    session = _session([node], {"x": [1, CHANNELS, "h", "w"]}, {}, 1)
    with caplog.at_level(logging.INFO, logger="tilewright.plan"):
        for size in (6, 7, 8):
            x = np.random.default_rng(size).standard_normal((1, CHANNELS, size, size)).astype(np.float32)
            positions = session.run(["y"], {"x": x})[0]
            np.testing.assert_array_equal(
                positions, operator("MaxPool", OPSET, kernel_shape=[2, 2], output_count=2).reference(x)[1]
            )
    told = [record.message for record in caplog.records if "MaxPool" in record.message]
    assert len(told) == 1
    assert "each of their values is compiled on its own" in told[0]
    assert "MaxPool over a spatial dimension that is known at run time only" in told[0]
