"""A simulated core: buffers byte for byte, DMA, cube and vector unit, and the cycles of its pipes.

It runs the blocks of a region that it is given. Buffers are laid out in their spaces when a region begins: those that do not fit
are an error. Results are those of the block interpreter; products are those of `mad`, of float16 operands with float32 sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from tilewright.backends.npu_simulator.counts import passes
from tilewright.backends.npu_simulator.figures import L0A, L0B, L0C, LANES, MEMORY, OPERAND, SPACES, SUMS, UB, Figures, Pipe
from tilewright.backends.npu_simulator.timeline import Place, Timeline
from tilewright.block.integers import IntegerExpression, Variable, evaluated
from tilewright.block.interpreter import Thread, new_scratch
from tilewright.block.memory import Buffer, BufferName, Gather, View
from tilewright.block.program import Region
from tilewright.block.statements import For, If, Leaf, MatrixTiles, Statement, Transfer
from tilewright.errors import InternalError, TilewrightError, UnsupportedOperation
from tilewright.graph.interpreter import Array
from tilewright.graph.types import element_bytes
from tilewright.leaves.npu.mad import cube_instructions, mad

SUM_BYTES = element_bytes(SUMS)


class BufferOverflow(TilewrightError):
    """Buffers of a core that are larger than their space."""


class Core(Thread):
    """One core, and what it has counted."""

    def __init__(
        self,
        region: Region,
        memory: Mapping[BufferName, Array],
        variables: Mapping[Variable, int],
        figures: Figures,
        *,
        computes: bool = True,
    ) -> None:
        """`memory` holds the tensors; without `computes` everything is counted, and nothing computed.

        Raises `BufferOverflow`.
        """
        self.figures, self.computes = figures, computes
        self.copies = copies_of(region)
        self.used = allocated(region, self.copies, variables, figures)
        self.spaces = {buffer.name: buffer.space for buffer in region.buffers}
        self.places = {buffer.name: place_of(buffer) for buffer in region.buffers}
        super().__init__({**memory, **(new_scratch(region.buffers, variables) if computes else {})}, variables)
        self.timeline = Timeline({self.places[name]: copies for name, copies in self.copies.items()})
        self.moved: Counter[tuple[str, str]] = Counter()
        """Bytes by tensor and way."""
        self.cubes = self.products = self.vectors = self.vector_bytes = 0

    def statement(self, node: Statement) -> None:
        """Count an instruction, and run it. Raises `UnsupportedOperation` for what the device does not have."""
        match node:
            case Transfer():
                self._move(node)
            case MatrixTiles():
                self._multiply(node)
                return
            case Leaf():
                self._compute_vectors(node)
            case _:
                raise UnsupportedOperation(f"the device has no instruction for {type(node).__name__}")
        if self.computes:
            super().statement(node)

    def _space(self, name: BufferName) -> str:
        return self.spaces.get(name, MEMORY)

    def _place(self, view: View | Gather) -> Place:
        return self.places.get(view.buffer, view.buffer)

    def _move(self, node: Transfer) -> None:
        """One DMA: it reads the elements of its box; what it fills up crosses nothing."""
        way = self.figures.way(self._space(node.source.buffer), self._space(node.target.buffer))
        sizes = [self.at(size) for _, size, _ in node.outer]
        size_bytes = prod(sizes) * self.at(node.depth) * self.at(node.columns) * element_bytes(node.source.dtype)
        of = node.target if way.target == MEMORY else node.source
        self.moved[of.buffer.tensor, way.name] += size_bytes
        self.timeline.run(way.pipe, size_bytes / way.bytes_per_cycle, [self._place(node.source)], self._place(node.target))

    def _multiply(self, node: MatrixTiles) -> None:
        """One `mad`: its operands in L0A and L0B, its sums in L0C."""
        left, right, target = node.left, node.right, node.write
        for view, space, dtype in ((left, L0A, OPERAND), (right, L0B, OPERAND), (target, L0C, SUMS)):
            if self._space(view.buffer) != space or view.dtype != dtype:
                found = f"{view.buffer} is {view.dtype} in {self._space(view.buffer)}"
                raise UnsupportedOperation(f"mad takes {dtype} from {space}", why=found, where=node.operator.name)
        rows, columns, depth = (self.at(side.size) for side in node.sides)
        is_added = bool(self.at(node.accumulate))
        cubes = cube_instructions(rows, columns, depth)
        self.cubes, self.products = self.cubes + cubes, self.products + 1
        cycles = cubes + self.figures.flag_cycles
        self.timeline.run(Pipe.CUBE, cycles, [self._place(left), self._place(right)], self._place(target), adds=is_added)
        if self.computes:
            m, n, k = (-(-size // LANES) for size in (rows, columns, depth))
            sums = self._fractals(target, m, n, is_right=True)
            if not is_added:
                sums[...] = 0
            mad(sums, self._fractals(left, m, k), self._fractals(right, k, n, is_right=True, is_operand=True))

    def _fractals(self, view: View, outer: int, inner: int, *, is_right: bool = False, is_operand: bool = False) -> Array:
        """Packed blocks as an array [outer, inner, 16, 16]: [m1, k1, m2, k2], [k1, n1, n2, k2] or [m1, n1, m2, n2]."""
        panels = view.panels
        if panels is None or panels.width != LANES or panels.interleave != LANES:
            raise InternalError(f"{view.buffer} is not packed in blocks of {LANES} x {LANES}")
        steps = (self.at(panels.row), self.at(panels.stride)) if is_operand else (self.at(panels.stride), self.at(panels.row))
        size = element_bytes(view.dtype)
        strides = tuple(step * size for step in (*steps, LANES, 1))
        begin = self.at(view.offset) * size
        return np.ndarray((outer, inner, LANES, LANES), view.dtype, self.memory[view.buffer], begin, strides)

    def _compute_vectors(self, node: Leaf) -> None:
        """A vector operator, in the unified buffer."""
        places = [operand.place.buffer for operand in node.accesses()]
        for name in places:
            if self._space(name) != UB:
                why = f"{name} is in {self._space(name)}"
                raise UnsupportedOperation(f"the vector unit computes in {UB} alone", why=why, where=node.operator.name)
        points = prod(self.at(span.size) for _, span in node.box)
        size_bytes = points * passes(node.operator) * SUM_BYTES
        self.vectors, self.vector_bytes = self.vectors + 1, self.vector_bytes + size_bytes
        cycles = size_bytes / self.figures.vector_bytes_per_cycle + self.figures.flag_cycles
        reads = [self._place(operand.place) for operand in node.accesses() if operand.is_read != 0]
        self.timeline.run(Pipe.VECTOR, cycles, reads, self._place(node.write))


def place_of(buffer: Buffer) -> Place:
    """Where a buffer lies: in a place of its own, or in that of its reuse group."""
    return buffer.name if buffer.reuse_group is None else buffer.reuse_group


def copies_of(region: Region) -> dict[BufferName, int]:
    """How often every buffer exists: as often as blocks are in flight of the innermost loop around all that touches it."""
    return {name: loop.buffers if loop is not None else 1 for name, loop in homes_of(region).items()}


def homes_of(region: Region) -> dict[BufferName, For | None]:
    """The innermost loop around all that touches a buffer; None without one."""
    paths: dict[BufferName, tuple[For, ...]] = {}
    for loops, node in _paths((), region.body):
        for view in _touched(node):
            known = paths.get(view)
            paths[view] = loops if known is None else _common(known, loops)
    declared = {buffer.name for buffer in region.buffers}
    return {name: loops[-1] if loops else None for name, loops in paths.items() if name in declared}


def _paths(loops: tuple[For, ...], body: tuple[Statement, ...]) -> Iterator[tuple[tuple[For, ...], Statement]]:
    for node in body:
        if isinstance(node, For):
            yield from _paths((*loops, node), node.body)
        elif isinstance(node, If):
            yield from _paths(loops, node.body)
        else:
            yield loops, node


def _common(first: tuple[For, ...], second: tuple[For, ...]) -> tuple[For, ...]:
    shared = [one for one, other in zip(first, second, strict=False) if one is other]
    return tuple(shared)


def _touched(node: Statement) -> Iterator[BufferName]:
    match node:
        case Transfer(source, target):
            yield from (source.buffer, target.buffer)
        case Leaf():
            yield from (operand.place.buffer for operand in node.accesses())


def allocated(
    region: Region, copies: Mapping[BufferName, int], variables: Mapping[Variable, int], figures: Figures
) -> dict[str, int]:
    """The bytes of every space that the buffers of a region take, one behind the other, those of a reuse group in one place.

    Raises `BufferOverflow`.
    """
    taken: dict[tuple[str, Place], int] = {}
    for buffer in region.buffers:
        if buffer.space not in SPACES:
            raise UnsupportedOperation(f"{buffer.name} lies in {buffer.space}", why=f"a core has {', '.join(SPACES)}")
        place = buffer.space, place_of(buffer)
        taken[place] = max(taken.get(place, 0), _size(buffer, variables) * copies.get(buffer.name, 1))
    used = {space: sum(size for (of, _), size in taken.items() if of == space) for space in SPACES}
    for space, size_bytes in used.items():
        if size_bytes > figures.size(space):
            raise BufferOverflow(
                f"the buffers of {region.name} do not fit {space}",
                why=f"they take {size_bytes} bytes of {figures.size(space)}",
                hint="make the tiles smaller, or keep fewer blocks in flight",
            )
    return used


def _size(buffer: Buffer, variables: Mapping[Variable, int]) -> int:
    elements: IntegerExpression = buffer.elements
    return evaluated(elements, variables) * element_bytes(buffer.dtype)
