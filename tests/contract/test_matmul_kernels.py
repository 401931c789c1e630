"""Every registered matrix kernel keeps the contract of `kernels/contract.py`.

A kernel from outside the package can be checked too: `pytest tests/contract -p my_kernels`, where `my_kernels` registers it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from tests.support.guarded import Floats, GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, command, kernel_library, load, shapes
from tilewright.kernels import MicroKernel, registered

DEPTHS = (0, 1, 2, 3, 5, 7, 8, 64, 67)
EPSILON = float(np.finfo(np.float32).eps)
ALSO_WITH_CLANG = ("6x64", "14x32", "6x16", "6x8")
"""Tiles checked with Clang as well: compiling all shapes of all tiles twice takes longer than all checks."""

PREFETCHING = "6x64_prefetch_left_target", "8x48_prefetch_right"
"""The same for kernels that prefetch: each kind of prefetch once, with one compiler."""

Call = Callable[..., None]


def _cases() -> Iterator[pytest.ParameterSet]:
    for kernel, compiler in product(registered(), COMPILERS):
        if kernel.prefetch and not (compiler == "gcc" and kernel.name.endswith(PREFETCHING)):
            continue
        if compiler == "gcc" or kernel.name.endswith(ALSO_WITH_CLANG):
            missing = pytest.mark.skipif(command(compiler) is None, reason=f"{compiler} is missing")
            marks = [missing, pytest.mark.needs(*sorted(kernel.features))]
            yield pytest.param(kernel, compiler, marks=marks, id=f"{kernel.name}-{compiler}")


every_kernel = pytest.mark.parametrize(("kernel", "compiler"), list(_cases()))


def widths(kernel: MicroKernel) -> list[int]:
    """Columns around the boundaries of vectors."""
    near = {step * kernel.lanes + delta for step in range(kernel.columns // kernel.lanes + 1) for delta in (-1, 0, 1)}
    return sorted(n for n in near | {1, 2, 3} if 1 <= n <= kernel.columns)


def sizes(kernel: MicroKernel) -> list[tuple[int, int]]:
    """(m, n) of tiles up to rows x columns, and of some that have more rows in place of columns."""
    return [(m, n) for n in widths(kernel) for m, v in shapes(kernel) if v == -(-n // kernel.lanes)]


class Operand:
    """rows x columns floats somewhere in memory: NaN wherever no element is, guard pages around."""

    def __init__(self, memory: GuardedMemory, rows: int, columns: int, strides: tuple[int, int], at_end: bool) -> None:
        reach = [(size - 1) * stride if size else 0 for size, stride in zip((rows, columns), strides, strict=True)]
        lowest, highest = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
        count = highest - lowest + 1 if rows and columns else 0
        self.memory = memory.place(count, at_end=at_end)
        self.memory[:] = np.nan
        self.address = self.memory.ctypes.data - 4 * lowest
        self.index = -lowest + np.add.outer(np.arange(rows) * strides[0], np.arange(columns) * strides[1])
        self.strides = strides

    def fill(self, values: Floats) -> Floats:
        """Write the elements; with a stride of zero the last one written counts. Returns what the elements are."""
        self.memory[self.index] = values
        return self.read()

    def read(self) -> Floats:
        """The elements."""
        return self.memory[self.index]


def layouts(k: int, m: int, n: int, across: int) -> list[tuple[tuple[int, int], int, int]]:
    """Strides of A, of the rows of B (or of its columns, where it is given by them: `across` elements each), and of C's rows."""
    return [
        ((k, 1), across, n),
        ((1, m), across + 3, n + 5),
        ((k + 5, 1), -across, -n),
        ((0, 1), 0, n),
        ((-k - 1, 1), across, n + 1),
        ((3 * k, 3), 2 * across, n),
        ((1, 0), across, n),
        ((1, -m), across, n),
    ]


def check_products(call: Call, kernel: MicroKernel) -> None:
    """All m, widths and depths; layouts, placement and accumulation in turn, so that over all shapes each meets each."""
    random = np.random.default_rng(0)
    memories = [GuardedMemory(4 * 3 * (max(DEPTHS) + 6) * max(kernel.rows_for(1), kernel.columns)) for _ in range(3)]
    for turn, ((m, n), k) in enumerate(product(sizes(kernel), DEPTHS)):
        strides, b_row, c_row = layouts(k, m, n, k if kernel.right_by_columns else n)[turn % 8]
        at_end, accumulate = bool(turn // 8 % 2), turn // 16 % 2
        a = Operand(memories[0], m, k, strides, at_end)
        b = Operand(memories[1], k, n, (1, b_row) if kernel.right_by_columns else (b_row, 1), at_end)
        c = Operand(memories[2], m, n, (c_row, 1), at_end)
        where = f"m={m} n={n} k={k} a={strides} b_row={b_row} c_row={c_row} at_end={at_end} accumulate={accumulate}"
        check_product(call, a, b, c, b_row, random, accumulate, where)


def check_product(
    call: Call, a: Operand, b: Operand, c: Operand, b_row: int, random: np.random.Generator, accumulate: int, where: str
) -> None:
    """One call against float64, to within the error bound of a sum of k products; nothing around C changes."""
    (m, k), n = a.index.shape, b.index.shape[1]
    a_values = a.fill(random.standard_normal((m, k), np.float32)).astype(np.float64)
    b_values = b.fill(random.standard_normal((k, n), np.float32)).astype(np.float64)
    before = c.fill(random.standard_normal((m, n), np.float32)).astype(np.float64) * accumulate
    call(k, a.address, *a.strides, b.address, b_row, c.address, c.strides[0], m, n, accumulate)
    result = c.read()
    bound = (k + 2) * EPSILON * (np.abs(a_values) @ np.abs(b_values) + np.abs(before))
    error = np.abs(result - (a_values @ b_values + before))
    assert (error <= bound).all(), f"{where}: off by {np.nanmax(error - bound)} above the bound"
    c.memory[c.index] = np.nan
    assert np.isnan(c.memory).all(), f"{where}: something between the rows of C was written"


@every_kernel
def test_products_in_every_shape_and_layout(kernel: MicroKernel, compiler: str) -> None:
    in_child(check_products, load(kernel, compiler), kernel)


def dense_call(call: Call, kernel: MicroKernel, a: Floats, b: Floats, c: Floats, accumulate: int = 0) -> Floats:
    """C-contiguous operands, B by columns where the kernel wants it so; returns C."""
    (m, k), n = a.shape, b.shape[1]
    b = np.ascontiguousarray(b.T) if kernel.right_by_columns else b
    call(k, a.ctypes.data, k, 1, b.ctypes.data, b.shape[1], c.ctypes.data, n, m, n, accumulate)
    return c


def check_special_values(call: Call, kernel: MicroKernel) -> None:
    """Infinities and NaN arrive exactly where float64 says; they do not leak into other elements."""
    random = np.random.default_rng(1)
    specials = np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)
    for m, n in sizes(kernel):
        a, b = random.standard_normal((m, 9), np.float32), random.standard_normal((9, n), np.float32)
        a[random.integers(m), random.integers(9)] = random.choice(specials)
        b[random.integers(9), random.integers(n)] = random.choice(specials)
        with np.errstate(invalid="ignore"):
            expected = a.astype(np.float64) @ b.astype(np.float64)
        result = dense_call(call, kernel, a, b, np.full((m, n), np.nan, np.float32))
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(result[~finite], expected[~finite], f"m={m} n={n}")
        np.testing.assert_allclose(result[finite], expected[finite], atol=1e-4)


def check_denormals(call: Call, kernel: MicroKernel) -> None:
    """Denormal operands and results are kept to the last bit."""
    shape = (kernel.rows, kernel.columns)
    tiny = np.float32(1e-42) * np.arange(1, kernel.columns + 1, dtype=np.float32)
    ones = np.ones((kernel.rows, 1), np.float32)
    result = dense_call(call, kernel, ones, tiny[None, :], np.zeros(shape, np.float32))
    np.testing.assert_array_equal(result, np.broadcast_to(tiny, shape))
    scaled = dense_call(
        call, kernel, ones * np.float32(2.0**-100), tiny[None, :] * np.float32(2.0**60), np.zeros(shape, np.float32)
    )
    expected = np.float64(2.0**-100) * (tiny * np.float32(2.0**60)).astype(np.float64)
    np.testing.assert_array_equal(scaled, np.broadcast_to(expected.astype(np.float32), shape))


@every_kernel
def test_infinities_nan_and_denormals(kernel: MicroKernel, compiler: str) -> None:
    call = load(kernel, compiler)
    in_child(check_special_values, call, kernel)
    in_child(check_denormals, call, kernel)


def check_one_value_everywhere(call: Call, kernel: MicroKernel) -> None:
    """Equal rows of A and equal columns of B: whatever the tile, every element has the same bits."""
    random = np.random.default_rng(2)
    row, column = random.standard_normal(67, np.float32), random.standard_normal(67, np.float32)
    start = np.float32(random.standard_normal())
    for accumulate in (0, 1):
        values = set()
        for m, n in sizes(kernel):
            a, b = np.tile(row, (m, 1)), np.tile(column[:, None], (1, n))
            c = np.full((m, n), start, np.float32)
            values |= set(dense_call(call, kernel, a, b, c, accumulate).view(np.uint32).ravel().tolist())
        assert len(values) == 1, f"accumulate={accumulate}: {len(values)} different results"


@every_kernel
def test_an_element_has_the_same_bits_at_every_place_of_every_shape(kernel: MicroKernel, compiler: str) -> None:
    in_child(check_one_value_everywhere, load(kernel, compiler), kernel)


@every_kernel
def test_nothing_is_imported(kernel: MicroKernel, compiler: str) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    library = str(kernel_library(kernel, compiler))
    listing = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    assert listing.stdout.strip() == ""
