"""Cache of searches: chains that differ in names only have the same schedules.

The memory belongs to the caller (one partition of a graph). A chain is recognised by everything that a search looks at, with
axes, tensors and operators as numbers; what was found is given back in the names of the chain that asks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TypeAlias

from tilewright.graph.index import Index
from tilewright.graph.index import axis as axis_index
from tilewright.graph.types import Access, Chain, Guard, Operator
from tilewright.plan.counts import Counted, count
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.traffic import passes
from tilewright.plan.model.vector_work import function_seconds
from tilewright.plan.regions.masks import is_plain_mask, key_mask_of
from tilewright.plan.regions.online_reductions import softmax_weights
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.exact_search import search

PlanCache: TypeAlias = dict[Hashable, tuple[CostContext, tuple[Candidate, ...]]]
"""By the key of a chain: the context that was searched first, and what was found."""


def cached_search(context: CostContext, plan_cache: PlanCache) -> tuple[Candidate, ...]:
    """As `search`, from memory where a chain of the same structure was searched before."""
    count(Counted.SEARCHES_ASKED)
    key = _key(context)
    if key not in plan_cache:
        plan_cache[key] = context, search(context)
    first, found = plan_cache[key]
    if first.chain == context.chain:
        return found
    names = dict(zip(first.sizes, context.sizes, strict=True))
    operators = {old.name: new.name for old, new in zip(first.chain.operators, context.chain.operators, strict=True)}
    tensors = {old.name: new.name for old, new in zip(first.chain.tensors, context.chain.tensors, strict=True)}
    return tuple(_renamed(candidate, names, operators, tensors) for candidate in found)


def _key(context: CostContext) -> Hashable:
    chain = context.chain
    axes = {axis: axis_index(str(number)) for number, axis in enumerate(context.sizes)}
    tensors = {tensor.name: str(number) for number, tensor in enumerate(chain.tensors)}
    operators = tuple(_operator_key(context, operator, axes, tensors) for operator in chain.operators)
    machine, coefficients = context.machine, context.coefficients
    masks = _mask_key(chain, axes)
    return tuple(chain.extents.values()), _tensor_key(chain), operators, masks, machine, coefficients, context.enough_blocks


def _mask_key(chain: Chain, axes: Mapping[str, Index]) -> Hashable:
    """What the masks of a chain leave out."""
    guard = key_mask_of(chain)
    if guard is None:
        return None
    limits = tuple((limit.index.substitute(axes), limit.constraint.data) for limit in guard.limits)
    concerned = tuple((op.name in guard.operators, is_plain_mask(chain, op.name)) for op in chain.operators)
    return axes[guard.axis], limits, concerned


def _tensor_key(chain: Chain) -> Hashable:
    return tuple((tensor.shape, tensor.dtype, tensor.name in chain.constants) for tensor in chain.tensors)


def _operator_key(context: CostContext, operator: Operator, axes: Mapping[str, Index], tensors: Mapping[str, str]) -> Hashable:
    accesses = tuple(_access_key(access, axes, tensors) for access in (*operator.reads, operator.write))
    operator_axes = tuple((str(axes[axis.name]), axis.kind) for axis in operator.axes)
    if operator.name in context.kernels:
        roles = context.roles[operator.name]
        named = (roles.row, roles.column, roles.depth, *roles.outer)
        numbers = tuple(str(axes[name]) if name else "" for name in named)
        return accesses, operator_axes, context.kernels[operator.name], roles.left, numbers
    weights = softmax_weights(operator)
    return accesses, operator_axes, function_seconds(context, operator), passes(operator), operator.reduction is None, weights


def _access_key(access: Access, axes: Mapping[str, Index], tensors: Mapping[str, str]) -> Hashable:
    indices = tuple(index.substitute(axes) for index in access.indices)
    return tensors[access.tensor], indices, _guard_key(access.guard, axes)


def _guard_key(guard: Guard | None, axes: Mapping[str, Index]) -> Hashable:
    return None if guard is None else tuple(constraint.substitute(axes) for constraint in guard.constraints)


def _renamed(
    candidate: Candidate, axes: Mapping[str, str], operators: Mapping[str, str], tensors: Mapping[str, str]
) -> Candidate:
    inner_tiles = {operators[name]: _keys(tiles, axes) for name, tiles in candidate.inner_tiles.items()}
    return replace(
        candidate,
        outer_loops=tuple(axes[axis] for axis in candidate.outer_loops),
        tiles=_keys(candidate.tiles, axes),
        inner_orders={operators[name]: tuple(axes[axis] for axis in order) for name, order in candidate.inner_orders.items()},
        inner_tiles=inner_tiles,
        line_buffered=tuple(tensors[tensor] for tensor in candidate.line_buffered),
        fused_groups=tuple(
            FusedGroup(tuple(operators[name] for name in group.operators), tuple(axes[axis] for axis in group.axes))
            for group in candidate.fused_groups
        ),
    )


def _keys(tiles: Mapping[str, int], axes: Mapping[str, str]) -> dict[str, int]:
    return {axes[axis]: tile for axis, tile in tiles.items()}
