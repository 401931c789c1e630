"""NumPy interpreter of block programs: what every statement means, on flat buffers, for no device and in no language.

Buffers are flat arrays, views are windows with strides into them. A leaf computes what its operator means on its box; sums are
in NumPy's order, so that results agree within the tolerance of the accumulation length. Every bit of new scratch is 1, which is
NaN: what is read must have been written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import ceil, floor
from typing import Any, TypeAlias

import numpy as np

from tilewright.block.integers import Variable, VariableKind, evaluated
from tilewright.block.memory import Buffer, BufferName, Gather, Panels, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import Fill, Leaf, Let, Prefetch, Rounded, RunningStates, Statement, TileEpilogue, Transfer
from tilewright.block.walk import Walk, block_count
from tilewright.errors import InternalError
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Previous, Scalar, State, rewrite
from tilewright.graph.expressions.scalar_functions import COMBINATIONS
from tilewright.graph.interpreter import Array, Box, Environment, at_points, evaluate_box, product_sum, total_of, value_of_scalar
from tilewright.graph.numpy_types import rounded_once
from tilewright.graph.types import element_bytes

Shares: TypeAlias = Callable[[int], Iterable[Iterable[int]]]
"""Of so many blocks, those of every thread, in the order in which it takes them."""
FARTHEST = 1 << 30
"""Elements that are rounded to integers are at most so far from 0."""


def on_one_thread(blocks: int) -> Iterable[Iterable[int]]:
    """All blocks in order."""
    return (range(blocks),)


def run(
    regions: Iterable[Region],
    arrays: Mapping[BufferName, Array],
    variables: Mapping[Variable, int],
    shares: Shares = on_one_thread,
) -> None:
    """Run the regions of a chain, one after the other.

    `arrays` are its arguments by the names of their buffers, contiguous: results are written into them. `variables` are run-time
    extents and strides. Raises `InternalError` where a window leaves its buffer.
    """
    memory = {name: array.reshape(-1).view(np.uint8) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        for region in regions:
            memory |= new_scratch(
                [one for one in region.buffers if one not in region.scratch and one.name not in memory], variables
            )
            for constant in region.constants:
                memory |= new_scratch(constant.buffers, variables)
                Thread(memory, variables).body(constant.body)
            for share in shares(block_count(region, variables)):
                Thread(memory | new_scratch(region.scratch, variables), variables).blocks(region, share)


def new_scratch(buffers: Sequence[Buffer], variables: Mapping[Variable, int]) -> dict[BufferName, Array]:
    """New buffers; those of one reuse group lie on top of each other."""
    places = {buffer.name: buffer.name if buffer.reuse_group is None else buffer.reuse_group for buffer in buffers}
    sizes: dict[BufferName | int, int] = {}
    for buffer in buffers:
        size_bytes = evaluated(buffer.elements, variables) * element_bytes(buffer.dtype)
        sizes[places[buffer.name]] = max(sizes.get(places[buffer.name], 0), size_bytes)
    memory = {place: np.full(size_bytes, 255, np.uint8) for place, size_bytes in sizes.items()}
    return {name: memory[place] for name, place in places.items()}


class Thread(Walk):
    """A walk over the bytes that a thread sees, by buffer."""

    def __init__(self, memory: Mapping[BufferName, Array], variables: Mapping[Variable, int]) -> None:
        super().__init__(variables)
        self.memory = memory

    def statement(self, node: Statement) -> None:
        """What a statement means."""
        match node:
            case Fill(target, box, value):
                self._over(target, self._box(box))[...] = value
            case Let(variable, Rounded(element, rounds_up)):
                self.values[variable] = _rounded(float(self._window(element, (), ())), rounds_up=rounds_up)
            case Transfer():
                self._copy(node)
            case Leaf():
                self._compute(node)
            case Prefetch():
                pass
            case _:
                raise InternalError(f"{type(node).__name__} is generated code's")

    def _box(self, box: Iterable[tuple[str, Range]]) -> Box:
        return Box({axis: (self.at(span.start), self.at(span.stop)) for axis, span in box})

    def _window(self, view: View, sizes: Sequence[int], strides: Sequence[int], offset: int = 0) -> Array:
        """Elements that lie `strides` apart along each dimension, from `offset` behind where a view begins."""
        size_bytes, place = element_bytes(view.dtype), self.memory[view.buffer]
        begin, apart = (self.at(view.offset) + offset) * size_bytes, [stride * size_bytes for stride in strides]
        if 0 in sizes:
            return np.empty(sizes, view.dtype)
        try:
            return np.ndarray(sizes, np.dtype(view.dtype), place, begin, apart)
        except (ValueError, TypeError) as problem:
            raise InternalError(f"a window leaves {view.buffer}: {sizes} in steps of {apart} bytes from {begin}") from problem

    def _over(self, view: View, box: Box) -> Array:
        """The elements of a view over a box, a dimension for each axis: of 1 where the view does not depend on it."""
        strides = {axis: self.at(stride) for axis, stride in view.strides}
        apart = [strides.get(axis, 0) for axis in box.ranges]
        sizes = [size if stride else 1 for stride, size in zip(apart, box.shape(), strict=True)]
        return self._window(view, sizes, apart) if view.panels is None else self._packed(view, view.panels, box)

    def _packed(self, view: View, panels: Panels, box: Box) -> Array:
        """The same of panels."""
        return self._elements(view, self._places(view, panels, box))

    def _places(self, view: View, panels: Panels, box: Box) -> Array:
        """Where in their buffer the elements of panels lie."""
        grids = {axis: grid - start for (axis, (start, _)), grid in zip(box.ranges.items(), box.grids().values(), strict=True)}
        p, j = (np.asarray(grids.get(axis or "", 0)) for axis in (panels.rows, panels.columns))
        groups, width = panels.interleave, panels.width
        within = p // groups * self.at(panels.row) + p % groups + j // width * self.at(panels.stride) + j % width * groups
        outer = [(axis, stride) for axis, stride in view.strides if axis in grids and axis not in (panels.rows, panels.columns)]
        places = sum((grids[axis] * self.at(stride) for axis, stride in outer), start=within + np.zeros((1,) * len(grids), int))
        return np.asarray(places + self.at(view.offset))

    def _elements(self, view: View | Gather, places: Array) -> Array:
        """Elements of a buffer at these places."""
        elements = self.memory[view.buffer].view(view.dtype)
        if places.size and not 0 <= places.min() <= places.max() < elements.size:
            raise InternalError(f"{view.buffer} of {elements.size} is read at {places.min()} to {places.max()}")
        return np.asarray(elements[places])

    def _gathered(self, gather: Gather, box: Box, loads: Mapping[int, Array]) -> Array:
        """Elements at computed positions, and what the guard says where it does not hold."""
        grids = box.grids()
        positions = [self._position(index, grids) for index in gather.indices]
        real = np.ones((1,) * len(grids), bool)
        for constraint in gather.guard.constraints if gather.guard is not None else ():
            real = real & (self._position(constraint, grids) >= 0)
        for lookup in gather.lookups:
            whole = loads[lookup.read].astype(np.int64)
            positions[lookup.dimension] = positions[lookup.dimension] + np.where(whole < 0, whole + self.at(lookup.extent), whole)
        moved = (position * self.at(stride) for position, stride in zip(positions, gather.dim_strides, strict=True))
        places = np.asarray(sum(moved, start=real * 0) + self.at(gather.offset))
        if gather.guard is None:
            return self._elements(gather, places)
        real, places = np.broadcast_arrays(real, places)
        found = np.full(real.shape, gather.guard.otherwise, gather.dtype)
        found[real] = self._elements(gather, places[real])
        return found

    def _position(self, index: Index, grids: Mapping[str, Array]) -> Array:
        return np.asarray(index.with_extents(self._extent).evaluate(grids))

    def _extent(self, extent: SymbolicExtent) -> int:
        return self.values[Variable(VariableKind.EXTENT, extent.name)]

    def _copy(self, copy: Transfer) -> None:
        """Packing: targets of all elements are counted out, and zeros stand where the source has none."""
        depth, columns, interleave = self.at(copy.depth), self.at(copy.columns), copy.interleave
        row, column = (self.at(copy.source.stride(axis)) for axis in (copy.depth_axis, copy.column_axis))
        width = copy.panel_columns
        p, j = np.arange(-(-depth // interleave) * interleave)[:, None], np.arange(-(-columns // max(width, 1)) * max(width, 1))
        if width:
            within = (p // interleave * width + j % width) * interleave + p % interleave
            places = j // width * self.at(copy.panel_stride) + within
        else:
            places = p * self.at(copy.target_row) + j
        target = self.memory[copy.target.buffer].view(copy.target.dtype)
        for point in product(*(range(self.at(size)) for _, size, _ in copy.outer)):
            outer = list(zip(point, copy.outer, strict=True))
            source = sum(at * self.at(copy.source.stride(axis)) for at, (axis, _, _) in outer)
            block = np.zeros(places.shape, copy.target.dtype)
            block[:depth, :columns] = self._window(copy.source, (depth, columns), (row, column), source)
            target[places + self.at(copy.target.offset) + sum(at * self.at(stride) for at, (_, _, stride) in outer)] = block

    def _ended(self, epilogue: TileEpilogue, sums: Array, box: Box) -> Array:
        """What becomes of sums: whole numbers first, where there are any, then floats."""
        loads = [self._over(operand.view, box) for operand in epilogue.operands]
        if epilogue.whole is not None:
            whole = [load.astype(np.int32) if o.is_whole else load for o, load in zip(epilogue.operands, loads, strict=True)]
            sums = self._value(epilogue.whole, [sums, *whole], np.dtype(np.int32))
            sums = sums.astype(np.float32) if epilogue.element_type else sums
        return self._value(epilogue.body, [sums, *loads], sums.dtype)

    def _value(self, scalar: Scalar, loads: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        loads = [load.astype(dtype, copy=False) for load in loads]
        return np.asarray(value_of_scalar(scalar, Environment(Box({}), loads, self._parameters(), dtype)))

    def _parameters(self) -> dict[str, float]:
        return {variable.of: value for variable, value in self.values.items() if variable.kind is VariableKind.EXTENT}

    def _compute(self, leaf: Leaf) -> None:
        """An operator on a box: what it makes of its reads, then what is written of that."""
        operator, box, written = leaf.operator, self._box(leaf.box), leaf.operator.write.axes()
        kept = [axis.name for axis in operator.axes if axis not in operator.reduction_axes() or axis.name in written]
        target = Box({axis: box.ranges[axis] for axis in kept})
        if 0 in target.shape():
            return
        dtype = np.dtype(leaf.computed_type)
        loads = [load if load.dtype == np.bool_ else load.astype(dtype, copy=False) for load in self._loads(leaf, box)]
        environment = Environment(box, loads, self._parameters(), dtype)
        if leaf.running is not None:
            block = self._continued(leaf, leaf.running, environment)
        elif leaf.inverse is not None:
            block = self._undivided(leaf, leaf.inverse, environment)
        elif operator.is_product_sum():
            block = product_sum(operator, loads, box, None)
        else:
            block = evaluate_box(operator, environment)
        result = self._written(leaf.write, target)
        block = block + result if self.at(leaf.accumulate) else block
        block = block if leaf.epilogue is None else self._ended(leaf.epilogue, block, target)
        block = rounded_once(block, leaf.write.dtype)
        if leaf.write.panels is None:
            result[...] = block
        else:
            self.memory[leaf.write.buffer].view(leaf.write.dtype)[self._places(leaf.write, leaf.write.panels, target)] = block

    def _written(self, view: View, box: Box) -> Array:
        """What lies where a result will; a window into its buffer, unless that has panels."""
        if view.panels is not None:
            return self._packed(view, view.panels, box)
        return self._window(view, box.shape(), [self.at(view.stride(axis)) for axis in box.ranges])

    def _loads(self, leaf: Leaf, box: Box) -> list[Array]:
        """What every read addresses; those that others look up come first."""
        found: dict[int, Array] = {}
        for number, read in sorted(enumerate(leaf.reads), key=lambda one: isinstance(one[1], Gather) and bool(one[1].lookups)):
            found[number] = self._over(read, box) if isinstance(read, View) else self._gathered(read, box, found)
        return [found[number] for number in range(len(leaf.reads))]

    def _continued(self, leaf: Leaf, running: RunningStates, environment: Environment) -> Array:
        """A block of rows: states go on from what they were, by their rescaling rules; undivided weights are written."""
        inner, factor_now = at_points(leaf.operator, environment), np.asarray(1.0)
        for state, (name, place, factor) in zip(leaf.reduction.states, running.states, strict=True):
            kept = self._over(place, environment.box)
            inner.states[f"previous {name}"] = before = kept.copy()
            gained = total_of(leaf.operator, state, inner)
            if factor is not None:
                factor_now = np.asarray(value_of_scalar(rewrite(factor, _as_state), inner))
                before = before * factor_now
            inner.states[name] = kept[...] = COMBINATIONS[state.combine](before, gained)
        self._over(running.factor, environment.box)[...] = factor_now
        return np.asarray(value_of_scalar(leaf.reduction.states[-1].contribution, inner))

    def _undivided(self, leaf: Leaf, inverse: View, environment: Environment) -> Array:
        """Whole rows whose readers divide: weights, and the reciprocal of their total."""
        inner, last = at_points(leaf.operator, environment), leaf.reduction.states[-1]
        for state in leaf.reduction.states:
            inner.states[state.name] = total_of(leaf.operator, state, inner)
        self._over(inverse, environment.box)[...] = 1 / inner.states[last.name]
        return np.asarray(value_of_scalar(last.contribution, inner))


def _as_state(node: Scalar) -> Scalar | None:
    return State(f"previous {node.name}") if isinstance(node, Previous) else None


def _rounded(value: float, *, rounds_up: bool) -> int:
    """The nearest integer above or below; the least one for NaN."""
    if not value > -FARTHEST:
        return -FARTHEST
    return FARTHEST if value >= FARTHEST else ceil(value) if rounds_up else floor(value)
