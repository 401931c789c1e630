"""Elements moved by the papers' readings of the model against the exact search: Table IV and Figure 8 on the paper's machine.

    python -m benchmarks.papers.paper_modes [--case G1] [--level L1] [--bound 16]

Everything is calculated, nothing is timed: one level of memory at its full size, orders of m, l, k and n in one nest, batches one
after the other. Tiles of k and n are multiples of `--bound` (the paper's alpha) for all. Columns:

    compulsory   every input and output once: no schedule moves less
    exact        all orders, kept and recomputed, all tiles: `permutations.least_movement`
    recompute    the text's reading: all orders with n outside k
    halving      all orders, tiles halved from the full extents until they fit
    mlkn         Lagrange for the paper's order: what it claims to move, what its tiles move, what they need of the level
    Lagrange     the same for the order of all 24 that claims least
    literal      the same for Algorithm 1 searched exactly: all orders, all tiles

"needs" above 100% does not fit: the printed memory use leaves out what is alive of C. For F8, Figure 8's 2048 cubed, tiles of m
and l are searched in multiples of the bound too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.papers.example_chains import gemm_chain
from benchmarks.papers.lagrange import ORDERS, lagrange_choice
from benchmarks.papers.modes import halved_tiles
from tests.oracles.movements import literal_memory_use, literal_movements, movements
from tilewright.errors import PlanningError
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.permutations import TileChoice, least_movement, view_permutation
from tilewright.plan.schedule import Storage, planned_sizes
from tilewright.report.layout import columns
from tilewright.tune.shapes import TABLE_IV, ChainShape
from tilewright_bench.tables.means import geometric_mean

ELEMENT_BYTES = 4
RECOMPUTING = tuple(order for order in ORDERS if order.index("n") < order.index("k"))
HEAD = ["case", "level", "compulsory", "exact", "recompute", "halving", "mlkn claims", "moves", "needs"]
HEAD += ["Lagrange claims", "moves", "needs", "literal claims", "moves", "needs"]


FIGURE_8 = ChainShape("F8", 1, 2048, 2048, 2048, 2048)
"""The chain of Figure 8 d to f. Its search takes multiples of the bound along m and l too: Lagrange's tiles are finer."""
SHAPES = (*TABLE_IV, FIGURE_8)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a reading claims of its choice, what that choice moves and uses in truth; elements of one batch."""

    order: str
    claimed: int
    moved: int
    used: int


@dataclass(frozen=True, slots=True)
class Row:
    """All modes on one chain and level, in elements of one batch: compulsory, exact, recompute, halving; then the claims."""

    shape: ChainShape
    level: str
    capacity: int
    searched: tuple[int, ...]
    claims: tuple[Claim, ...]


def exact(chain: Chain, capacity: int, multiples: Mapping[str, int]) -> TileChoice:
    """The least movement of all orders, kept or recomputed."""
    kept = (lambda order: least_movement(chain, order, capacity, multiples=multiples), ORDERS)
    return min(best(*kept), recompute(chain, capacity, multiples), key=lambda choice: choice.moved)


def recompute(chain: Chain, capacity: int, multiples: Mapping[str, int]) -> TileChoice:
    """The least movement of all orders that can recompute."""
    again = Storage.RECOMPUTE
    return best(lambda order: least_movement(chain, order, capacity, multiples=multiples, storage=again), RECOMPUTING)


def halving(chain: Chain, capacity: int, multiples: Mapping[str, int]) -> TileChoice:
    """The least movement of all orders' halved tiles."""
    return best(lambda order: halved_tiles(chain, order, capacity, smallest=multiples), ORDERS)


def best(choose: Callable[[str], TileChoice], orders: Iterable[str]) -> TileChoice:
    """The choice that moves least; orders of which no tiles fit are left out."""
    found = []
    for order in orders:
        try:
            found.append(choose(order))
        except PlanningError:
            continue
    return min(found, key=lambda choice: choice.moved)


def literal(chain: Chain, capacity: int, multiples: Mapping[str, int]) -> Claim:
    """Algorithm 1 as printed, searched over all orders and tiles."""
    printed = partial(least_movement, multiples=multiples, moving=literal_movements, memory=literal_memory_use)
    choices = {order: printed(chain, order, capacity) for order in ORDERS}
    order = min(choices, key=lambda one: choices[one].moved)
    return in_truth(chain, order, choices[order].tiles, choices[order].moved)


def lagrange(chain: Chain, capacity: int, bound: int, orders: Sequence[str]) -> Claim:
    """The Lagrange solution, rounded."""
    choice = lagrange_choice(planned_sizes(chain), capacity, bound, orders)
    return in_truth(chain, choice.solution.order, choice.tiles, choice.moved)


def in_truth(chain: Chain, order: str, tiles: Mapping[str, int], claimed: int) -> Claim:
    """A choice beside its exact movement and working set, C kept."""
    view = view_permutation(chain, order, tiles)
    return Claim(order, claimed, sum(map(int, movements(view).values())), int(working_set_bytes(view) // 4))


def row(shape: ChainShape, level: str, capacity: int, bound: int) -> Row:
    """All modes on one chain."""
    chain = gemm_chain(shape.m, shape.n, shape.k, shape.l)
    multiples = dict.fromkeys("mnkl" if shape is FIGURE_8 else "kn", bound)
    compulsory = shape.m * shape.k + shape.k * shape.l + shape.l * shape.n + shape.m * shape.n
    searched = (mode(chain, capacity, multiples).moved for mode in (exact, recompute, halving))
    lagranges = (lagrange(chain, capacity, bound, orders) for orders in (["mlkn"], ORDERS))
    return Row(shape, level, capacity, (compulsory, *searched), (*lagranges, literal(chain, capacity, multiples)))


def cells(one: Row) -> list[str]:
    """One line of the table, in thousands of elements for all batches."""
    batch = one.shape.batch
    line = [one.shape.name, one.level, *(thousands(batch * moved) for moved in one.searched)]
    for claim in one.claims:
        line += [thousands(batch * claim.claimed), thousands(batch * claim.moved), f"{claim.used / one.capacity:.0%}"]
    return line


def means(rows: Sequence[Row]) -> str:
    """How much more than the exact search the modes move whose tiles fit, over Table IV's chains."""
    table = [one for one in rows if one.shape is not FIGURE_8]
    figures = {
        "recompute": [one.searched[2] / one.searched[1] for one in table],
        "halving": [one.searched[3] / one.searched[1] for one in table],
        "mlkn": [one.claims[0].moved / one.searched[1] for one in table],
    }
    if not table:
        return ""
    parts = (f"{name} {geometric_mean(ratios):.2f} (at most {max(ratios):.2f})" for name, ratios in figures.items())
    return f"{rows[0].level}: moved over exact, geometric mean of Table IV: {', '.join(parts)}"


def thousands(elements: int) -> str:
    """
    >>> thousands(458752)
    '459k'
    """
    return f"{elements / 1000:,.0f}k"


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", choices=[shape.name for shape in SHAPES], action="append", help="default: all")
    parser.add_argument("--level", choices=("L1", "L2"), action="append", help="default: both")
    parser.add_argument("--bound", type=int, default=16, help="alpha: the least tile of k and n, one AVX-512 vector by default")
    parser.add_argument("--machine", default="cascadelake-6240", help="whose caches (default: the paper's Xeon Gold 6240)")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    options = arguments(words)
    machine = Machine.named(options.machine)
    shapes = [shape for shape in SHAPES if shape.name in (options.case or [shape.name])]
    for level in options.level or ("L1", "L2"):
        capacity = machine.level(level).size_bytes // ELEMENT_BYTES
        rows = [row(shape, level, capacity, options.bound) for shape in shapes]
        print(*columns([HEAD, *map(cells, rows)], right=range(2, len(HEAD))), means(rows), "", sep="\n")


if __name__ == "__main__":
    main()
