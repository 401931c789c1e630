"""Lowering of epilogues: the maps that the micro tiles of a contraction apply once nothing more is added to a sum."""

from __future__ import annotations

from dataclasses import replace

from tilewright.codegen.expressions import Value, add, all_of, equal
from tilewright.codegen.loop_nest import Gather, If, KernelCall, Node, TileEpilogue, TileOperand
from tilewright.codegen.lower.context import Lowering, Scope
from tilewright.codegen.lower.row_reductions import adds_no_more, divides_in_tiles, tile_division
from tilewright.errors import InternalError
from tilewright.graph.scalar import Load
from tilewright.graph.types import Operator
from tilewright.plan.regions.epilogues import Epilogue
from tilewright.plan.types import ContractionRoles


def with_epilogue(
    state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, call: KernelCall
) -> tuple[Node, ...]:
    """The call of a micro kernel; with the contraction's epilogue at the last block of its reduction, if it has one.

    That is made of the maps behind it, or divides its sums of weights, or only stores them past the caches.
    """
    non_temporal = operator.name in state.plan.non_temporal and call.accumulate == 0
    maps = tuple(part.operator for part in state.plan.operators if part.epilogue_of == operator.name)
    if divides_in_tiles(state, operator, scope):
        ending, last = tile_division(state, operator, roles, scope), adds_no_more(state, operator, scope)
    elif maps:
        ending, last = _tile_epilogue(state, Epilogue(operator.name, maps), roles, scope), _is_last(operator, scope)
    else:
        return (replace(call, epilogue=TileEpilogue(Load(0), (), non_temporal=True)) if non_temporal else call,)
    if last == 1:
        return (replace(call, epilogue=replace(ending, non_temporal=non_temporal)),)
    return (If(last, (replace(call, epilogue=ending),)), If(equal(last, 0), (call,)))


def _tile_epilogue(state: Lowering, epilogue: Epilogue, roles: ContractionRoles, scope: Scope) -> TileEpilogue:
    operands = []
    for access in epilogue.reads(state.chain):
        view = state.view(access, scope)
        if isinstance(view, Gather):
            raise InternalError(f"the epilogue of {epilogue.contraction} has an access that is not affine")
        is_far = access.tensor in state.chain.inputs and access.tensor not in state.plan.prefetched_inputs
        operands.append(TileOperand(view, view.stride(roles.row), view.stride(roles.column) != 0, is_far))
    return TileEpilogue(epilogue.body(state.chain), tuple(operands))


def _is_last(operator: Operator, scope: Scope) -> Value:
    """Whether nothing is added after the current block; an empty sum has one block, which is its last."""
    blocks = ((scope.ranges[axis.name], scope.end(axis.name, axis.extent)) for axis in operator.reduction_axes())
    return all_of(*(equal(add(block.start, block.size), end) for block, end in blocks))
