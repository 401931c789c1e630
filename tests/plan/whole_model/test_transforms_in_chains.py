"""Transforms of tiles are in one chain with their products, where the price cannot tell, and no core's cache holds the tiles."""

from __future__ import annotations

import pytest

from tests.plan.algorithms.test_algorithms import convolved
from tests.support.algorithms import forced
from tilewright import compiler
from tilewright.graph.types import Operator
from tilewright.machine import Machine
from tilewright.plan.algorithms.winograd.tiles import F2
from tilewright.plan.chains import sub_chain
from tilewright.plan.types import Price, PriceTerm, TermKind
from tilewright.plan.whole_model.division import Part, _Dividing
from tilewright.plan.whole_model.planning_options import options_for

MACHINE = Machine.named("x86-64-v4")


def limit(size: int, seconds: float) -> float:
    """What 3x3 filters of 64 channels as one chain may cost: the product, and the transform behind it, take so long each."""
    graph = convolved((1, 64, size, size), (64, 64, 3, 3), pads=(1, 1, 1, 1))
    with forced(F2.name):
        chains = [plan.chain for plan in compiler.plan(graph, MACHINE).plans]
    chain = next(one for one in chains if {"u", "v", "m"} <= one.extents.keys() and "a" in one.extents)

    def part(operator: Operator) -> Part:
        price = Price((PriceTerm(TermKind.ARITHMETIC, seconds, operator.name),))
        return Part((operator,), sub_chain(chain, (operator,)), price, lambda: pytest.fail("is not planned"))

    contractions = list(filter(Operator.is_contraction, chain.operators))
    product = next(one for one in contractions if all(chain.tensor(read.tensor).entries is None for read in one.reads))
    reader = next(one for one in chain.operators if product.write.tensor in (read.tensor for read in one.reads))
    work = _Dividing(chain, options_for(MACHINE, None))
    return work._limit_s([part(product), part(reader)]) / work._separate_s([part(product), part(reader)])


def test_what_lies_between_transforms_counts_where_a_price_hides_it() -> None:
    assert limit(8, 1e-2) == 1.0
    assert 1.0 < limit(56, 1e-2) < limit(56, 1e-4) == pytest.approx(1.02)
