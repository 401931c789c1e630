"""Groups of a product and the maps in its micro tiles: what is taken without comparison is no dearer than its operators apart.

Where that is not sure, all is compared.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.cases import chain_of, contraction, elementwise
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.chains import canonical_form
from tilewright.plan.counts import Counted, counting
from tilewright.plan.planner import forget_plans
from tilewright.plan.whole_model.division import Division, division_of
from tilewright.plan.whole_model.planning_options import options_for

MACHINES = ("x86-64-v2", "cascadelake-6240")


def product_with_maps(m: int, n: int, k: int, *, residual: str = "", out: str = "mn") -> Chain:
    """relu(A B), or relu(A B + R); `residual` and `out` are the axes of R and of the result in their order."""
    extents = {"m": m, "n": n, "k": k}
    operators = [contraction("C", "mk,kn->mn", "AB", extents)]
    if residual:
        operators.append(elementwise("S", "mn", [("C", "mn"), ("R", residual)], extents))
    last = operators[-1].name
    return chain_of([*operators, elementwise("Y", out, [(last, "mn")], extents)])


def divided(chain: Chain, machine: str) -> tuple[Division, int]:
    """The division of a group, and how many plans that took."""
    forget_plans()
    with counting() as counts:
        division = division_of(canonical_form(chain), options_for(Machine.named(machine), fuse=None))
    return division, counts[Counted.PLANS]


def apart_s(division: Division, machine: str) -> float:
    """The operators one after the other, in one call, on all cores."""
    options = options_for(Machine.named(machine), fuse=None)
    prices = division.alone().values()
    calls_s = (len(prices) - 1) * options.coefficients.call_s
    return sum(price.on(options.machine.cores) for price in prices) - calls_s


@settings(max_examples=15)
@given(
    st.integers(1, 700),
    st.integers(1, 700),
    st.integers(1, 900),
    st.sampled_from(["", "mn", "n", "m", "nm"]),
    st.sampled_from(MACHINES),
)
def test_one_chain_is_no_dearer_than_its_operators(m: int, n: int, k: int, residual: str, machine: str) -> None:
    division, _ = divided(product_with_maps(m, n, k, residual=residual), machine)
    if len(division.parts) == 1:
        cores = Machine.named(machine).cores
        assert division.parts[0].price.on(cores) <= apart_s(division, machine) * (1 + 1e-9)


def test_maps_in_tiles_are_taken_with_one_search() -> None:
    division, plans = divided(product_with_maps(512, 512, 512, residual="mn"), "cascadelake-6240")
    assert (len(division.parts), plans) == (1, 1)


@pytest.mark.parametrize(
    "chain",
    [
        product_with_maps(512, 512, 512, out="nm"),
        product_with_maps(512, 512, 512, residual="nm"),
        product_with_maps(6, 16, 60000),
    ],
    ids=["transposed result", "transposed operand", "few blocks"],
)
def test_what_may_lose_by_it_is_compared(chain: Chain) -> None:
    _, plans = divided(chain, "cascadelake-6240")
    assert plans >= len(chain.operators)


def test_what_was_not_compared_is_priced_when_it_is_asked_for() -> None:
    division, _ = divided(product_with_maps(512, 512, 512), "cascadelake-6240")
    assert not division.alone_now
    alone = division.alone()
    assert list(alone) == [operator.name for operator in division.chain.operators]
    assert division.plans()[0].unfused_price is not None
