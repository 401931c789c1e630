"""Divisions that are known while a model is planned: of equal groups, and of groups of one form whose numbers are near.

Of a group of a form that was divided before, with numbers near those of the nearest such group, the division is taken over, and
the loops of every chain with it, resized, at its price. Micro kernels are chosen, blocks are cut for L1, operands are packed and
prefetched as for any chain: only the search of the fusion level is left out. What is lost against a search is not known. The
stated limit is relative: a chain may be by `MOST_LOSS` less efficient (ideal time over price) than the chain that was searched.
Else the group is searched, and may be what later groups are compared with: nothing that was taken over is taken over again.

What is taken over depends on the groups of the same model and on their order alone, never on what a process planned before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.graph.types import Chain, Graph
from tilewright.plan.binding import bound
from tilewright.plan.chains import Names, canonical_form, names_of, sub_chain
from tilewright.plan.counts import Counted, count
from tilewright.plan.decisions.exact_operators import is_exact_operator
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.memory import remembered
from tilewright.plan.model.cost import measure
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.planner import MOST_CHAINS, PricedChain, Searched, checked_chain, refined
from tilewright.plan.reasons import TakenOver
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import axis_multiple
from tilewright.plan.threads import LEAST_PARALLEL_S, enough_blocks, imbalance
from tilewright.plan.types import Plan
from tilewright.plan.whole_model.division import Division, Part, division_of
from tilewright.plan.whole_model.forms import Near, form_of
from tilewright.plan.whole_model.planning_options import PlanningOptions

SMALL_MODEL = 32
"""Operators up to which a model is planned exactly: no loops are taken over."""


def is_small(graph: Graph) -> bool:
    """Whether a graph has few operators. What reads nothing does not count: it is a constant, as a stored one is."""
    return sum(bool(operator.reads) for operator in graph.operators) <= SMALL_MODEL


def known_divisions(graph: Graph, options: PlanningOptions) -> KnownDivisions:
    """No division yet. Divisions are taken over in large models whose fusion the prices decide, of chains that are searched."""
    return KnownDivisions(options, options.fuse is None and options.planner is None and not is_small(graph))


@dataclass(slots=True)
class KnownDivisions:
    """The divisions of one planning of a model; all are exact unless `takes_over`."""

    options: PlanningOptions
    takes_over: bool = False
    divisions: dict[Chain, Division] = field(default_factory=dict)
    """By canonical chain."""
    searched: Near[tuple[Division, Names]] = field(default_factory=Near)
    """With the names of the first group that each was found for."""

    def division(self, chain: Chain, named: Callable[[], Chain]) -> Division:
        """The division of a group, as a canonical chain; `named` is in the names of the graph. Raises `Unplannable` where an
        operator has no plan."""
        if chain not in self.divisions:
            self.divisions[chain] = self._found(chain, named)
        return self.divisions[chain]

    def _found(self, chain: Chain, named: Callable[[], Chain]) -> Division:
        if not self.takes_over:
            return division_of(chain, self.options)
        form = form_of(chain)
        near = self.searched.nearest(form)
        if near is not None and (found := self._taken_over(chain, *near.known)):
            return found
        division = division_of(chain, self.options)
        self.searched.add(form, (division, names_of(named())))
        return division

    def _taken_over(self, chain: Chain, near: Division, near_names: Names) -> Division | None:
        """The division of a near group for a chain of its form; None where it loses too much."""
        parts = tuple(self._parts(chain, near, near_names))
        if len(parts) < len(near.parts):
            return None
        count(Counted.TAKEN_OVER)
        names = _written_names(near.chain, chain)
        cuts = (replace(bound(cut, names), source=near_names.tensors[cut.tensor]) for cut in near.cuts)
        return Division(chain, parts, tuple(cuts))

    def _parts(self, chain: Chain, near: Division, near_names: Names) -> Iterator[Part]:
        """The parts of a known division for another chain, as long as each can be taken over."""
        for source in near.parts:
            operators = tuple(chain.operator(operator.name) for operator in source.operators)
            part = sub_chain(chain, operators) if len(operators) < len(chain.operators) else chain
            priced = taken_over(canonical_form(part), source.priced)
            if priced is None:
                return
            name = "_".join(near_names.operators[operator.name] for operator in source.operators)
            reason = TakenOver(name, efficiency(priced), efficiency(source.priced))
            yield Part(operators, part, bound(priced.price, names_of(part)), priced, reason)


def _written_names(source: Chain, chain: Chain) -> Names:
    """The operators of a chain, and the tensors that they write, by those of another chain of its form."""
    pairs = list(zip(source.operators, chain.operators, strict=True))
    tensors = {old.write.tensor: new.write.tensor for old, new in pairs}
    return Names({}, tensors, {old.name: new.name for old, new in pairs})


MOST_LOSS = 1.02
"""The price of a chain over its ideal time may be so many times that of the chain whose loops it takes over, on one thread and
on all cores: what another loop must gain, too."""


@remembered(MOST_CHAINS)
def taken_over(chain: Chain, source: PricedChain) -> PricedChain | None:
    """A canonical chain with the loops of another of its form; None where these cannot be executed, or lose more than the limit.

    Split reductions, exact operators and few blocks for threads depend on extents alone: they are not taken over.
    """
    searched = source.searched
    if isinstance(searched, Plan) or searched.split is not None or is_exact_operator(chain, searched.context.available):
        return None
    source_context = searched.context
    context, ranked = chain_context(chain, source_context.machine, source_context.available, source_context.coefficients)
    if not _has_same_tiles(context, searched):
        return None
    for kept in (frozenset[str](), _guarded_axes(context.chain)):
        candidate = _resized(searched.blocking.candidate, source_context.chain, context, kept)
        if why_not_executable(context.chain, candidate.schedule(context)):
            continue
        found = refined(context, ranked, (candidate,))
        if found.split is not None or _lacks_blocks(found, source):
            continue
        priced = checked_chain(chain, found)
        if efficiency(priced) * MOST_LOSS >= efficiency(source):
            return priced
    return None


def _lacks_blocks(found: Searched, source: PricedChain) -> bool:
    """Whether a search would look for more blocks for threads: some cores get fewer, or the other chain has more."""
    blocks, cores = found.price.blocks, found.context.machine.cores
    is_even = imbalance(blocks, cores) == 1.0 and blocks >= source.price.blocks
    return blocks < enough_blocks(cores) and not is_even and found.price.seconds > LEAST_PARALLEL_S


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

    inner_tiles = {operator: tiles(of) for operator, of in candidate.inner_tiles.items()}
    line_buffered = tuple(tensors[tensor] for tensor in candidate.line_buffered)
    return replace(candidate, tiles=tiles(candidate.tiles), inner_tiles=inner_tiles, line_buffered=line_buffered)


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
    before, after = searched.context.kernels, context.kernels
    return before.keys() == after.keys() and all(kernel.same_tile(before[name]) for name, kernel in after.items())
