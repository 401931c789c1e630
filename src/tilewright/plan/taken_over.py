"""Schedules taken over: a chain gets the loops of a chain of the same form, resized, at its price, if it loses little by that.

Micro kernels are chosen, blocks are cut for L1, operands are packed and prefetched as for any chain: only the search of the
fusion level is left out. What is lost against a search is not known. The stated limit is relative: the chain may be by
`MOST_LOSS` less efficient (ideal time over price) than the chain that was searched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tilewright.graph.types import Chain
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.decisions.scalar_loop import is_scalar_loop
from tilewright.plan.memory import remembered
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost import measure
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.threads import LEAST_PARALLEL_S, imbalance
from tilewright.plan.planner import MOST_CHAINS, PricedChain, Searched, checked_chain, refined
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.regions.trip_counts import planned_sizes
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import axis_multiple
from tilewright.plan.types import Plan

MOST_LOSS = 1.02
"""The price of a chain over its ideal time may be so many times that of the chain whose loops it takes over, on one thread and
on all cores: what another loop must gain, too."""


@remembered(MOST_CHAINS)
def taken_over(chain: Chain, source: PricedChain) -> PricedChain | None:
    """A canonical chain with the loops of another of its form; None where these cannot be executed, or lose more than the limit.

    Split reductions, scalar loops and few blocks for threads depend on extents alone: they are not taken over.
    """
    searched = source.searched
    if isinstance(searched, Plan) or searched.split is not None or is_scalar_loop(chain, searched.available):
        return None
    machine, coefficients = searched.context.machine, searched.context.coefficients
    context, ranked = chain_context(without_lookups(chain), machine, searched.available, coefficients)
    if not _has_same_tiles(context, searched):
        return None
    for kept in (frozenset[str](), _guarded_axes(context.chain)):
        candidate = _resized(searched.blocking.candidate, searched.context.chain, context, kept)
        if why_not_executable(context.chain, candidate.schedule(context)):
            continue
        found = refined(context, ranked, (candidate,), searched.available)
        if found.split is not None or _lacks_blocks(found, source):
            continue
        priced = checked_chain(chain, found)
        if efficiency(priced) * MOST_LOSS >= efficiency(source):
            return priced
    return None


def _lacks_blocks(found: Searched, source: PricedChain) -> bool:
    """Whether a search would look for more blocks for threads: some cores get fewer, or the other chain has more."""
    blocks = found.price.blocks
    is_even = imbalance(blocks, found.context.machine.cores) == 1.0 and blocks >= source.price.blocks
    return blocks < found.context.enough_blocks and not is_even and found.price.seconds > LEAST_PARALLEL_S


def _resized(candidate: Candidate, source: Chain, context: CostContext, kept: Collection[str]) -> Candidate:
    """The loops of a chain with tiles for another of its form: as large along `kept` axes, else as many.

    Figures of the candidate stay those of the chain that it was found for.
    """
    sizes = planned_sizes(source)
    tensors = dict(zip(source.intermediates, context.chain.intermediates, strict=True))

    def tile_of(axis: str, tile: int) -> int:
        size, new_size = sizes[axis], int(context.sizes[axis])
        if axis in kept and tile < size:
            return min(tile, new_size)
        return _tile(tile, size, new_size, axis_multiple(context, axis))

    def tiles(of: Mapping[str, int]) -> dict[str, int]:
        return {axis: tile_of(axis, tile) for axis, tile in of.items()}

    return replace(
        candidate,
        tiles=tiles(candidate.tiles),
        inner_tiles={operator: tiles(of) for operator, of in candidate.inner_tiles.items()},
        line_buffered=tuple(tensors[tensor] for tensor in candidate.line_buffered),
    )


def _guarded_axes(chain: Chain) -> frozenset[str]:
    """Axes along which some operator reads a tensor for a part of its points: tiles end with the parts of a concatenation."""
    guards = (access.guard for operator in chain.operators for access in operator.reads)
    return frozenset().union(*(guard.axes() for guard in guards if guard is not None))


def _tile(tile: int, size: int, new_size: int, multiple: int) -> int:
    """The smallest whole multiple that gives as many blocks; single points stay single.

    >>> _tile(96, 384, 416, 8), _tile(1, 12, 16, 1), _tile(384, 384, 416, 1)
    (104, 1, 416)
    """
    if size == new_size or tile == 1:
        return tile
    blocks = -(-size // tile)
    return -(-new_size // (blocks * multiple)) * multiple


def efficiency(priced: PricedChain) -> float:
    """The ideal time over the price without the call, on one thread or on all cores, where it is less."""
    if isinstance(priced.searched, Plan):
        return 1.0
    context = priced.searched.context
    cores, call_s = context.machine.cores, context.coefficients.call_s
    seconds = max(priced.price.seconds - call_s, (priced.price.on(cores) - call_s) * cores)
    return _ideal_seconds(priced.searched) / seconds if seconds > 0 else 0.0


@remembered(MOST_CHAINS)
def _ideal_seconds(searched: Searched) -> float:
    """Inputs and the result moved once, or arithmetic and functions with the micro kernels chosen, whichever is longer."""
    context = searched.context
    moving_s = context.compulsory_bytes / context.machine.levels[context.source_position].bandwidth_bytes_per_s
    blocks = (measure(context, operator, context.sizes) for operator in context.chain.operators)
    return max(moving_s, sum(float(block.arithmetic_s + block.functions_s) for block in blocks))


def _has_same_tiles(context: CostContext, searched: Searched) -> bool:
    """Whether all micro kernels compute tiles of the sizes that the loops were made for."""
    before = searched.context.kernels
    return before.keys() == context.kernels.keys() and all(
        kernel.same_tile(before[name]) for name, kernel in context.kernels.items()
    )
