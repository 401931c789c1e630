"""Data movement by block order, for a person: Chimera's Figure 2 and Equations 1 to 3, for a chain and the caches of a machine.

S. Zheng et al., "Chimera", HPCA 2023. Figure 2 lists for every order of the blocks along which loops a tensor is reused (section
II-B). Equation 1 asks for the tiles of an order that move least and fit a level; Equation 2 divides what moves into a level by
the bandwidth of the level behind it; Equation 3 asks for the least slowest level (section IV-C), of which each has tiles and an
order of its own. Movement and memory are the corrected ones (`plan.permutations`). Plans do not depend on it: they are searched
in a larger space, and by a price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, permutations

from tilewright.errors import PlanningError
from tilewright.graph.types import Access, Chain, Graph, Operator, element_bytes
from tilewright.machine.description import MemoryLevel
from tilewright.machine.machine import Machine
from tilewright.plan.chains import axis_names, make_chain
from tilewright.plan.permutations import TileChoice, least_movement, movements, permuted, upstream, view_permutation
from tilewright.plan.schedule import Storage, planned_sizes
from tilewright.plan.space.executability import is_executable
from tilewright.records import record
from tilewright.report import units
from tilewright.report.layout import columns

WORD_BYTES = 4
"""What memory and movement of `plan.permutations` count."""
MULTIPLE = 8
"""Of tiles; axes that are no longer, as taps of filters, are not cut."""
MOST_LOOPS = 5
"""Orders are tried one by one: 120 of five loops."""
MOST_ROWS = 24
"""Of a table, the least movement first: all orders of the two GEMMs of Figure 2."""


@record
class OrderMovement:
    """Equation 1 for an order of blocks and a level: bytes of every tensor, and what the tiles take."""

    order: tuple[str, ...]
    tiles: Mapping[str, int]
    moved_bytes: Mapping[str, int]
    used_bytes: int
    recomputed_bytes: int | None = None
    """What moves at least if intermediates are recomputed; None where that cannot be executed, or fits no tiles."""

    @property
    def total_bytes(self) -> int:
        """Of all tensors."""
        return sum(self.moved_bytes.values())


def explain_movement(graph: Graph, machine: Machine) -> str:
    """Reuse by order, then for every cache what each order moves at least.

    Raises `PlanningError` for graphs that are no chain of direct reads with at most `MOST_LOOPS` loops.
    """
    chain = make_chain(graph, graph.operators)
    loops, sizes = loops_of(chain), planned_sizes(chain)
    orders = [order for order in permutations(loops) if _is_executable(chain, order, Storage.KEEP)]
    by_level = {level.name: order_movements(chain, orders, level) for level in machine.levels[:-1]}
    around = [f"{axis} {size}" for axis, size in sizes.items() if axis not in loops]
    cut = ", ".join(f"{axis} {sizes[axis]}" for axis in loops)
    lines = [
        f"{chain.name} on {machine.name}: blocks of {cut}, in multiples of {MULTIPLE}",
        *([f"one after the other, or whole: {', '.join(around)}"] if around else []),
        "",
        "loops along which a block is reused (Figure 2)",
        *_indented(_reuse_table(chain, orders)),
    ]
    for level, behind in pairwise(machine.levels):
        source = f"{units.byte_rate(behind.bandwidth_bytes_per_s)} from {behind.name}"
        lines += ["", f"into {level.name}: {units.size(level.usable_bytes)} for blocks, {source} (Equations 1 and 2)"]
        lines += _indented(_level_table(chain, by_level[level.name], behind))
    return "\n".join([*lines, "", _slowest(by_level, machine)])


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def loops_of(chain: Chain) -> tuple[str, ...]:
    """The axes whose blocks are ordered: longer than `MULTIPLE`, not of a batch, whose parts follow each other, and cut by some
    executable order."""
    accesses = [access for operator in chain.operators for access in (*operator.reads, operator.write)]
    if not all(index.is_affine() for access in accesses for index in access.indices):
        raise PlanningError(f"{chain.name} reads computed positions", hint="name a chain of matrix products")
    inside = (access for access in accesses if access.tensor in chain.intermediates)
    if any(len(index.terms) > 1 for access in inside for index in access.indices):
        raise PlanningError(f"{chain.name} reads windows of an intermediate", why="blocks of windows overlap")
    sizes, batch = planned_sizes(chain), _batch(chain)
    long = (axis for axis, size in sizes.items() if size > MULTIPLE and axis not in batch)
    loops = tuple(axis for axis in long if _is_executable(chain, (axis,), Storage.KEEP))
    if len(loops) > MOST_LOOPS:
        raise PlanningError(f"{chain.name} has {len(loops)} loops", why=f"orders of at most {MOST_LOOPS} are listed")
    return loops


def order_movements(chain: Chain, orders: Sequence[tuple[str, ...]], level: MemoryLevel) -> list[OrderMovement]:
    """Equation 1 for every order of which tiles fit, the least movement first."""
    found = (_least(chain, order, level) for order in orders)
    return sorted((one for one in found if one is not None), key=lambda one: (one.total_bytes, one.used_bytes, one.order))


def reuse(chain: Chain, operator: Operator, access: Access, order: Sequence[str]) -> tuple[str, ...]:
    """The loops along which the block of an access stays, as Figure 2 lists them: those inside of all that its indices have, and
    wherever they stand those that only operators before its own have.

    A producer's blocks stay along the other operators' loops too if its result is kept: what moves then is in the tables below.
    """
    innermost = max((place for place, axis in enumerate(order) if axis in access.axes()), default=-1)
    before = axis_names(upstream(chain, operator)) - operator.axis_names
    return tuple(axis for place, axis in enumerate(order) if place > innermost or axis in before)


def _least(chain: Chain, order: tuple[str, ...], level: MemoryLevel) -> OrderMovement | None:
    kept = _tiles(chain, order, level, Storage.KEEP)
    if kept is None:
        return None
    moved, sizes = movements(view_permutation(chain, _nest(chain, order), kept.tiles)), _element_bytes(chain)
    again = _tiles(chain, order, level, Storage.RECOMPUTE) if _is_executable(chain, order, Storage.RECOMPUTE) else None
    return OrderMovement(
        order,
        kept.tiles,
        {tensor: int(elements) * sizes[tensor] for tensor, elements in moved.items()},
        kept.used * WORD_BYTES,
        None if again is None or again.moved == kept.moved else again.moved * WORD_BYTES,
    )


def _tiles(chain: Chain, order: tuple[str, ...], level: MemoryLevel, storage: Storage) -> TileChoice | None:
    """Equation 1; None where no tiles fit."""
    fixed, multiples = dict.fromkeys(_batch(chain), 1), dict.fromkeys(order, MULTIPLE)
    capacity = int(level.usable_bytes) // WORD_BYTES
    try:
        return least_movement(chain, _nest(chain, order), capacity, multiples=multiples, fixed=fixed, storage=storage)
    except PlanningError:
        return None


def _is_executable(chain: Chain, order: tuple[str, ...], storage: Storage) -> bool:
    nest = _nest(chain, order)
    return is_executable(chain, permuted(chain, nest, dict.fromkeys(nest, 1), storage=storage))


def _nest(chain: Chain, order: tuple[str, ...]) -> tuple[str, ...]:
    """All loops."""
    return (*_batch(chain), *order)


def _batch(chain: Chain) -> tuple[str, ...]:
    """The axes that all tensors have, of more than one point."""
    accesses = [access for operator in chain.operators for access in (*operator.reads, operator.write)]
    return tuple(a for a, size in planned_sizes(chain).items() if size > 1 and all(a in access.axes() for access in accesses))


def _element_bytes(chain: Chain) -> dict[str, int]:
    return {tensor.name: element_bytes(tensor.dtype) for tensor in chain.tensors}


def _outer(chain: Chain) -> dict[str, tuple[Operator, Access]]:
    """The inputs and the output, with who reads or writes them first."""
    accesses = ((operator, access) for operator in chain.operators for access in (*operator.reads, operator.write))
    found: dict[str, tuple[Operator, Access]] = {}
    for operator, access in accesses:
        if access.tensor not in chain.intermediates:
            found.setdefault(access.tensor, (operator, access))
    return found


def _reuse_table(chain: Chain, orders: Sequence[tuple[str, ...]]) -> list[str]:
    outer = _outer(chain)
    rows = [["order", *outer]]
    for order in orders[:MOST_ROWS]:
        along = (reuse(chain, operator, access, order) for operator, access in outer.values())
        rows.append([" ".join(order), *(" ".join(loops) or "-" for loops in along)])
    return [*columns(rows), *_more(len(orders))]


def _level_table(chain: Chain, found: Sequence[OrderMovement], behind: MemoryLevel) -> list[str]:
    if not found:
        return ["no tiles fit"]
    outer = tuple(_outer(chain))
    rows = [["blocks, outermost first", *outer, "all", "recomputed", "working set", "time", "orders"]]
    alike = [list(group) for _, group in groupby(found, key=lambda one: (one.total_bytes, one.used_bytes, one.recomputed_bytes))]
    for first, *others in alike[:MOST_ROWS]:
        moved = [units.size(size) for size in (*(first.moved_bytes[tensor] for tensor in outer), first.total_bytes)]
        again = "-" if first.recomputed_bytes is None else units.size(first.recomputed_bytes)
        time = units.seconds(first.total_bytes / behind.bandwidth_bytes_per_s)
        blocks = ", ".join(f"{axis} {first.tiles[axis]}" for axis in first.order)
        rows.append([blocks, *moved, again, units.size(first.used_bytes), time, str(1 + len(others))])
    return [*columns(rows, right=range(1, len(rows[0]))), *_more(len(alike))]


def _more(orders: int) -> Iterator[str]:
    if orders > MOST_ROWS:
        yield f"and {orders - MOST_ROWS} more orders"


def _slowest(by_level: Mapping[str, Sequence[OrderMovement]], machine: Machine) -> str:
    """Equation 3: the level that takes longest, each with its best order."""
    times = {
        level.name: by_level[level.name][0].total_bytes / behind.bandwidth_bytes_per_s
        for level, behind in pairwise(machine.levels)
        if by_level[level.name]
    }
    if not times:
        return "no tiles fit any level"
    slowest = max(times, key=lambda name: times[name])
    each = ", ".join(f"into {name} {units.seconds(time)} ({' '.join(by_level[name][0].order)})" for name, time in times.items())
    return f"Equation 3: {each}; the slowest is {slowest}"
