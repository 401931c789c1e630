"""The registry of micro kernels, and what each must declare.

Validation of micro kernel declarations; each refusal says which field, why, and what to write instead.

Every module of this package and its folders is looked at once: one that defines `KERNELS` (a tuple of `MicroKernel`) or
`DIALECT` (a `VectorDialect`) is thereby registered. Kernels from elsewhere are added with `register`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.kernels.contract import COLUMNS, DEPTH, FLOAT32, ElementTypes, MicroKernel, OperandRole
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.element_types import C_TYPES, ELEMENT_BYTES
from tilewright.kernels.f32 import unrolled
from tilewright.machine.machine import Machine
from tilewright.package_files import modules

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
        yield "features", "is not a frozenset of names", "write frozenset({...}), with names as in /proc/cpuinfo"
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


_external: dict[str, MicroKernel] = {}
_removed: set[str] = set()


def register(kernel: MicroKernel) -> None:
    """Add a kernel to those that plans may use; one of the package's own, after it was removed, is back in its place.

    A declaration that contradicts itself, or a name in use, raises `TilewrightError`.
    """
    check(kernel)
    if kernel.name in _by_name():
        raise TilewrightError(
            "the name is taken by another micro kernel",
            where=f"micro kernel {kernel.name}",
            hint="choose another name, or unregister() the other one first",
        )
    if _own().get(kernel.name) == kernel:
        _removed.discard(kernel.name)
    else:
        _external[kernel.name] = kernel


def unregister(name: str) -> None:
    """Remove a kernel, one of the package's own included; an unknown name raises `TilewrightError`."""
    if name not in _by_name():
        raise TilewrightError(
            "no such micro kernel", where=f"micro kernel {name}", hint=f"registered are {', '.join(sorted(_by_name()))}"
        )
    if _external.pop(name, None) is None:
        _removed.add(name)


def digest() -> str:
    """Of the kernels that are not the package's own, and of the names of those that were removed; empty without any."""
    if not (_external or _removed):
        return ""
    from tilewright.kernels import digests

    return repr((sorted(map(digests.digest, _external.values())), sorted(_removed)))


def registered() -> tuple[MicroKernel, ...]:
    """Every kernel, whether or not this machine can run it, by name."""
    return tuple(kernel for _, kernel in sorted(_by_name().items()))


class KernelsByName(dict[str, MicroKernel]):
    """Kernels by their names: the registered ones, and on demand those that `f32/unrolled.py` makes of a name."""

    def __missing__(self, name: str) -> MicroKernel:
        kernel = unrolled.named(name, dialects())
        if kernel is None:
            raise KeyError(name)
        check(kernel)
        self[name] = kernel
        return kernel

    def get(self, name: str, default: Any = None) -> Any:
        """The kernel of a name, if there is one."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and unrolled.named(name, dialects()) is not None)


def by_name() -> KernelsByName:
    """Every kernel that a plan may name. Iterating tells only those that are registered.

    >>> found = by_name()
    >>> found["matmul_avx2_f32_4x24_unroll2"].rows, "matmul_avx2_f32_9x24_unroll2" in found
    (4, False)
    """
    return KernelsByName(_by_name())


class Kernels(tuple[MicroKernel, ...]):
    """Micro kernels, whose hash is computed once: what planning remembers goes by it."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


def for_machine(
    machine: Machine, operation: str = "matmul", element_types: ElementTypes | None = FLOAT32, *, flushing: bool = False
) -> tuple[MicroKernel, ...]:
    """The kernels of an operation that the machine can run: widest vectors first, then by peak share, tile area, and name.

    Only those of these element types (None: of any) and of one reduction loop; with `flushing` those, too, that take denormal
    numbers for zeros (`MicroKernel.flushes`).

    Of kernels of the same tile those that do not prefetch come first; of the same vectors those whose lanes run along the depth
    come last.

    >>> sorted({kernel.vector_bits for kernel in for_machine(Machine.named("x86-64-v2"))})
    [128]
    """
    suitable = [
        kernel
        for kernel in registered()
        if kernel.operation == operation
        and element_types in (None, kernel.element_types)
        and kernel.reduction_loops == 1
        and (flushing or not kernel.flushes)
        and kernel.runs_on(machine.architecture, machine.features)
    ]
    return Kernels(sorted(suitable, key=_preference))


def prefetches_panels(kernel: MicroKernel) -> bool:
    """Whether a kernel of the same tile prefetches the next slice of a packed panel.

    >>> [prefetches_panels(kernel) for kernel in registered() if kernel.name.endswith(("2_f32_6x16", "f32_6x64"))]
    [False, True]
    """
    able = (other for other in _by_name().values() if other.emit_prefetching is not None and OperandRole.RIGHT in other.prefetch)
    return any(other.same_tile(kernel) for other in able)


def dialect_for(architecture: str, features: frozenset[str]) -> VectorDialect:
    """The widest dialect that such a machine can run.

    >>> dialect_for("any", frozenset()).name
    'portable'
    """
    runnable = [dialect for dialect in dialects() if dialect.runs_on(architecture, features)]
    if not runnable:
        raise UnsupportedOperation(f"no vector dialect for {architecture}", hint="add kernels/dialects/<isa>.py")
    return max(runnable, key=lambda dialect: (dialect.vector_bits, len(dialect.features), dialect.name))


def _preference(kernel: MicroKernel) -> tuple[int, bool, float, int, bool]:
    area = kernel.rows * kernel.columns
    return -kernel.vector_bits, kernel.lanes_along == DEPTH, -kernel.peak_share, -area, bool(kernel.prefetch)


def _by_name() -> dict[str, MicroKernel]:
    return {name: kernel for name, kernel in _own().items() if name not in _removed} | _external


@cache
def _own() -> dict[str, MicroKernel]:
    kernels: dict[str, MicroKernel] = {}
    for module in modules(__package__):
        for kernel in getattr(module, "KERNELS", ()):
            check(kernel)
            if kernel.name in kernels:
                raise TilewrightError("two micro kernels of this name", where=f"micro kernel {kernel.name}, {module.__name__}")
            kernels[kernel.name] = kernel
    return kernels


@cache
def dialects() -> tuple[VectorDialect, ...]:
    """Every vector dialect."""
    return tuple(module.DIALECT for module in modules(__package__) if hasattr(module, "DIALECT"))
