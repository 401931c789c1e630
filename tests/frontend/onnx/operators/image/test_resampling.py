"""Resize and GridSample against onnxruntime and torch: every mode, and where a NaN or an infinity goes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper

import tilewright.onnx
from tilewright.frontend.onnx.operators.image.interpolation import Mode, Resampling, nearest_positions
from tilewright.frontend.onnx.operators.image.regions import GridSample
from tilewright.frontend.onnx.operators.image.resize import Resize

onnxruntime.set_default_logger_severity(4)
RNG = np.random.default_rng(3)


def model(operator: str, x: Any, others: Sequence[Any], opset: int = 20, **attributes: Any) -> bytes:
    """One node whose first operand is an input and whose others are constants (None: left out)."""
    names = ["" if one is None else f"constant_{number}" for number, one in enumerate(others)]
    node = helper.make_node(operator, ["x", *names], ["y"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = [onnx.numpy_helper.from_array(one, name) for one, name in zip(others, names, strict=True) if one is not None]
    inputs, outputs = [helper.make_tensor_value_info("x", kind, x.shape)], [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph([node], "graph", inputs, outputs, given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString()


def both(operator: str, x: Any, *others: Any, **attributes: Any) -> tuple[Any, Any]:
    """What Tilewright and onnxruntime make of it."""
    found = model(operator, x, others, **attributes)
    sessions = tilewright.onnx.InferenceSession(found), onnxruntime.InferenceSession(found)
    ours, theirs = (session.run(None, {"x": x})[0] for session in sessions)
    return ours, theirs


def same(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    """Equal, NaN and infinities too."""
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def spoilt(*shape: int, places: Sequence[tuple[int, ...]]) -> Any:
    """Normal numbers, and a NaN, an infinity, ... at these places of the last dimensions."""
    x = RNG.standard_normal(shape).astype(np.float32)
    for place, value in zip(places, (np.nan, np.inf, -np.inf), strict=False):
        x[(..., *place)] = value
    return x


GRIDS = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
PADDINGS = ("zeros", "border", "reflection")
AGREED = [one for one in product(GRIDS, PADDINGS) if one != ("linear", "reflection")]
"""Whether a mirrored tap of weight 0 counts, onnxruntime and torch do not agree."""


@pytest.mark.parametrize(
    ("mode", "rank", "padding_mode", "align_corners"),
    [
        (*mode, padding_mode, (number + other) % 2)
        for number, mode in enumerate([("nearest", 2), ("linear", 2), ("cubic", 2), ("linear", 3), ("nearest", 3)])
        for other, padding_mode in enumerate(PADDINGS)
    ],
)
def test_grids_reach_outside_in_every_mode(mode: str, rank: int, padding_mode: str, align_corners: int) -> None:
    for shape in ((2, 3, 4, 7, 5), (1, 2, 1, 3, 2), (1, 1, 2, 1, 1)):
        x = RNG.standard_normal((*shape[:2], *shape[-rank:])).astype(np.float32)
        for reach in (0.99, 1.4, 6.0):
            grid = RNG.uniform(-reach, reach, (x.shape[0], *(4,) * (rank - 1), 6, rank)).astype(np.float32)
            options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
            ours, theirs = both("GridSample", x, grid, **options)
            same(ours, theirs)
            operands = torch.tensor(x), torch.tensor(grid)
            same(ours, torch.nn.functional.grid_sample(*operands, GRIDS[mode], padding_mode, bool(align_corners)).numpy())


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize(("mode", "padding_mode"), AGREED)
def test_taps_of_weight_0_count_in_grids(mode: str, padding_mode: str, align_corners: int) -> None:
    x = spoilt(1, 1, 5, 6, places=[(2, 3), (0, 0), (3, 1)])
    rows, columns = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 6), indexing="ij")
    grid = np.stack([columns, rows], axis=-1)[None].astype(np.float32)
    ours = GridSample(mode=mode, padding_mode=padding_mode, align_corners=align_corners).reference(x, grid)
    operands = torch.tensor(x), torch.tensor(grid)
    same(ours, torch.nn.functional.grid_sample(*operands, GRIDS[mode], padding_mode, bool(align_corners)).numpy())


RESIZES = {
    "linear": {"mode": "linear"},
    "linear, asymmetric": {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
    "linear, symmetric": {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
    "linear, antialias": {"mode": "linear", "antialias": 1},
    "cubic": {"mode": "cubic"},
    "cubic, asymmetric": {"mode": "cubic", "coordinate_transformation_mode": "asymmetric"},
    "cubic, outside left out": {"mode": "cubic", "exclude_outside": 1},
    "cubic, antialias": {"mode": "cubic", "antialias": 1},
}


@pytest.mark.parametrize("scales", [(2.0, 2.0), (0.5, 0.5), (1.7, 0.6), (0.25, 3.0)])
@pytest.mark.parametrize("name", RESIZES)
def test_resized_elements_are_made_of_their_taps_alone(name: str, scales: tuple[float, float]) -> None:
    x = spoilt(1, 2, 8, 8, places=[(3, 4)])
    ours, theirs = both("Resize", x, None, np.array([1, 1, *scales], np.float32), **RESIZES[name])
    same(ours, theirs)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resized_infinities_stay_where_they_are(mode: str) -> None:
    x = spoilt(1, 1, 12, 20, places=[(2, 3), (7, 12), (9, 18)])
    same(*both("Resize", x, None, np.array([1, 1, 2.5, 1.5], np.float32), mode=mode))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_resized_integers_are_interpolated_before_they_are_cut_off(dtype: type) -> None:
    x = (16 * RNG.integers(-4 if dtype != np.uint8 else 0, 5, (1, 2, 5, 7))).astype(dtype)
    ours, theirs = both("Resize", x, None, np.array([1, 1, 2, 2], np.float32), mode="linear")
    np.testing.assert_array_equal(ours, theirs)


TRANSFORMATIONS = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_half_pixel_for_nn",
)  # fmt: skip
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
RESIZED_TO = [
    (extent, output) for extent in (3, 7, 10, 14, 15, 20, 25, 28, 30, 39, 40) for output in range(1, 41, 1 + extent % 2)
]
"""Among them ties and whole positions that float32 does not hit."""


def resize_of_any_sizes(**attributes: Any) -> onnxruntime.InferenceSession:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", ["n"]), ("y", None)))
    sizes = helper.make_tensor_value_info("sizes", onnx.TensorProto.INT64, [1])
    graph = helper.make_graph([node], "resized", [x, sizes], [y])
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    return onnxruntime.InferenceSession(found.SerializeToString())


@pytest.mark.parametrize(("transformation", "mode"), list(product(TRANSFORMATIONS, NEAREST)))
def test_ties_and_whole_positions_are_onnxruntimes(transformation: str, mode: str) -> None:
    session = resize_of_any_sizes(coordinate_transformation_mode=transformation, nearest_mode=mode)
    for extent, output in RESIZED_TO:
        found = nearest_positions(
            Resampling(extent, output, output / extent),
            Mode(mode="nearest", coordinate_transformation_mode=transformation, nearest_mode=mode),
        )
        feeds = {"x": np.arange(extent, dtype=np.float32), "sizes": np.array([output])}
        np.testing.assert_array_equal(found, session.run(None, feeds)[0], err_msg=f"{extent} to {output}")


@pytest.mark.parametrize(
    ("extent", "output", "transformation", "mode", "expected"),
    [
        (20, 6, "half_pixel", "round_prefer_ceil", [1, 5, 8, 11, 15, 18]),  # 14.5 is 14.499999 in float32
        (7, 4, "asymmetric", "round_prefer_ceil", [0, 2, 4, 5]),
        (10, 6, "half_pixel", "floor", [0, 2, 3, 5, 6, 8]),  # 7 is 6.9999995, in onnxruntime, too
        (4, 4, "tf_half_pixel_for_nn", "ceil", [0, 1, 2, 3]),  # as compiled: an axis that is not resized is not looked into
    ],
)
def test_nearest_elements_of_ties(extent: int, output: int, transformation: str, mode: str, expected: list[int]) -> None:
    x = np.arange(extent, dtype=np.float32)
    options = {"coordinate_transformation_mode": transformation, "nearest_mode": mode}
    ours, theirs = both("Resize", x, None, None, np.array([output]), **options)
    reference = Resize(**options).reference(x, sizes=np.array([output]))
    assert ours.tolist() == theirs.tolist() == reference.tolist() == expected


@pytest.mark.parametrize(("extent", "scale", "expected"), [(4, 0.6, [0, 2]), (7, 0.3, [0, 4]), (3, 2.0, [0, 0, 1, 1, 2, 2])])
def test_resize_10_takes_the_elements_after_positions_where_the_axis_shrinks(
    extent: int, scale: float, expected: list[int]
) -> None:
    """ONNX's node test of that version: 0.6 of 1, 2, 3, 4 is 1, 3."""
    x = np.arange(extent, dtype=np.float32)
    ours, theirs = both("Resize", x, np.array([scale], np.float32), opset=10)
    assert ours.tolist() == theirs.tolist() == expected


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_integers_are_cut_off_where_onnxruntimes_are(dtype: type, transformation: str) -> None:
    """Between whole numbers, a rounding decides: 3.9999998 is 3."""
    for shape, sizes in (
        ((1, 1, 7, 5), (1, 1, 12, 9)),
        ((5, 12), (13, 4)),
        ((1, 2, 3, 8), (1, 2, 9, 8)),
        ((2, 4, 5), (3, 9, 11)),
    ):
        x = RNG.integers(0, 120, shape).astype(dtype)
        options = {"mode": "linear", "coordinate_transformation_mode": transformation}
        ours, theirs = both("Resize", x, None, None, np.array(sizes), **options)
        np.testing.assert_array_equal(ours, theirs)
