"""Kernels whose left operand is known: the sums of the kernel that reads it, at every edge, and nothing outside is touched."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, argument_types, build, caller, command
from tests.support.kernel_build import load as load_reading
from tilewright.block.statements import Matrix
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, registered
from tilewright.kernels.tile_sources import Programs
from tilewright.plan.algorithms.winograd.toom_cook import toom_cook
from tilewright.tile.printer import printed

Call = Callable[..., None]
MATRICES: tuple[Matrix, ...] = (
    *(
        tuple(tuple(map(float, row)) for row in matrix)
        for outputs in (2, 4)
        for matrix in (toom_cook(outputs, 3).input, toom_cook(outputs, 3).output)
    ),
    ((0.0, 0.0, 0.0), (0.0, -3.5, 1.0), (-1.0, 0.1, 0.0)),
    ((2.0,),),
)
"""Of Winograd's transforms; with a row of zeros, and with an entry that float32 rounds; a single entry."""
KERNELS = list({(kernel.features, kernel.columns): kernel for kernel in registered() if kernel.emit_known}.values())
CASES = [
    pytest.param(kernel, compiler, marks=[pytest.mark.needs(*sorted(kernel.features))], id=f"{kernel.name}-{compiler}")
    for kernel, compiler in [*product(KERNELS, COMPILERS[:1]), (KERNELS[-1], COMPILERS[1])]
]


def tiles(kernel: MicroKernel) -> list[tuple[int, int]]:
    """Those of the reading kernel that are called, and no other: compiling takes longer than the calls."""
    vectors = range(1, kernel.columns // kernel.lanes + 1)
    return [(rows, count) for rows in sorted({*map(len, MATRICES)}) if rows <= kernel.rows for count in vectors]


def load(kernel: MicroKernel, compiler: str, matrix: Matrix) -> Call:
    """The kernel for this matrix, and for every number of vectors."""
    assert kernel.emit_known is not None
    if command(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    variants = frozenset((len(matrix), vectors + 1) for vectors in range(kernel.columns // kernel.lanes))
    source = kernel.emit_known("kernel_under_test", variants, None, matrix)
    library = build([source, KernelSource(SourceKind.C, caller(kernel))], kernel.features, compiler)
    function = ctypes.CDLL(str(library)).call
    function.argtypes = argument_types(kernel)
    function.restype = None
    return function


def check(reading: Call, known: Call, kernel: MicroKernel, matrix: Matrix) -> None:
    """Bit for bit but for the sign of zeros, with B and C at both ends of memory between guard pages, and without an A."""
    random = np.random.default_rng(0)
    memories = [GuardedMemory(4 * 8 * (kernel.columns + 8)) for _ in range(2)]
    a = np.array(matrix, np.float32)
    m, k = a.shape
    for n, accumulate, at_end in product(range(1, kernel.columns + 1), (0, 1), (False, True)):
        pitch = n + 3
        b, c = (memory.place((rows - 1) * pitch + n, at_end=at_end) for memory, rows in zip(memories, (k, m), strict=True))
        for place in (b, c):
            place[:] = random.standard_normal(place.size, np.float32)
        expected = c.copy()
        reading(k, a.ctypes.data, k, 1, b.ctypes.data, pitch, expected.ctypes.data, pitch, m, n, accumulate)
        known(k, 0, 0, 0, b.ctypes.data, pitch, c.ctypes.data, pitch, m, n, accumulate)
        np.testing.assert_array_equal(c, expected, f"m={m} n={n} k={k} accumulate={accumulate}")


@pytest.mark.parametrize(("kernel", "compiler"), CASES)
def test_a_known_left_operand_gives_the_sums_of_the_kernel_that_reads_it(kernel: MicroKernel, compiler: str) -> None:
    reading = load_reading(kernel, compiler, (), tiles)
    for matrix in MATRICES:
        if len(matrix) <= kernel.rows:
            in_child(check, reading, load(kernel, compiler, matrix), kernel, matrix)


def test_zeros_are_left_out_and_ones_are_no_products() -> None:
    kernel = next(kernel for kernel in registered() if kernel.name == "matmul_avx2_f32_6x16")
    assert kernel.emit_known is not None
    source = kernel.emit_known("product", frozenset({(1, 1)}), None, ((0.0, 1.0, -1.0, 0.25),))
    assert isinstance(source.content, Programs)
    whole, _ = source.content.programs()
    assert [line.strip() for line in printed(whole).splitlines() if "v" in line.partition("=")[2]][:5] == [
        "s0 = v1",
        "v3 = subtract s0, v2: float32x8",
        "s0 = v3",
        "v5 = multiply-add 0.25, v4, s0: float32x8",
        "s0 = v5",
    ]
