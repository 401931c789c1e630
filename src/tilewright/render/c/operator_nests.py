"""Shared loop nests: the loops of every operator become a function of its pointers and numbers, which equal operators call.

A chain keeps its blocks, conditions and scratch, and calls a function for every copy, map and row-wise reduction. What differs
between layers goes into the call: places, extents, strides, and whatever a call computes at run time. Literals stay in the
function where `plan/execution.py` says so (`Nests`): gcc unrolls short loops of them, and loads of a known stride are shuffles.

Legal because a nest reads nothing but its parameters: loops that compute with a run-time size by its name, or report positions to
the caller, stay in their chain. So do loops that are faster there: reads at computed positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tilewright.block.execution import Nests
from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.memory import BufferName, Gather, Range, View
from tilewright.block.program import Region, mapped
from tilewright.block.statements import Statement, Transfer, VectorLoops
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Parameter
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.types import Access, Axis, Operator
from tilewright.leaves.declaration import WAYS
from tilewright.leaves.registry import leaf_of, literal_axis
from tilewright.plan.chains import with_axes
from tilewright.render.c.c_file import NestCall, OperatorNest, PointerParameter
from tilewright.tile.dialects.description import Dialect


def with_shared_nests(chain: Region, nests: Nests, dialect: Dialect) -> Region:
    """The chain with calls in the place of all loops that can be shared."""
    return chain.mapped(lambda node: (_shared(node, nests, dialect),))


def shared(nodes: tuple[Statement, ...], nests: Nests, dialect: Dialect) -> tuple[Statement, ...]:
    """Statements with such calls."""
    return mapped(nodes, lambda node: (_shared(node, nests, dialect),))


def _shared(node: Statement, nests: Nests, dialect: Dialect) -> Statement:
    match node:
        case Transfer():
            return _copy_call(node, nests, dialect)
        case VectorLoops() if _can_be_shared(node):
            return _loops_call(node, nests, dialect)
        case _:
            return node


def _can_be_shared(loops: VectorLoops) -> bool:
    """Whether all operands are views, and the loops mention nothing else. Every buffer must have elements of one type.

    Reads at computed positions stay in their chain: with a position as an argument GCC 12 keeps less of it in registers (unfolds
    of ResNet-50 take 1.2 to 1.36 times as long, Zen 5). So do leaves that say so.
    """
    stays = not leaf_of(loops.leaf).constraints(loops.leaf).shares_loops
    if stays or any(isinstance(read, Gather) for read in loops.reads):
        return False
    types = {(view.buffer, view.dtype) for view in _views(loops)}
    is_alone = not any(isinstance(scalar, Parameter) for scalar in loops.operator.scalars())
    is_alone = is_alone and REPORT_NOT_FINITE not in loops.functions()
    return is_alone and len(types) == len({buffer for buffer, _ in types})


def _views(loops: VectorLoops) -> list[View]:
    """Of all operands and results."""
    return [*(read for read in loops.reads if isinstance(read, View)), *loops.places()]


@dataclass(slots=True)
class _Parameters:
    """The parameters of a nest in the order in which they are met, each with what its call passes."""

    nests: Nests
    dialect: Dialect
    offsets: dict[BufferName, set[IntegerExpression]]
    """Of the views of every buffer: a pointer to a buffer of one offset begins there."""
    written: frozenset[BufferName]
    pointers: dict[BufferName, tuple[PointerParameter, IntegerExpression]] = field(default_factory=dict)
    numbers: dict[tuple[Variable | VariableKind, IntegerExpression], Variable] = field(default_factory=dict)

    def number(self, role: Variable | VariableKind, value: IntegerExpression, *, along_lanes: bool = False) -> IntegerExpression:
        """A value as the nest sees it: as this parameter, or as the one of the kind that equal values have."""
        if isinstance(value, int) and self.nests.folds(value, along_lanes=along_lanes):
            return value
        count = sum(key == role for key, _ in self.numbers)
        return self.numbers.setdefault((role, value), role if isinstance(role, Variable) else Variable(role, number=count))

    def place(self, buffer: BufferName, offset: IntegerExpression, dtype: str) -> tuple[BufferName, IntegerExpression]:
        """The name of a buffer, and the offset that is left."""
        only = len(self.offsets[buffer]) == 1
        if buffer not in self.pointers:
            parameter = PointerParameter(BufferName(f"tensor_{len(self.pointers)}"), dtype, buffer in self.written)
            self.pointers[buffer] = parameter, offset if only else 0
        return self.pointers[buffer][0].name, 0 if only else self.number(VariableKind.OFFSET, offset)

    def call(self, loops: VectorLoops | Transfer, note: str) -> NestCall:
        """The call of these loops in the names of the parameters."""
        nest = OperatorNest(loops, tuple(p for p, _ in self.pointers.values()), tuple(self.numbers.values()), self.dialect)
        places = tuple((buffer, offset) for buffer, (_, offset) in self.pointers.items())
        return NestCall(nest, note, places, tuple(value for _, value in self.numbers))


def _parameters(nests: Nests, dialect: Dialect, views: Iterable[View], written: Iterable[View]) -> _Parameters:
    offsets: dict[BufferName, set[IntegerExpression]] = {}
    for view in views:
        offsets.setdefault(view.buffer, set()).add(view.offset)
    return _Parameters(nests, dialect, offsets, frozenset(view.buffer for view in written))


def _copy_call(copy: Transfer, nests: Nests, dialect: Dialect) -> NestCall:
    """A copy: the strides that its vectors are loaded with keep their literals."""
    given = _parameters(nests, dialect, (copy.source, copy.target), (copy.target,))
    axes = _numbered([copy.depth_axis, copy.column_axis, *(axis for axis, size, _ in copy.outer if size != 1)])
    is_turned = copy.source.stride(copy.depth_axis) == 1
    lanes = frozenset() if is_turned or copy.column_axis is None else frozenset((axes[copy.column_axis],))
    source = _view(copy.source, axes, given, lanes)
    target = _view(replace(copy.target, strides=()), axes, given, lanes)
    outer = tuple(
        (axes[axis], given.number(Variable(VariableKind.BLOCK_SIZE, axes[axis]), size), given.number(VariableKind.STRIDE, stride))
        for axis, size, stride in copy.outer
        if size != 1
    )
    abstract = replace(
        copy,
        source=source,
        target=target,
        outer=outer,
        depth_axis=axes.get(copy.depth_axis or ""),
        depth=given.number(Variable(VariableKind.DEPTH), copy.depth),
        column_axis=axes.get(copy.column_axis or ""),
        columns=given.number(Variable(VariableKind.COLUMNS), copy.columns),
        panel_stride=given.number(VariableKind.STRIDE, copy.panel_stride) if copy.panel_columns else 0,
        target_row=given.number(VariableKind.STRIDE, copy.target_row) if not copy.panel_columns else 0,
    )
    return given.call(abstract, "")


def _loops_call(loops: VectorLoops, nests: Nests, dialect: Dialect) -> NestCall:
    """A map or a row-wise reduction."""
    given = _parameters(nests, dialect, _views(loops), loops.places())
    axes = _numbered(axis for axis, _ in loops.box)
    loops = _without_strides_of_points(loops)
    vector = literal_axis(loops)
    lanes = frozenset({axes[vector]} if vector is not None else ())
    positions = frozenset(scalar.axis for scalar in loops.operator.scalars() if isinstance(scalar, AxisValue))
    abstract = replace(
        loops,
        operator=_nameless(loops.operator, axes),
        box=tuple((axes[axis], _range(block, axes[axis], given, axis in positions, axis == vector)) for axis, block in loops.box),
        vector_axis=axes.get(loops.vector_axis or ""),
        leaf=loops.leaf.with_axes(axes),
    ).with_views(lambda view: _view(view, axes, given, lanes))
    return given.call(abstract, f"{loops.operator.name}: {loops.operator.kind}")


def _without_strides_of_points(loops: VectorLoops) -> VectorLoops:
    """The loops, whose views have no strides along axes of one point: nothing moves along them."""
    points = {axis for axis, block in loops.box if block.size == 1} - {loops.vector_axis}

    def without(view: View) -> View:
        return replace(view, strides=tuple((axis, stride) for axis, stride in view.strides if axis not in points))

    return loops.with_views(without)


def _numbered(axes: Iterable[str | None]) -> dict[str, str]:
    return {axis: f"d{number}" for number, axis in enumerate(dict.fromkeys(axis for axis in axes if axis is not None))}


def _nameless(operator: Operator, axes: dict[str, str]) -> Operator:
    """The operator of numbered axes, without all that its loops do not depend on."""
    written = tuple(axis_index(axis.name) for axis in operator.axes if axis.name in operator.write.axes())
    bare = replace(
        operator,
        name="",
        kind="",
        axes=tuple(Axis(axis.name, 1, axis.kind) for axis in operator.axes if axis.name in axes),
        reads=(),
        write=Access("", written),
    )
    return with_axes(bare, axes)


def _range(block: Range, axis: str, given: _Parameters, has_position: bool, has_lanes: bool) -> Range:
    """The range of an axis: of sizes that are parameters, only what decides about the text of loops is known."""
    start = given.number(Variable(VariableKind.BLOCK_START, axis), block.start) if has_position else 0
    size = given.number(Variable(VariableKind.BLOCK_SIZE, axis), block.size, along_lanes=has_lanes)
    if isinstance(size, int):
        return Range(start, size, size, frozenset((size,)))
    pieces = frozenset(piece if piece == WAYS else 1 for piece in block.pieces(WAYS))
    is_short = isinstance(block.capacity, int) and given.nests.folds(block.capacity)
    return Range(start, size, block.capacity if is_short else size, pieces)


def _view(view: View, axes: dict[str, str], given: _Parameters, lanes: frozenset[str]) -> View:
    """A view in the parameters. Of a copy all axes but those of its panel are in no stride."""
    buffer, offset = given.place(view.buffer, view.offset, view.dtype)
    strides = {axes[axis]: stride for axis, stride in view.strides if axis in axes and stride != 0}
    numbers = {
        axis: stride if axis in lanes and isinstance(stride, int) else given.number(VariableKind.STRIDE, stride)
        for axis, stride in sorted(strides.items())
    }
    return View(buffer, offset, tuple(numbers.items()), view.dtype)
