"""Validation of micro kernel declarations; each refusal says which field, why, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tilewright.errors import TilewrightError
from tilewright.kernels.contract import COLUMNS, DEPTH, MicroKernel, OperandRole
from tilewright.kernels.element_access import C_TYPES, ELEMENT_BYTES

OPERATIONS = ("matmul",)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def check(kernel: object) -> None:
    """Raise `TilewrightError` for the first thing that is wrong with a declaration."""
    if not isinstance(kernel, MicroKernel):
        hint = "declare it as tilewright.kernels.MicroKernel(...)"
        raise TilewrightError(f"{kernel!r} is not a MicroKernel", where="register", hint=hint)
    for field, problem, hint in _problems(kernel):
        value = getattr(kernel, field)
        raise TilewrightError(f"{field}={value!r} {problem}", where=f"micro kernel {kernel.name}", hint=hint)


def _problems(kernel: MicroKernel) -> Iterator[tuple[str, str, str]]:
    """(field, what is wrong with it, what to write) for each problem."""
    yield from _identity_problems(kernel)
    type_problems = tuple(_type_problems(kernel))
    yield from type_problems or _shape_problems(kernel)
    yield from _layout_problems(kernel)
    if kernel.saturation is not None and kernel.saturation.bounded not in (OperandRole.LEFT, OperandRole.RIGHT):
        yield "saturation", "bounds neither left nor right", "name the operand whose neighbours are known"
    features: Any = kernel.features
    emit: Any = kernel.emit
    if not isinstance(features, frozenset):
        yield "features", "is not a frozenset of names", 'write frozenset({"avx2", "fma"}), with names as in /proc/cpuinfo'
    largest_share = kernel.interleave * kernel.rows_per_instruction
    if not 0 < kernel.peak_share <= largest_share:
        most = f"between 0 and {largest_share}"
        yield "peak_share", "is not a share", f"measure it, {most}: of the peak of accumulators in vectors of vector_bits"
    if kernel.lanes_along not in (COLUMNS, DEPTH):
        yield "lanes_along", "is neither columns nor depth", f"choose from {COLUMNS}, {DEPTH}"
    if not set(kernel.prefetch) <= set(OperandRole):
        yield "prefetch", "names something else than operands", f"choose from {', '.join(OperandRole)}"
    if not callable(emit):
        yield "emit", "cannot be called", "give a function of (name, variants) that returns a KernelSource"


def _identity_problems(kernel: MicroKernel) -> Iterator[tuple[str, str, str]]:
    if not IDENTIFIER.match(kernel.name):
        yield "name", "is not an identifier", "use letters, digits and underscores"
    if kernel.symbol is not None and not IDENTIFIER.match(kernel.symbol):
        yield "symbol", "is not a C identifier", "give the symbol that the source defines, or None if emit honours its name"
    if kernel.operation not in OPERATIONS:
        yield "operation", "is not an operation of micro kernels", f"choose from {', '.join(OPERATIONS)}"
    if not kernel.architecture:
        yield "architecture", "is empty", 'write "any", or a name as of platform.machine()'


def _type_problems(kernel: MicroKernel) -> Iterator[tuple[str, str, str]]:
    element_types: Any = kernel.element_types
    known = f"choose from {', '.join(C_TYPES)}"
    if len(element_types) != 3:
        yield "element_types", "does not name three types", "name those of A, B and C"
    elif not set(element_types) <= set(C_TYPES):
        yield "element_types", "names a type that kernels do not know", known
    elif kernel.accumulator not in C_TYPES:
        yield "accumulator_type", "is not a type that kernels know", known


def _shape_problems(kernel: MicroKernel) -> Iterator[tuple[str, str, str]]:
    for field in ("rows", "columns", "depth"):
        if getattr(kernel, field) < 1:
            yield field, "is not positive", "a tile has at least one row, one column and one step"
    lane_bits = 8 * ELEMENT_BYTES[kernel.accumulator]
    if kernel.vector_bits < lane_bits or kernel.vector_bits % lane_bits:
        yield "vector_bits", f"is not a number of {lane_bits}-bit lanes", f"write {lane_bits} for scalar code"
    elif kernel.lanes_along == COLUMNS and kernel.columns % kernel.lanes:
        yield "columns", f"is not a multiple of {kernel.lanes} lanes", "tiles consist of whole vectors; edges are smaller n"


def _layout_problems(kernel: MicroKernel) -> Iterator[tuple[str, str, str]]:
    for field, least in (
        ("interleave", "1 leaves steps apart"),
        ("rows_per_instruction", "1 is a vector unit"),
        ("reduction_loops", "1 is the loop over k alone"),
    ):
        if getattr(kernel, field) < 1:
            yield field, "is not positive", least
    if kernel.interleave > 1 and kernel.right_by_columns:
        yield "interleave", "is of a B by columns", "leave it at 1: neighbouring steps are side by side there"
    if kernel.emit_prefetching is not None and (kernel.interleave > 1 or kernel.reduction_loops > 1):
        yield "emit_prefetching", "is of a B whose steps are interleaved, or of nested loops", "leave it out"
