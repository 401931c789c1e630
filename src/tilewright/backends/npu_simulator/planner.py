"""The plan of a chain: every order of blocks with every tile that fits the buffers, the cheapest of them, and what lost.

The tiles of a `mad` follow from the price, which counts bytes and cycles; Chimera's rule (Section V-B: M2 = N2 = 16, M1 = N1 from
L0C) is one of the candidates, and decides between tiles of equal price by its arithmetic intensity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

import numpy as np

from tilewright.arrays import Quantity, as_integer, spread
from tilewright.backends.npu_simulator.counts import Moved, Work, once_bytes
from tilewright.backends.npu_simulator.figures import L0C, LANES, MEMORY, SPACES, Figures, Pipe, figures_of
from tilewright.backends.npu_simulator.lowering import binding_of, vector_binding
from tilewright.backends.npu_simulator.price import predicted
from tilewright.backends.npu_simulator.shape import ChainShape, Stage, refused, shape_of
from tilewright.backends.npu_simulator.tiles import Extents, Order, Tiles, filled, schedule_of
from tilewright.graph.types import Chain, Operator
from tilewright.leaves.npu.mad import most_blocks
from tilewright.machine.machine import Machine
from tilewright.plan.chains import single_operator_chains, sub_chain
from tilewright.plan.reasons import Defeat, Loops, LossReason, OtherLoops
from tilewright.plan.schedule import Storage
from tilewright.plan.types import (
    Floor,
    LevelPlan,
    Movement,
    OperatorPlan,
    Plan,
    Price,
    PriceTerm,
    Rejected,
    TermKind,
)
from tilewright.records import record

SIDES = (16, 32, 48, 64, 96, 128, 192, 256, 384)
"""Rows and columns of blocks that are tried, in elements; besides them the whole extent of columns."""
EQUAL = 1e-9
"""Relative difference of seconds that are equal."""
FEW_ROWS = (1, 2, 4, 8)
"""Rows of blocks of vector operators alone, which need no whole blocks of 16."""
DEPTHS = (16, 32, 64, 128, 256)
"""Steps of the depth from one transfer into L0A and L0B to the next."""
KINDS = {
    Pipe.LOAD: (TermKind.TRAFFIC, "L1"),
    Pipe.FEED: (TermKind.TRAFFIC, "L0"),
    Pipe.CUBE: (TermKind.ARITHMETIC, ""),
    Pipe.VECTOR: (TermKind.FUNCTIONS, ""),
    Pipe.STORE: (TermKind.TRAFFIC, MEMORY),
}
"""What a pipe's cycles are in a price."""


@record
class Candidate:
    """Tiles with their predicted seconds, of the whole device."""

    tiles: Tiles
    seconds: float


@record
class NpuPlanner:
    """How this device plans a chain."""

    def plan(self, chain: Chain, machine: Machine) -> Plan:
        """The plan of a chain as one kernel. Raises `Unplannable` where the device cannot compute it so."""
        return plan_chain(chain, machine)


def plan_chain(chain: Chain, machine: Machine, *, orders: Sequence[Order] = tuple(Order)) -> Plan:
    """The plan of a chain as one kernel, with the orders that lost; `orders` are those to choose from.

    Raises `Unplannable` for a chain that is no kernel of the device, or whose blocks fit no buffers.
    """
    found = candidates(chain, figures_of(machine), orders)
    if not found:
        raise refused(chain, "the smallest blocks of it do not fit the buffers of a core")
    best, *others = found
    return made_plan(chain, machine, best.tiles, others)


def candidates(
    chain: Chain, figures: Figures, orders: Sequence[Order] = tuple(Order), sides: Sequence[int] = SIDES
) -> list[Candidate]:
    """The cheapest tiles of every order that a chain has and that fit, the cheapest order first; `sides` are those to try."""
    shape = shape_of(chain)
    found = (cheapest(chain, figures, order, sides) for order in orders_of(shape) if order in orders)
    return sorted((one for one in found if one is not None), key=lambda one: one.seconds)


def orders_of(shape: ChainShape) -> tuple[Order, ...]:
    """The orders that compute a chain of this shape."""
    if shape.first.product is None:
        return (Order.VECTORS,)
    if len(shape.stages) == 1:
        return (Order.ROWS,) if shape.first.has_rows else (Order.TILE,)
    return (Order.RESIDENT,) if shape.first.has_rows else (Order.STREAM, Order.RESIDENT)


def cheapest(chain: Chain, figures: Figures, order: Order, sides: Sequence[int] = SIDES) -> Candidate | None:
    """The cheapest tiles of an order; None where none fit. Of equal ones the highest arithmetic intensity, then the largest."""
    shape = shape_of(chain)
    tiles = every_tile(chain, shape, order, sides)
    work = Work(chain, shape, Extents.of(chain, shape), tiles)
    fits = reduce(and_, (np.asarray(work.bytes_of(space) <= figures.size(space)) for space in SPACES))
    if order is Order.STREAM:
        fits = fits & (tiles.second_depth <= tiles.columns)
    if not fits.any():
        return None
    seconds = np.where(fits, predicted(work, figures).seconds, np.inf)
    equal = seconds <= seconds.min() * (1 + EQUAL)
    intensity = np.where(equal, intensity_of(tiles.rows, tiles.columns), 0)
    number = int(np.lexsort((-spread(tiles.depth, equal.shape)[equal], -intensity[equal]))[0])
    place = tuple(int(axis[number]) for axis in np.nonzero(equal))
    return Candidate(tiles.at(place, equal.shape), float(seconds[place]))


def every_tile(chain: Chain, shape: ChainShape, order: Order, tried: Sequence[int] = SIDES) -> Tiles:
    """All tiles that are tried: arrays with a dimension for every choice."""
    e = Extents.of(chain, shape)
    whole = order is Order.VECTORS and shape.first.has_rows
    few = sorted({min(size, int(e.rows)) for size in (*FEW_ROWS, *tried)})
    rows = few if order is Order.VECTORS else _clipped(tried, e.rows)
    sides = {
        "rows": [int(e.rows)] if shape.first.reduces_rows else rows,
        "columns": [int(filled(e.columns))] if whole else _clipped(tried, e.columns),
        "depth": _clipped(DEPTHS, e.depth),
        "second": [int(filled(e.second))] if shape.last.has_rows else _clipped(tried, e.second),
        "second_depth": _clipped(DEPTHS, e.columns),
        "keeps_left": [0, 1],
        "middle": [1, 2],
        "outer": [1, 2],
    }
    is_single = len(shape.stages) == 1
    if order in (Order.TILE, Order.VECTORS):
        sides |= {"keeps_left": [0], "middle": [1]}
    if order is Order.VECTORS:
        sides |= {"depth": [LANES]}
    if is_single:
        sides |= {"second": [LANES], "second_depth": [LANES]}
    if not _is_dealt(shape, order):
        sides |= {"outer": [1]}
    values = np.ix_(*(np.array(choices, np.int64) for choices in sides.values()))
    return Tiles(order, **dict(zip(sides, values, strict=True)))


def _is_dealt(shape: ChainShape, order: Order) -> bool:
    """Whether there are loops whose blocks are dealt to cores: without any, nothing passes from block to block."""
    columns = shape.first.column if order in (Order.TILE, Order.VECTORS) else shape.last.column if order is Order.STREAM else None
    return bool(shape.outer) or shape.first.row is not None or columns is not None


def _clipped(sizes: Sequence[int], extent: Quantity) -> list[int]:
    most = int(filled(int(extent)))
    return sorted({min(size, most) for size in sizes} | ({most} if most <= 1024 else set()))


def intensity_of(rows: Quantity, columns: Quantity) -> Quantity:
    """`arithmetic_intensity` of `leaves/npu/mad.py`, of a block of so many rows and columns, which may be arrays.

    >>> intensity_of(128, 128), intensity_of(256, 64)
    (64.0, 51.2)
    """
    return rows * columns / (rows + columns)


def square_blocks(figures: Figures, accumulators: int) -> int:
    """M1 = N1, as a power of two, where L0C holds so many accumulators of 16 M1 x 16 N1 float32 numbers (Section V-B).

    >>> figures = figures_of(Machine.named("ascend910"))
    >>> square_blocks(figures, 1), square_blocks(figures, 2)
    (16, 8)
    """
    return 1 << (most_blocks(figures.size(L0C), accumulators).bit_length() - 1)


# The plan


def made_plan(chain: Chain, machine: Machine, tiles: Tiles, others: Sequence[Candidate] = ()) -> Plan:
    """The plan of these tiles, with its figures."""
    figures, shape = figures_of(machine), shape_of(chain)
    work = Work(chain, shape, Extents.of(chain, shape), tiles)
    schedule, parallel = schedule_of(chain, shape, tiles)
    price = price_of(work, figures)
    levels = tuple(_level(work, figures, space) for space in SPACES)
    lost = tuple(_lost(one, shape, price) for one in others)
    scratch = sum(level.used_bytes for level in levels)
    operators = tuple(_operator_plan(shape, tiles, operator.name) for operator in chain.operators)
    floor = _floor(work, figures)
    return Plan(chain, machine, schedule, operators, levels, parallel, movements(work.moved()), scratch, price, None, floor, lost)


def price_of(work: Work, figures: Figures) -> Price:
    """The predicted seconds of the whole device: pipes overlap, and what they do not hide is a term of its own.

    What overlaps names the last operator: terms of other chains do not overlap with it.
    """
    found = predicted(work, figures)
    rounds, hz, last = int(found.blocks_of_core), figures.frequency_hz, work.chain.operators[-1].name
    terms = [PriceTerm(kind, float(found.busy[pipe]) * rounds / hz, last, level) for pipe, (kind, level) in KINDS.items()]
    terms.append(PriceTerm(TermKind.TRAFFIC, found.compulsory_s, last, "L2"))
    hidden = max(term.seconds for term in terms)
    waits = float(found.seconds) - found.launch_s - hidden
    return Price((*terms, PriceTerm(TermKind.BLOCKS, max(waits, 0.0)), PriceTerm(TermKind.REGION, found.launch_s)))


def movements(moved: Iterator[Moved]) -> tuple[Movement, ...]:
    """Bytes by tensor and space that they go to."""
    found: dict[tuple[str, str], int] = {}
    for one in moved:
        key = (one.tensor, one.target)
        found[key] = found.get(key, 0) + int(as_integer(one.size_bytes))
    return tuple(Movement(tensor, level, size) for (tensor, level), size in found.items())


def _level(work: Work, figures: Figures, space: str) -> LevelPlan:
    tiles, first, last = work.tiles, work.shape.first, work.shape.last
    sides = [(first.row, tiles.rows), (first.column, tiles.columns)]
    sides += [(last.column, tiles.second)] if len(work.shape.stages) == 2 else []
    held = tuple((axis, int(as_integer(tile))) for axis, tile in sides if axis is not None)
    return LevelPlan(space, tuple(axis for axis, _ in held), held, int(as_integer(work.bytes_of(space))), figures.size(space))


def _operator_plan(shape: ChainShape, tiles: Tiles, name: str) -> OperatorPlan:
    product_of = {one.operator.name: one for one in shape.products}
    leaf = binding_of(product_of[name], tiles) if name in product_of else vector_binding(tiles)
    return OperatorPlan(name, leaf)


def _floor(work: Work, figures: Figures) -> Floor:
    e, least = work.extents, once_bytes(work.chain)
    second = e.second if len(work.shape.stages) == 2 else 0
    is_product = work.shape.first.product is not None
    flops = 2 * e.outer * int(e.rows) * int(e.columns) * (int(e.depth) + int(second)) if is_product else 0
    peak = 2 * LANES**3 * figures.frequency_hz * figures.cores
    return Floor(flops, flops / peak, least, least / figures.memory_bytes_per_s)


def apart(chain: Chain) -> tuple[Chain, ...]:
    """A chain with its intermediates between products in memory: every stage alone, or every operator of a single stage."""
    stages = shape_of(chain).stages
    if len(stages) == 1:
        return single_operator_chains(chain)
    return tuple(sub_chain(chain, operators) for operators in _stage_operators(stages))


def _stage_operators(stages: Sequence[Stage]) -> Iterator[tuple[Operator, ...]]:
    for stage in stages:
        assert stage.product is not None
        yield (stage.product.operator, *stage.vectors)


def _lost(other: Candidate, shape: ChainShape, price: Price) -> Rejected:
    """An order of blocks that is slower."""
    tiles = other.tiles
    outer = [(shape.first.row, int(tiles.rows))]
    outer += [(shape.last.column, int(tiles.second))] if tiles.order is Order.STREAM else []
    loops = Loops(tuple((axis, tile) for axis, tile in outer if axis is not None))
    storage = Storage.RECOMPUTE if tiles.order is Order.STREAM else Storage.KEEP
    return Rejected(OtherLoops(storage, loops), other.seconds, price.seconds, "s", LossReason(Defeat.SLOWER))
