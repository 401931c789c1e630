"""Cost model: cycles and bytes of each operator for one schedule or for an array of schedules.

price = per operator the largest of arithmetic (or memory-intensive functions) and the traffic into each level, plus what of the
traffic stays visible, packing, block and call overheads. All of it is for one call on one thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.chains import axis_names
from tilewright.plan.model.cost_context import ELEMENT_BYTES, Setting, source_position
from tilewright.plan.model.kernel_work import KernelWork, kernel_work
from tilewright.plan.model.least_work import least_bytes, least_flops
from tilewright.plan.model.masked_work import GuardedWork, guarded_work
from tilewright.plan.model.operands_read_once import run_seconds
from tilewright.plan.model.packing_cost import in_place_seconds, least_packing_seconds, packing_seconds
from tilewright.plan.model.pages import left_page_seconds, target_page_seconds
from tilewright.plan.model.prefetch_gain import prefetch_seconds, stream_seconds
from tilewright.plan.model.traffic import Footprints, Surroundings, elements_into, footprints
from tilewright.plan.model.vector_work import epilogue_seconds, function_seconds, share_seconds, vector_seconds
from tilewright.plan.regions.loop_views import Count, OperatorView
from tilewright.plan.regions.masks import is_plain_mask, key_guard
from tilewright.plan.regions.online_reductions import shares_of
from tilewright.plan.types import Floor


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
    streams_s: Count = 0.0
    """What shows of panels packed ahead where they are not prefetched. No price has it: that they are is decided by it."""
    rolling_s: Count = 0.0
    """Carrying over what neighbouring blocks share of a rolled result."""


def measure(setting: Setting, operator: Operator, tiles: Mapping[str, Count]) -> Block:
    """The blocks of an operator with these tiles."""
    work, functions = KernelWork(0.0, 0), 0.0
    if operator.name in setting.kernels:
        work = arithmetic_work(setting, operator, tiles)
        functions = epilogue_seconds(setting, operator)
    elif not setting.is_in_tiles(operator.name):
        functions = function_seconds(setting, operator)
    return Block(tiles, footprints(setting, operator, tiles), work.seconds, functions, work.calls)


def arithmetic_work(setting: Setting, operator: Operator, tiles: Mapping[str, Count]) -> KernelWork:
    """Arithmetic and calls of one full pass over a contraction in blocks of these tiles."""
    roles, kernel = setting.roles[operator.name], setting.kernels[operator.name]
    work = kernel_work(operator, roles, kernel, setting.machine, setting.sizes, tiles)
    return KernelWork(attained(setting, kernel) * work.seconds, work.calls)


def operator_work(
    setting: Setting,
    around: Surroundings,
    view: OperatorView,
    block: Block | None = None,
    *,
    inner: OperatorView | None = None,
    conflict: float | None = None,
) -> Work:
    """The cost of one operator; maps that the micro tiles of a contraction apply cost nothing, as their functions are its own.

    `inner` is its view with the loops that cut its blocks for L1. `conflict` (see `traffic.elements_into`) says that
    its right operand is read in place; None that it is packed if it has to be.
    """
    if setting.is_in_tiles(view.operator.name):
        return Work(0.0, 0.0, 0.0, 0.0, {level.name: 0 for level in setting.cache_levels})
    setting = setting.walked(view.walked(setting.sizes))
    block = block or measure(setting, view.operator, view.tiles)
    nearest = block if inner is None else measure(setting, view.operator, inner.tiles)
    running = view.running() if inner is None else inner.running()
    own = axis_names((view.operator,))
    repeats = _product(loop.trips for loop in running if loop.axis not in own)
    runs = _product(loop.trips for loop in running)
    coefficients, hz = setting.coefficients, setting.machine.frequency_hz
    shared_count = around.shared_loops[view.operator.name]
    guarded = guarded_work(setting, view, shared_count)
    repeats = repeats * guarded.computed
    calls = nearest.calls * repeats
    overhead = (calls * coefficients.tile_end_cycles + runs * coefficients.block_cycles) / hz
    if conflict is None:
        packing = packing_seconds(setting, around, view, block.footprints)
    else:
        packing = in_place_seconds(setting, view.operator, block.footprints, nearest.tiles, calls)
        packing = packing + run_seconds(setting, view.operator, block.footprints, view.tiles)
    moved = elements_into(setting, around, view, block.footprints, inner=inner, conflict=conflict or 1.0)
    moved = _guarded_traffic(setting, view.operator, moved, guarded)
    traffic = {level: ELEMENT_BYTES * sum(elements) for level, elements in moved.items()}
    functions = vector_seconds(setting, view.operator, view.loops[:shared_count], block.functions_s, block.footprints)
    functions = functions * (guarded.masked / guarded.computed if is_plain_mask(setting.chain, view.operator.name) else 1)
    pages = {"right": 0.0 if conflict is None else packing}
    pages["left"] = left_page_seconds(setting, view.operator, moved, nearest.tiles)
    prefetching = prefetch_seconds(setting, view, moved, nearest.tiles, calls, packed=conflict is None, pages_s=pages)
    streams = stream_seconds(setting, view, moved, in_place=conflict is not None)
    packing = packing + pages["left"] + target_page_seconds(setting, view.operator, moved, nearest.tiles)
    rolling = view.carried * coefficients.pass_cycles_per_vector * setting.vectors_per_element / hz
    return Work(nearest.arithmetic_s * repeats, functions * repeats, packing, overhead, traffic, prefetching, streams, rolling)


def _guarded_traffic(
    setting: Setting, operator: Operator, moved: dict[str, tuple[Count, ...]], guarded: GuardedWork
) -> dict[str, tuple[Count, ...]]:
    """Elements of every operand that move where masks leave out keys."""
    guard = key_guard(setting.chain)
    if guard is None or operator.name not in guard.operators:
        return moved
    share = guarded.masked if is_plain_mask(setting.chain, operator.name) else guarded.computed
    along = [guard.axis in operand.axes for operand in setting.operands[operator.name]]
    return {
        level: tuple(one * share if masked else one for one, masked in zip(elements, along, strict=True))
        for level, elements in moved.items()
    }


def seconds(setting: Setting, work: Work) -> Count:
    """The price of one operator's work."""
    times = traffic_seconds(setting, work)
    overlapped = (setting.coefficients.overlapped_traffic * time for time in times.values())
    longest = reduce(np.maximum, overlapped, work.arithmetic_s + work.functions_s)
    beside = work.packing_s + work.overhead_s + work.prefetch_s + work.rolling_s
    return longest + visible_seconds(setting, times) + beside


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
        functions = np.minimum(functions, share_seconds(setting, operator))
    return Work(block.arithmetic_s, functions, packing, overhead, traffic)


def traffic_seconds(setting: Setting, work: Work) -> dict[str, Count]:
    """Traffic into every level over the bandwidth of the level behind it; nothing comes from behind the one that has it all."""
    source = setting.source_position
    return {
        level.name: work.traffic_bytes[level.name] / behind.bandwidth_bytes_per_s if position < source else 0.0
        for position, (level, behind) in enumerate(pairwise(setting.machine.levels))
    }


def visible_seconds(setting: Setting, times: Mapping[str, Count]) -> Count:
    """What of the traffic arithmetic does not hide."""
    nearest = setting.cache_levels[0].name
    shares = {True: setting.coefficients.visible_l1_traffic, False: setting.coefficients.visible_traffic}
    return sum(shares[name == nearest] * time for name, time in times.items())


def floor(chain: Chain, machine: Machine) -> Floor:
    """Flops over peak, and what is needed of every input and output once over the bandwidth of the level that holds them all."""
    useful, size_bytes = least_flops(chain), least_bytes(chain)
    bandwidth = machine.levels[source_position(machine, size_bytes)].bandwidth_bytes_per_s
    return Floor(useful, useful / machine.peak("float32"), size_bytes, size_bytes / bandwidth)


def useful_seconds(setting: Setting, operator: Operator) -> Count:
    """Arithmetic of a contraction without any edges: all its points at the full rate of its micro kernel."""
    kernel = setting.kernels[operator.name]
    rate = setting.machine.peak(kernel.element_types[2]) * kernel.machine_share(setting.machine.vector_bits)
    return _product(setting.sizes[axis.name] for axis in operator.axes) * (2 * attained(setting, kernel) / rate)


def attained(setting: Setting, kernel: MicroKernel) -> float:
    """Time of a micro kernel over its time at its declared share of the peak: none is faster than the peak."""
    fitted = setting.coefficients.arithmetic
    return max(fitted, kernel.peak_share) if fitted else 0.0


def _product(values: Iterable[Count]) -> Count:
    return reduce(lambda product, value: product * value, values, 1)
