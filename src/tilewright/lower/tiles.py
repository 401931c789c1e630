"""Lowering for machines with an accelerator, whose leaves take whole tiles.

A sum lies in a tile from the first block of the loops that cut it to the last one: it starts from zeros before the outermost of
these loops, every block adds to it, and behind the loop it is divided, where it sums weights, and stored. So do the states of
rows. An operand that stays, which a `Pack` above a loop says, is copied into a tile before that loop. Masks and guards cut
nothing into pieces: a leaf takes them point by point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import BufferName, Content, Gather, View
from tilewright.block.statements import Fill, Leaf, RunningStates, Statement
from tilewright.errors import PlanningError
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Load, Scalar, State, apply, rewrite
from tilewright.graph.types import Access, Axis, AxisKind, Operator, Reduction
from tilewright.lower.context import Lowering, Scope
from tilewright.lower.row_reductions import FACTOR, row_view, weights_of
from tilewright.lower.storage import dense_strides
from tilewright.plan import schedule as tree
from tilewright.plan.regions.online_reductions import adds_up, cut_axes, row_axes, weights_read, why_rows_must_be_whole


def lower_tile(state: Lowering, operator: Operator, scope: Scope) -> tuple[Statement, ...]:
    """An operator on the current box: a leaf, behind the correction of the sums of weights that it adds to."""
    reads, write = _reads(state, operator, scope), _sums(state, operator, scope)
    leaf = Leaf(_binding(state, operator), operator, scope.box(operator.axes), reads, write)
    if _opening(state, operator) is None:
        return (leaf,)
    if not adds_up(operator):
        return (replace(leaf, running=_running(state, operator, scope)),)
    rows = _cut_weights(state, operator)
    corrected = () if rows is None else (_scaled(state, operator, rows, FACTOR, "multiply", scope),)
    return (*corrected, replace(leaf, operator=_unfinished(operator), accumulate=1))


def before_loop(state: Lowering, loop: tree.Loop, scope: Scope) -> Iterator[Statement]:
    """Where sums and states start that a loop, seen from outside, is the first to cut."""
    for operator in _opened(state, loop):
        if adds_up(operator):
            yield _filled(state, operator, "sum", 0.0, _sums(state, operator, scope), _kept(operator), scope)
            continue
        rows = [operator.axis(name) for name in row_axes(operator)]
        for one in operator.reduction.states if operator.reduction is not None else ():
            yield _filled(state, operator, one.name, one.identity, row_view(state, operator, one.name, scope), rows, scope)


def behind_loop(state: Lowering, loop: tree.Loop, scope: Scope) -> Iterator[Statement]:
    """What becomes of the sums that such a loop has completed."""
    for operator in _opened(state, loop):
        rows = _cut_weights(state, operator)
        if rows is not None:
            yield _scaled(state, operator, rows, weights_of(rows).total, "divide", scope)
        if _is_staged(state, operator):
            yield _store(state, operator, scope)


def lower_tile_pack(state: Lowering, pack: tree.Pack, scope: Scope) -> tuple[Statement, ...]:
    """A Pack: the operand's current box is copied into a tile, which the operator reads from here on."""
    operator = state.chain.operator(pack.operator)
    access = operator.reads[pack.read]
    axes = [axis for axis in operator.axes if axis.name in _axes(access)]
    name = BufferName(access.tensor, Content.PACKED, operator.name, pack.read)
    dtype = state.chain.tensor(access.tensor).dtype
    tile = _tile(state, name, axes, dtype, f"{access.tensor} of {operator.name} stays", scope)
    copied = Operator(f"{operator.name}_load", "load", _parallel(axes), (access,), _plain(access.tensor, axes), Load(0))
    starts = {axis.name: scope.ranges[axis.name].start for axis in axes}
    state.tiles[pack.operator, pack.read] = tile, starts
    binding = replace(_map_binding(state), element_type="" if dtype == "float32" else dtype)
    return (Leaf(binding, copied, scope.box(axes), (state.read(operator, access, scope),), tile),)


def _reads(state: Lowering, operator: Operator, scope: Scope) -> tuple[View | Gather, ...]:
    found: list[View | Gather] = []
    for number, access in enumerate(operator.reads):
        tile, starts = state.tiles.get((operator.name, number), (None, {}))
        if tile is None:
            found.append(state.read(operator, access, scope))
            continue
        moved = ((scope.ranges[axis].start - start) * tile.stride(axis) for axis, start in starts.items())
        found.append(replace(tile, offset=sum(moved)))
    return tuple(found)


def _running(state: Lowering, operator: Operator, scope: Scope) -> RunningStates:
    """The states of rows that go on from block to block."""
    if problem := why_rows_must_be_whole(state.chain, state.plan.schedule, operator):
        raise PlanningError(f"operator {operator.name} cannot run in blocks", where=state.chain.name, why=problem)
    factors = weights_of(operator).factors
    states = tuple((name, row_view(state, operator, name, scope), factor) for name, factor in factors)
    return RunningStates(states, row_view(state, operator, FACTOR, scope))


def _opening(state: Lowering, operator: Operator) -> tree.Loop | None:
    """The outermost loop that cuts a reduction; None where all of it is in one block."""
    reduced = {axis.name for axis in operator.reduction_axes()}
    loops = tree.cutting(state.chain, state.plan.schedule.path(operator.name)) if reduced else ()
    return next((loop for loop in loops if loop.axis in reduced), None)


def _opened(state: Lowering, loop: tree.Loop) -> Iterator[Operator]:
    """The operators whose reduction a loop is the first to cut. Nothing may cut their results inside of it."""
    for operator in state.chain.operators:
        if _opening(state, operator) is loop:
            path = state.plan.schedule.path(operator.name)
            inside = path[[one is loop for one in path].index(True) :]
            kept = {axis.name for axis in _kept(operator)}
            cut = [one.axis for one in tree.cutting(state.chain, inside) if one.axis in kept]
            if cut and adds_up(operator):
                why = f"a loop over {', '.join(cut)} stands inside of the loop over {loop.axis} that sums it"
                raise PlanningError(f"{operator.name} has no tile", where=state.chain.name, why=why)
            yield operator


def _cut_weights(state: Lowering, operator: Operator) -> Operator | None:
    """The row-wise reduction in blocks whose undivided weights an operator sums."""
    rows = weights_read(state.chain, operator)
    return rows if rows is not None and cut_axes(state.chain, state.plan.schedule, rows) else None


def _unfinished(operator: Operator) -> Operator:
    """An operator that adds up, and writes its sums."""
    assert operator.reduction is not None
    (state,) = operator.reduction.states
    return replace(operator, reduction=Reduction((state,), State(state.name)))


def _finish(operator: Operator) -> Scalar:
    """What becomes of a whole sum, which is `Load(0)`."""
    assert operator.reduction is not None
    return rewrite(operator.reduction.finish, lambda node: Load(0) if isinstance(node, State) else None)


def _is_staged(state: Lowering, operator: Operator) -> bool:
    """Whether sums over several blocks lie in a tile of their own, before they are finished, or stored as the output."""
    if _opening(state, operator) is None or not adds_up(operator):
        return False
    return operator.write.tensor == state.chain.output or _finish(operator) != Load(0)


def _sums(state: Lowering, operator: Operator, scope: Scope) -> View:
    """Where a leaf leaves its results."""
    if not _is_staged(state, operator):
        return state.strided(operator.write, scope)
    name = BufferName(operator.write.tensor, Content.STAGED, operator.name)
    return _tile(state, name, _kept(operator), _computed(state, operator), "sums, before they are stored", scope)


def _computed(state: Lowering, operator: Operator) -> str:
    return _binding(state, operator).element_type or "float32"


def _store(state: Lowering, operator: Operator, scope: Scope) -> Leaf:
    axes = _kept(operator)
    sums = _plain(operator.write.tensor, axes)
    stored = Operator(f"{operator.name}_store", "store", _parallel(axes), (sums,), operator.write, _finish(operator))
    binding = replace(_map_binding(state), element_type=_binding(state, operator).element_type)
    return Leaf(binding, stored, scope.box(axes), (_sums(state, operator, scope),), state.strided(operator.write, scope))


def _scaled(state: Lowering, operator: Operator, rows: Operator, by: str, function: str, scope: Scope) -> Leaf:
    """The tile of sums, multiplied or divided row by row."""
    target, axes = _sums(state, operator, scope), _kept(operator)
    accesses = (_plain(operator.write.tensor, axes), Access(by, tuple(map(axis_index, row_axes(rows)))))
    body = apply(function, Load(0), Load(1))
    scaled = Operator(f"{operator.name}_{function}", "correct", _parallel(axes), accesses, accesses[0], body)
    return Leaf(_map_binding(state), scaled, scope.box(axes), (target, row_view(state, rows, by, scope)), target)


def _filled(
    state: Lowering, operator: Operator, name: str, value: float, target: View, axes: Iterable[Axis], scope: Scope
) -> Fill:
    """A tile of sums or states before the first block."""
    return Fill(target, scope.box(axes), value, _map_binding(state), f"{operator.name}_{name}: start")


def _tile(state: Lowering, name: BufferName, axes: Iterable[Axis], dtype: str, note: str, scope: Scope) -> View:
    """A buffer for the current box of some axes, all of it."""
    axes = tuple(axes)
    sizes = tuple(scope.ranges[axis.name].capacity for axis in axes)
    state.scratch(name, prod(sizes), note, dtype)
    return View(name, 0, tuple(zip((axis.name for axis in axes), dense_strides(sizes), strict=True)), dtype)


def _kept(operator: Operator) -> tuple[Axis, ...]:
    """The axes of an operator's results."""
    return tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL)


def _axes(access: Access) -> frozenset[str]:
    """What the element depends on, and whether it is real."""
    return access.axes() | access.guard.axes() if access.guard is not None else access.axes()


def _parallel(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    return tuple(Axis(axis.name, axis.extent) for axis in axes)


def _plain(tensor: str, axes: Iterable[Axis]) -> Access:
    return Access(tensor, tuple(axis_index(axis.name) for axis in axes))


def _binding(state: Lowering, operator: Operator) -> LeafBinding:
    leaf = state.plan.operator_plan(operator.name).leaf
    if leaf is None:
        raise PlanningError(f"operator {operator.name} has no leaf", where=state.chain.name, why="its plan names none")
    return leaf


def _map_binding(state: Lowering) -> LeafBinding:
    """The leaf of a map that no chain has: devices name their leaves after themselves."""
    return LeafBinding(f"{state.plan.machine.device}_map")
