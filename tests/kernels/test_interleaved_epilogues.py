"""Tiles of short elements that end with an epilogue: sums corrected, scaled, rounded and stored as any type, exactly."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.test_epilogues import cases, shapes
from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, EXPORT, build
from tests.support.proved_operands import within_proof
from tilewright.dtypes import dtype_named
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, registered
from tilewright.kernels.contract import Along, Epilogue, matrix_abi
from tilewright.leaves.matrix_tiles.epilogues import EpilogueBody

Array = np.ndarray[Any, Any]
ONE, COLUMN, ROW, EVERY = (Along(rows, columns) for rows, columns in ((False, False), (False, True), (True, False), (True, True)))


def whole(along: Along, element_type: str) -> Along:
    return Along(along.rows, along.columns, element_type, is_whole=True)


WHOLE_OPERANDS = (whole(ONE, "uint8"), whole(COLUMN, "int32"), whole(ROW, "int16"), whole(EVERY, "int8"))
CORRECTED = apply("subtract", Load(0), apply("multiply", Load(1), Load(2)))
CORRECTED = apply("subtract", apply("add", CORRECTED, Load(3)), Load(4))
FLOAT_OPERANDS = (COLUMN, Along(False, False, "uint8"))
SCALED = apply("multiply", Load(0), apply("multiply", Load(5), Load(6)))
BIAS = apply("maximum", apply("add", Load(0), Load(1)), Literal(0.0))
DEPTHS = (0, 1, 3, 64, 67)
Call = Callable[..., None]


def quantised(stored: str) -> Scalar:
    """The nearest number of steps within the limits of a type."""
    limits = np.iinfo(stored)
    steps = apply("add", apply("round", apply("multiply", Load(0), Load(5))), Load(6))
    return apply("minimum", apply("maximum", steps, Literal(float(limits.min))), Literal(float(limits.max)))


def ending_of(stored: str, *, non_temporal: bool = False) -> Epilogue:
    """Whole numbers alone, or in front of floats that are stored as elements of a type."""
    operands = (*WHOLE_OPERANDS, *(FLOAT_OPERANDS if stored else ()))
    body = Load(0) if not stored else SCALED if stored == "float32" else quantised(stored)
    values = EpilogueBody(body, tuple(one.element_type for one in operands), CORRECTED, stored)
    return Epilogue("ending", operands, non_temporal, stored, values)


def expected(stored: str, sums: Array, operands: list[Array]) -> Array:
    """What the epilogue says, in NumPy."""
    one, column, row, every, *rest = operands
    with np.errstate(over="ignore"):
        corrected = (sums - one.astype(np.int64) * column + row - every).astype(np.int32)
    if not stored:
        return corrected
    scale, zero = rest
    if stored == "float32":
        return np.asarray(corrected.astype(np.float32) * (scale * zero.astype(np.float32)))
    limits = np.iinfo(stored)
    steps = np.rint(corrected.astype(np.float32) * scale) + zero.astype(np.float32)
    return np.clip(steps, limits.min, limits.max).astype(stored)


def load(kernel: MicroKernel, compiler: str, ending: Epilogue) -> Call:
    """The kernel with the epilogue, compiled for the shapes of the test; pointers are given as addresses."""
    variants = frozenset((m, -(-n // kernel.lanes)) for m, n in sizes(kernel))
    source = kernel.source("under_test", variants, ending)
    signature = matrix_abi("call", ending, element_types=kernel.element_types)
    parameters = [part.split()[-1].lstrip("*") for part in signature[signature.index("(") + 1 : -1].split(",")]
    head = f"{kernel.declaration('under_test', ending)}\n{EXPORT} {signature} {{ under_test({', '.join(parameters)}); }}\n"
    library = build([source, KernelSource(SourceKind.C, head)], kernel.features, compiler)
    function = ctypes.CDLL(str(library)).call
    pointers = {"a", "b", "c", *(f"e{i}" for i in range(len(ending.operands)))}
    function.argtypes = [ctypes.c_void_p if name in pointers else ctypes.c_long for name in parameters]
    function.restype = None
    return function


def sizes(kernel: MicroKernel) -> list[tuple[int, int]]:
    """Of tiles of many rows, some around their blocks."""
    if kernel.rows <= 32:
        return shapes(kernel)
    return [(m, n) for n in (1, 15, 16, 17, 32) for m in (1, 15, 17, 31, 32, 33, 48, 79, kernel.rows)]


def grouped(b: Array, steps: int) -> Array:
    """B with neighbouring steps side by side."""
    k, n = b.shape
    filled = np.zeros((-(-max(k, 1) // steps) * steps, n), b.dtype)
    filled[:k] = b
    return filled.reshape(-1, steps, n).transpose(0, 2, 1).copy()


def extent(along: Along, m: int, n: int) -> tuple[int, int]:
    return m if along.rows else 1, n if along.columns else 1


def drawn(random: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Integers of the whole range of their type, the extremes often; floats that scale sums into the range of bytes."""
    if dtype.kind == "f" or dtype.kind == "V":
        return np.asarray(random.random(shape, np.float32) * 1e-3).astype(dtype)
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = random.integers(0, 3, shape)
    return np.where(ends == 0, np.asarray(limits.min, dtype), np.where(ends == 1, np.asarray(limits.max, dtype), values))


def check(call: Call, kernel: MicroKernel, ending: Epilogue, strided: bool) -> None:
    """At both ends of memory between guard pages; nothing between the rows of C is written."""
    random = np.random.default_rng(0)
    left, right, result = (dtype_named(name) for name in kernel.element_types)
    stored = dtype_named(ending.element_type) if ending.element_type else result
    memories = [GuardedMemory(8 * 80 * max(kernel.rows_for(1), kernel.columns)) for _ in range(3 + len(ending.operands))]
    for turn, ((m, n), k) in enumerate(product(sizes(kernel), DEPTHS)):
        at_end, accumulate = bool(turn % 2), turn // 2 % 2 * (not ending.element_type)
        pitch = n + turn % 3
        a, b = within_proof(kernel, drawn(random, left, (m, k)), drawn(random, right, (k, n)))
        held = np.ascontiguousarray(a.T) if strided else a
        panel = grouped(b, kernel.interleave)
        before = drawn(random, stored, (m, n))
        types = [dtype_named(one.element_type) for one in ending.operands]
        operands = [drawn(random, dtype, extent(one, m, n)) for one, dtype in zip(ending.operands, types, strict=True)]
        places = [
            memory.place(value.size, at_end=at_end, dtype=value.dtype)
            for memory, value in zip(memories, (held, panel, *operands), strict=False)
        ]
        for place, value in zip(places, (held, panel, *operands), strict=True):
            place[:] = value.reshape(-1)
        c = memories[-1].place((m - 1) * pitch + n, at_end=at_end, dtype=stored)
        c[:] = 77
        rows = [c[i * pitch : i * pitch + n] for i in range(m)]
        for row, value in zip(rows, before, strict=True):
            row[:] = value
        addresses = [place.ctypes.data for place in places]
        more: list[int] = []
        for one, address in zip(ending.operands, addresses[2:], strict=True):
            more += [address, extent(one, m, n)[1]] if one.rows else [address]
        steps = (1, m) if strided else (k, 1)
        call(k, addresses[0], *steps, addresses[1], n * kernel.interleave, c.ctypes.data, pitch, m, n, accumulate, *more)
        where = f"m={m} n={n} k={k} pitch={pitch} accumulate={accumulate}"
        check_target(ending, np.array(rows), a, b, before * accumulate, operands, where)
        between = [c[i * pitch + n : (i + 1) * pitch] for i in range(m - 1)]
        assert all((gap == 77).all() for gap in between), where


def check_target(ending: Epilogue, got: Array, a: Array, b: Array, before: Array, operands: list[Array], where: str) -> None:
    """Bit for bit where sums are whole numbers."""
    if a.dtype.kind in "iu":
        sums = (a.astype(np.int64) @ b.astype(np.int64) + before.astype(np.int64)).astype(np.int32)
        np.testing.assert_array_equal(got, expected(ending.element_type, sums, operands), where)
        return
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + before + operands[0], 0)
    np.testing.assert_allclose(got, exact, 1e-5, 1e-6, err_msg=where)


INTEGER = [one for one in registered() if one.emit_with and not one.prefetch and one.element_types[2] == "int32"]
ONE_TILE = list({kernel.features: kernel for kernel in INTEGER}.values())
"""Of every set of instructions."""
FLOAT = [kernel for kernel in registered() if kernel.emit_with and kernel.interleave > 1 and kernel.element_types[2] == "float32"]


@pytest.mark.parametrize(("kernel", "compiler"), [*cases(INTEGER, COMPILERS[:1]), *cases(ONE_TILE, COMPILERS[1:])])
def test_corrected_sums_are_exact_in_every_shape(kernel: MicroKernel, compiler: str) -> None:
    in_child(check, load(kernel, compiler, ending_of("")), kernel, ending_of(""), False)


@pytest.mark.parametrize(
    ("kernel", "compiler"), [*cases(INTEGER, COMPILERS[:1]), *cases(ONE_TILE, COMPILERS[1:], pytest.mark.sweep)]
)
def test_scaled_sums_are_stored_as_bytes(kernel: MicroKernel, compiler: str) -> None:
    """By Clang in the sweep: it makes one tile of every set of instructions where sums are corrected."""
    in_child(check, load(kernel, compiler, ending_of("uint8")), kernel, ending_of("uint8"), False)


@pytest.mark.parametrize(("kernel", "compiler"), cases(ONE_TILE))
def test_scaled_sums_are_stored_as_floats(kernel: MicroKernel, compiler: str) -> None:
    in_child(check, load(kernel, compiler, ending_of("float32")), kernel, ending_of("float32"), False)


@pytest.mark.parametrize("stored", ["int8", "int16", "uint16"])
@pytest.mark.parametrize(("kernel", "compiler"), cases(ONE_TILE, COMPILERS[:1]))
def test_rows_that_are_not_contiguous_and_other_types(kernel: MicroKernel, compiler: str, stored: str) -> None:
    """By one compiler, as the next: both have the same C in the tests above."""
    ending = ending_of(stored)
    in_child(check, load(kernel, compiler, ending), kernel, ending, True)


@pytest.mark.parametrize("stored", ["", "float32"])
@pytest.mark.parametrize(("kernel", "compiler"), cases(ONE_TILE, COMPILERS[:1]))
def test_streamed_stores_change_nothing(kernel: MicroKernel, compiler: str, stored: str) -> None:
    ending = ending_of(stored, non_temporal=True)
    in_child(check, load(kernel, compiler, ending), kernel, ending, False)


@pytest.mark.parametrize(("kernel", "compiler"), cases(FLOAT))
def test_sums_of_short_floats_have_epilogues(kernel: MicroKernel, compiler: str) -> None:
    ending = Epilogue("ending", (COLUMN,), values=EpilogueBody(BIAS, ("float32",)))
    in_child(check, load(kernel, compiler, ending), kernel, ending, False)
