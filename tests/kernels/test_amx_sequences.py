"""The instructions that AMX kernels emit, executed by a Python model of tiles, against exact sums: on every machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.support.amx_model import Fault, Tiles, built, with_calls
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.render.c.kernel_sources import rendered

KERNELS = [kernel for kernel in registry.registered() if "amx_tile" in kernel.features]
SHAPES = [
    (128, 64, 32), (1, 1, 1), (17, 65, 31), (33, 130, 16), (48, 4, 17), (16, 63, 15), (31, 200, 32), (64, 0, 20), (127, 66, 32),
]  # fmt: skip
"""Rows, steps and columns: whole tiles, and what is left of each."""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")


@pytest.fixture(scope="module", params=KERNELS, ids=lambda kernel: kernel.name)
def kernel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[MicroKernel, Callable[..., Tiles]]:
    declared: MicroKernel = request.param
    text = rendered(declared.emit("kernel", None)).content
    assert isinstance(text, str)
    return declared, built(text, "kernel", tmp_path_factory.mktemp("amx"))


def drawn(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Bytes at both ends of their range mostly; whole numbers as bfloat16, whose sums are exact in float32."""
    if np.dtype(dtype).kind not in "iu":
        return random.integers(-8, 9, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.choice([limits.min, limits.max, limits.max, *random.integers(limits.min, limits.max, 3)], shape).astype(dtype)


def packed(b: Any, interleave: int, columns: int) -> Any:
    """Groups of steps side by side, (groups, columns, interleave), with zeros behind the last step and the last column."""
    depth, width = b.shape
    padded = np.zeros((-(-depth // interleave) * interleave, columns), b.dtype)
    padded[:depth, :width] = b
    return np.ascontiguousarray(padded.reshape(-1, interleave, columns).swapaxes(1, 2))


@pytest.mark.parametrize("accumulate", [0, 1])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_exact(
    kernel: tuple[MicroKernel, Callable[..., Tiles]], shape: tuple[int, int, int], by_columns: bool, accumulate: int
) -> None:
    """The right elements, nothing read behind A and nothing written beside C; rows of C are five numbers further apart."""
    declared, run = kernel
    (rows, depth, width), random = shape, np.random.default_rng(sum(shape))
    left, right, result = (np.dtype(getattr(ml_dtypes, one, one)) for one in declared.element_types)
    a, b = drawn(random, (rows, depth), left), drawn(random, (depth, width), right)
    c = random.integers(-1000, 1000, (rows, width + 5)).astype(result)
    given = np.asfortranarray(a) if by_columns else np.ascontiguousarray(a)
    strides = (1, rows) if by_columns else (depth, 1)
    panel = packed(b, declared.interleave, declared.columns)
    wide = np.int64 if result.kind == "i" else np.float64
    sums = a.astype(wide) @ b.astype(wide) + accumulate * c[:, :width].astype(wide)
    expected = c.copy()
    expected[:, :width] = sums.astype(result)
    flat = given.reshape(-1, order="A")
    row = declared.columns * declared.interleave
    tiles = run(depth, flat, *strides, panel.reshape(-1), row, c.reshape(-1), width + 5, rows, width, accumulate)
    assert not tiles.fault
    assert not tiles.is_configured
    assert tiles.executed > 2
    np.testing.assert_array_equal(c, expected)


def test_the_model_adds_even_and_odd_steps_apart_and_flushes() -> None:
    """TDPBF16PS: temporary sums of even and of odd steps, rounded at every step; denormal numbers are zeros."""
    tiles = configured([1, 1, 2], [4, 8, 4])
    tiles.data[1, 0, :8] = np.array([1, 1, 2.0**-24, 1], ml_dtypes.bfloat16).view(np.uint8)
    tiles.data[2, :2, :4] = np.array([[1, -1], [1, 2.0**-24]], ml_dtypes.bfloat16).view(np.uint8)
    tiles.multiply("tdpbf16ps", 0, 1, 2)
    assert tiles.data[0, 0, :4].copy().view(np.float32) == [2.0**-24]
    tiles.data[1, 0, :8] = np.array([2.0**-127, 2.0**-126, 2.0**-100, 0], ml_dtypes.bfloat16).view(np.uint8)
    tiles.data[2, :2, :4] = np.array([[2.0**100, 1], [2.0**-30, 0]], ml_dtypes.bfloat16).view(np.uint8)
    tiles.data[0, 0, :4] = np.array([2.0**-128], np.float32).view(np.uint8)
    tiles.multiply("tdpbf16ps", 0, 1, 2)
    assert tiles.data[0, 0, :4].copy().view(np.float32) == [2.0**-126]


def test_kernels_of_both_signs_are_declared() -> None:
    assert {("uint8", "int8", "int32"), ("int8", "uint8", "int32")} <= {kernel.element_types for kernel in KERNELS}


def configured(rows: list[int], sizes: list[int]) -> Tiles:
    """A model after LDTILECFG."""
    memory = bytes([1, 0, *[0] * 14]) + np.array(sizes + [0] * (16 - len(sizes)), np.uint16).tobytes()
    tiles = Tiles()
    tiles.configure(memory + bytes(rows + [0] * (16 - len(rows))))
    return tiles


def test_the_model_multiplies_as_the_manual_says() -> None:
    """TDPBUSD: bytes 4k to 4k + 3 of a row of the first with those of column n in row k of the second; sums wrap."""
    tiles = configured([2, 2, 1], [8, 4, 8])
    tiles.data[1, :2, :4] = [[255, 1, 2, 3], [0, 0, 0, 1]]
    tiles.data[2, 0, :8] = np.array([-128, 1, 2, 3, 127, 0, 0, -1], np.int8).view(np.uint8)
    tiles.data[0, 0, :4] = np.array([-(2**31)], np.int32).view(np.uint8)
    tiles.multiply("tdpbusd", 0, 1, 2)
    found = tiles.data[0, :2, :8].copy().view(np.int32)
    first = -(2**31) + 255 * -128 + 1 + 4 + 9
    assert found.tolist() == [[first + 2**32, 255 * 127 - 3], [3, -1]]


@pytest.mark.parametrize(
    ("rows", "sizes", "message"),
    [([17], [64], "17 rows"), ([16], [65], "65 bytes"), ([0], [4], "0 rows of 4 bytes"), ([1] * 9, [4] * 9, "reserved")],
)
def test_wrong_configurations_fault(rows: list[int], sizes: list[int], message: str) -> None:
    with pytest.raises(Fault, match=message):
        configured(rows, sizes)


def test_wrong_instructions_fault() -> None:
    with pytest.raises(Fault, match="not configured"):
        Tiles().zero(0)
    tiles = configured([2, 2, 2], [8, 4, 8])
    with pytest.raises(Fault, match="tdpbusd of tiles"):
        tiles.multiply("tdpbusd", 0, 1, 2)
    array = np.zeros(16, np.uint8)
    tiles.arrays.append(array)
    with pytest.raises(Fault, match="of an array of 16"):
        tiles.load(0, array.ctypes.data + 12, 8)


def test_unknown_instructions_are_told() -> None:
    with pytest.raises(AssertionError, match="does not know"):
        with_calls('void f(void) { __asm__ volatile("tdpfp16ps %%tmm1, %%tmm2, %%tmm0" : :); }')
