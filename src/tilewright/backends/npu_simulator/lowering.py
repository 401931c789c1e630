"""Lowering of a plan to a block program with explicit copies: one `Transfer` for every DMA, buffers in the spaces of a core.

Operands lie in L1 as [r1, k1, 16, 16] (r: rows of the left, columns of the right one), in L0A as [m1, k1, m2, k2], in L0B as
[k1, n1, n2, k2] and sums in L0C as [m1, n1, m2, n2]: Chimera, Section V-B. Every block of 16 x 16 is whole: DMA fills up with
zeros what memory lacks, and the cube computes it. The unified buffer has plain rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.backends.npu_simulator.figures import FRACTAL, L0A, L0B, L0C, L1, LANES, OPERAND, SPACES, SUMS, UB
from tilewright.backends.npu_simulator.shape import ChainShape, Product, Stage, converted, in_place, shape_of
from tilewright.backends.npu_simulator.tiles import Order, Tiles, filled, schedule_of
from tilewright.block.integers import IntegerExpression, ceil_divide, round_up, unequal
from tilewright.block.leaf_binding import LeafBinding, MatrixTile
from tilewright.block.memory import POINT, Buffer, BufferName, Content, Panels, Range, View
from tilewright.block.program import Region, nested
from tilewright.block.statements import For, Leaf, MatrixTiles, Statement, Transfer
from tilewright.graph.types import Access, Chain, Operator
from tilewright.lower.context import Scope, whole_range
from tilewright.lower.storage import Stored, extent_value, strided
from tilewright.plan.schedule import Loop, Schedule
from tilewright.plan.types import Plan

MAD, VECTOR = "npu_mad", "npu_vector"
"""The leaves of the device."""
MICRO_KERNEL = "mad_16x16x16"


def lower(plan: Plan, arguments: Mapping[str, Stored]) -> Region:
    """The region of a plan of this device; `arguments` says where the chain's inputs and its output lie."""
    return lower_chain(plan.chain, tiles_of(plan), arguments)


def lower_chain(chain: Chain, tiles: Tiles, arguments: Mapping[str, Stored]) -> Region:
    """The same of a chain and its tiles."""
    shape = shape_of(chain)
    return _Lowering(chain, shape, tiles, *schedule_of(chain, shape, tiles), arguments).region()


def tiles_of(plan: Plan) -> Tiles:
    """The tiles that a plan of this device holds."""
    leaf = plan.operators[0].leaf
    assert leaf is not None
    return Tiles.of(dict(leaf.numbers))


def binding_of(product: Product, tiles: Tiles) -> LeafBinding:
    """The leaf of a product, in a plan: roles of axes and tiles."""
    roles = (("row", product.roles.row), ("column", product.roles.column), ("depth", product.roles.depth))
    return LeafBinding(MAD, tuple((role, axis) for role, axis in roles if axis is not None), numbers=tiles.numbers())


def mad_binding(product: Product, tiles: Tiles) -> LeafBinding:
    """The same in a block program, with the tile of the cube."""
    tile = MatrixTile(MICRO_KERNEL, product.roles, LANES, LANES, LANES, (OPERAND, OPERAND, SUMS), SUMS)
    return replace(binding_of(product, tiles), tile=tile)


def vector_binding(tiles: Tiles) -> LeafBinding:
    """The leaf of a vector operator."""
    return LeafBinding(VECTOR, numbers=tiles.numbers())


def _largest(block: Range) -> int:
    """The most points that a block has."""
    assert block.sizes is not None
    return max(block.sizes)


def _whole(block: Range) -> Range:
    """The block, filled up to whole blocks of 16."""
    assert block.sizes is not None
    sizes = frozenset(int(filled(size)) for size in block.sizes)
    return Range(block.start, round_up(block.size, LANES), max(sizes), sizes)


@dataclass(slots=True)
class _Lowering:
    """The walk over one plan, from the outside in."""

    chain: Chain
    shape: ChainShape
    tiles: Tiles
    schedule: Schedule
    parallel_axes: tuple[str, ...]
    arguments: Mapping[str, Stored]
    buffers: dict[BufferName, Buffer] = field(default_factory=dict)

    def region(self) -> Region:
        chain, flights = self.chain, int(self.tiles.outer)
        scope = Scope({axis: whole_range(extent_value(extent)) for axis, extent in chain.extents.items()} | {"": POINT})
        loops: list[For] = []
        for node in self._dealt():
            loop, scope = self._enter(scope, node.axis, node.tile, 1)
            loops.append(loop)
        if loops:
            loops[-1] = replace(loops[-1], buffers=flights)
        body = nested(loops, self._block(scope))
        return Region(chain.name, body, tuple(self.buffers.values()))

    def _dealt(self) -> Iterator[Loop]:
        """The loops whose blocks are dealt to cores."""
        body = self.schedule.body
        for _ in self.parallel_axes:
            (loop,) = body
            assert isinstance(loop, Loop)
            yield loop
            body = loop.body

    def _enter(self, scope: Scope, axis: str, tile: int, flights: int) -> tuple[For, Scope]:
        """A loop over blocks, also where there is one, and the scope inside."""
        whole = scope.ranges[axis]
        block = whole.blocks(tile, *scope.variables(axis))
        return For(axis, whole, block, tile, buffers=flights), scope.enter(Loop(axis, tile, ()), block)

    def _loop(self, scope: Scope, axis: str | None, tile: int, flights: int) -> tuple[For | None, Scope]:
        return (None, scope) if axis is None else self._enter(scope, axis, tile, flights)

    # Orders

    def _block(self, scope: Scope) -> tuple[Statement, ...]:
        """What is done in a block that a core gets."""
        first, last, tiles = self.shape.first, self.shape.last, self.tiles
        match tiles.order:
            case Order.VECTORS:
                return (*self._vectors(first, scope), self._store(last, scope))
            case Order.TILE:
                return (*self._summed(0, scope), *self._result(first, scope))
            case Order.ROWS:
                kept = self._kept(scope)
                loop, inside = self._loop(scope, first.column, int(tiles.columns), int(tiles.middle))
                made = (*self._summed(0, inside), *self._drained(first, inside, scope))
                return (*kept, *_in(loop, made), *self._vectors(first, scope), self._store(first, scope))
            case Order.STREAM:
                kept = self._kept(scope)
                loop, inside = self._loop(scope, first.column, int(tiles.columns), int(tiles.middle))
                passing = (*self._summed(0, inside), *self._drained(first, inside, inside), *self._vectors(first, inside))
                passing = (*passing, self._to_operand(inside, inside), *self._summed(1, inside))
                return (*kept, *_in(loop, passing), *self._result(last, scope))
            case Order.RESIDENT:
                return self._resident(scope)

    def _resident(self, scope: Scope) -> tuple[Statement, ...]:
        first, last, tiles = self.shape.first, self.shape.last, self.tiles
        kept = self._kept(scope)
        loop, inside = self._loop(scope, first.column, int(tiles.columns), int(tiles.middle))
        held = scope if first.has_rows else inside
        made = (*self._summed(0, inside), *self._drained(first, inside, held))
        operand: tuple[Statement, ...] = (*self._vectors(first, held), self._to_operand(held, scope))
        columns, end = self._loop(scope, last.column, int(tiles.second), int(tiles.middle))
        ends = (*self._summed(1, end), *self._result(last, end))
        if first.has_rows:
            return (*kept, *_in(loop, made), *operand, *_in(columns, ends))
        return (*kept, *_in(loop, (*made, *operand)), *_in(columns, ends))

    def _result(self, stage: Stage, scope: Scope) -> tuple[Statement, ...]:
        """Sums become elements of the output."""
        return (*self._drained(stage, scope, scope), *self._vectors(stage, scope), self._store(stage, scope))

    # Products

    def _kept(self, scope: Scope) -> tuple[Statement, ...]:
        """The whole depth of the left operand's rows, where L1 keeps it."""
        product = self.shape.first.product
        return (self._load(product, 0, scope),) if product is not None and self.tiles.keeps_left else ()

    def _summed(self, number: int, scope: Scope) -> tuple[Statement, ...]:
        """The sums of a block, slice by slice of the depth."""
        product, tiles = self.shape.stages[number].product, self.tiles
        assert product is not None
        loop, inside = self._loop(
            scope, product.roles.depth, int(tiles.second_depth if number else tiles.depth), int(tiles.slices)
        )
        loads = [] if number or tiles.keeps_left else [self._load(product, 0, inside)]
        loads.append(self._load(product, 1, inside))
        left = self._feed(product, 0, inside, self._left_ahead(number, scope, inside))
        return _in(loop, (*loads, left, self._feed(product, 1, inside, 0), self._mad(product, inside)))

    def _left_ahead(self, number: int, scope: Scope, inside: Scope) -> IntegerExpression:
        """Elements in L1 before the current slice of the left operand."""
        product = self.shape.stages[number].product
        assert product is not None
        steps = inside.ranges[product.roles.depth or ""].start
        if not number:
            return steps * LANES if self.tiles.keeps_left else 0
        origin = scope.ranges[product.roles.depth or ""].start if self.tiles.order is Order.STREAM else 0
        return (steps - origin) * LANES

    def _sides(self, product: Product, side: int, scope: Scope) -> tuple[str, Range, Range]:
        """(axis, its block, block of the depth) of the left operand (0) or the right one (1)."""
        axis = (product.roles.column if side else product.roles.row) or ""
        return axis, scope.ranges[axis], scope.ranges[product.roles.depth or ""]

    def _load(self, product: Product, side: int, scope: Scope) -> Transfer:
        """Memory to L1: packed in blocks of 16 x 16, filled up with zeros."""
        axis, across, depth = self._sides(product, side, scope)
        access = product.right if side else product.left
        name = self._scratch(access.tensor, product.operator, L1, _blocks(across) * _blocks(depth) * FRACTAL, OPERAND, side)
        source = strided(access, self.arguments[access.tensor], scope.ranges)
        return _packed(source, View(name, 0, (), OPERAND), product.roles.depth or "", depth, axis, across, _blocks(depth))

    def _feed(self, product: Product, side: int, scope: Scope, ahead: IntegerExpression) -> Transfer:
        """L1 to L0A or L0B, block by block of 16 x 16."""
        _, across, depth = self._sides(product, side, scope)
        access = product.right if side else product.left
        source = _packed_name(access.tensor, product.operator, L1, side)
        held = self.buffers[source]
        assert isinstance(held.elements, int)
        per_row = held.elements // _blocks(across)
        space, rows, steps = (L0B if side else L0A), _count(across), _count(depth)
        target = self._scratch(access.tensor, product.operator, space, _blocks(across) * _blocks(depth) * FRACTAL, OPERAND, side)
        outer = [("r1", rows, steps * FRACTAL), ("k1", steps, FRACTAL)]
        if side:
            outer = [("k1", steps, rows * FRACTAL), ("r1", rows, FRACTAL)]
        view = View(source, ahead, (("r1", per_row), ("k1", FRACTAL), ("e", 1)), OPERAND)
        return Transfer(view, View(target, 0, (), OPERAND), tuple(outer), None, 1, "e", FRACTAL, 0, 0, FRACTAL)

    def _mad(self, product: Product, scope: Scope) -> MatrixTiles:
        """Sums of whole blocks of 16 x 16 in L0C."""
        roles, operator = product.roles, product.operator
        rows, columns, depth = (scope.ranges[axis or ""] for axis in (roles.row, roles.column, roles.depth))
        left = Panels(roles.depth, roles.row, LANES, _count(depth) * FRACTAL, FRACTAL, LANES)
        right = Panels(roles.depth, roles.column, LANES, FRACTAL, _count(columns) * FRACTAL, LANES)
        reads = {
            roles.left: View(_packed_name(product.left.tensor, operator, L0A, 0), 0, (), OPERAND, left),
            roles.right: View(_packed_name(product.right.tensor, operator, L0B, 1), 0, (), OPERAND, right),
        }
        target = self._scratch(operator.write.tensor, operator, L0C, _blocks(rows) * _blocks(columns) * FRACTAL, SUMS)
        lies = Panels(roles.column, roles.row, LANES, _count(columns) * FRACTAL, FRACTAL, LANES)
        summed = {axis for axis in (roles.row, roles.column, roles.depth) if axis is not None}
        box = tuple((axis, _whole(block) if axis in summed else block) for axis, block in scope.box(operator.axes))
        start = scope.ranges[roles.depth or ""].start
        binding = mad_binding(product, self.tiles)
        write = View(target, 0, (), SUMS, lies)
        return MatrixTiles(binding, operator, box, (reads[0], reads[1]), write, unequal(start, 0))

    # The unified buffer

    def _drained(self, stage: Stage, scope: Scope, held: Scope) -> tuple[Statement, ...]:
        """The sums of a block from L0C to their place in the box that `held` has, in whole blocks of 16 x 16."""
        product = stage.product
        assert product is not None
        rows, columns = scope.ranges[product.roles.row or ""], scope.ranges[product.roles.column or ""]
        operator, width = product.operator, int(filled(_largest(held.ranges[product.roles.column or ""])))
        source = _packed_name(operator.write.tensor, operator, L0C, 0)
        target = self._scratch(operator.write.tensor, None, UB, _blocks(rows) * LANES * width, SUMS)
        strides = (("r1", _count(columns) * FRACTAL), ("c1", FRACTAL), ("r2", LANES), ("c2", 1))
        outer = (("r1", _count(rows), LANES * width), ("c1", _count(columns), LANES))
        ahead = columns.start - held.ranges[product.roles.column or ""].start
        place = View(target, ahead, (), SUMS)
        return (Transfer(View(source, 0, strides, SUMS), place, outer, "r2", LANES, "c2", LANES, 0, 0, width),)

    def _vectors(self, stage: Stage, scope: Scope) -> tuple[Statement, ...]:
        """The vector operators on a block, with the operands that they load."""
        nodes: list[Statement] = []
        loaded: dict[Access, View] = {}
        for operator in (converted(stage),) if stage.converts else stage.vectors:
            for access in operator.reads:
                if access.tensor in self.chain.inputs and access not in loaded:
                    nodes.append(self._loaded(stage, access, scope, loaded))
            reads = tuple(loaded.get(access) or self._held(stage, access, scope, SUMS) for access in operator.reads)
            dtype = stage.result_type if operator.write.tensor == stage.last.write.tensor else SUMS
            write = self._held(stage, operator.write, scope, dtype)
            nodes.append(Leaf(vector_binding(self.tiles), operator, scope.box(operator.axes), reads, write))
        return tuple(nodes)

    def _loaded(self, stage: Stage, access: Access, scope: Scope, loaded: dict[Access, View]) -> Transfer:
        """Memory to the unified buffer: the box of an operand, row by row."""
        source = strided(access, self.arguments[access.tensor], scope.ranges)
        name = BufferName(access.tensor, Content.STAGED, f"{UB} operand {len(loaded)} of {stage.last.name}")
        loaded[access] = self._box(stage, access, name, scope, source.dtype)
        return _rows(stage, access, scope, source, loaded[access])

    def _held(self, stage: Stage, access: Access, scope: Scope, dtype: str) -> View:
        """Where the current block of a tensor of a stage lies in the unified buffer."""
        chain, product = self.chain, stage.product
        maker = chain.maker(access.tensor)
        name = access.tensor
        if dtype == SUMS:
            while (source := in_place(chain, maker)) is not None and self._is_wide(stage, maker):
                maker, name = chain.maker(source), source
        of = UB if dtype == SUMS else f"{UB} {dtype}"
        is_sums = product is not None and maker is product.operator and dtype == SUMS
        return self._box(stage, access, BufferName(name, Content.STAGED, of), scope, dtype, exists=is_sums)

    def _is_wide(self, stage: Stage, operator: Operator) -> bool:
        """Whether a vector operator of a stage leaves float32."""
        return operator in stage.vectors and (operator is not stage.last or stage.result_type == SUMS)

    def _box(self, stage: Stage, access: Access, name: BufferName, scope: Scope, dtype: str, *, exists: bool = False) -> View:
        """The current block in rows of whole blocks of 16; rows or columns alone lie side by side."""
        row, column = matrix_axes(stage, access)
        is_matrix = bool(row and column)
        width = int(filled(_largest(scope.ranges[column]))) if is_matrix else _largest(scope.ranges[column])
        steps = ((row, width if is_matrix else 1), (column, 1))
        if not exists:
            self.buffers.setdefault(name, Buffer(name, _largest(scope.ranges[row]) * width, dtype, space=UB))
        return View(name, 0, tuple((axis, step) for axis, step in steps if axis), dtype)

    def _to_operand(self, scope: Scope, held: Scope) -> Transfer:
        """The unified buffer to L1: the first stage's result, as left operand of the second product, in the box of `held`."""
        first, product = self.shape.first, self.shape.last.product
        assert product is not None
        access, row, column = first.last.write, first.row or "", first.column or ""
        rows, columns, whole = scope.ranges[row], scope.ranges[column], held.ranges[column]
        name = self._scratch(access.tensor, product.operator, L1, _blocks(rows) * _blocks(whole) * FRACTAL, OPERAND)
        target = View(name, (columns.start - whole.start) * LANES, (), OPERAND)
        return _packed(self._held(first, access, scope, OPERAND), target, column, columns, row, rows, _blocks(whole))

    def _store(self, stage: Stage, scope: Scope) -> Transfer:
        """The unified buffer to memory."""
        access = stage.last.write
        target = strided(access, self.arguments[access.tensor], scope.ranges)
        return _rows(stage, access, scope, self._held(stage, access, scope, stage.result_type), target)

    def _scratch(
        self, tensor: str, operator: Operator | None, space: str, elements: int, dtype: str, side: int = 0
    ) -> BufferName:
        """A buffer in a space, of the right operand with `side` 1; asking again gives the same."""
        if operator is None:
            name, turn = BufferName(tensor, Content.STAGED, space), None
        else:
            name, turn = _packed_name(tensor, operator, space, side), self._turn(space, side)
        self.buffers.setdefault(name, Buffer(name, elements, dtype, space=space, reuse_group=turn))
        return name

    def _turn(self, space: str, side: int) -> int | None:
        """The number of buffers that take turns in a place: slices of both products, and sums that follow each other."""
        if len(self.shape.stages) == 1:
            return None
        follows = {L0A: True, L0B: True, L0C: self.tiles.order is Order.RESIDENT, L1: side == 1}[space]
        return SPACES.index(space) if follows else None


def _packed_name(tensor: str, operator: Operator, space: str, side: int) -> BufferName:
    """The buffer of a product's operand or of its sums; L1 has both operands, and both may be one tensor."""
    of = f"{space} right {operator.name}" if side and space == L1 else f"{space} {operator.name}"
    return BufferName(tensor, Content.PACKED, of)


def _in(loop: For | None, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return body if loop is None else (replace(loop, body=body),)


def _blocks(block: Range) -> int:
    """Blocks of 16 of the largest block."""
    return int(filled(_largest(block))) // LANES


def _count(block: Range) -> IntegerExpression:
    """Blocks of 16 of the current block."""
    return ceil_divide(block.size, LANES)


def _packed(source: View, target: View, depth_axis: str, depth: Range, axis: str, across: Range, steps: int) -> Transfer:
    """Into blocks of 16 x 16, [r1, k1, 16, 16], of rows with `steps` blocks of the depth."""
    return Transfer(
        source, target, (), depth_axis, depth.size, axis, across.size, LANES, steps * FRACTAL, FRACTAL, interleave=LANES
    )


def _rows(stage: Stage, access: Access, scope: Scope, source: View, target: View) -> Transfer:
    """Plain rows of the box of an access: along the axis whose elements lie side by side in the target, else one by one."""
    row, column = matrix_axes(stage, access)
    if target.stride(column) != 1 and target.stride(row) == 1:
        row, column = column, row
    rows, columns, place = scope.ranges[row].size, scope.ranges[column].size, replace(target, strides=())
    if target.stride(column) not in (0, 1):
        outer = ((row, rows, target.stride(row)), (column, columns, target.stride(column)))
        return Transfer(source, place, outer, None, 1, None, 1, 0, 0, 1)
    return Transfer(source, place, (), row, rows, column, columns, 0, 0, target.stride(row) or 1)


def matrix_axes(stage: Stage, access: Access) -> tuple[str, str]:
    """(row, column) of the box of an access; "" for what it does not depend on."""
    axes = access.axes()
    row, column = (axis if axis is not None and axis in axes else "" for axis in (stage.row, stage.column))
    return row, column
