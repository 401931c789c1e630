"""What a plan costs: the work of every operator under a schedule, or under a family of them, and its price.

price = per operator the largest of arithmetic (or memory-intensive functions) and the traffic into each level, plus what of the
traffic stays visible, packing, block and call overheads. All of it is for one call on one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from tilewright.graph.scalar import Apply, Scalar, State, subexpressions
from tilewright.graph.types import Chain, Operator
from tilewright.machine.machine import Machine
from tilewright.plan.chains import axis_names
from tilewright.plan.kernel_choice import flops, kernel_work
from tilewright.plan.packing import in_place_seconds, least_packing_seconds, may_pack, packing_seconds
from tilewright.plan.prefetch import prefetch_seconds
from tilewright.plan.ranges import planned_sizes
from tilewright.plan.row_forms import blocks_of_rows, row_axes, shares_of, shares_read
from tilewright.plan.setting import ELEMENT_BYTES, Setting, compulsory_bytes
from tilewright.plan.traffic import Footprints, Surroundings, elements_into, footprints, passes
from tilewright.plan.types import Floor
from tilewright.plan.views import Count, LoopView, OperatorView, either


@dataclass(frozen=True, slots=True)
class Block:
    """What an operator's blocks are like whatever the order of the loops around them; every figure may be an array.

    Seconds and calls are those of one full pass over the operator.
    """

    tiles: Mapping[str, Count]
    footprints: Footprints
    arithmetic_s: Count
    functions_s: Count
    calls: Count


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator costs under a schedule; every field may be an array."""

    arithmetic_s: Count
    functions_s: Count
    packing_s: Count
    overhead_s: Count
    traffic_bytes: Mapping[str, Count]
    """Into each cache level, from the one behind it."""
    prefetch_s: Count = 0.0
    """Prefetch instructions less the visible traffic that they hide: below 0 where prefetching gains."""


def measure(setting: Setting, operator: Operator, tiles: Mapping[str, Count]) -> Block:
    """The blocks of an operator with these tiles."""
    arithmetic: Count = 0.0
    functions: Count = 0.0
    calls: Count = 0
    if operator.name in setting.kernels:
        roles, kernel = setting.roles[operator.name], setting.kernels[operator.name]
        work = kernel_work(operator, roles, kernel, setting.machine, setting.sizes, tiles)
        arithmetic, calls = work.seconds, work.calls
    else:
        functions = function_seconds(setting, operator)
    return Block(tiles, footprints(setting, operator, tiles), arithmetic, functions, calls)


def operator_work(
    setting: Setting,
    around: Surroundings,
    view: OperatorView,
    block: Block | None = None,
    *,
    inner: OperatorView | None = None,
    conflict: float | None = None,
) -> Work:
    """The cost of one operator.

    `inner` is its view with the loops that cut its blocks for L1. `conflict` (see `traffic.elements_into`) says that
    its right operand is read in place; None that it is packed if it has to be.
    """
    block = block or measure(setting, view.operator, view.tiles)
    nearest = block if inner is None else measure(setting, view.operator, inner.tiles)
    running = view.running() if inner is None else inner.running()
    own = axis_names((view.operator,))
    repeats = _product(loop.trips for loop in running if loop.axis not in own)
    runs = _product(loop.trips for loop in running)
    coefficients, hz = setting.coefficients, setting.machine.frequency_hz
    overhead = (nearest.calls * repeats * coefficients.tile_end_cycles + runs * coefficients.block_cycles) / hz
    if conflict is None:
        packing = packing_seconds(setting, around, view, block.footprints)
    else:
        packing = in_place_seconds(setting, view.operator, block.footprints, nearest.tiles, nearest.calls * repeats)
    moved = elements_into(setting, around, view, block.footprints, inner=inner, conflict=conflict or 1.0)
    traffic = {level: ELEMENT_BYTES * sum(elements) for level, elements in moved.items()}
    functions = row_seconds(setting, view.operator, view.loops[: around.shared_loops], block)
    packed = conflict is None and may_pack(setting, view.operator)
    prefetching = prefetch_seconds(setting, view.operator, moved, nearest.tiles, nearest.calls * repeats, packed=packed)
    return Work(nearest.arithmetic_s * repeats, functions * repeats, packing, overhead, traffic, prefetching)


def seconds(setting: Setting, work: Work) -> Count:
    """The price of one operator's work."""
    times = traffic_seconds(setting, work)
    longest = reduce(np.maximum, times.values(), work.arithmetic_s + work.functions_s)
    return longest + visible_seconds(setting, times) + work.packing_s + work.overhead_s + work.prefetch_s


def least_work(setting: Setting, operator: Operator, block: Block) -> Work:
    """What an operator does at least in blocks like these: every input and output comes once into each level.

    Its right operand is packed once or read in place.
    """
    operands = setting.operands[operator.name]
    once = sum(swept for one, swept in zip(operands, block.footprints.swept, strict=True) if not one.is_intermediate)
    traffic = {level.name: ELEMENT_BYTES * once for level in setting.cache_levels}
    overhead = block.calls * setting.coefficients.tile_end_cycles / setting.machine.frequency_hz
    packing = least_packing_seconds(setting, operator, block.footprints, block.tiles, block.calls)
    functions = block.functions_s
    if shares_of(operator) is not None:
        functions = np.minimum(functions, _share_seconds(setting, operator))
    return Work(block.arithmetic_s, functions, packing, overhead, traffic)


def traffic_seconds(setting: Setting, work: Work) -> dict[str, Count]:
    """Traffic into every level over the bandwidth of the level behind it."""
    return {
        level.name: work.traffic_bytes[level.name] / behind.bandwidth_bytes_per_s
        for level, behind in pairwise(setting.machine.levels)
    }


def visible_seconds(setting: Setting, times: Mapping[str, Count]) -> Count:
    """What of the traffic arithmetic does not hide."""
    nearest = setting.cache_levels[0].name
    shares = {True: setting.coefficients.visible_l1_traffic, False: setting.coefficients.visible_traffic}
    return sum(shares[name == nearest] * time for name, time in times.items())


def floor(chain: Chain, machine: Machine) -> Floor:
    """Flops over peak, and every input and output once over the memory bandwidth."""
    sizes = planned_sizes(chain)
    useful = sum(flops(operator, sizes) for operator in chain.operators if operator.is_contraction())
    size_bytes = compulsory_bytes(chain, sizes)
    bandwidth = machine.levels[-1].bandwidth_bytes_per_s
    return Floor(useful, useful / machine.peak("float32"), size_bytes, size_bytes / bandwidth)


def function_seconds(setting: Setting, operator: Operator) -> float:
    """The time of a map or row operator: its distinct scalar functions and its passes, vector by vector."""
    roots = [operator.body]
    if operator.reduction is not None:
        roots += [*(state.contribution for state in operator.reduction.states), operator.reduction.finish]
    points = int(_product(setting.sizes[axis.name] for axis in operator.axes))
    return points * _seconds_per_element(setting, roots, passes(operator))


def row_seconds(setting: Setting, operator: Operator, shared: tuple[LoopView, ...], block: Block) -> Count:
    """The vector work of an operator inside these shared loops.

    Every row ends with the lanes of its states folded into one. A row operator whose rows the loops cut makes shares without
    the last pass, and takes its states along: one vector a row for every state and law. A sum of such shares is corrected at
    every block but the first, and divided at the last.
    """
    rows_of = shares_read(setting.chain, operator)
    if rows_of is not None:
        blocks = blocks_of_rows(rows_of, shared)
        corrected = block.footprints.swept[-1] * blocks * _seconds_per_element(setting, (), 1)
        return block.functions_s + either(blocks > 1, corrected, 0)
    if not operator.is_row_operator() or operator.reduction is None:
        return block.functions_s
    blocks = blocks_of_rows(operator, shared)
    rows = int(_product(setting.sizes[axis] for axis in row_axes(operator)))
    folding = len(operator.reduction.states) * setting.coefficients.tile_end_cycles / setting.machine.frequency_hz
    laws = shares_of(operator)
    if laws is None:
        return block.functions_s + rows * folding
    factors = [factor for _, factor in laws.factors if factor is not None]
    lanes = setting.machine.vector_bits / 8 / ELEMENT_BYTES
    taking = lanes * _seconds_per_element(setting, factors, 1 + len(laws.factors))
    online = _share_seconds(setting, operator) + rows * blocks * (taking + folding)
    return either(blocks > 1, online, block.functions_s + rows * folding)


def _share_seconds(setting: Setting, operator: Operator) -> float:
    """The time in which a row operator makes undivided shares of all its points: a pass for every state."""
    assert operator.reduction is not None
    roots = [operator.body, *(state.contribution for state in operator.reduction.states)]
    points = int(_product(setting.sizes[axis.name] for axis in operator.axes))
    return points * _seconds_per_element(setting, roots, passes(operator) - 1)


def _seconds_per_element(setting: Setting, roots: Iterable[Scalar], over: int) -> float:
    """The time of the distinct functions of some expressions and of some passes, vector by vector."""
    applied = {node for root in roots for node in subexpressions(root) if isinstance(node, Apply)}
    costs, other = dict(setting.coefficients.function_cycles_per_vector), setting.coefficients.other_function_cycles
    functions = sum(other if _is_once_a_row(node) else costs.get(node.function, other) for node in applied)
    vectors = ELEMENT_BYTES * 8 / setting.machine.vector_bits
    return vectors * (functions + over * setting.coefficients.pass_cycles_per_vector) / setting.machine.frequency_hz


def _product(values: Iterable[Count]) -> Count:
    return reduce(lambda product, value: product * value, values, 1)


def _is_once_a_row(node: Apply) -> bool:
    """Whether it divides by a state: its reciprocal is taken once a row, and every point is multiplied by that."""
    return node.function == "divide" and isinstance(node.operands[1], State)
