"""The search against every schedule of small spaces, and what it decides on larger ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from tests.plan.cases import (
    CASCADE_LAKE,
    KERNELS,
    batch_chain,
    batch_operators,
    chain_of,
    contraction,
    elementwise,
    gemm_chain,
    kernel,
)
from tests.plan.exhaustive import cheapest
from tests.support.halo_chains import conv, convolution_chain, halo_chain
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain, Extent
from tilewright.machine import Machine
from tilewright.plan.counts import Counted, counting
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.planner import forget_plans, plan_chain
from tilewright.plan.schedule import Pack
from tilewright.plan.search.bounds import Bounds
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.outer_loops import OuterLoops
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import axis_multiple, may_share, space_of
from tilewright.plan.types import Plan

STRICT = replace(DEFAULT, equal_within=1.0, least_gain=1.0)
"""No price equals another, and every gain counts."""


def machine_with(l1: int = 32 << 10, l2: int = 1 << 20, l3: int | None = None) -> Machine:
    sizes = {"L1": l1, "L2": l2, **({"L3": l3} if l3 else {})}
    levels = tuple(replace(level, size_bytes=sizes.get(level.name, level.size_bytes)) for level in CASCADE_LAKE.levels)
    return replace(CASCADE_LAKE, levels=levels)


def context(chain: Chain, machine: Machine, columns: int = 4, rows: int = 2) -> CostContext:
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    kernels = {operator.name: kernel(rows, columns) for operator in contractions}
    return context_of(chain, machine, kernels, {op.name: contraction_roles(op) for op in contractions}, STRICT)


def product(m: int, k: int, n: int) -> Chain:
    return chain_of((contraction("C", "mk,kn->mn", "AB", {"m": m, "k": k, "n": n}),))


CHAINS = {
    "product": product(10, 320, 24),
    "two products": gemm_chain(4, 8, 128, 8),
    "two products of constants": replace(gemm_chain(4, 8, 128, 8), constants=("B", "D")),
    "attention": batch_chain(1, 8, 8, 128, 8, with_softmax=True),
    "product and map": chain_of(
        (
            contraction("C", "mk,kn->mn", "AB", {"m": 6, "k": 192, "n": 12}),
            elementwise("R", "mn", [("C", "mn"), ("bias", "n")], {"m": 6, "n": 12}),
        )
    ),
    "two convolutions": halo_chain(9, 1, 4, [conv((2, 1), 4), conv((3, 1), 4)]),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("l2", [3 << 10, 6 << 10, 12 << 10, 40 << 10])
def test_the_search_finds_the_cheapest_of_all_schedules(name: str, l2: int) -> None:
    machine = replace(machine_with(l1=2 << 10, l2=l2, l3=18 * (8 << 10)), cores=3, parallel_region_s=1e-8)
    case = context(CHAINS[name], machine)
    space = space_of(case)
    least = cheapest(case, {axis: axis_multiple(case, axis) for axis in space.tiles})
    winner = search(case)[0]
    if least == float("inf"):
        assert winner.used_bytes > case.capacity_bytes
    else:
        assert winner.cores_s == pytest.approx(least, rel=1e-9)
        assert winner.used_bytes <= case.capacity_bytes


def wide_layers(m: int, width: int, *hidden: int) -> Chain:
    """Pairs of products with a wide layer between them, and a map behind the first product."""
    extents: dict[str, Extent] = {"m": m, **dict.fromkeys("acegi", width), **dict(zip("bdfh", hidden, strict=False))}
    operators, read = [], "X"
    for number, (wide, narrow, before) in enumerate(zip("bdfh"[: len(hidden)], "cegi", "aceg", strict=False)):
        operators.append(contraction(f"U{number}", f"m{before},{before}{wide}->m{wide}", (read, f"A{number}"), extents))
        if not number:
            operators.append(elementwise("R", f"m{wide}", [("U0", f"m{wide}")], extents))
        read = "R" if not number else f"U{number}"
        operators.append(contraction(f"V{number}", f"m{wide},{wide}{narrow}->m{narrow}", (read, f"B{number}"), extents))
        read = f"V{number}"
    return chain_of(operators)


def projected_attention(m: int, k: int, n: int, length: int, p: int) -> Chain:
    """Attention of one head and a product behind it."""
    extents: dict[str, Extent] = {"m": m, "k": k, "l": length, "n": n, "p": p}
    attention = batch_operators(1, m, n, k, length, with_softmax=True)
    return chain_of((*attention, contraction("G", "bmn,np->bmp", "EF", {"b": 1, **extents})))


TREES = {
    "layers": (wide_layers(48, 16, 48, 32), 24),
    "attention": (projected_attention(48, 8, 16, 48, 16), 24),
}


@pytest.mark.parametrize(
    ("name", "l2", "fused_groups"),
    [("layers", 16 << 10, 2), ("layers", 32 << 10, 0), ("attention", 16 << 10, 1), ("attention", 32 << 10, 0)],
)
def test_the_search_finds_the_cheapest_tree(name: str, l2: int, fused_groups: int) -> None:
    chain, rows = TREES[name]
    machine = replace(machine_with(l1=2 << 10, l2=l2), cores=2, parallel_region_s=1e-8)
    case = context(chain, machine, columns=16, rows=rows)
    winner = search(case)[0]
    least = cheapest(case, {axis: axis_multiple(case, axis) for axis in space_of(case).tiles})
    assert winner.cores_s == pytest.approx(least, rel=1e-9)
    assert winner.used_bytes <= case.capacity_bytes
    assert len(winner.fused_groups) == fused_groups


@pytest.mark.parametrize(("l2", "online"), [(3 << 10, True), (6 << 10, True), (12 << 10, False)])
def test_the_search_finds_the_cheapest_form_of_a_softmax(l2: int, online: bool) -> None:
    chain = batch_chain(1, 4, 16, 8, 128, with_softmax=True)
    case = context(chain, machine_with(l1=2 << 10, l2=l2), columns=16)
    winner = search(case)[0]
    least = cheapest(case, {axis: axis_multiple(case, axis) for axis in space_of(case).tiles})
    assert winner.cores_s == pytest.approx(least, rel=1e-9)
    assert ("l" in winner.outer_loops) == online


def test_axes_with_one_signature_are_one_group() -> None:
    chain = convolution_chain(height=56, width=56, channels=(64, 128, 256), kernels=(3, 1))
    kernels = {op.name: KERNELS[0] for op in chain.operators}
    roles = {op.name: contraction_roles(op) for op in chain.operators}
    space = space_of(context_of(chain, CASCADE_LAKE, kernels, roles, DEFAULT))
    assert len(chain.extents) == 10
    assert space.groups == (("h", "w"), ("o2",), ("o",), ("y", "x"))
    assert len(space.outer_orders()) == 16


@pytest.mark.parametrize("kernels", [(1, 3), (3, 3)])
def test_what_a_prefix_can_execute_does_not_depend_on_the_order_of_its_loops(kernels: tuple[int, int]) -> None:
    chain = convolution_chain(height=6, width=6, channels=(8, 8, 8), kernels=kernels)
    space = space_of(context(chain, machine_with()))
    found = set(space.outer_orders())
    assert found == {
        order for outer_loops in found for order in group_orders(space.groups, outer_loops) if may_share(chain, order)
    }


def group_orders(groups: tuple[tuple[str, ...], ...], outer_loops: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The outer loops with its groups in every order."""
    inside = [[axis for axis in group if axis in outer_loops] for group in groups]
    return [tuple(axis for group in order for axis in group) for order in permutations(group for group in inside if group)]


@pytest.mark.parametrize("kernels", [(1, 1), (3, 1), (1, 3)])
def test_two_convolutions_plan(kernels: tuple[int, int]) -> None:
    chain = convolution_chain(height=28, width=28, channels=(32, 64, 64), kernels=kernels)
    plan = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(chain, plan.schedule)
    assert plan.predicted_seconds > plan.floor.seconds


@pytest.mark.parametrize("kernels", [(3, 1), (1, 3), (3, 3)])
def test_prefixes_that_were_skipped_could_not_have_won(kernels: tuple[int, int]) -> None:
    """Every order of outer loops of a small pair of convolutions is searched in full and compared with the winner."""
    case = context(convolution_chain(height=6, width=6, channels=(8, 8, 8), kernels=kernels), machine_with(2 << 10, 6 << 10))
    space = space_of(case)
    winner = search(case)[0]
    every = [OuterLoops(space, outer_loops, line_buffered).best() for outer_loops, line_buffered in space.variants()]
    able = [candidate for candidate in every if candidate.used_bytes <= case.capacity_bytes] or every
    assert winner.cores_s == min(candidate.cores_s for candidate in able)
    assert_bounds_hold(case)


def assert_bounds_hold(case: CostContext) -> None:
    """No best schedule of an order of outer loops cost less than the bound of its tiles."""
    space = space_of(case)
    bounds = Bounds(space)
    for outer_loops, line_buffered in space.variants():
        every = OuterLoops(space, outer_loops, line_buffered)
        best = every.best()
        index = tuple(every.choices[axis].index(best.tiles[axis]) for axis in every.dims)
        assert every.least(bounds)[0][index] <= best.cores_s * (1 + 1e-9)


def test_bounds_hold_where_strides_skip_points() -> None:
    chain = halo_chain(14, 14, 4, [conv(3, 8), conv(1, 8, 2)])
    assert_bounds_hold(context(chain, machine_with(2 << 10, 6 << 10)))


def packed(plan: Plan) -> set[str]:
    return {leaf.operator for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack)}


def test_few_rows_read_the_right_operand_in_place_and_many_pack_it() -> None:
    few, many = (plan_chain(product(m, 300, 300), CASCADE_LAKE, kernels=KERNELS) for m in (4, 4000))
    assert packed(few) == set()
    assert packed(many) == {"C"}


def test_columns_apart_are_packed_whatever_it_costs() -> None:
    transposed = chain_of((contraction("C", "mk,nk->mn", "AB", {"m": 4, "k": 300, "n": 300}),))
    assert packed(plan_chain(transposed, CASCADE_LAKE, kernels=KERNELS)) == {"C"}


def test_rows_that_meet_in_few_sets_are_packed() -> None:
    plan = plan_chain(product(24, 4096, 4096), CASCADE_LAKE, kernels=KERNELS)
    assert packed(plan) == {"C"}


def layers(names: str) -> Chain:
    """The same two products under other names of axes, operators and tensors."""
    m, k, n, p = names[:4]
    extents = {m: 96, k: 200, n: 80, p: 64}
    first, second, left, right, last = names[4:]
    return chain_of(
        (
            contraction(first, f"{m}{k},{k}{n}->{m}{n}", left + right, extents),
            contraction(second, f"{m}{n},{n}{p}->{m}{p}", first + last, extents),
        )
    )


def test_a_chain_that_differs_in_names_only_is_searched_once() -> None:
    with counting() as counts:
        plan_chain(layers("mknpCEABD"), CASCADE_LAKE, kernels=KERNELS)
        again = plan_chain(layers("wxyzQPRST"), CASCADE_LAKE, kernels=KERNELS)
        assert counts[Counted.PLANS] == 1
        plan_chain(layers("mknpCEABD"), machine_with(l2=64 << 10), kernels=KERNELS)
        assert counts[Counted.PLANS] == 2
    forget_plans()
    assert again == plan_chain(layers("wxyzQPRST"), CASCADE_LAKE, kernels=KERNELS)
