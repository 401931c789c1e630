"""What the calls of a contraction know of an operand, and how they end.

Entries of left operands that are known may be literals of the text. Epilogues are the maps that the micro tiles of a contraction
apply once nothing more is added to a sum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.block.integers import IntegerExpression, all_of, equal
from tilewright.block.memory import POINT
from tilewright.block.statements import If, Matrix, MatrixTiles, Statement, TileEpilogue, TileOperand
from tilewright.errors import InternalError
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.lower.context import Lowering, Scope
from tilewright.lower.row_reductions import adds_no_more, divides_in_tiles, tile_division
from tilewright.plan.known_operands import has_known_left
from tilewright.plan.regions.epilogues import Epilogue


def known_left(state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, kernel: MicroKernel) -> Matrix | None:
    """The left operand of a call, if its entries are known, and every tile takes all of its rows and all of its steps."""
    if not has_known_left(state.plan.chain, operator, roles, kernel) or (operator.name, roles.left) in state.packed:
        return None
    access = operator.reads[roles.left]
    axes = [operator.axis(name) for name in (roles.row, roles.depth) if name is not None]
    extents = [axis.extent for axis in axes if isinstance(axis.extent, int)]
    columns = scope.ranges[roles.column] if roles.column is not None else POINT
    is_whole = [(scope.ranges[axis.name].start, scope.ranges[axis.name].size) for axis in axes] == [(0, n) for n in extents]
    if not is_whole or columns.sizes is None or extents[0] > min(map(kernel.rows_for, columns.pieces(kernel.columns))):
        return None
    places = dict(zip((axis.name for axis in axes), np.indices(extents), strict=True))
    values = state.plan.chain.tensor(access.tensor).known_values()
    return tuple(map(tuple, values[tuple(index.evaluate(places) for index in access.indices)].tolist()))


def with_epilogue(state: Lowering, operator: Operator, scope: Scope, tiles: MatrixTiles) -> tuple[Statement, ...]:
    """Tiles of a contraction; with the contraction's epilogue at the last block of its reduction, if it has one.

    That is made of the maps behind it, or divides its sums of weights, or only stores them past the caches.
    """
    non_temporal = operator.name in state.plan.non_temporal and tiles.accumulate == 0
    epilogue = epilogue_of(state, operator)
    if divides_in_tiles(state, operator, scope):
        ending, last = tile_division(state, operator, scope), adds_no_more(state, operator, scope)
    elif epilogue is not None:
        ending, last = _tile_epilogue(state, epilogue, scope), _is_last(operator, scope)
    else:
        whole = Load(0) if operator.accumulator in INTEGERS else None
        return (replace(tiles, epilogue=TileEpilogue(Load(0), (), non_temporal=True, whole=whole)) if non_temporal else tiles,)
    if ending.element_type and (last != 1 or tiles.accumulate != 0):
        raise InternalError(f"the sums of {operator.name} are not complete where they become {ending.element_type}")
    if last == 1:
        return (replace(tiles, epilogue=replace(ending, non_temporal=non_temporal)),)
    return (If(last, (replace(tiles, epilogue=ending),)), If(equal(last, 0), (tiles,)))


def epilogue_of(state: Lowering, operator: Operator) -> Epilogue | None:
    """The maps that the micro tiles of a contraction apply."""
    maps = tuple(part.operator for part in state.plan.operators if part.epilogue_of == operator.name)
    return Epilogue(operator.name, maps) if maps else None


def written(state: Lowering, operator: Operator) -> Access:
    """Where the micro tiles of a contraction leave sums, or what becomes of sums that no memory holds."""
    epilogue = epilogue_of(state, operator)
    return epilogue.write(state.chain) if epilogue is not None and epilogue.element_type(state.chain) else operator.write


def _tile_epilogue(state: Lowering, epilogue: Epilogue, scope: Scope) -> TileEpilogue:
    operands = []
    for access, is_whole in epilogue.operands(state.chain):
        view = state.strided(access, scope)
        is_far = access.tensor in state.chain.inputs and access.tensor not in state.plan.prefetched_inputs
        operands.append(TileOperand(view, is_far, is_whole))
    whole, element_type = epilogue.whole(state.chain), epilogue.element_type(state.chain)
    return TileEpilogue(epilogue.body(state.chain), tuple(operands), whole=whole, element_type=element_type)


def _is_last(operator: Operator, scope: Scope) -> IntegerExpression:
    """Whether nothing is added after the current block; an empty sum has one block, which is its last."""
    blocks = ((scope.ranges[axis.name], scope.end(axis.name, axis.extent)) for axis in operator.reduction_axes())
    return all_of(*(equal(block.stop, end) for block, end in blocks))
