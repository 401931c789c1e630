"""Every registered matrix kernel keeps the contract of `kernels/contract.py`; all checks follow from its declaration.

A kernel from outside the package can be checked too: `pytest tests/contract -p my_kernels`, where `my_kernels` registers it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.contract.operands import Array, Operand, Strides, is_float, layouts, left_index, precision, right_index, target_index
from tests.support.emulated import EmulatedKernel, is_available, is_foreign
from tests.support.guarded import in_child
from tests.support.kernel_build import (
    ASSEMBLER,
    COMPILERS,
    SANITIZER,
    Shapes,
    assembles,
    command,
    kernel_library,
    load,
    outer_shapes,
    parameters,
    shapes,
)
from tests.support.proved_operands import with_pairs_at_the_bound, within_proof
from tilewright.dtypes import dtype_named
from tilewright.kernel_source import SourceKind
from tilewright.kernels import MicroKernel, registered
from tilewright.kernels.contract import COLUMNS
from tilewright.tile.dialects.registry import with_vectors
from tilewright.tile.rounding import fma

DEPTHS = ((0,), (1,), (2,), (3,), (5,), (7,), (8,), (64,), (67,))
NESTED_DEPTHS = ((0, 2), (3, 0), (1, 1), (5, 3), (2, 7), (8, 2), (9, 5))
"""Steps of the innermost reduction loop, then of the loops around it."""
WRAPPING_STEPS = 70_001
"""Of products of the largest numbers of 8 bits, which no sum of 32 bits holds."""
ALSO_WITH_CLANG = ("6x64", "6x16", "6x8")
"""Tiles checked with Clang as well: compiling all shapes of all tiles twice takes longer than all checks."""

PREFETCHING = "6x64_prefetch_left_target", "8x48_prefetch_right"
"""The same for kernels that prefetch: each kind of prefetch once, with one compiler."""

Call = Callable[..., None] | EmulatedKernel
EMULATED = "emulated"
"""In the place of a compiler: the cross compiler of the kernel's architecture, and qemu-user."""


def cases(kernels: Iterable[MicroKernel], compilers: Sequence[str] = COMPILERS) -> Iterator[pytest.ParameterSet]:
    """Every kernel, the last parameter: its tiles; those of other architectures under emulation.

    The kernel of each kind that has most tiles: all of them, by assembly, or else with GCC. Of the others, which repeat its text
    but for the steps, and of dots of rows, which take GCC long, the outer ones; all of them are `rest`. Of kernels that are
    assembled, C is compiled for one of each family, and for each kind of prefetch; some C is compiled with Clang, too.
    """
    kernels = list(kernels)
    by_tiles = sorted(kernels, key=lambda kernel: (not kernel.prefetch, len(shapes(kernel))))
    first = {_family(kernel): kernel for kernel in by_tiles}
    whole = {
        _kind(kernel): kernel for kernel in sorted(by_tiles, key=lambda kernel: (not kernel.prefetch, _is_of_32_bits(kernel)))
    }
    for kernel in kernels:
        if is_foreign(kernel):
            yield _emulated(kernel)
        else:
            is_first, is_whole = first[_family(kernel)] is kernel, whole[_kind(kernel)] is kernel
            yield from _native(kernel, compilers, is_first=is_first, is_whole=is_whole)


def _family(kernel: MicroKernel) -> str:
    """The name without what changes no statement: the size of the tile, which operand is signed, prefetches."""
    return re.sub(r"_\d+x\d+|_prefetch\w*", "", kernel.name).replace("u8s8", "s8u8")


def _kind(kernel: MicroKernel) -> str:
    """The family without its types: what the name says else, integers or floats, alone or in groups, by VNNI or not."""
    sums = "floats" if is_float(kernel.accumulator) else "integers"
    others = re.sub(r"_(bf|[fsu])\d\w*?(?=_|$)", "", _family(kernel))
    return f"{others} {sums} {kernel.interleave > 1} {'vnni' in kernel.name}"


def _is_of_32_bits(kernel: MicroKernel) -> bool:
    return kernel.accumulator in ("float32", "int32") and kernel.element_types[0] != "float16"


def _emulated(kernel: MicroKernel) -> pytest.ParameterSet:
    missing = pytest.mark.skipif(not is_available(kernel.architecture), reason=f"no emulator of {kernel.architecture}")
    return pytest.param(kernel, EMULATED, shapes, marks=[missing, pytest.mark.emulated], id=f"{kernel.name}-{EMULATED}")


def _marks(kernel: MicroKernel, compiler: str) -> list[pytest.MarkDecorator]:
    missing = pytest.mark.skipif(command(compiler) is None, reason=f"{compiler} is missing")
    return [missing, pytest.mark.needs(*sorted(kernel.features))]


def _native(kernel: MicroKernel, compilers: Sequence[str], *, is_first: bool, is_whole: bool) -> Iterator[pytest.ParameterSet]:
    if kernel.prefetch and not kernel.name.endswith(PREFETCHING):
        return
    is_assembled = assembles(kernel)
    repeats = [pytest.mark.rest] if is_assembled and not (is_first or kernel.prefetch) else []
    for compiler in compilers:
        if compiler == "gcc" or (kernel.name.endswith(ALSO_WITH_CLANG) and not kernel.prefetch):
            has_all = is_whole and compiler == "gcc" and kernel.columns > 1 and not is_assembled
            yield from _of_tiles(kernel, compiler, repeats, has_all=has_all)
    if is_assembled:
        yield from _of_tiles(kernel, ASSEMBLER, [], has_all=is_whole)


def _of_tiles(
    kernel: MicroKernel, compiler: str, also: list[pytest.MarkDecorator], *, has_all: bool
) -> Iterator[pytest.ParameterSet]:
    """All tiles, or the outer ones, and all as `rest`."""
    marks = [*_marks(kernel, compiler), *also]
    yield pytest.param(kernel, compiler, shapes if has_all else outer_shapes, marks=marks, id=f"{kernel.name}-{compiler}")
    if not has_all:
        yield pytest.param(kernel, compiler, shapes, marks=[*marks, pytest.mark.rest], id=f"{kernel.name}-{compiler}-all")


def loaded(kernel: MicroKernel, compiler: str, extra: tuple[str, ...] = (), tiles: Shapes = shapes) -> Call:
    """What calls a kernel: a function of a library, or a process of qemu-user."""
    return EmulatedKernel(kernel) if compiler == EMULATED else load(kernel, compiler, extra, tiles)


def of_each_kind(kernels: Iterable[MicroKernel]) -> list[MicroKernel]:
    """A kernel for all element types, layouts and numbers of loops that there are."""
    here = (k for k in kernels if not is_foreign(k))
    kinds = {(k.element_types, k.accumulator, k.interleave, k.right_by_columns, k.reduction_loops): k for k in here}
    return list(kinds.values())


def parametrized(kernels: Iterable[MicroKernel]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("kernel", "compiler", "tiles"), list(cases(kernels)))


every_kernel = parametrized(registered())
every_float_kernel = parametrized(kernel for kernel in registered() if is_float(kernel.accumulator))
every_integer_kernel = parametrized(kernel for kernel in registered() if not is_float(kernel.accumulator))


def depths(kernel: MicroKernel) -> tuple[tuple[int, ...], ...]:
    """Steps of all reduction loops: those around two loops have one step."""
    found = DEPTHS if kernel.reduction_loops == 1 else NESTED_DEPTHS
    return tuple((*counts, *(1,) * (kernel.reduction_loops - len(counts))) for counts in found)


def widths(kernel: MicroKernel) -> list[int]:
    """Columns around the boundaries of vectors."""
    near = {step * kernel.lanes + delta for step in range(kernel.columns // kernel.lanes + 1) for delta in (-1, 0, 1)}
    return sorted(n for n in near | {1, 2, 3} if 1 <= n <= kernel.columns)


def sizes(kernel: MicroKernel, tiles: Shapes = shapes) -> list[tuple[int, int]]:
    """(m, n) of tiles up to rows x columns, and of some that have more rows in place of columns."""
    return [(m, n) for n in widths(kernel) for m, v in tiles(kernel) if v == -(-n // kernel.lanes)]


def drawn(random: np.random.Generator, element_type: str, shape: tuple[int, ...]) -> Array:
    """Floats around 0; integers of the whole range of their type."""
    if is_float(element_type):
        return np.asarray(random.standard_normal(shape).astype(dtype_named(element_type)))
    limits = np.iinfo(element_type)
    return random.integers(limits.min, limits.max, shape, element_type, endpoint=True)


def exact(values: Array) -> Array:
    """Integers as int64, which wraps as they do; floats as numbers with more digits than their accumulator."""
    wider = np.longdouble if values.dtype == np.float64 else np.float64
    return values.astype(np.int64 if values.dtype.kind in "iub" else wider)


def check_result(kernel: MicroKernel, result: Array, a: Array, b: Array, before: Array, where: str) -> None:
    """Integers are those of a sum that wraps; floats are within the error bound of a sum of k products, and a rounding to C."""
    expected = a @ b + before
    if not is_float(kernel.accumulator):
        np.testing.assert_array_equal(result, expected.astype(kernel.accumulator).astype(result.dtype), where)
        return
    rounding = precision(dtype_named(kernel.accumulator)).eps, precision(result.dtype).eps
    magnitude = np.abs(a) @ np.abs(b) + np.abs(before)
    bound = ((a.shape[1] + 2) * float(rounding[0]) + float(rounding[1]) * (rounding[0] != rounding[1])) * magnitude
    error = np.abs(exact(result) - expected)
    assert (error <= bound).all(), f"{where}: off by {np.nanmax(error - bound)} above the bound"


def run(
    call: Call, kernel: MicroKernel, counts: Sequence[int], strides: Strides, a: Operand, b: Operand, c: Operand, accumulate: int
) -> None:
    """One call."""
    m, n = c.index.shape
    values = {"k": counts[0], **{f"k_{i}": count for i, count in enumerate(counts[1:], 1)}, **strides}
    values |= {"a": a.address, "b": b.address, "c": c.address, "m": m, "n": n, "accumulate": accumulate}
    if isinstance(call, EmulatedKernel):
        call.call(values, (a, b, c))
    else:
        call(*(values[name] for name in parameters(kernel)))


def operands(
    kernel: MicroKernel, counts: Sequence[int], m: int, n: int, strides: Strides, at_end: bool
) -> tuple[Operand, Operand, Operand]:
    """A, B and C at one end of memory each."""
    none = np.zeros(0, int)
    left, right, result = kernel.element_types
    return (
        Operand("left", left_index(counts, m, strides), none, left, at_end),
        Operand("right", *right_index(kernel, counts, n, strides), right, at_end),
        Operand("target", target_index(m, n, strides), none, result, at_end),
    )


def check_products(call: Call, kernel: MicroKernel, tiles: Shapes = shapes) -> None:
    """All m, widths and depths; layouts, placement and accumulation in turn, so that over all shapes each meets each."""
    random = np.random.default_rng(0)
    for turn, ((m, n), counts) in enumerate(product(sizes(kernel, tiles), depths(kernel))):
        strides = list(layouts(kernel, counts, m, n))[turn % 8]
        at_end, accumulate = bool(turn // 8 % 2), turn // 16 % 2
        found = operands(kernel, counts, m, n, strides, at_end)
        values = [drawn(random, element_type, o.index.shape) for element_type, o in zip(kernel.element_types, found, strict=True)]
        where = f"m={m} n={n} steps={counts} {strides} at_end={at_end} accumulate={accumulate}"
        check_product(call, kernel, counts, strides, found, values, accumulate, where)


def check_product(
    call: Call,
    kernel: MicroKernel,
    counts: Sequence[int],
    strides: Strides,
    found: tuple[Operand, Operand, Operand],
    values: Sequence[Array],
    accumulate: int,
    where: str,
) -> None:
    """One call on these values; nothing around C changes."""
    a, b, c = found
    elements = [operand.fill(drawn) for operand, drawn in zip(found, values, strict=True)]
    elements[:2] = (operand.fill(proved) for operand, proved in zip((a, b), within_proof(kernel, *elements[:2]), strict=True))
    filled = [exact(array) for array in elements]
    around = np.ones(c.memory.shape, bool)
    around[c.index] = False
    before = c.memory[around].tobytes()
    run(call, kernel, counts, strides, a, b, c, accumulate)
    check_result(kernel, c.read(), filled[0], filled[1], filled[2] * accumulate, where)
    assert c.memory[around].tobytes() == before, f"{where}: something between the rows of C was written"


@every_kernel
def test_products_in_every_shape_and_layout(kernel: MicroKernel, compiler: str, tiles: Shapes) -> None:
    in_child(check_products, loaded(kernel, compiler, tiles=tiles), kernel, tiles)


@pytest.mark.ci  # of the text, which is the same everywhere
@pytest.mark.parametrize(
    "kernel", [pytest.param(one, marks=_marks(one, "gcc"), id=one.name) for one in of_each_kind(registered()) if not one.prefetch]
)
def test_no_behaviour_is_undefined(kernel: MicroKernel) -> None:
    """Of the outer tiles: the text of those between repeats the same statements, and takes GCC long to instrument."""
    in_child(check_products, loaded(kernel, "gcc", SANITIZER, outer_shapes), kernel, outer_shapes)


def dense_call(call: Call, kernel: MicroKernel, a: Array, b: Array, c: Array, accumulate: int = 0) -> Array:
    """Row-major operands in the kernel's own layout; all steps are of the innermost reduction loop. Returns C."""
    (m, k), n = a.shape, b.shape[1]
    counts = (k, *(1,) * (kernel.reduction_loops - 1))
    strides = next(layouts(kernel, counts, m, n))
    found = operands(kernel, counts, m, n, strides, at_end=False)
    for operand, values in zip(found, (a, b, c), strict=True):
        operand.fill(values)
    run(call, kernel, counts, strides, *found, accumulate)
    return found[2].read()


def typed(kernel: MicroKernel, *values: Any) -> list[Array]:
    """Values of A, B, C as their elements."""
    return [np.asarray(value).astype(dtype_named(name)) for value, name in zip(values, kernel.element_types, strict=True)]


def check_special_values(call: Call, kernel: MicroKernel, tiles: Shapes = shapes) -> None:
    """Infinities and NaN arrive exactly where float64 says; they do not leak into other elements."""
    random = np.random.default_rng(1)
    specials = np.array([np.nan, np.inf, -np.inf, 0.0], np.float32)
    for m, n in sizes(kernel, tiles):
        a, b, c = typed(kernel, random.standard_normal((m, 9)), random.standard_normal((9, n)), np.full((m, n), np.nan))
        a[random.integers(m), random.integers(9)] = random.choice(specials)
        b[random.integers(9), random.integers(n)] = random.choice(specials)
        with np.errstate(invalid="ignore"):
            expected = a.astype(np.float64) @ b.astype(np.float64)
        result = dense_call(call, kernel, a, b, c).astype(np.float64)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(result[~finite], expected[~finite], f"m={m} n={n}")
        coarse = float(precision(c.dtype).eps) if c.dtype.itemsize < 4 else 0.0
        np.testing.assert_allclose(result[finite], expected[finite], rtol=coarse, atol=1e-4)


def check_denormals(call: Call, kernel: MicroKernel) -> None:
    """Denormal operands and results are kept to the last bit, or are zeros in a kernel that flushes."""
    shape = (kernel.rows, kernel.columns)
    smallest = float(precision(dtype_named(kernel.element_types[1])).smallest_subnormal)
    ones, tiny, zeros = typed(
        kernel, np.ones((kernel.rows, 1)), smallest * np.arange(1, kernel.columns + 1)[None, :], np.zeros(shape)
    )
    result = dense_call(call, kernel, ones, tiny, zeros)
    np.testing.assert_array_equal(result, np.broadcast_to(tiny.astype(zeros.dtype) * (not kernel.flushes), shape))
    small, larger = 2.0**-60 * ones, 2.0**20 * tiny
    scaled = dense_call(call, kernel, small.astype(ones.dtype), larger.astype(tiny.dtype), zeros)
    expected = small.astype(ones.dtype).astype(np.float64) @ larger.astype(tiny.dtype).astype(np.float64)
    np.testing.assert_array_equal(scaled, expected.astype(zeros.dtype) * (not kernel.flushes))


@every_float_kernel
def test_infinities_nan_and_denormals(kernel: MicroKernel, compiler: str, tiles: Shapes) -> None:
    call = loaded(kernel, compiler, tiles=tiles)
    in_child(check_special_values, call, kernel, tiles)
    in_child(check_denormals, call, kernel)


def check_extremes(call: Call, kernel: MicroKernel) -> None:
    """The least and the largest numbers, in sums that leave the type of the accumulator."""
    limits = [np.iinfo(element_type) for element_type in kernel.element_types]
    m, n = kernel.rows, kernel.columns
    for at in product((0, 1), repeat=3):
        least_or_most = [(limit.min, limit.max)[number] for limit, number in zip(limits, at, strict=True)]
        for k in (1, 3, 67, WRAPPING_STEPS if sum(at) == 1 else 4):
            rows, columns = (m, n) if k < WRAPPING_STEPS else (1, min(n, max(kernel.lanes - 1, 1)))
            a, b, c = typed(
                kernel,
                *(
                    np.full(size, value)
                    for size, value in zip(((rows, k), (k, columns), (rows, columns)), least_or_most, strict=True)
                ),
            )
            a, b = with_pairs_at_the_bound(kernel, a, b)
            result = dense_call(call, kernel, a, b, c, accumulate=1)
            check_result(kernel, result, exact(a), exact(b), exact(c), f"{least_or_most} k={k}")


@every_integer_kernel
def test_extremes_and_sums_that_wrap(kernel: MicroKernel, compiler: str, tiles: Shapes) -> None:
    in_child(check_extremes, loaded(kernel, compiler, tiles=tiles), kernel)


def check_one_value_everywhere(call: Call, kernel: MicroKernel, tiles: Shapes = shapes) -> None:
    """Equal rows of A and equal columns of B: whatever the tile, every element has the same bits."""
    random = np.random.default_rng(2)
    row, column, start = (drawn(random, name, size) for name, size in zip(kernel.element_types, ((67,), (67,), ()), strict=True))
    for accumulate in (0, 1):
        values = set()
        for m, n in sizes(kernel, tiles):
            a, b = within_proof(kernel, np.tile(row, (m, 1)), np.tile(column[:, None], (1, n)))
            c = np.full((m, n), start)
            values |= {element.tobytes() for element in dense_call(call, kernel, a, b, c, accumulate).ravel()}
        assert len(values) == 1, f"accumulate={accumulate}: {len(values)} different results"
        if has_declared_order(kernel):
            assert values == {summed(kernel, row, column, start * accumulate).tobytes()}, f"accumulate={accumulate}"


def has_declared_order(kernel: MicroKernel) -> bool:
    """Whether one accumulator takes the steps of an element, one after the other, rounded as a dialect says."""
    if kernel.source(kernel.name, None).kind is not SourceKind.TILE:
        return False
    return is_float(kernel.accumulator) and kernel.lanes_along == COLUMNS and not kernel.flushes


def summed(kernel: MicroKernel, row: Array, column: Array, start: Array) -> Array:
    """One element of C by a literal loop over the steps, rounded as the dialect of the kernel's instructions says."""
    fuses = with_vectors(kernel.architecture, kernel.features, kernel.vector_bits).fuses
    row, column, total = (values.astype(kernel.accumulator) for values in (row, column, np.zeros(1)))
    for left, right in zip(row[:, None], column[:, None], strict=True):
        total = fma(left, right, total) if fuses else left * right + total
    return np.asarray((total + start.astype(kernel.accumulator))[0].astype(start.dtype))


@every_kernel
def test_an_element_has_the_same_bits_at_every_place_of_every_shape(kernel: MicroKernel, compiler: str, tiles: Shapes) -> None:
    in_child(check_one_value_everywhere, loaded(kernel, compiler, tiles=tiles), kernel, tiles)


@parametrized(kernel for kernel in registered() if not is_foreign(kernel))
def test_nothing_is_imported(kernel: MicroKernel, compiler: str, tiles: Shapes) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is missing")
    library = str(kernel_library(kernel, compiler, (), tiles))
    listing = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    assert listing.stdout.strip() == ""
