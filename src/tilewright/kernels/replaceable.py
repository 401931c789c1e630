"""Replaceable micro kernels: the loop nest of one block, and lowerings that compute it with the instructions of one device.

Chimera, Section V-A and Figure 4: a replaceable micro kernel describes a naive loop nest over buffers; micro kernels of several
devices are registered under it, and code generation takes the one of its target. `Replaceable` is the loop nest, `Lowering` a
micro kernel under it with what it declares: tile, operands (types, layouts), edges, resources, code. `tests/contract` generates
the checks of a lowering from these declarations; the registry is `leaves/lowerings.py`.

Every lowering computes C += A B, A of (m, k), B of (k, n), C of (m, n), with products and sums in `Replaceable.accumulator`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, ShapeError, TilewrightError
from tilewright.graph.types import element_bytes
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.machine.accelerator import Accelerator
from tilewright.machine.machine import Machine
from tilewright.records import record

Array: TypeAlias = np.ndarray[Any, Any]
Extents: TypeAlias = tuple[int, int, int]
"""Rows m, columns n, depth k."""

ROW, COLUMN, DEPTH = "row", "column", "depth"
AXES: Mapping[OperandRole, tuple[str, str]] = {
    OperandRole.LEFT: (ROW, DEPTH),
    OperandRole.RIGHT: (DEPTH, COLUMN),
    OperandRole.TARGET: (ROW, COLUMN),
}
"""Of the matrices A, B and C, first the axis of their rows."""
OPERATIONS = ("matmul",)


class Edges(StrEnum):
    """What a lowering does where the extents of a block are no multiples of its tile."""

    MASKED = "masked"
    """It takes any extents, and touches nothing outside of the matrices."""
    PADDED = "padded"
    """Operands are filled up with zeros to whole tiles; what they give is computed, and dropped when C is unpacked."""
    NONE = "none"
    """It takes whole tiles alone."""


@record
class Replaceable:
    """A loop nest over one block, of which devices have micro kernels."""

    name: str
    operation: str
    """One of `OPERATIONS`."""
    rows: int
    columns: int
    depth: int
    accumulator: str
    """NumPy name of the type of products and sums."""

    def compute(self, a: Array, b: Array, c: Array) -> Array:
        """The loop nest itself: C + A B of matrices of any extents, the depth in increasing order, products rounded first."""
        of_type = dtype_named(self.accumulator)
        sums = c.astype(of_type)
        for left, right in zip(a.T.astype(of_type), b.astype(of_type), strict=True):
            sums += np.multiply.outer(left, right)
        return sums


PRODUCT_16X16 = Replaceable("product_16x16", "matmul", 16, 16, 16, "float32")
"""The example of Figure 4."""


@record
class Operand:
    """The elements of A, B or C and their order in memory: `axes`, outermost first, then `blocks` of neighbours inside of them.

    Without blocks it is a matrix in place: elements along the last axis are side by side, rows any distance apart. With blocks it
    is packed: an array of the counts of blocks along `axes`, any distance apart, then of the blocks' sizes, which are dense.
    """

    role: OperandRole
    element_type: str
    axes: tuple[str, str]
    blocks: tuple[tuple[str, int], ...] = ()

    def pack(self, matrix: Array) -> Array:
        """The elements of a matrix (rows, columns) in this order, filled up with zeros to whole blocks.

        >>> Operand(OperandRole.LEFT, "float16", (ROW, DEPTH), ((ROW, 16), (DEPTH, 16))).pack(np.ones((20, 7))).shape
        (2, 1, 16, 16)
        """
        sizes, first = self._sizes(), AXES[self.role]
        padded = np.pad(matrix, [(0, -extent % size) for extent, size in zip(matrix.shape, sizes, strict=True)])
        counts = [extent // size for extent, size in zip(padded.shape, sizes, strict=True)]
        split = padded.reshape(counts[0], sizes[0], counts[1], sizes[1])
        order = [2 * first.index(axis) for axis in self.axes] + [2 * first.index(axis) + 1 for axis, _ in self.blocks]
        order += [position for position in range(4) if position not in order]
        packed = split.transpose(order).astype(dtype_named(self.element_type))
        return np.ascontiguousarray(packed.reshape(packed.shape[: 2 + len(self.blocks)]))

    def unpack(self, packed: Array, rows: int, columns: int) -> Array:
        """The matrix (rows, columns) that `pack` took these elements from; what filled up its blocks is dropped."""
        first = AXES[self.role]
        outer = [self.axes.index(axis) for axis in first]
        inside = [axis for axis, _ in self.blocks]
        order = [place for axis, at in zip(first, outer, strict=True) for place in (at, *_places(axis, inside))]
        sizes, counts = self._sizes(), [packed.shape[at] for at in outer]
        whole = packed.transpose(order).reshape(counts[0] * sizes[0], counts[1] * sizes[1])
        return np.ascontiguousarray(whole[:rows, :columns])

    def bytes(self, rows: int, columns: int) -> int:
        """Of a matrix (rows, columns) in this order."""
        filled = [extent + -extent % size for extent, size in zip((rows, columns), self._sizes(), strict=True)]
        return filled[0] * filled[1] * element_bytes(self.element_type)

    def extents(self, array: Array) -> tuple[int, int]:
        """Rows and columns of the matrix that is given in this order."""
        counts = dict(zip(self.axes, array.shape, strict=False))
        rows, columns = (counts[axis] * size for axis, size in zip(AXES[self.role], self._sizes(), strict=True))
        return rows, columns

    def _sizes(self) -> tuple[int, int]:
        """Of the blocks along rows and columns of the matrix."""
        sizes, (rows, columns) = dict(self.blocks), AXES[self.role]
        return sizes.get(rows, 1), sizes.get(columns, 1)


def _places(axis: str, inside: list[str]) -> list[int]:
    return [2 + inside.index(axis)] if axis in inside else []


@record
class Resources:
    """What one tile takes of its unit."""

    unit: str
    """What computes it, as machines name their units."""
    registers: int = 0
    """That its operands and sums take, by formula: vector registers of a core, or 32-bit registers of a thread. 0 if it takes
    none."""
    most_registers: int = 0
    """That compiled code takes at most, addresses and counters included."""
    spaces: tuple[tuple[str, int], ...] = ()
    """Bytes of every memory that software fills, by its name."""


@record
class KernelText:
    """A kernel in Triton: the text of a module, and the function in it.

    The function takes pointers `a`, `b`, `c`, then the constants `M`, `N`, `K` and `A_ROW`, `B_ROW`, `C_ROW`, the distances of
    rows in elements. The grid has a block for every tile of C, (along rows, along columns).
    """

    text: str
    function: str
    warps: int
    stages: int


Function: TypeAlias = Callable[[Array, Array, Array], int]
"""Of (c, a, b), each in the order of its operand: adds to c, and returns the number of instructions of the unit."""
Code: TypeAlias = MicroKernel | KernelText | Function


@record
class Lowering:
    """A micro kernel under a `Replaceable`: how a device computes its loop nest, tile by tile."""

    name: str
    replaceable: Replaceable
    device: str
    """As `Description.device`."""
    tile: Extents
    """Rows and columns of C that one invocation computes, steps of the depth that one round of its instructions takes."""
    left: Operand
    right: Operand
    target: Operand
    edges: Edges
    resources: Resources
    code: Code

    @property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        """Of A, B and C."""
        return self.left, self.right, self.target

    @property
    def element_types(self) -> tuple[str, str, str]:
        """NumPy names, of A, B and C."""
        return self.left.element_type, self.right.element_type, self.target.element_type

    def serves(self, machine: Machine) -> bool:
        """Whether a machine computes it: it has the instructions, or the unit for these types and room for a tile's bytes."""
        if machine.device != self.device:
            return False
        if isinstance(self.code, MicroKernel):
            return self.code.runs_on(machine.architecture, machine.features)
        return machine.accelerator is None or (self._has_unit(machine.accelerator) and self._has_room(machine.accelerator))

    def _has_unit(self, accelerator: Accelerator) -> bool:
        units = accelerator.units_for(self.left.element_type)
        return any(unit.name == self.resources.unit and unit.accumulator == self.replaceable.accumulator for unit in units)

    def _has_room(self, accelerator: Accelerator) -> bool:
        sizes = [(space.name, space.size_bytes) for space in accelerator.spaces]
        return all(size <= min((room for of, room in sizes if of == name), default=0) for name, size in self.resources.spaces)

    def tiles(self, extents: Extents) -> Extents:
        """How many tiles cover a block: along rows, columns, depth."""
        m, n, k = (-(-extent // size) for extent, size in zip(extents, self.tile, strict=True))
        return m, n, k

    def operand_extents(self, a: Array, b: Array, c: Array) -> Extents:
        """Extents of the block that operands are of, in the layouts that are declared, filled up where they are packed.

        Raises `DTypeError` for elements of other types, `ShapeError` for other layouts, for matrices that do not fit together,
        and for extents that the lowering's edges exclude.
        """
        for operand, array in zip(self.operands, (a, b, c), strict=True):
            self._check_operand(operand, array)
        (m, k), (depth, n), found = (one.extents(array) for one, array in zip(self.operands, (a, b, c), strict=True))
        where = f"lowering {self.name}"
        if k != depth or found != (m, n):
            shapes = " and ".join(map(str, ((m, k), (depth, n), found)))
            raise ShapeError(f"matrices of {shapes} do not fit together", where=where, why="C is (m, n), A (m, k), B (k, n)")
        if self.edges is Edges.NONE and any(extent % size for extent, size in zip((m, n, k), self.tile, strict=True)):
            raise ShapeError(
                f"a block of {m} x {n} x {k} has no whole tiles",
                where=where,
                why=f"a tile is {self.tile}",
                hint="pad the operands",
            )
        return m, n, k

    def _check_operand(self, operand: Operand, array: Array) -> None:
        where = f"lowering {self.name}, operand {operand.role}"
        if array.dtype != dtype_named(operand.element_type):
            raise DTypeError(
                f"elements of {array.dtype}", where=where, why=f"it takes {operand.element_type}", hint="convert them"
            )
        if problem := _layout_problem(operand, array):
            raise ShapeError(problem, where=where, hint="bring it into order with Operand.pack")


def _layout_problem(operand: Operand, array: Array) -> str:
    sizes = tuple(size for _, size in operand.blocks)
    if array.ndim != 2 + len(sizes) or array.shape[2:] != sizes:
        order = ", ".join((*operand.axes, *(f"{size} of {axis}" for axis, size in operand.blocks)))
        return f"an array of shape {array.shape} is not in the order [{order}]"
    if not sizes:
        apart = array.strides[-1] != element_bytes(operand.element_type) and array.shape[-1] > 1
        return f"neighbours along the {operand.axes[1]} are {array.strides[-1]} bytes apart" if apart else ""
    dense = np.empty(sizes, array.dtype).strides
    return "" if array.strides[2:] == dense else f"elements of a block are {array.strides[2:]} bytes apart, not {dense}"


def check(lowering: object) -> None:
    """Raise `TilewrightError` for the first contradiction in a declaration."""
    if not isinstance(lowering, Lowering):
        hint = "declare it as tilewright.kernels.replaceable.Lowering(...)"
        raise TilewrightError(f"{lowering!r} is not a Lowering", where="register", hint=hint)
    for field, problem, hint in (*_own_problems(lowering), *_operand_problems(lowering), *_kernel_problems(lowering)):
        value = getattr(lowering, field)
        raise TilewrightError(f"{field}={value!r} {problem}", where=f"lowering {lowering.name}", hint=hint)


def _own_problems(lowering: Lowering) -> Iterator[tuple[str, str, str]]:
    """(field, what is wrong with it, what to write) for each problem."""
    resources = lowering.resources
    code: Any = lowering.code
    if not lowering.name.isidentifier():
        yield "name", "is not an identifier", "use letters, digits and underscores"
    if lowering.replaceable.operation not in OPERATIONS:
        yield "replaceable", "is of an operation without micro kernels", f"choose from {', '.join(OPERATIONS)}"
    if min(lowering.tile) < 1:
        yield "tile", "is not positive", "a tile has at least one row, one column and one step"
    if not 0 <= resources.registers <= resources.most_registers or any(size < 1 for _, size in resources.spaces):
        yield "resources", "contradict themselves", "registers are at most most_registers, and a space holds some bytes"
    if not (isinstance(code, MicroKernel | KernelText) or callable(code)):
        yield "code", "is no code", "give a MicroKernel, a KernelText, or a function of (c, a, b)"


def _operand_problems(lowering: Lowering) -> Iterator[tuple[str, str, str]]:
    blocks = dict(zip((ROW, COLUMN, DEPTH), lowering.tile, strict=True))
    for field, role in (("left", OperandRole.LEFT), ("right", OperandRole.RIGHT), ("target", OperandRole.TARGET)):
        operand: Operand = getattr(lowering, field)
        names = [axis for axis, _ in operand.blocks]
        if operand.role is not role or sorted(operand.axes) != sorted(AXES[role]) or len({*names}) < len(names):
            yield field, f"is not laid out along {AXES[role]}", "name both axes once, and blocks along them"
        elif any(axis not in operand.axes or size < 1 or blocks[axis] % size for axis, size in operand.blocks):
            yield field, "has blocks that are no part of the tile", "blocks divide the tile"
        elif operand.blocks and lowering.edges is Edges.MASKED:
            yield "edges", "is of operands in place", f"packed operands are padded: write {Edges.PADDED!r}"
    if lowering.target.element_type != lowering.replaceable.accumulator:
        yield "target", f"does not hold sums of {lowering.replaceable.accumulator}", "C has the type of the accumulator"


def _kernel_problems(lowering: Lowering) -> Iterator[tuple[str, str, str]]:
    kernel = lowering.code
    if isinstance(kernel, MicroKernel):
        if kernel.element_types != lowering.element_types or kernel.accumulator != lowering.replaceable.accumulator:
            yield "code", f"computes {kernel.element_types} in {kernel.accumulator}", "declare the types of the micro kernel"
        if lowering.tile[:2] != (kernel.rows, kernel.columns):
            yield "tile", f"is not the {kernel.rows} x {kernel.columns} of the micro kernel", "declare the micro kernel's tile"
