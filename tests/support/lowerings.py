"""Runs of lowerings: compiled (or emulated), interpreted by Triton in a process of its own, or called as a function.

Operands in place lie in larger memory, full of NaN: what reads outside of them has NaN in its results.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contract.operands import Array
from tests.contract.test_matmul_kernels import EMULATED, loaded, operands, run
from tests.support.emulated import is_available, is_foreign
from tests.support.kernel_build import command
from tests.support.targets import executable_features
from tilewright.kernels import MicroKernel
from tilewright.kernels.replaceable import KernelText, Lowering

MARGIN = 3
"""Elements between the rows of operands of compiled kernels."""
FAR = 64
"""Rows, and elements of a row, of NaN behind a matrix of interpreted kernels, which no guard page stops: more than a tile."""
CHILD = Path(__file__).parent / "interpreted_kernels.py"
PACKAGES = ("triton", "torch")


@dataclass(frozen=True)
class Block:
    """Matrices A, B and C of one block, in the element types of a lowering."""

    label: str
    a: Array
    b: Array
    c: Array

    @property
    def extents(self) -> tuple[int, int, int]:
        return *self.c.shape, self.a.shape[1]  # type: ignore[return-value]


@dataclass(frozen=True)
class Outcome:
    """C after the run, whether anything around it was written, and the instructions that a function counted."""

    c: Array
    is_clean: bool
    instructions: int | None = None


def missing(lowering: Lowering) -> str:
    """Why a lowering cannot run here; "" where it can."""
    code = lowering.code
    if isinstance(code, KernelText):
        absent = [name for name in PACKAGES if find_spec(name) is None]
        return f"{' and '.join(absent)} missing: kernels in Triton are not interpreted" if absent else ""
    if not isinstance(code, MicroKernel):
        return ""
    if is_foreign(code):
        return "" if is_available(code.architecture) else f"no emulator of {code.architecture}"
    lacking = sorted(code.features - executable_features())
    return f"this CPU lacks {', '.join(lacking)}" if lacking else "" if command("gcc") else "gcc is missing"


def skip_if_missing(lowering: Lowering) -> None:
    """A visible, counted skip."""
    if reason := missing(lowering):
        pytest.skip(reason)


def outcomes(lowering: Lowering, blocks: Sequence[Block]) -> list[Outcome]:
    """Run all blocks."""
    if isinstance(lowering.code, KernelText):
        return _interpreted(lowering, lowering.code, blocks)
    run_one = partial(_compiled, lowering) if isinstance(lowering.code, MicroKernel) else partial(_called, lowering)
    return [run_one(block) for block in blocks]


def _compiled(lowering: Lowering, block: Block) -> Outcome:
    """A call for every tile of C, with operands between guard pages."""
    kernel = lowering.code
    assert isinstance(kernel, MicroKernel)
    call = loaded(kernel, EMULATED if is_foreign(kernel) else "gcc")
    rows, columns, _ = lowering.tile
    m, n, k = block.extents
    result, is_clean = block.c.copy(), True
    for i in range(0, m, rows):
        for j in range(0, n, columns):
            c = block.c[i : i + rows, j : j + columns]
            strides = {"a_row": k + MARGIN, "a_column": 1, "b_row": c.shape[1] + MARGIN, "c_row": c.shape[1] + MARGIN}
            found = operands(kernel, (k,), *c.shape, strides, at_end=bool((i + j) % 2))
            for operand, values in zip(found, (block.a[i : i + rows], block.b[:, j : j + columns], c), strict=True):
                operand.fill(values)
            around = np.ones(found[2].memory.shape, bool)
            around[found[2].index] = False
            before = found[2].memory[around].tobytes()
            run(call, kernel, (k,), strides, *found, accumulate=1)
            is_clean = is_clean and found[2].memory[around].tobytes() == before
            result[i : i + rows, j : j + columns] = found[2].read()
    return Outcome(result, is_clean)


def _called(lowering: Lowering, block: Block) -> Outcome:
    function: Any = lowering.code
    a, b, c = (one.pack(matrix) for one, matrix in zip(lowering.operands, (block.a, block.b, block.c), strict=True))
    filled = lowering.target.unpack(c, *lowering.target.extents(c))
    instructions = function(c, a, b)
    m, n, _ = block.extents
    whole = lowering.target.unpack(c, *lowering.target.extents(c))
    outside = np.ones(whole.shape, bool)
    outside[:m, :n] = False
    has_specials = not all(np.isfinite(matrix).all() for matrix in (block.a, block.b))
    is_clean = has_specials or np.array_equal(whole[outside], filled[outside])
    return Outcome(whole[:m, :n], is_clean, instructions)


def _interpreted(lowering: Lowering, code: KernelText, blocks: Sequence[Block]) -> list[Outcome]:
    rows, columns, _ = lowering.tile
    tasks = []
    for block in blocks:
        memory = [_surrounded(matrix) for matrix in (block.a, block.b, block.c)]
        m, n, k = block.extents
        distances = dict(zip(("A_ROW", "B_ROW", "C_ROW"), (array.shape[1] for array in memory), strict=True))
        grid = -(-m // rows), -(-n // columns)
        tasks.append({"memory": memory, "constants": {"M": m, "N": n, "K": k} | distances, "grid": grid})
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    message = pickle.dumps({"text": code.text, "function": code.function, "tasks": tasks})
    child = subprocess.run([sys.executable, str(CHILD)], input=message, capture_output=True, env=environment, check=False)
    assert child.returncode == 0, child.stderr.decode()
    return [_outcome(block, memory) for block, memory in zip(blocks, pickle.loads(child.stdout), strict=True)]


def _surrounded(matrix: Array) -> Array:
    memory = np.full((matrix.shape[0] + FAR, matrix.shape[1] + FAR), np.nan, matrix.dtype)
    memory[: matrix.shape[0], : matrix.shape[1]] = matrix
    return memory


def _outcome(block: Block, memory: Array) -> Outcome:
    m, n, _ = block.extents
    around = np.ones(memory.shape, bool)
    around[:m, :n] = False
    return Outcome(memory[:m, :n].copy(), bool(np.isnan(memory[around]).all()))


def sizes(lowering: Lowering) -> Iterator[tuple[int, int, int]]:
    """Extents of blocks: the replaceable one, tiles of this lowering and one less and one more, one step, primes."""
    whole = lowering.replaceable
    rows, columns, depth = lowering.tile
    yield whole.rows, whole.columns, whole.depth
    yield rows, columns, depth
    yield 2 * rows, columns, 3 * depth
    for one in (-1, 1):
        yield rows + one, columns, 2 * depth
        yield rows, columns + one, 2 * depth
        yield rows, columns, max(2 * depth + one, 1)
    yield rows, columns, 1
    yield 1, 1, 1
    yield 7, 13, 11
    yield 37, 67, 29
