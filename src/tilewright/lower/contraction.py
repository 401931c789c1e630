"""Lowering of a contraction leaf: operands, packing, and the call of its micro kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from tilewright.block.execution import KernelCalls
from tilewright.block.integers import IntegerExpression, any_of, equal, round_up, unequal
from tilewright.block.memory import POINT, Buffer, BufferName, Content, Lifetime, Range, View
from tilewright.block.program import Region, nested
from tilewright.block.statements import For, If, MatrixTiles, Statement, Transfer, VectorLoops
from tilewright.errors import InternalError, PlanningError
from tilewright.graph.contraction_roles import ContractionRoles, outer_reductions
from tilewright.graph.exactness import computed_type
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load, Scalar, apply
from tilewright.graph.types import Access, AxisKind, Operator, element_bytes
from tilewright.kernels.contract import MicroKernel
from tilewright.lower.context import Lowering, Packed, Scope
from tilewright.lower.epilogue import known_left, with_epilogue, written
from tilewright.lower.storage import Stored, dense_strides, extent_value, strided
from tilewright.plan import schedule as tree
from tilewright.plan.layout import panels, row_major


def lower_contraction(state: Lowering, operator: Operator, scope: Scope) -> tuple[Statement, ...]:
    """A contraction on the current box: loops over its outer axes around calls of its micro kernel."""
    roles = _roles(state, operator)
    outer = tuple(name for name in roles.outer if name not in _nested(state, operator, roles))
    return _outer_loops(state, operator, roles, outer, scope)


def lower_pack(state: Lowering, pack: tree.Pack, scope: Scope) -> tuple[Statement, ...]:
    """A Pack leaf: copy the operand's box; what follows in the tree reads the copy."""
    tensor = _access(state, pack).tensor
    packed, elements = _layout(state, pack, scope)
    state.scratch(packed.buffer, elements, f"{tensor} packed for {pack.operator}", packed.dtype)
    return _copies(state, pack, packed, scope, lambda inside: state.stored(tensor, inside))


def lower_constant(state: Lowering, pack: tree.Pack, scope: Scope) -> None:
    """A Pack ahead of all calls: as above, from a row-major constant into a buffer that lies beside the kernel."""
    tensor = state.chain.tensor(_access(state, pack).tensor)
    packed, elements = _layout(state, pack, scope)
    sizes = tuple(map(extent_value, tensor.shape))
    source = Stored(BufferName(tensor.name), dense_strides(sizes), (0,) * len(sizes), dtype=tensor.dtype)
    copies = _copies(state, pack, packed, scope, lambda _: source)
    buffer = Buffer(packed.buffer, elements, packed.dtype, Lifetime.LOAD, f"{tensor.name} packed ahead")
    state.constants[packed.buffer] = Region(tensor.name, copies, (buffer,))


def lower_shared_pack(state: Lowering, pack: tree.Pack, scope: Scope) -> Region:
    """A Pack that all threads do together, ahead of the chain: into the workspace of the call, in pieces of panels."""
    access = _access(state, pack)
    packed, elements = _layout(state, pack, scope)
    note = f"{access.tensor} packed for {pack.operator}, for all threads"
    buffer = Buffer(packed.buffer, elements, packed.dtype, Lifetime.CALL, note)
    state.shared[packed.buffer] = buffer
    major, minor, _ = _packed_axes(state, pack)
    rows = packed.cut or tree.Loop(major or "", state.plan.execution.packed_rows, ())
    parallel, inside = [], scope
    for loop in (rows, tree.Loop(minor or "", packed.width, ())):
        whole = _range(scope, loop.axis, access)
        piece = scope.block(loop.axis, loop.tile) if loop.tile and whole is not POINT else whole
        if piece is not whole:
            parallel.append(For(loop.axis, whole, piece, loop.tile))
            inside = inside.enter(loop, piece)
    copy = _copy(state, pack, packed, inside, state.stored(access.tensor, scope))
    name = f"{state.chain.name}_pack_{pack.operator}"
    return Region(name, nested(parallel, (copy,)), (buffer,))


def _copy(state: Lowering, pack: tree.Pack, packed: Packed, scope: Scope, stored: Stored) -> Transfer:
    """What fills the current box of a packed operand from where its tensor is stored."""
    major, minor, outer = _packed_axes(state, pack)
    access = _access(state, pack)
    loops = tuple((name, scope.ranges[name].size, packed.steps[name]) for name in outer if scope.ranges[name].size != 1)
    source = strided(access, stored, scope.ranges)
    depth, columns = _range(scope, major, access).size, _range(scope, minor, access).size
    panel, target = packed.panel(scope), packed.view(scope)
    return Transfer(source, target, loops, major, depth, minor, columns, packed.width, panel, packed.row, packed.interleave)


def _copies(
    state: Lowering, pack: tree.Pack, packed: Packed, scope: Scope, stored: Callable[[Scope], Stored]
) -> tuple[Statement, ...]:
    """What fills a packed operand: block by block where a loop cuts its rows."""
    if packed.cut is None:
        return (_copy(state, pack, packed, scope, stored(scope)),)
    axis, tile, whole = packed.cut.axis, packed.cut.tile, scope.ranges[packed.cut.axis]
    block = whole.blocks(tile, *scope.variables(axis))
    inside = scope.enter(packed.cut, block)
    return (For(axis, whole, block, tile, (_copy(state, pack, packed, inside, stored(inside)),)),)


def _packed_axes(state: Lowering, pack: tree.Pack) -> tuple[str | None, str | None, list[str]]:
    """(rows, columns, all others from the outside in) of what is copied."""
    operator = state.chain.operator(pack.operator)
    roles, axes = _roles(state, operator), operator.reads[pack.read].axes()
    major, minor = (roles.depth, roles.column) if pack.read == roles.right else (roles.row, roles.depth)
    return major, minor, [a.name for a in operator.axes if a.name in axes and a.name not in (major, minor)]


def _access(state: Lowering, pack: tree.Pack) -> Access:
    return state.chain.operator(pack.operator).reads[pack.read]


def _layout(state: Lowering, pack: tree.Pack, scope: Scope) -> tuple[Packed, IntegerExpression]:
    """How the packed operand lies, from now on, and its elements."""
    operator, access = state.chain.operator(pack.operator), _access(state, pack)
    kernel, is_right = _kernel(state, operator), pack.read == _roles(state, operator).right
    major, minor, outer = _packed_axes(state, pack)
    width, interleave = pack.layout.panel_columns, pack.layout.interleave
    if width and minor in access.axes():
        _check_cuts(state, pack, minor, width, "columns", scope)
    if interleave > 1 and major in access.axes():
        _check_cuts(state, pack, major, interleave, "interleaved steps", scope)
    rows, columns = _range(scope, major, access), _range(scope, minor, access)
    row = width or round_up(columns.capacity, state.lanes)
    all_columns = round_up(columns.capacity, width) if width else row
    steps, total = _outer_steps(scope, outer, round_up(rows.capacity, interleave) * all_columns)
    cut = _innermost_cut(state, pack, major, scope) if width and major in access.axes() else None
    steps |= {major: row if cut is None else all_columns} if major in access.axes() else {}
    steps |= {minor: 1} if minor in access.axes() else {}
    buffer = _packed_name(state, pack)
    starts = {present.name: scope.ranges[present.name].start for present in operator.axes if present.name in access.axes()}
    column = minor if minor in steps else None
    end = rows.stop if scope.domain is None else None
    dtype = kernel.element_types[1 if is_right else 0]
    apart = row * interleave
    packed = Packed(buffer, starts, steps, apart, rows.capacity, width, major, column, cut, end, dtype, interleave)
    state.packed[pack.operator, pack.read] = packed
    return packed, total


def _check_cuts(state: Lowering, pack: tree.Pack, axis: str, multiple: int, what: str, scope: Scope) -> None:
    """Below a Pack, blocks of columns begin where panels do, and blocks of the depth where groups of steps do."""
    outer, capacity = [loop for loop, _ in scope.loops], scope.ranges[axis].capacity
    for loop in state.plan.schedule.path(pack.operator):
        has_one_trip = isinstance(capacity, int) and capacity <= loop.tile
        if loop.axis == axis and loop not in outer and loop.tile % multiple and not has_one_trip:
            raise PlanningError(
                f"a loop over {axis} cuts the packed panels of {pack.operator}",
                where=state.chain.name,
                why=f"its tile is {loop.tile}, and panels have {multiple} {what}",
                hint=f"use a multiple of {multiple} as the tile of {axis}, or pack inside the loop",
            )


def _innermost_cut(state: Lowering, pack: tree.Pack, axis: str, scope: Scope) -> tree.Loop | None:
    """The innermost loop between a Pack and its contraction that cuts an axis; None if blocks do not nest without rest.

    What such a loop works on at a time is then contiguous. Panels of all rows are as often as not a power of two apart, so that
    the parts of them that one tile uses meet in few sets of a cache.
    """
    outer = [loop for loop, _ in scope.loops]
    loops = [loop for loop in state.plan.schedule.path(pack.operator) if loop.axis == axis and loop not in outer]
    nested = all(around.tile % inside.tile == 0 for around, inside in pairwise(loops))
    capacity = scope.ranges[axis].capacity
    is_whole = not loops or (isinstance(capacity, int) and capacity <= loops[-1].tile)
    return None if is_whole or not nested or _reads_panels(state, pack, loops[-1]) else loops[-1]


def _reads_panels(state: Lowering, pack: tree.Pack, innermost: tree.Loop) -> bool:
    """Whether the innermost loop over rows stands inside one over single panels: these are then read from front to back."""
    column = _roles(state, state.chain.operator(pack.operator)).column
    around = [loop for loop in state.plan.schedule.path(pack.operator) if loop.axis in (column, innermost.axis)]
    return (
        len(around) > 1 and around[-1] == innermost and around[-2].axis == column and around[-2].tile <= pack.layout.panel_columns
    )


def _roles(state: Lowering, operator: Operator) -> ContractionRoles:
    roles = state.plan.operator_plan(operator.name).roles
    if roles is None:
        raise InternalError(f"contraction {operator.name} has no roles in its plan")
    return roles


def _range(scope: Scope, name: str | None, access: Access) -> Range:
    return scope.ranges[name] if name is not None and name in access.axes() else POINT


def _outer_steps(
    scope: Scope, outer: list[str], block: IntegerExpression
) -> tuple[dict[str, IntegerExpression], IntegerExpression]:
    steps: dict[str, IntegerExpression] = {}
    for name in reversed(outer):
        steps[name] = block
        block *= scope.ranges[name].capacity
    return steps, block


def _packed_name(state: Lowering, pack: tree.Pack) -> BufferName:
    """The least that tells a packed operand from others; the workspace of a call has those of all chains."""
    whole = BufferName(_access(state, pack).tensor, Content.PACKED, pack.operator, pack.read)
    is_shared = state.plan.execution.packs_together and pack in state.plan.schedule.body
    names = (replace(whole, of="", read=None), replace(whole, read=None), whole)
    taken = {*state.buffers, *state.constants, *state.shared}
    return next(name for name in names[1 if is_shared else 0 :] if name not in taken)


def _outer_loops(
    state: Lowering, operator: Operator, roles: ContractionRoles, outer: tuple[str, ...], scope: Scope
) -> tuple[Statement, ...]:
    if not outer:
        return _depth_slices(state, operator, roles, scope)
    name, *rest = outer
    block = scope.ranges[name]
    if block.size == 0 and operator.axis(name).kind is AxisKind.PARALLEL:
        return ()
    if block.size in (0, 1):
        return _outer_loops(state, operator, roles, tuple(rest), scope)
    point = replace(POINT, start=scope.variables(name)[0])
    body = _outer_loops(state, operator, roles, tuple(rest), scope.enter(tree.Loop(name, 1, ()), point))
    return (For(name, block, point, 1, body),)


def _depth_slices(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope) -> tuple[Statement, ...]:
    """Calls for some steps of the depth at a time, where few rows are to be read at a time, or sums are long."""
    steps = _steps_of_call(state, operator, roles, scope)
    if not steps:
        return _matrix_tiles(state, operator, roles, scope)
    assert roles.depth is not None
    whole = scope.ranges[roles.depth]
    block = whole.blocks(steps, *scope.variables(roles.depth))
    body = _matrix_tiles(state, operator, roles, scope.enter(tree.Loop(roles.depth, steps, ()), block))
    may_be_empty = whole.sizes is None or 0 in whole.sizes
    return (For(roles.depth, whole, block, steps, body, may_be_empty=may_be_empty),)


def _steps_of_call(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope) -> int:
    """The depth of a call of the micro kernel; 0 for all of the current block at once."""
    if roles.depth is None:
        return 0
    calls, depth = _calls(state, operator), scope.ranges[roles.depth]
    if not calls.most_steps or _prefetches_panels(state, operator, roles, depth):
        return calls.slice_steps
    if not isinstance(depth.capacity, int):
        return calls.most_steps
    if calls.slice_steps:
        return max(calls.slice_steps, -(-depth.capacity // calls.most_steps))
    return calls.steps_of(depth.capacity)


def _kernel(state: Lowering, operator: Operator) -> MicroKernel:
    return state.kernels[state.plan.operator_plan(operator.name).micro_kernel or ""]


def _calling(state: Lowering, operator: Operator) -> MicroKernel:
    """The micro kernel that is called."""
    return state.kernels[_calls(state, operator).nested or _kernel(state, operator).name]


def _nested(state: Lowering, operator: Operator, roles: ContractionRoles) -> tuple[str, ...]:
    """The reduction axes around the depth that pass inside of the micro kernel, innermost first."""
    return outer_reductions(operator, roles) if _calls(state, operator).nested else ()


def _calls(state: Lowering, operator: Operator) -> KernelCalls:
    return state.plan.operator_plan(operator.name).calls


def _matrix_tiles(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope) -> tuple[Statement, ...]:
    kernel = _calling(state, operator)
    packing, right = _right(state, operator, roles, scope, kernel)
    write = state.strided(written(state, operator), scope)
    accumulate = any_of(*(unequal(scope.ranges[a.name].start, scope.origin(a.name)) for a in operator.reduction_axes()))
    reads = {roles.left: _left(state, operator, roles, scope), roles.right: right}
    tiles = MatrixTiles(
        kernel.binding(roles),
        operator,
        scope.box(operator.axes),
        tuple(reads[number] for number in range(len(reads))),
        write,
        accumulate,
        inlined=_calls(state, operator).inlined,
        known=known_left(state, operator, roles, scope, kernel),
    )
    ahead = _ahead(state, operator, roles, scope, kernel) if tiles.shapes is not None else None
    tiles = replace(tiles, panel_slice_steps=_panel_slice_steps(state, tiles), ahead=ahead)
    if roles.column is None or write.stride(roles.column) == 1:
        return (*packing, *with_epilogue(state, operator, scope, tiles))
    return (*packing, *_staged(state, operator, roles, scope, tiles))


def _ahead(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, kernel: MicroKernel) -> View | None:
    """What is read next of a right operand in memory: its next panel; of one that is packed what the next block packs."""
    if not _calls(state, operator).asks_ahead:
        return None
    access = operator.reads[roles.right]
    operand = state.strided(access, scope)
    if (operator.name, roles.right) not in state.packed:
        return replace(operand, offset=operand.offset + kernel.columns)
    moving = [loop for loop in _loops_around_pack(state, operator, roles) if loop.axis in access.axes()]
    return replace(operand, offset=operand.offset + operand.stride(moving[-1].axis) * moving[-1].tile) if moving else None


def _loops_around_pack(state: Lowering, operator: Operator, roles: ContractionRoles) -> tuple[tree.Loop, ...]:
    """The loops around the Pack leaf of a right operand, outermost first."""
    packs = ((loops, leaf) for loops, leaf in state.plan.schedule.leaves() if isinstance(leaf, tree.Pack))
    return next((loops for loops, leaf in packs if (leaf.operator, leaf.read) == (operator.name, roles.right)), ())


def _prefetches_panels(state: Lowering, operator: Operator, roles: ContractionRoles, depth: Range) -> bool:
    """Whether tiles prefetch packed panels: these have a known depth."""
    packed = state.packed.get((operator.name, roles.right))
    is_in_panels = packed is not None and packed.row == packed.width and roles.depth in packed.starts
    is_known = isinstance(depth.size, int) and depth.size > 0
    return _calls(state, operator).panel_slice_bytes > 0 and is_in_panels and is_known


def _panel_slice_steps(state: Lowering, tiles: MatrixTiles) -> int:
    """The depth of the slices in which tiles prefetch panels; 0 where they do not."""
    (_, _, depth), roles = tiles.sides, tiles.tile.roles
    if tiles.shapes is None or not _prefetches_panels(state, tiles.operator, roles, depth):
        return 0
    assert isinstance(depth.size, int)
    size_bytes = depth.size * tiles.tile.columns * element_bytes(tiles.right.dtype)
    slices = -(-size_bytes // _calls(state, tiles.operator).panel_slice_bytes)
    return -(-depth.size // slices)


def _left(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope) -> View:
    packed = state.packed.get((operator.name, roles.left))
    return state.strided(operator.reads[roles.left], scope) if packed is None else packed.view(scope)


def _right(
    state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, kernel: MicroKernel
) -> tuple[tuple[Statement, ...], View]:
    """Packing to do first, and the operand."""
    packed = state.packed.get((operator.name, roles.right))
    if packed is not None:
        return (), packed.view(scope)
    operand = state.strided(operator.reads[roles.right], scope)
    has_rows = roles.column is None or operand.stride(roles.column) == 1
    if kernel.right_by_columns or (has_rows and kernel.interleave == 1):
        return (), operand
    layout = row_major(2) if kernel.interleave == 1 else panels(kernel.columns, kernel.interleave)
    copies = lower_pack(state, tree.Pack(operator.name, roles.right, layout), scope)
    return copies, state.packed.pop((operator.name, roles.right)).view(scope)


def _staged(
    state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, tiles: MatrixTiles
) -> tuple[Statement, ...]:
    """The kernel needs unit stride along its columns: compute into a staging tile, then store or add that where it belongs."""
    if roles.column is None:
        raise PlanningError(f"contraction {operator.name} cannot be staged", why="it has no column axis")
    box = [name for name in (roles.row, roles.column) if name is not None]
    width = round_up(scope.ranges[roles.column].capacity, state.lanes)
    height = scope.ranges[roles.row].capacity if roles.row else 1
    name, dtype = BufferName(operator.write.tensor, Content.STAGED, operator.name), tiles.write.dtype
    state.scratch(name, width * height, "one tile, before it is transposed", dtype)
    steps = {roles.row: width, roles.column: 1}
    tile = View(name, 0, tuple((axis_name, step) for axis_name, step in steps.items() if axis_name is not None), dtype)
    staged = replace(tiles, write=tile, accumulate=0)
    store = _transfer(state, operator, box, scope, (tile,), tiles.write, Load(0))
    if tiles.accumulate == 0:
        return (staged, store)
    addition = _transfer(state, operator, box, scope, (tile, tiles.write), tiles.write, apply("add", Load(0), Load(1)))
    return (staged, If(tiles.accumulate, (addition,)), If(equal(tiles.accumulate, 0), (store,)))


def _transfer(
    state: Lowering, operator: Operator, box: list[str], scope: Scope, reads: tuple[View, ...], write: View, body: Scalar
) -> VectorLoops:
    tile = Access(operator.write.tensor, tuple(axis(name) for name in box))
    accesses = tuple(operator.write if read is write else tile for read in reads)
    axes = tuple(operator.axis(name) for name in box)
    mapping = Operator(
        f"{operator.name}_store", "store", axes, accesses, operator.write, body, accumulator=computed_type(operator)
    )
    box_strides = tuple((name, stride) for name, stride in write.strides if name in box)
    target = replace(write, strides=box_strides)
    views = tuple(target if read is write else read for read in reads)
    return state.added_loops(mapping, tuple((name, scope.ranges[name]) for name in box), views, target, box[-1])
