"""Kernels that end with an epilogue keep the contract: every kind of operand, every edge, and nothing outside is touched."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import COMPILERS, EXPORT, build, command, parameters
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, registered
from tilewright.kernels.contract import FLOAT32, Along, Epilogue, matrix_abi
from tilewright.leaves.matrix_tiles.epilogues import EpilogueBody

KINDS = [Along(rows=rows, columns=columns, is_far=True) for rows, columns in product((False, True), repeat=2)]
BODY = apply("add", apply("multiply", apply("add", Load(0), Load(2)), Load(3)), Load(4))
BODY = apply("subtract", apply("maximum", BODY, Literal(-1.0)), Load(1))
"""Of one number, one per column, one per row, one per element."""
ENDING = Epilogue("ending", tuple(KINDS), values=EpilogueBody(BODY, ("float32",) * 4))
STREAMED = replace(ENDING, non_temporal=True)
TYPES = ("uint8", "int32", "int16", "bool")
CONVERTED = replace(
    ENDING,
    operands=tuple(replace(kind, element_type=one) for kind, one in zip(KINDS, TYPES, strict=True)),
    values=EpilogueBody(BODY, TYPES),
)
DEPTHS = (0, 1, 7, 33)
ONE_STEP = {"k_1": "1", "a_step_1": "0", "b_step_1": "0", "k_2": "1", "a_step_2": "0", "b_step_2": "0"}
"""Of the reduction loops around that over k."""
Call = Callable[..., None]


def shapes(kernel: MicroKernel) -> list[tuple[int, int]]:
    """(rows, columns) of whole tiles, of tall ones, and of edges of both."""
    widths = {1, kernel.lanes - 1, kernel.lanes, kernel.columns - 1, kernel.columns}
    return [(m, n) for n in sorted(widths) for m in sorted({1, max(kernel.rows_for(n) - 1, 1), kernel.rows_for(n)})]


def load(kernel: MicroKernel, compiler: str, ending: Epilogue) -> Call:
    """The kernel with the epilogue, compiled for these shapes only; pointers are given as addresses."""
    variants = frozenset((m, -(-n // kernel.lanes)) for m, n in shapes(kernel))
    source = kernel.source("under_test", variants, ending)
    given = {**{name: name for name in parameters(kernel)}, **ONE_STEP}
    names = ", ".join((*(given[name] for name in parameters(kernel)), *ending.arguments()))
    head = f"{kernel.declaration('under_test', ending)}\n{EXPORT} {matrix_abi('call', ending)} {{ under_test({names}); }}\n"
    library = build([source, KernelSource(SourceKind.C, head)], kernel.features, compiler)
    function = ctypes.CDLL(str(library)).call
    function.argtypes = [ctypes.c_void_p if letter == "p" else ctypes.c_long for letter in "lpllplpllllpppl" + "pl"]
    function.restype = None
    return function


def check(call: Call, kernel: MicroKernel, ending: Epilogue) -> None:
    """Against float64, at both ends of memory between guard pages."""
    random = np.random.default_rng(0)
    memories = [GuardedMemory(8 * 40 * max(kernel.rows_for(1), kernel.columns)) for _ in range(7)]
    types = [np.dtype(name) for name in (*("float32",) * 3, *(one.element_type for one in ending.operands))]
    for turn, ((m, n), k) in enumerate(product(shapes(kernel), DEPTHS)):
        sizes = (m, k), (k, n), (m, n), (1, 1), (1, n), (m, 1), (m, n)
        places = [
            one.place(r * c, at_end=bool(turn % 2), dtype=dtype).reshape(r, c)
            for one, (r, c), dtype in zip(memories, sizes, types, strict=True)
        ]
        for place in places:
            values = random.standard_normal(place.shape, np.float32)
            place[:] = values if place.dtype == np.float32 else np.abs(values * 2).astype(place.dtype)
        a, b, c, *operands = (place.astype(np.float64) for place in places)
        accumulate = turn // 2 % 2
        sums = a @ b + c * accumulate
        one, column, row, every = operands
        expected = np.maximum((sums + column) * row + every, -1.0) - one
        run(call, places, accumulate)
        np.testing.assert_allclose(places[2], expected, 1e-5, 1e-4, err_msg=f"m={m} n={n} k={k}")


def run(call: Call, places: list[np.ndarray], accumulate: int) -> None:
    """One call on dense operands."""
    a, b, c, one, column, row, every = (place.ctypes.data for place in places)
    (m, k), n = places[0].shape, places[1].shape[1]
    call(k, a, k, 1, b, n, c, n, m, n, accumulate, one, column, row, 1, every, n)


ABLE = [one for one in registered() if one.emit_with and not one.prefetch and one.element_types == FLOAT32]
"""Every tile of floats that takes an epilogue; those that prefetch are the same text."""


def cases(kernels: Iterable[MicroKernel], compilers: Sequence[str] = COMPILERS, *also: pytest.MarkDecorator) -> list[object]:
    """Once per compiler."""
    cases = []
    for kernel, compiler in product(kernels, compilers):
        missing = pytest.mark.skipif(command(compiler) is None, reason=f"{compiler} is missing")
        marks = [missing, pytest.mark.needs(*sorted(kernel.features)), *also]
        cases.append(pytest.param(kernel, compiler, marks=marks, id=f"{kernel.name}-{compiler}"))
    return cases


ONE_TILE = list({kernel.features: kernel for kernel in ABLE}.values())
"""Of every set of instructions."""
TILES = [*cases(ABLE, COMPILERS[:1]), *cases(ONE_TILE, COMPILERS[1:])]
"""All by GCC; Clang, whose instructions for all tiles test_disassembly.py looks at, has one of every set."""


@pytest.mark.parametrize(("kernel", "compiler"), TILES)
def test_epilogues_of_every_kind_of_operand_at_every_edge(kernel: MicroKernel, compiler: str) -> None:
    in_child(check, load(kernel, compiler, ENDING), kernel, ENDING)


@pytest.mark.parametrize(("kernel", "compiler"), cases(ONE_TILE))
def test_truth_values_and_integers_are_converted_at_every_edge(kernel: MicroKernel, compiler: str) -> None:
    """In one tile of every set of instructions."""
    in_child(check, load(kernel, compiler, CONVERTED), kernel, CONVERTED)


@pytest.mark.parametrize(("kernel", "compiler"), TILES)
def test_streamed_stores_change_nothing_wherever_rows_begin(kernel: MicroKernel, compiler: str) -> None:
    in_child(check, load(kernel, compiler, STREAMED), kernel, STREAMED)
    in_child(check_streams, load(kernel, compiler, ENDING), load(kernel, compiler, STREAMED), kernel)


def check_streams(plain: Call, streams: Call, kernel: MicroKernel) -> None:
    """Bit for bit, where rows of C begin cache lines and where they do not; nothing between them is written."""
    random = np.random.default_rng(0)
    memory = GuardedMemory(4 * 256 * kernel.rows_for(1))
    for (m, n), gap, at_end in product(shapes(kernel), (0, 16, 5), (False, True)):
        pitch = -(-n // 16) * 16 + gap
        sizes = (m, 7), (7, n), (m, pitch), (1, 1), (1, n), (m, 1), (m, n)
        a, b, c, *others = (random.standard_normal(size, np.float32) for size in sizes)
        results = []
        for call in (plain, streams):
            target = memory.place((m - 1) * pitch + n, at_end=at_end)
            target[:] = c.reshape(-1)[: target.size]
            one, column, row, every = (operand.ctypes.data for operand in others)
            addresses = a.ctypes.data, 7, 1, b.ctypes.data, n, target.ctypes.data, pitch
            call(7, *addresses, m, n, 0, one, column, row, 1, every, n)
            results.append(target.copy())
        np.testing.assert_array_equal(*results)
