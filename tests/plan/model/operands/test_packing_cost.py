"""Constants that are packed ahead: what the price, the memory and the choice of schedules make of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain, chain_of, contraction, gemm_chain
from tilewright.coefficients import coefficients_for
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.index import axis
from tilewright.graph.types import Access, Chain, Extent, SymbolicExtent, Tensor
from tilewright.plan.chains import canonical_form, single_operator_chains
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.model.operands.packing_cost import in_place_seconds
from tilewright.plan.planner import plan_chain
from tilewright.plan.schedule import Loop, Pack
from tilewright.plan.types import Plan

ROWS = SymbolicExtent("s", 1, 4096, 512)


def product(m: Extent, k: Extent, n: Extent, right: str = "kn", constants: tuple[str, ...] = ("B",)) -> Chain:
    extents: dict[str, Extent] = {"m": m, "k": k, "n": n}
    return replace(chain_of((contraction("C", f"mk,{right}->mn", "AB", extents),)), constants=constants)


def planned(chain: Chain) -> Plan:
    return plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)


def without_packs(loop: Loop) -> Loop:
    inner = (node for node in loop.body if not isinstance(node, Pack))
    return replace(loop, body=tuple(without_packs(node) if isinstance(node, Loop) else node for node in inner))


def packed_by_calls(plan: Plan) -> set[str]:
    return {leaf.operator for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack)}


def packed_ahead(plan: Plan) -> set[str]:
    return {pack.operator for pack in plan.schedule.ahead}


@pytest.mark.parametrize("right", ["kn", "nk"])
@pytest.mark.parametrize("rows", [1, 4, 500, ROWS])
def test_a_constant_right_operand_costs_a_call_no_packing(right: str, rows: Extent) -> None:
    plan, other = planned(product(rows, 700, 1000, right)), planned(product(rows, 700, 1000, right, ()))
    assert packed_ahead(plan) == {"C"}
    assert packed_by_calls(plan) == set()
    assert not any("packing" in term.name for term in plan.price.terms)
    assert plan.price.seconds < other.price.seconds
    assert (plan.scratch_bytes, other.constant_bytes) == (0, 0)
    (pack,) = plan.schedule.ahead
    assert plan.constant_bytes == 4 * 700 * -(-1000 // pack.layout.panel_columns) * pack.layout.panel_columns


@pytest.mark.parametrize("right", ["kn", "nk"])
def test_the_price_is_that_of_packing_for_nothing(right: str) -> None:
    chain = product(500, 700, 1000, right)
    free = coefficients_for(CASCADE_LAKE).without("packing").without("pages")
    ahead, by_call = planned(chain), plan_chain(replace(chain, constants=()), CASCADE_LAKE, kernels=KERNELS, coefficients=free)
    assert ahead.price == by_call.price
    assert ahead.movements == by_call.movements
    assert ahead.schedule.path("C") == tuple(without_packs(loop) for loop in by_call.schedule.path("C"))


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (product(500, 700, 1000, constants=("A",)), "a left operand"),
        (product(500, 700, 8), "rows that are no longer than a panel"),
        (product(500, SymbolicExtent("k", 1, 900, 700), 1000), "an extent that is not known"),
    ],
)
def test_what_is_not_packed_ahead(chain: Chain, reason: str) -> None:
    plan = planned(chain)
    assert packed_ahead(plan) == set(), reason
    assert plan.constant_bytes == 0


def test_a_part_of_a_constant_is_packed_ahead() -> None:
    chain = product(500, 700, 1000)
    (operator,) = chain.operators
    part = replace(operator, reads=(operator.reads[0], Access("B", (axis("k") * 2 + 1, axis("n") + 3))))
    tensors = tuple(Tensor("B", (1401, 1003)) if tensor.name == "B" else tensor for tensor in chain.tensors)
    assert packed_ahead(planned(replace(chain, operators=(part,), tensors=tensors))) == {"C"}


def test_overlapping_reads_of_a_constant_are_not_packed_ahead() -> None:
    """As a matrix of windows a constant would be as many times its size as a window is long."""
    chain = product(500, 700, 1000)
    (operator,) = chain.operators
    windows = replace(operator, reads=(operator.reads[0], Access("B", (axis("k") + axis("n"),))))
    tensors = tuple(Tensor("B", (1699,)) if tensor.name == "B" else tensor for tensor in chain.tensors)
    assert packed_ahead(planned(replace(chain, operators=(windows,), tensors=tensors))) == set()


def test_every_contraction_of_a_chain_has_its_own() -> None:
    plan = planned(replace(gemm_chain(512, 256, 256, 512), constants=("B", "D")))
    assert packed_ahead(plan) == {"C", "E"}
    mixed = planned(replace(gemm_chain(512, 256, 256, 512), constants=("D",)))
    assert packed_ahead(mixed) == {"E"}
    assert packed_by_calls(mixed) == {"C"}


def test_parts_of_split_keys_share_what_is_packed_ahead() -> None:
    chain = replace(batch_chain(1, 14, 80, 64, 16384, with_softmax=True), constants=("B", "D"))
    plan = planned(chain)
    assert plan.schedule.split == "l"
    assert packed_ahead(plan) == {"C", "E"}
    assert packed_by_calls(plan) == set()
    columns = sum(
        -(-80 // pack.layout.panel_columns) * pack.layout.panel_columns for pack in plan.schedule.ahead if pack.operator == "E"
    )
    assert plan.constant_bytes == 4 * 16384 * (64 + columns)


def test_chains_that_differ_in_constants_differ() -> None:
    chain = gemm_chain(64, 64, 64, 64)
    assert canonical_form(chain) != canonical_form(replace(chain, constants=("B",)))
    apart = single_operator_chains(replace(chain, constants=("B",)))
    assert [one.constants for one in apart] == [("B",), ()]


def test_rows_no_longer_than_a_panel_lie_like_one() -> None:
    width = KERNELS[0].columns
    for columns, is_packed in ((width - 8, False), (width, False), (16 * width, True)):
        chain = product(4096, 4096, columns, constants=())
        assert bool(packed_by_calls(planned(chain))) == is_packed, columns


def test_columns_that_overlapping_windows_see_are_not_packed() -> None:
    """Panels would hold every element once for each window; windows that lie apart are packed."""
    chain = product(4096, 512, 4096, constants=())
    (operator,) = chain.operators
    for step, is_packed in ((1, False), (4096, True)):
        windows = replace(operator, reads=(operator.reads[0], Access("B", (axis("k") * step + axis("n"),))))
        tensors = tuple(Tensor("B", (511 * step + 4096,)) if tensor.name == "B" else tensor for tensor in chain.tensors)
        plan = planned(replace(chain, operators=(windows,), tensors=tensors))
        assert bool(packed_by_calls(plan)) == is_packed, step


PAGE_ELEMENTS = 1024
FAR, NEAR, LOOKUP = 100.0, 10.0, 1.0


def in_place_cycles(m: int, k: int, n: int, steps: int, calls: int) -> float:
    """Of a right operand whose rows lie on pages of their own, by a kernel of 14 rows and 32 columns; 7 tiles meet each panel."""
    chain = product(m, k, n, constants=())
    (operator,) = chain.operators
    coefficients = coefficients_for(CASCADE_LAKE).with_values(
        {"far_page_cycles": FAR, "page_cycles": NEAR, "lookup_cycles": LOOKUP}
    )
    kernels, roles = {operator.name: KERNELS[2]}, {operator.name: contraction_roles(operator)}
    of = context_of(chain, CASCADE_LAKE, kernels, roles, coefficients)
    found = in_place_seconds(of, operator, {"m": m, "k": steps, "n": n}, calls)
    return float(found) * CASCADE_LAKE.frequency_hz


SHARE = 1 - 32 / PAGE_ELEMENTS
"""Of a row that lies on another page, beyond what a packed panel has."""
PANELS, CALLS = 10, 70


@pytest.mark.parametrize(
    ("k", "n", "steps", "first", "again"),
    [
        (64, 2 * PAGE_ELEMENTS, 32, NEAR, 0.0),
        (64, 2 * PAGE_ELEMENTS, 64, NEAR, LOOKUP),
        (8192, 2 * PAGE_ELEMENTS, 32, FAR, 0.0),
        (8192, 2 * PAGE_ELEMENTS, 2048 + 100, FAR, FAR),
    ],
    ids=["in a cache", "beyond the first TLB with the rows of the other operands", "from memory", "beyond the second TLB"],
)
def test_rows_in_place_are_on_pages_of_their_own(k: int, n: int, steps: int, first: float, again: float) -> None:
    found = in_place_cycles(98, k, n, steps, CALLS)
    assert found == pytest.approx(steps * SHARE * (PANELS * first + (CALLS - PANELS) * again))
