"""The contract of the replaceable product on the card: every lowering written in Triton, on blocks of all edges, as it declares.

`tests/contract` checks the same declarations interpreted and compiled offline. Matrices lie in larger memory, full of NaN: what
reads outside of them has NaN in its results, and what writes there is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.backends.triton_gpu.launch import Resources, compiled_resources, compiler_errors, names_of
from tilewright.kernels.replaceable import Extents, KernelText, Lowering
from tilewright.leaves import lowerings
from tilewright.machine import Machine
from tilewright_bench.gpu.device import Device
from tilewright_bench.gpu.failures import FAILURES, told

Array: TypeAlias = np.ndarray[Any, Any]
FAR = 64
"""Rows, and elements of a row, of NaN behind a matrix: more than a tile."""
SPECIALS = ((np.nan, 1.0), (1.0, np.inf), (-np.inf, 0.0), (np.inf, -np.inf))
"""In one element of A and one of B."""


@dataclass(frozen=True, slots=True)
class LoweringResult:
    """One lowering."""

    lowering: str
    blocks: int
    problems: tuple[str, ...]
    """What it breaks, in words; empty where it keeps its contract."""
    registers: int | None = None
    shared_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Matrices of one block: A and B in the lowering's types, C in float32."""

    label: str
    a: Array
    b: Array
    c: Array

    @property
    def extents(self) -> Extents:
        """Rows, columns, depth."""
        return self.c.shape[0], self.c.shape[1], self.a.shape[1]


def contract_of(machine: Machine, device: Device, *, compares_shared: bool) -> tuple[LoweringResult, ...]:
    """All lowerings in Triton that serve a machine."""
    found = [one for one in lowerings.registered() if isinstance(one.code, KernelText) and one.serves(machine)]
    return tuple(_checked(one, device, compares_shared) for one in found)


def _checked(lowering: Lowering, device: Device, compares_shared: bool) -> LoweringResult:
    code = lowering.code
    assert isinstance(code, KernelText)
    try:
        function = names_of(code.text, is_interpreted=bool(device.runner))[code.function]
        blocks = list(blocks_of(lowering))
        problems = [problem for block in blocks for problem in _run(lowering, code, function, block, device)]
        used = _resources(lowering, code, function, device) if device.has_resources else None
    except FAILURES as problem:
        return LoweringResult(lowering.name, 0, (told(problem),))
    if used is None:
        return LoweringResult(lowering.name, len(blocks), tuple(problems))
    problems += _excesses(lowering, used, compares_shared)
    return LoweringResult(lowering.name, len(blocks), tuple(problems), used.registers, used.shared_bytes)


def blocks_of(lowering: Lowering) -> Iterator[Block]:
    """Whole tiles, one more and one less along every axis, one element, primes; NaN and infinities at single places."""
    for extents in dict.fromkeys(_sizes(lowering)):
        yield _block(lowering, extents)
    for number, (left, right) in enumerate(SPECIALS):
        block = _block(lowering, (19, 21, 17), f"{left} in A, {right} in B")
        block.a[number, 3], block.b[3, 2 * number] = left, right
        yield block


def _sizes(lowering: Lowering) -> Iterator[Extents]:
    rows, columns, depth = lowering.tile
    yield rows, columns, depth
    yield 2 * rows, columns, 3 * depth
    for one in (-1, 1):
        yield rows + one, columns, 2 * depth
        yield rows, columns + one, 2 * depth
        yield rows, columns, 2 * depth + one
    yield 1, 1, 1
    yield 37, 67, 29


def _block(lowering: Lowering, extents: Extents, label: str = "") -> Block:
    """Small whole numbers over 8, which all types of 16 bits have: rounding to them changes nothing."""
    m, n, k = extents
    random = np.random.default_rng(extents)
    a, b, c = (random.integers(-16, 17, shape).astype(np.float32) / 8 for shape in ((m, k), (k, n), (m, n)))
    return Block(label or f"m={m} n={n} k={k}", a, b, c)


def _run(lowering: Lowering, code: KernelText, function: Any, block: Block, device: Device) -> Iterator[str]:
    """What is wrong with the result of a block."""
    matrices = zip((block.a, block.b, block.c), lowering.element_types, strict=True)
    memory = [_surrounded(matrix, element_type, device) for matrix, element_type in matrices]
    m, n, _ = block.extents
    grid = -(-m // lowering.tile[0]), -(-n // lowering.tile[1])
    with compiler_errors(lowering.name):
        function[grid](*memory, **_constants(block.extents, memory), num_warps=code.warps, num_stages=code.stages)
    yield from faults(block, device.array(memory[2]))


def faults(block: Block, memory: Array) -> Iterator[str]:
    """What is wrong with the memory of C after a run: elements beyond the error of a sum, NaN and infinities, around."""
    m, n, k = block.extents
    a, b, c = (matrix.astype(np.float64) for matrix in (block.a, block.b, block.c))
    with np.errstate(invalid="ignore"):
        expected, magnitude = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    finite, result = np.isfinite(expected), memory[:m, :n].astype(np.float64)
    if not np.array_equal(result[~finite], expected[~finite], equal_nan=True):
        yield f"{block.label}: NaN or infinities are elsewhere"
    bound = (k + 2) * float(np.finfo(np.float32).eps) * magnitude[finite]
    if not (np.abs(result[finite] - expected[finite]) <= bound).all():
        yield f"{block.label}: elements beyond the error of a sum"
    around = np.ones(memory.shape, bool)
    around[:m, :n] = False
    if not np.isnan(memory[around]).all():
        yield f"{block.label}: something around C was written"


def _surrounded(matrix: Array, element_type: str, device: Device) -> Any:
    memory = np.full((matrix.shape[0] + FAR, matrix.shape[1] + FAR), np.nan, np.float32)
    memory[: matrix.shape[0], : matrix.shape[1]] = matrix
    return device.tensor(memory).to(getattr(device.torch, element_type))


def _constants(extents: Extents, memory: list[Any]) -> Mapping[str, int]:
    distances = dict(zip(("A_ROW", "B_ROW", "C_ROW"), (int(one.shape[1]) for one in memory), strict=True))
    return dict(zip("MNK", extents, strict=True)) | distances


def _resources(lowering: Lowering, code: KernelText, function: Any, device: Device) -> Resources:
    """Of a block of many tiles, as `tests/contract` compiles it."""
    extents = (512, 512, 512)
    memory = [device.tensor(np.zeros((512, 512), np.float32)).to(getattr(device.torch, name)) for name in lowering.element_types]
    grid = 512 // lowering.tile[0], 512 // lowering.tile[1]
    constants = _constants(extents, memory)
    with compiler_errors(lowering.name):
        return compiled_resources(lowering.name, function, memory, grid, constants, code.warps, code.stages)


def _excesses(lowering: Lowering, used: Resources, compares_shared: bool) -> list[str]:
    """Resources beyond the declaration."""
    declared = lowering.resources
    found = [f"{used.spills} registers spilled"] if used.spills else []
    if not declared.registers <= used.registers <= declared.most_registers:
        found.append(f"{used.registers} registers, {declared.registers} to {declared.most_registers} declared")
    if compares_shared and used.shared_bytes != dict(declared.spaces)["shared"]:
        found.append(f"{used.shared_bytes} bytes of shared memory, {dict(declared.spaces)['shared']} declared")
    return found
