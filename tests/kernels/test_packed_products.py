"""Products with packed weights, natively, by every dialect and compiler: against float64, between guard pages."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, EXPORT, build, command
from tilewright.kernels import KernelSource, SourceKind, VectorDialect
from tilewright.kernels.dialects.avx2 import DIALECT as AVX2
from tilewright.kernels.dialects.avx512 import DIALECT as AVX512
from tilewright.kernels.dialects.portable import DIALECT as PORTABLE
from tilewright.kernels.helpers import texts
from tilewright.kernels.packed_products import PackedProduct, packed_product

Array = np.ndarray[Any, Any]
DIALECTS = [
    pytest.param(PORTABLE, id="portable"),
    pytest.param(AVX2, id="avx2", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param(replace(AVX2, features=AVX2.features | {"avx_vnni"}), id="avx-vnni", marks=pytest.mark.needs("avx_vnni")),
    pytest.param(AVX512, id="avx512", marks=pytest.mark.needs(*sorted(AVX512.features))),
    pytest.param(replace(AVX512, features=AVX512.features | {"avx512bw"}), id="avx512bw", marks=pytest.mark.needs("avx512bw")),
    pytest.param(
        replace(AVX512, features=AVX512.features | {"avx512bw", "avx512vnni"}),
        id="avx512-vnni",
        marks=pytest.mark.needs("avx512bw", "avx512vnni"),
    ),
]
PANEL = 32
KINDS = [
    PackedProduct(
        per_byte=per_byte, row_type=rows, scale_type=scales, zero_type=zeros, groups=size // 4 // per_byte, panel=PANEL,
        columns=columns, rows=count,
    )
    for per_byte, rows, scales, zeros, size, columns, count in (
        (1, "float32", "float32", "", 16, 32, 1), (1, "float32", "float16", "uint8", 64, 16, 4),
        (2, "float32", "float32", "uint8", 32, 32, 2), (2, "float32", "float32", "", 64, 32, 4),
        (1, "int8", "float32", "uint8", 32, 32, 2), (1, "int8", "float32", "", 256, 32, 4),
        (2, "int8", "float32", "", 16, 32, 1), (2, "int8", "float16", "float32", 64, 16, 4),
    )
]  # fmt: skip
BLOCKS = 3


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_products_of_everything(dialect: VectorDialect, compiler: str, kind: PackedProduct) -> None:
    if command(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    path = library(dialect, compiler, kind)
    for what in ("random", "largest", "smallest"):
        in_child(check, path, kind, what)


@pytest.mark.parametrize("dialect", [AVX512, replace(AVX512, features=AVX512.features | {"avx512bw", "avx512vnni"})])
def test_dialects_that_no_machine_here_need_have_compile(dialect: VectorDialect) -> None:
    if command("gcc") is None:
        pytest.skip("gcc is missing")
    for kind in KINDS:
        assert library(dialect, "gcc", kind).exists()


def test_sixteen_bits_hold_the_sums_that_are_taken_together() -> None:
    """The bound in the module's words: eight sums of two products of 15 by -128."""
    assert np.iinfo(np.int16).max >= 8 * 2 * 15 * 128


@cache
def library(dialect: VectorDialect, compiler: str, kind: PackedProduct) -> Any:
    arguments = ", ".join(f"void *a{number}" if number in POINTERS else f"long a{number}" for number in range(COUNT))
    call = f"{EXPORT} void call({arguments}) {{ {kind.name}({', '.join(f'a{number}' for number in range(COUNT))}); }}"
    text = f"{dialect.prelude}\n{''.join(texts([packed_product(kind, dialect.lanes)]))}\n{call}\n"
    return build([KernelSource(SourceKind.C, text)], dialect.features, compiler)


COUNT = 12
POINTERS = (0, 1, 2, 3, 6, 8, 11)
GAP = 8
"""Elements between blocks of a row."""


def check(path: Any, kind: PackedProduct, what: str) -> None:
    """Operands that touch a page that may not be touched: behind them, and before them."""
    for at_end in (True, False):
        random = np.random.default_rng(7)
        numbers, rows = operands(random, kind, what)
        scales = guarded(random.uniform(-2, 2, (BLOCKS, PANEL)).astype(kind.scale_type), at_end)
        zeros = random.integers(0, 1 << (8 // kind.per_byte), (BLOCKS, PANEL)).astype(kind.zero_type or "float32")
        row_scales = guarded(random.uniform(0.5, 2, (kind.rows, BLOCKS)).astype("f4"), at_end)
        points = kind.groups * 4
        sums = rows.astype("i8" if kind.row_type == "int8" else "f8").reshape(kind.rows, BLOCKS, -1).sum(axis=-1)
        shares = guarded((sums / points).astype("f4"), at_end)
        out = guarded(np.ones((kind.rows, kind.columns), "f4"), at_end)
        held = [guarded(words(numbers, kind), at_end), scales, guarded(zeros, at_end), guarded(apart(rows), at_end)]
        function = ctypes.CDLL(str(path)).call
        function.argtypes = [ctypes.c_void_p if number in POINTERS else ctypes.c_long for number in range(COUNT)]
        given = [one.ctypes.data for one in held]
        strides = BLOCKS * (kind.block_size + GAP), kind.block_size + GAP
        function(*given, *strides, row_scales.ctypes.data, BLOCKS, shares.ctypes.data, BLOCKS, BLOCKS, out.ctypes.data)
        zero = zeros if kind.zero_type else np.full_like(zeros, kind.middle)
        compare(kind, numbers, rows, scales, zero, row_scales, out)


def apart(rows: Array) -> Array:
    """Rows, flat, with other elements between their blocks, and none behind the last one."""
    blocks = rows.reshape(rows.shape[0], BLOCKS, -1)
    return np.pad(blocks, ((0, 0), (0, 0), (0, GAP)), constant_values=99).reshape(-1)[:-GAP]


def compare(kind: PackedProduct, numbers: Array, rows: Array, scales: Array, zeros: Array, row_scales: Array, out: Array) -> None:
    """Within roundings of the sums of sizes; integer parts are exact."""
    weights = (numbers.astype("f8") - zeros[:, None]) * scales.astype("f8")[:, None]
    blocks = rows.astype("f8").reshape(kind.rows, BLOCKS, kind.block_size)
    blocks = blocks * row_scales.astype("f8")[:, :, None] if kind.row_type == "int8" else blocks
    expected = 1 + np.einsum("mbs,bsn->mn", blocks, weights)
    sizes = np.einsum("mbs,bsn->mn", np.abs(blocks), np.abs(weights)) + 1
    steps = 3 if kind.row_type == "int8" else kind.block_size / 2 + 3
    assert (np.abs(out - expected[:, : kind.columns]) <= steps * 2.0**-23 * sizes[:, : kind.columns]).all()


def operands(random: np.random.Generator, kind: PackedProduct, what: str) -> tuple[Array, Array]:
    """Numbers (blocks, steps, columns) and rows; of integers their extremes, too."""
    most, shape = (1 << (8 // kind.per_byte)) - 1, (kind.rows, BLOCKS * kind.block_size)
    numbers = random.integers(0, most + 1, (BLOCKS, kind.block_size, PANEL), np.uint8)
    rows = random.integers(-128, 128, shape).astype(kind.row_type)
    if kind.row_type == "float32":
        rows = (rows * random.choice([1e-30, 1.0, 1e20], (1, 1))).astype("f4")
    if what != "random":
        numbers[...], rows[...] = most, 127 if what == "largest" else -128
    return numbers, rows


def words(numbers: Array, kind: PackedProduct) -> Array:
    """[blocks][groups][columns][4] of numbers (blocks, steps, columns)."""
    parts = numbers.reshape(BLOCKS, kind.groups, kind.per_byte, 4, PANEL)
    packed = parts[:, :, 0] if kind.per_byte == 1 else parts[:, :, 0] | parts[:, :, 1] << 4
    return np.ascontiguousarray(packed.swapaxes(2, 3))


def guarded(array: Array, at_end: bool) -> Array:
    """A copy that ends, or begins, at a page that may not be touched."""
    place = GuardedMemory(array.nbytes + 64).place(array.size, at_end=at_end, dtype=array.dtype)
    place[...] = array.reshape(-1)
    return np.asarray(place.reshape(array.shape))
