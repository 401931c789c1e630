"""Exact operators: plans of what vectors of float32 do not compute, in blocks that are distributed over threads.

There is nothing to search: no micro kernel, no packing. Each is a chain of its own, in vectors of its own type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.coefficients import Coefficients
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.exactness import exact_element_type
from tilewright.graph.types import AxisKind, Chain, Operator, Tensor
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import tiles
from tilewright.plan.element_types import is_held_short
from tilewright.plan.model.cost import floor, function_seconds
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.reasons import Barrier, CannotFuse
from tilewright.plan.regions.loop_views import block_count, parallel_axes
from tilewright.plan.schedule import Compute, Node, Schedule, nest, planned_sizes
from tilewright.plan.threads import ENOUGH_BLOCKS, LEAST_PARALLEL_S
from tilewright.plan.types import OperatorPlan, Plan, Price, PriceTerm, TermKind


def is_exact_operator(chain: Chain, kernels: Iterable[MicroKernel]) -> bool:
    """Whether a chain is an operator with an exact type, and no contraction that one of the kernels computes."""
    if len(chain.operators) > 1:
        return False
    (operator,) = chain.operators
    is_exact = exact_element_type(operator, {tensor.name: tensor for tensor in chain.tensors}) != ""
    has_kernel = operator.is_contraction() and tiles(chain, operator, kernels)
    return is_exact and not has_kernel


def why_stored(tensors: Mapping[str, Tensor], tensor: str, ends: Sequence[Operator]) -> CannotFuse | None:
    """Why a tensor between operators goes through memory; None if vectors of float32 hold it, and its `ends` work with these, or
    if it is a left operand of integers."""
    dtype = tensors[tensor].dtype
    if _is_left_operand(tensors, tensor, ends):
        return None
    if dtype not in ("float32", "bool"):
        return CannotFuse(Barrier.ELEMENT_TYPE, dtype=dtype)
    exact = next((operator for operator in ends if exact_element_type(operator, tensors)), None)
    if exact is not None:
        return CannotFuse(Barrier.EXACT_ARITHMETIC, (exact.name,), exact_element_type(exact, tensors))
    return None


def _is_left_operand(tensors: Mapping[str, Tensor], tensor: str, ends: Sequence[Operator]) -> bool:
    """Whether vectors of float32 make short integers of which one product reads blocks of rows, as they lie in a buffer."""
    writer, *readers = ends
    if len(readers) != 1 or not is_held_short(writer, tensors[tensor].dtype) or not readers[0].is_contraction():
        return False
    left = readers[0].reads[contraction_roles(readers[0]).left]
    reads = [access for access in readers[0].reads if access.tensor == tensor]
    return reads == [left] and all(index.is_axis() for index in (*left.indices, *writer.write.indices))


def plan_exact_operator(chain: Chain, machine: Machine, coefficients: Coefficients) -> Plan:
    """The plan of such a chain."""
    (operator,) = chain.operators
    sizes = planned_sizes(chain)
    least = floor(chain, machine)
    context = context_of(chain, machine, {}, {}, coefficients)
    seconds = max(float(function_seconds(context, operator, sizes)), least.seconds)
    schedule = Schedule(_blocks(operator, sizes, ENOUGH_BLOCKS if seconds > LEAST_PARALLEL_S else 1))
    blocks = block_count(chain, schedule)
    terms = PriceTerm(TermKind.EXACT_ARITHMETIC, seconds, operator.name), PriceTerm(TermKind.CALL, coefficients.call_s)
    price = Price(terms, blocks, machine.parallel_region_s * (blocks > 1))
    return Plan(
        chain=chain,
        machine=machine,
        schedule=schedule,
        operators=(OperatorPlan(operator.name),),
        levels=(),
        parallel_axes=parallel_axes(chain, schedule),
        movements=(),
        scratch_bytes=0,
        price=price,
        unfused_price=price,
        floor=least,
        rejected=(),
    )


def _blocks(operator: Operator, sizes: dict[str, int], wanted: int) -> tuple[Node, ...]:
    """Loops over the outer axes of the result, as far as they are needed to have so many blocks."""
    loops: list[tuple[str, int]] = []
    for axis in operator.axes:
        if wanted > 1 and axis.kind is AxisKind.PARALLEL and sizes[axis.name] > 1:
            tile = max(1, sizes[axis.name] // wanted)
            loops.append((axis.name, tile))
            wanted //= sizes[axis.name] // tile
    return nest(loops, (Compute(operator.name),))
