"""Blocks of filters find rows, channels and taps whole, and begin where blocks of weights do, whatever stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from tests.oracles.searches import compared
from tests.support.algorithms import forced
from tests.support.random.networks import Network
from tilewright import compiler
from tilewright.block.statements import For, If, Statement, VectorLoops
from tilewright.graph.types import Tensor
from tilewright.leaves import filter_blocks
from tilewright.machine import Machine
from tilewright.plan.types import TermKind
from tilewright.render.c.program import lower_program

Layers = Callable[[Network, Tensor], Tensor]


def pools(net: Network, x: Tensor) -> Tensor:
    """Whose windows ask for parts of rows."""
    return net.pool(net.pool(x))


def other_filters(net: Network, x: Tensor) -> Tensor:
    """That begin inside of a block."""
    kept = net.builder.slice(x, (slice(None), slice(5, 29)))
    return net.pool(net.builder.map("sigmoid", kept))


def inner_columns(net: Network, x: Tensor) -> Tensor:
    """Of the image alone."""
    return net.builder.map("sigmoid", net.builder.slice(x, (slice(None), slice(None), slice(1, -1), slice(2, None))))


def windows(net: Network, x: Tensor) -> Tensor:
    """Of another convolution, and filters that are halved."""
    return net.conv(net.halves(x)[1], 24, 3, 2)


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    for node in body:
        yield node
        yield from statements(node.body) if isinstance(node, (For, If)) else ()


@pytest.mark.parametrize(("machine", "cores"), [("zen5", 2), ("x86-64-v3", 1)])
@pytest.mark.parametrize("behind", [pools, other_filters, inner_columns, windows])
def test_leaves_lay_out_what_is_planned(behind: Layers, machine: str, cores: int) -> None:
    net = Network(3, (17, 23))
    graph = net.graph(behind(net, net.conv(net.x, 40, 3, 2)))
    with forced("filters in place"):
        plan = compiler.plan(graph, replace(Machine.named(machine), cores=cores), fuse=True)
    of_regions = [node for region in lower_program(plan).regions for node in statements(region.body)]
    blocks = [node for node in of_regions if isinstance(node, VectorLoops) and node.leaf.leaf == filter_blocks.NAME]
    assert blocks
    assert all(filter_blocks.lower(loops, loops.leaf).function for loops in blocks)


def test_filters_of_long_sums_pass_by_in_pieces() -> None:
    """Of which blocks of all rows hold one at a time: nothing of a block of filters, here 1.1 MiB, counts as spilled."""
    net = Network(1024, (7, 7))
    graph = net.graph(net.conv(net.x, 48, 3, activation=""))
    with forced("filters in place"), compared() as counts:
        plan = compiler.plan(graph, Machine.named("zen5"))
    sums = next(one for one in plan.plans if filter_blocks.NAME in {part.leaf.leaf for part in one.operators if part.leaf})
    assert TermKind.SPILLS not in {term.kind for term in sums.price.terms}
    assert set(counts) == {"equal"}
