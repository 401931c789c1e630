"""What a block program touches in memory: for every leaf call the elements that it reads and writes, in the order of its loops.

Maps take vectors of all operands one after the other; row-wise reductions take a pass over a row for every state and one that
finishes it; products go by tiles, panel by panel (`runs.c`). Where the elements of a buffer lie is told by whoever asks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from tilewright.block.integers import Variable
from tilewright.block.memory import BufferName, Gather, View
from tilewright.block.program import Region
from tilewright.block.statements import Fill, MatrixTiles, Prefetch, Statement, Transfer, VectorLoops
from tilewright.block.walk import Walk, block_count
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Literal, Load, Point, Scalar, rewrite, subexpressions
from tilewright.graph.types import element_bytes
from tilewright.kernels.contract import MicroKernel
from tilewright.leaves.matrix_tiles.epilogues import operand_steps
from tilewright.leaves.matrix_tiles.loops import values_of
from tilewright.render.c.leaf_texts import filling

Addresses = np.ndarray[Any, np.dtype[np.int64]]
Touched = tuple[Addresses, int, bool]
"""Addresses, bytes of an element, whether it is written; addresses below 0 are none."""
PACKED_ROWS, PACKED_GROUPS = 8, 4
"""Rows, or groups of interleaved ones, that packing copies of all panels before the next."""


class Runs(Walk):
    """A walk that tells the library of `runs.c` what every leaf touches. `places` has the addresses of buffers."""

    def __init__(
        self,
        library: ctypes.CDLL,
        places: Mapping[BufferName, int],
        variables: Mapping[Variable, int],
        kernels: Mapping[str, MicroKernel],
        lanes: int,
        *,
        every_step: bool,
    ) -> None:
        super().__init__(variables)
        self.library, self.places, self.kernels, self.lanes, self.every_step = library, places, kernels, lanes, every_step

    def region(self, region: Region) -> None:
        """All blocks of a region in order."""
        self.blocks(region, range(block_count(region, self.values)))

    def statement(self, node: Statement) -> None:
        match node:
            case MatrixTiles():
                self._product(node)
            case VectorLoops():
                self._tell(self._loops(node))
            case Fill():
                self._tell(self._loops(filling(node, self.lanes)))
            case Transfer():
                self._tell(self._copy(node))
            case Prefetch():
                pass
            case _:
                raise InternalError(f"{type(node).__name__} depends on the data of a call")

    def _tell(self, touched: Iterator[tuple[Addresses, Addresses]]) -> None:
        for addresses, forms in touched:
            real = addresses >= 0
            given, bytes_and_writes = addresses[real].astype(np.uint64), forms[real].astype(np.uint8)
            self.library.tw_elements(given.ctypes.data, bytes_and_writes.ctypes.data, given.size)

    def _start(self, view: View) -> int:
        return self.places[view.buffer] + self.at(view.offset) * element_bytes(view.dtype)

    def _product(self, call: MatrixTiles) -> None:
        kernel = self.kernels[call.tile.micro_kernel]
        given = {name: self.at(value) for name, value in values_of(call).items() if not isinstance(value, View)}
        sizes = [element_bytes(view.dtype) for view in (call.left, call.right, call.write)]
        depth, around = given["k"], range(1, kernel.reduction_loops)
        numbers = [given["m"], given["n"], depth, kernel.columns, kernel.lanes, kernel.interleave]
        numbers += [kernel.right_by_columns, given["accumulate"] != 0, not self.every_step, call.panel_slice_steps or depth or 1]
        numbers += [self._start(call.left), given["a_row"] * sizes[0], given["a_column"] * sizes[0]]
        numbers += [self._start(call.right), given["b_panel"] * sizes[1], given["b_row"] * sizes[1]]
        numbers += [self._start(call.write), given["c_row"] * sizes[2], *sizes, len(around), len(call.operands)]
        heights = [kernel.rows_for(vectors * kernel.lanes) for vectors in range(1, -(-kernel.columns // kernel.lanes) + 1)]
        steps = ("k", 1), ("a_step", sizes[0]), ("b_step", sizes[1])
        loops = [given[f"{name}_{i}"] * size for i in around for name, size in steps]
        operands: list[int] = []
        for operand in call.operands:
            size, (row, moves) = element_bytes(operand.view.dtype), operand_steps(call, operand)
            operands += [self._start(operand.view), self.at(row) * size, size * moves, size]
        self.library.tw_product(*map(_longs, (numbers, heights, loops, operands)))

    def _loops(self, loops: VectorLoops) -> Iterator[tuple[Addresses, Addresses]]:
        """A map, or the passes of a row-wise reduction."""
        spans = {axis: (self.at(span.start), self.at(span.size)) for axis, span in loops.box}
        if any(size <= 0 for _, size in spans.values()):
            return
        reduced = [axis.name for axis in loops.operator.reduction_axes()]
        rows = [axis for axis in spans if axis not in reduced]
        lanes = loops.vector_axis or (next(reversed(spans)) if spans else "")
        if loops.operator.reduction is None:
            touched = [self._read(loops, number, spans) for number in range(len(loops.reads))]
            yield _in_vectors([*touched, self._of(loops.write, spans, writes=True)], spans, [], lanes, loops.lanes)
            return
        passes = [_in_vectors(each, spans, rows, lanes, loops.lanes) for each in self._passes(loops, spans) if each]
        first = {axis: (start, 1 if axis in reduced else size) for axis, (start, size) in spans.items()}
        states = [place for _, place, _ in loops.running.states] if loops.running is not None else []
        ends = [self._of(place, first, writes=writes) for place in states for writes in (False, True)]
        ends += [self._of(place, first, writes=True) for place in loops.places() if place not in (loops.write, *states)]
        ends += [] if set(reduced) <= loops.operator.write.axes() else [self._of(loops.write, first, writes=True)]
        passes += [_in_vectors(ends, first, rows, lanes, loops.lanes)] if ends else []
        count = passes[0][0].shape[0] if passes else 0
        yield tuple(np.concatenate([each[side].reshape(count, -1) for each in passes], axis=1).ravel() for side in (0, 1))  # type: ignore[misc]

    def _passes(self, loops: VectorLoops, spans: Mapping[str, tuple[int, int]]) -> Iterator[list[Touched]]:
        """What the passes over a row touch at every point: one for each state, and one that finishes."""
        reduction, written = loops.reduction, self._of(loops.write, spans, writes=True)
        last, finish = reduction.states[-1].contribution, reduction.finish
        beside = rewrite(finish, lambda node: Literal(0.0) if node == last else None)
        pointwise = {axis.name for axis in loops.operator.reduction_axes()} <= loops.operator.write.axes()
        lost = any(
            node == Point() or (isinstance(node, Load) and loops.reads[node.read] == loops.write)
            for node in subexpressions(beside)
        )
        divided_later = loops.running is not None or loops.inverse is not None
        keeps = divided_later or (pointwise and beside != finish and last != Point() and not lost)
        for state in reduction.states:
            reads = self._reads(loops, spans, loops.operator.body, state.contribution)
            yield [*reads, *([written] if keeps and state is reduction.states[-1] else [])]
        if pointwise and not divided_later:
            reads = self._reads(loops, spans, beside) if keeps else self._reads(loops, spans, loops.operator.body, finish)
            yield [*([self._of(loops.write, spans)] if keeps else []), *reads, written]

    def _reads(self, loops: VectorLoops, spans: Mapping[str, tuple[int, int]], *bodies: Scalar) -> list[Touched]:
        """The reads that expressions use."""
        used = dict.fromkeys(node.read for body in bodies for node in subexpressions(body) if isinstance(node, Load))
        return [self._read(loops, number, spans) for number in used]

    def _read(self, loops: VectorLoops, number: int, spans: Mapping[str, tuple[int, int]]) -> Touched:
        read = loops.reads[number]
        return self._of(read, spans) if isinstance(read, View) else self._gathered(read, spans)

    def _of(self, view: View, spans: Mapping[str, tuple[int, int]], *, writes: bool = False) -> Touched:
        """The elements of a view over a box, a dimension for each axis."""
        size = element_bytes(view.dtype)
        steps = [self.at(view.stride(axis)) * size for axis in spans]
        grids = np.ix_(*(np.arange(count) * step for step, (_, count) in zip(steps, spans.values(), strict=True)))
        return np.asarray(sum(grids, start=np.int64(self._start(view)))), size, writes

    def _gathered(self, gather: Gather, spans: Mapping[str, tuple[int, int]]) -> Touched:
        """The same of elements at computed positions; there are none where the guard does not hold."""
        if gather.lookups:
            raise InternalError("positions depend on the data of a call")
        grids = dict(zip(spans, np.ix_(*(np.arange(start, start + count) for start, count in spans.values())), strict=True))
        places: Any = np.int64(self.at(gather.offset))
        for index, stride in zip(gather.indices, gather.dim_strides, strict=True):
            places = places + np.asarray(index.evaluate(grids)) * self.at(stride)
        addresses = self.places[gather.buffer] + places * element_bytes(gather.dtype)
        for constraint in gather.guard.constraints if gather.guard is not None else ():
            addresses = np.where(np.asarray(constraint.evaluate(grids)) >= 0, addresses, -1)
        return np.asarray(addresses), element_bytes(gather.dtype), False

    def _copy(self, copy: Transfer) -> Iterator[tuple[Addresses, Addresses]]:
        """Some rows of all panels, then the next; zeros are written where the source has nothing."""
        size, depth, columns = element_bytes(copy.target.dtype), self.at(copy.depth), self.at(copy.columns)
        width, group = max(copy.panel_columns or columns, 1), copy.interleave
        row, column = (self.at(copy.source.stride(axis)) * size for axis in (copy.depth_axis, copy.column_axis))
        rows = np.arange(-(-depth // group) * group).reshape(-1, group)
        step = PACKED_ROWS if group == 1 else PACKED_GROUPS
        panel, within = np.arange(-(-columns // width))[:, None, None, None], np.arange(width)[:, None]
        j = panel * width + within
        for point in product(*(range(self.at(count)) for _, count, _ in copy.outer)):
            outer = list(zip(point, copy.outer, strict=True))
            source = self._start(copy.source) + size * sum(at * self.at(copy.source.stride(axis)) for at, (axis, _, _) in outer)
            target = self._start(copy.target) + size * sum(at * self.at(stride) for at, (_, _, stride) in outer)
            for first in range(0, len(rows), step):
                p = rows[first : first + step, None, :]  # panels, rows or groups, columns, rows of a group
                read = np.where((j < columns) & (p < depth), source + p * row + j * column, -1)
                to = p * self.at(copy.target_row) + j
                if copy.panel_columns:
                    to = panel * self.at(copy.panel_stride) + (p // group * width + within) * group + p % group
                sides = (read.swapaxes(2, 3), target + to * size)
                both = np.stack([_chunks(side.reshape(-1, width * group), self.lanes) for side in sides], axis=2)
                forms = np.broadcast_to(np.array([2 * size, 2 * size + 1])[:, None], both.shape)
                yield both.ravel(), forms.ravel()


def _in_vectors(
    touched: Sequence[Touched], spans: Mapping[str, tuple[int, int]], rows: Sequence[str], along: str, lanes: int
) -> tuple[Addresses, Addresses]:
    """Addresses and forms, rows first: vectors of all operands one after the other. Vectors of rows belong together."""
    order = [*(axis for axis in rows if axis != along), *(axis for axis in spans if axis not in rows and axis != along)]
    order += [along] if along in spans else []
    places, shape = [list(spans).index(axis) for axis in order], tuple(count for _, count in spans.values())
    lanes, count = max(lanes, 1), shape[places[-1]] if order else 1
    arrays, forms = [], []
    for addresses, size, writes in touched:
        arrays.append(_chunks(np.broadcast_to(addresses, shape).transpose(places).reshape(-1, count), lanes))
        forms.append(np.full(arrays[-1].shape, 2 * size + writes, np.int64))
    stacked, kinds = np.stack(arrays, axis=2), np.stack(forms, axis=2)  # inner points, vectors, operands, lanes
    outside = int(np.prod([spans[axis][1] for axis in rows if axis != along], dtype=np.int64))
    if along in rows:
        stacked, kinds = (each.reshape(outside, -1, *each.shape[1:]).swapaxes(1, 2) for each in (stacked, kinds))
        outside *= -(-count // lanes)
    return stacked.reshape(outside, -1), kinds.reshape(outside, -1)


def _chunks(rows: Addresses, lanes: int) -> Addresses:
    """Rows in chunks of so many; there is nothing behind the last."""
    rest = -rows.shape[1] % lanes
    padded = np.pad(rows, ((0, 0), (0, rest)), constant_values=-1) if rest else rows
    return padded.reshape(len(rows), -1, lanes)


def _longs(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_long]:
    return (ctypes.c_long * max(len(numbers), 1))(*numbers)
