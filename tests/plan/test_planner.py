"""Plans of whole chains: executable, within capacity, deterministic, and with their reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.cases import (
    CASCADE_LAKE,
    KERNELS,
    batch_chain,
    chain_of,
    contraction,
    elementwise,
    gemm_chain,
    without_laws,
)
from tests.plan.walk import walked_movements
from tests.support.table_iv import TABLE_IV
from tilewright.coefficients import DEFAULT
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import SymbolicExtent
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.model.cost import later_passes_seconds
from tilewright.plan.model.cost_context import context_of
from tilewright.plan.planner import plan_chain
from tilewright.plan.reasons import Defeat, EveryOperatorAlone, OtherKernel
from tilewright.plan.regions.loop_views import block_count, parallel_axes
from tilewright.plan.regions.online_reductions import cut_axes
from tilewright.plan.schedule import Compute, Loop, Pack, fused_schedule
from tilewright.plan.space.executability import is_executable
from tilewright.plan.threads import LATE_SHARE, enough_blocks, imbalance
from tilewright.plan.types import Plan, Price, PriceTerm, TermKind
from tilewright.report.reasons import alternative_text, loss_text

CASES = [(name, with_softmax) for name in TABLE_IV for with_softmax in (False, True)]


def plan_of(name: str, with_softmax: bool) -> Plan:
    return plan_chain(batch_chain(*TABLE_IV[name], with_softmax=with_softmax), CASCADE_LAKE, kernels=KERNELS)


@pytest.mark.parametrize(("name", "with_softmax"), CASES)
def test_every_chain_of_table_iv_plans(name: str, with_softmax: bool) -> None:
    plan = plan_of(name, with_softmax)
    assert is_executable(plan.chain, plan.schedule)
    assert plan.floor.seconds < plan.predicted_seconds < plan.unfused_price.seconds
    fusion = next(level for level in plan.levels if level.level == "L2")
    assert 0 < fusion.used_bytes <= fusion.capacity_bytes
    assert plan.scratch_bytes < 1 << 20
    assert block_count(plan.chain, plan.schedule) >= 8
    assert plan.parallel_axes
    check_packs(plan)


@pytest.mark.parametrize(("keys", "is_cut"), [(512, False), (4096, True), (16384, True)])
def test_rows_that_leave_l1_run_in_blocks_of_keys(keys: int, is_cut: bool) -> None:
    plan = plan_chain(batch_chain(8, 4096, 64, 64, keys, with_softmax=True), CASCADE_LAKE, kernels=KERNELS)
    rows = next(operator for operator in plan.chain.operators if operator.is_row_reduction())
    assert bool(cut_axes(plan.chain, plan.schedule, rows)) == is_cut
    assert plan.scratch_bytes < 1 << 23


def test_later_passes_cost_where_l1_has_lost_the_rows() -> None:
    chain = batch_chain(1, 64, 64, 64, 4096, with_softmax=True)
    roles = {one.name: contraction_roles(one) for one in chain.operators if one.is_contraction()}
    context = context_of(chain, CASCADE_LAKE, dict.fromkeys(roles, KERNELS[0]), roles, DEFAULT)
    rows = next(operator for operator in context.chain.operators if operator.is_row_reduction())
    lost_s, kept_s = (later_passes_seconds(context, rows, blocks, 1) for blocks in (1, 8))
    bandwidth = context.machine.levels[1].bandwidth_bytes_per_s
    assert lost_s == pytest.approx(context.coefficients.visible_later_passes * 4 * 64 * 4096 / bandwidth)
    assert kept_s == 0


def check_packs(plan: Plan) -> None:
    """Chain inputs on the right are packed once, before use, in front of loops whose tiles are whole panels, or read in place."""
    packed: set[tuple[str, int]] = set()
    for path, leaf in plan.schedule.leaves():
        if isinstance(leaf, Pack):
            packed.add((leaf.operator, leaf.read))
            roles = plan.operator_plan(leaf.operator).roles
            assert roles is not None
            assert leaf.read == roles.right
            below = plan.schedule.path(leaf.operator)[len(path) :]
            assert all(loop.tile % leaf.layout.panel_columns == 0 for loop in below if loop.axis == roles.column)
        elif plan.operator_plan(leaf.operator).roles is not None:
            roles = plan.operator_plan(leaf.operator).roles
            operand = plan.chain.operator(leaf.operator).reads[roles.right]
            in_place = bool(operand.indices) and operand.indices[-1].coefficient(roles.column or "") == 1
            assert (leaf.operator, roles.right) in packed or in_place or roles.column is None


def test_g2_in_full() -> None:
    plan = plan_of("G2", True)
    assert golden(plan) == (
        "b by 1 { pack 1 of C; m by 90 { C P E } }\n"
        "test_6x64, -, test_6x64\n"
        "parallel b, m\n"
        "L2 469504 of 524288\n"
        "A 1572864, B 1572864, D 1572864, E 1572864"
    )


def golden(plan: Plan) -> str:
    levels = {level.level: f"{level.level} {level.used_bytes} of {level.capacity_bytes}" for level in plan.levels}
    moved = [f"{m.tensor} {m.size_bytes}" for m in plan.movements if m.level == "L2"]
    kernels = ", ".join(op.micro_kernel or "-" for op in plan.operators)
    return "\n".join(
        [_body(plan.schedule.body), kernels, f"parallel {', '.join(plan.parallel_axes)}", levels["L2"], ", ".join(moved)]
    )


def _body(body) -> str:
    parts = []
    for node in body:
        match node:
            case Loop(axis, tile, inner):
                parts.append(f"{axis} by {tile} {{ {_body(inner)} }}")
            case Pack(operator, read, layout):
                parts.append(f"pack {read} of {operator};")
                assert layout == panels(layout.panel_columns)
            case Compute(operator):
                parts.append(operator)
    return " ".join(parts)


def test_a_plan_is_the_same_every_time() -> None:
    assert repr(plan_of("G9", True)) == repr(plan_of("G9", True))


def test_g2_moves_what_it_must_and_no_more() -> None:
    plan = plan_of("G2", False)
    into_l2 = sum(movement.size_bytes for movement in plan.movements if movement.level == "L2")
    assert into_l2 == plan.floor.compulsory_bytes
    assert all(movement.tensor != "C" for movement in plan.movements if movement.level != "L1")


def test_traffic_into_l1_is_what_the_price_says() -> None:
    plan = plan_of("G2", True)
    moved = sum(movement.size_bytes for movement in plan.movements if movement.level == "L1")
    priced = sum(term.seconds for term in plan.price.terms if term.name.endswith("traffic into L1"))
    assert moved / CASCADE_LAKE.level("L2").bandwidth_bytes_per_s == pytest.approx(priced)


def test_rejected_alternatives_carry_figures_and_reasons() -> None:
    plan = plan_of("G2", False)
    assert any(one.alternative == EveryOperatorAlone() and one.figure > one.winner_figure for one in plan.rejected)
    assert any(one.unit == "bytes" and one.reason.defeat is Defeat.DOES_NOT_FIT for one in plan.rejected)
    kernels = [one.alternative.kernel for one in plan.rejected if isinstance(one.alternative, OtherKernel)]
    assert kernels[0].startswith("test_")
    assert all(one.unit and loss_text(one) and alternative_text(one.alternative) for one in plan.rejected)


@pytest.mark.parametrize("cores", [1, 2, 7, 18, 64])
def test_blocks_divide_evenly_among_the_cores(cores: int) -> None:
    """Of G2's 12 batches any number of rows can be a block: what the busiest core gets is close to an even share."""
    plan = plan_chain(batch_chain(*TABLE_IV["G2"], with_softmax=True), replace(CASCADE_LAKE, cores=cores), kernels=KERNELS)
    blocks = block_count(plan.chain, plan.schedule)
    hands = [len(range(core, blocks, cores)) for core in range(cores)]
    assert max(hands) <= 1.1 * blocks / cores
    assert plan.price.blocks == blocks
    assert blocks >= 16 or cores == 1


@pytest.mark.parametrize("cores", [1, 2])
def test_cores_take_one_block_each_where_that_is_faster(cores: int) -> None:
    machine = replace(Machine.named("x86-64-v4"), cores=cores)
    plan = plan_chain(batch_chain(1, 53, 301, 509, 2053, with_softmax=False), machine)
    assert plan.price.blocks == cores
    assert plan.predicted_seconds < plan.unfused_price.seconds or cores > 1


def test_the_price_on_threads_is_that_of_the_thread_with_most_blocks() -> None:
    price = Price((PriceTerm(TermKind.ARITHMETIC, 10.0, "x"), PriceTerm(TermKind.CALL, 1.0)), blocks=10, region_s=0.5)
    for threads in range(2, 14):
        hands = [0.0] * threads
        for block in range(10):
            hands[block % threads] += 1.0
        late_s = price.on(threads) - (1.0 + max(hands) + 0.5)
        assert late_s == pytest.approx(LATE_SHARE * max(0.0, 1 - 10 / enough_blocks(threads)))
    assert price.on(1) == 11.0


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "zen5", "power10", "neoverse-v2"])
def test_other_machines_plan_with_their_own_kernels(target: str) -> None:
    plan = plan_chain(batch_chain(*TABLE_IV["G9"], with_softmax=True), Machine.named(target))
    assert is_executable(plan.chain, plan.schedule)
    assert plan.predicted_seconds > plan.floor.compute_s


@settings(max_examples=20)
@given(st.integers(1, 5), *(st.integers(1, 60) for _ in range(4)), st.booleans())
def test_ragged_chains_plan_and_move_what_the_walk_moves(b: int, m: int, n: int, k: int, length: int, with_softmax: bool) -> None:
    chain = batch_chain(min(b, 2), m, min(n, 20), min(k, 20), length, with_softmax=with_softmax)
    plan = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(chain, plan.schedule)
    check_packs(plan)
    walked = walked_movements(chain, plan.schedule)
    assert {m.tensor: m.size_bytes for m in plan.movements if m.level == "L2"} == {t: 4 * n for t, n in walked.items()}


def test_a_large_product_is_cut_for_the_cache_and_for_threads() -> None:
    extents = {"m": 4096, "k": 4096, "n": 4096}
    plan = plan_chain(chain_of((contraction("C", "mk,kn->mn", "AB", extents),)), CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(plan.chain, plan.schedule)
    assert block_count(plan.chain, plan.schedule) >= 8
    check_packs(plan)
    assert plan.scratch_bytes <= 2 << 20
    assert plan.predicted_seconds < 1.3 * plan.floor.seconds
    assert plan.unfused_price == plan.price


def test_a_small_cache_still_gives_a_plan_that_fits() -> None:
    levels = tuple(replace(level, size_bytes=64 * 1024) if level.name == "L2" else level for level in CASCADE_LAKE.levels)
    plan = plan_chain(gemm_chain(512, 64, 64, 512), replace(CASCADE_LAKE, levels=levels), kernels=KERNELS)
    fusion = next(level for level in plan.levels if level.level == "L2")
    assert fusion.used_bytes <= fusion.capacity_bytes == 32 * 1024


def test_rows_that_fit_nowhere_are_planned_and_priced_as_spills() -> None:
    chain = without_laws(batch_chain(1, 64, 64, 64, 200_000, with_softmax=True))
    plan = plan_chain(chain, CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(plan.chain, plan.schedule)
    assert any(term.kind is TermKind.SPILLS and term.seconds > 0 for term in plan.price.terms)


def test_symbolic_rows_are_planned_with_the_hint_and_right_for_any_size() -> None:
    length = SymbolicExtent("s", 1, 4096, 512)
    plan = plan_chain(batch_chain(12, length, 64, 64, length, with_softmax=True), CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(plan.chain, plan.schedule)
    loops = [loop for loop in plan.schedule.path("P") if loop.axis == "m"]
    assert loops
    assert all(loop.tile <= 512 for loop in loops)
    assert all(loop.axis != "l" for loop in plan.schedule.path("P"))


def test_empty_axes_plan() -> None:
    plan = plan_chain(batch_chain(0, 5, 3, 0, 7, with_softmax=True), CASCADE_LAKE, kernels=KERNELS)
    assert is_executable(plan.chain, plan.schedule)


def test_maps_alone_run_in_the_order_of_their_dimensions() -> None:
    extents = {"x": 1000, "y": 700}
    chain = chain_of(
        (elementwise("R", "xy", [("A", "xy")], extents), elementwise("S", "xy", [("R", "xy"), ("B", "xy")], extents))
    )
    plan = plan_chain(chain, CASCADE_LAKE, kernels=())
    assert plan.parallel_axes[0] == "x"
    assert plan.price.seconds < plan.unfused_price.seconds


def test_parallel_loops_are_parallel_in_every_operator() -> None:
    chain = gemm_chain(64, 64, 64, 64)
    assert parallel_axes(chain, fused_schedule(chain, "ml", {}, {"m": 8, "l": 8})) == ("m",)
    assert parallel_axes(chain, fused_schedule(chain, "lm", {}, {"m": 8, "l": 8})) == ()
    assert imbalance(8, 4) == 1.0


def test_overlapping_terms_count_the_longest_only() -> None:
    price = Price(
        (PriceTerm(TermKind.ARITHMETIC, 2.0, "x"), PriceTerm(TermKind.TRAFFIC, 3.0, "x", "L1"), PriceTerm(TermKind.CALL, 1.0))
    )
    assert price.seconds == 4.0


def test_a_dearer_exponential_makes_the_plan_dearer() -> None:
    chain = batch_chain(*TABLE_IV["G2"], with_softmax=True)
    dear = replace(DEFAULT, function_cycles_per_vector=(("exp", 50.0),))
    cheap_plan, dear_plan = (plan_chain(chain, CASCADE_LAKE, kernels=KERNELS, coefficients=c) for c in (DEFAULT, dear))
    assert dear_plan.price.seconds > cheap_plan.price.seconds
