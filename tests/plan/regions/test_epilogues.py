"""Which maps join the micro tiles of a contraction: by their accesses, whatever they are called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE
from tests.support.chains import chain
from tests.support.operators import contraction, mapping, softmax
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.registry import for_machine
from tilewright.plan.model.memory.working_set import live_bytes
from tilewright.plan.permutations import permuted
from tilewright.plan.planner import plan_chain
from tilewright.plan.regions.epilogues import epilogues, in_output_place, maps_in_tiles
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import Compute, Schedule, Trip, When
from tilewright.report.explain import explain_plan

EXTENTS = {"b": 2, "m": 96, "n": 64, "k": 32, "l": 48}
ADD = apply("add", Load(0), Load(1))
RELU: Scalar = apply("maximum", Load(0), Literal(0.0))
PRODUCT = contraction("product", "x:mk", "w:kn", "t:mn", EXTENTS)


def made(*maps: Operator, first: Operator = PRODUCT) -> Chain:
    return chain("chain", [first, *maps])


def joining(one: Chain) -> dict[str, tuple[str, ...]]:
    return {found.contraction: found.maps for found in epilogues(one)}


@pytest.mark.parametrize("read", ["bias:n", "rows:m", "residual:mn", "number:"])
def test_a_map_joins_whatever_of_the_tile_its_operands_move_with(read: str) -> None:
    assert joining(made(mapping("map", ADD, ["t:mn", read], "y:mn", EXTENTS))) == {"product": ("map",)}
    assert joining(made(mapping("map", ADD, [read, "t:mn"], "y:mn", EXTENTS))) == {"product": ("map",)}


@pytest.mark.parametrize("dtype", ["bool", "int16", "int64"])
@pytest.mark.parametrize("read", ["mask:n", "mask:m", "mask:mn", "mask:"])
def test_masks_join_as_numbers_do(read: str, dtype: str) -> None:
    one = made(mapping("map", apply("where", Load(1), Load(0), Literal(float("-inf"))), ["t:mn", read], "y:mn", EXTENTS))
    tensors = tuple(replace(tensor, dtype=dtype) if tensor.name == "mask" else tensor for tensor in one.tensors)
    assert joining(replace(one, tensors=tensors)) == {"product": ("map",)}


def test_maps_in_a_row_join_and_what_they_pass_on_needs_no_buffer() -> None:
    steps = [mapping("one", ADD, ["t:mn", "bias:n"], "u:mn", EXTENTS), mapping("two", RELU, ["u:mn"], "y:mn", EXTENTS)]
    one = made(*steps)
    assert joining(one) == {"product": ("one", "two")}
    assert in_output_place(one) == ("t", "u")
    assert live_bytes(view_schedule(one, permuted(one, "mnk", {"m": 12, "n": 64, "k": 8}))) == 0
    (found,) = epilogues(one)
    assert found.body(one) == apply("maximum", apply("add", Load(0), Load(1)), Literal(0.0))
    assert [access.tensor for access in found.reads(one)] == ["bias"]


@pytest.mark.parametrize(
    "apart",
    [
        mapping("map", ADD, ["t:mn", "columns:nm"], "y:mn", EXTENTS),
        mapping("map", RELU, ["t:mn"], "y:nm", EXTENTS),
        mapping("map", apply("exp", Load(0)), ["t:mn"], "y:mn", EXTENTS),
        mapping("map", apply("add", Load(0), AxisValue("m")), ["t:mn"], "y:mn", EXTENTS),
        mapping("map", ADD, ["t:mn", "other:bmn"], "y:bmn", EXTENTS),
        softmax("map", "t:mn", "y:mn", "n", EXTENTS),
    ],
    ids=["strided columns", "transposed", "dear", "positions", "more axes", "rows"],
)
def test_what_does_not_join(apart: Operator) -> None:
    assert joining(made(apart)) == {}


def test_a_result_that_is_read_twice_is_stored() -> None:
    twice = [mapping("one", RELU, ["t:mn"], "u:mn", EXTENTS), mapping("two", ADD, ["u:mn", "t:mn"], "y:mn", EXTENTS)]
    assert joining(made(*twice)) == {}


def test_two_branches_meet_in_the_later_one() -> None:
    """A gate: the map that reads both products joins the one that is made last."""
    second = contraction("second", "x:mk", "v:kn", "s:mn", EXTENTS)
    gate = mapping("gate", apply("multiply", Load(0), Load(1)), ["u:mn", "s:mn"], "y:mn", EXTENTS)
    both = made(mapping("one", RELU, ["t:mn"], "u:mn", EXTENTS), second, gate)
    assert joining(both) == {"product": ("one",), "second": ("gate",)}
    assert in_output_place(both) == ("s",)


def test_sums_of_shares_are_corrected_before_anything_else() -> None:
    scores = contraction("scores", "q:mk", "key:nk", "t:mn", EXTENTS)
    out = contraction("out", "p:mn", "v:nl", "o:ml", EXTENTS)
    one = made(
        softmax("weights", "t:mn", "p:mn", "n", EXTENTS), out, mapping("map", RELU, ["o:ml"], "y:ml", EXTENTS), first=scores
    )
    assert joining(one) == {}


def test_a_kernel_without_epilogues_leaves_maps_to_loops_of_their_own() -> None:
    one = made(mapping("map", RELU, ["t:mn"], "y:mn", EXTENTS))
    plans = {takes: plan_chain(one, CASCADE_LAKE, kernels=kernels(takes)) for takes in (True, False)}
    assert {takes: plan.operator_plan("map").epilogue_of for takes, plan in plans.items()} == {True: "product", False: ""}
    assert plans[True].predicted_seconds < plans[False].predicted_seconds
    assert "map      epilogue of product" in explain_plan(plans[True])
    assert "map      elementwise maps" in explain_plan(plans[False])


def kernels(takes_epilogues: bool) -> tuple[MicroKernel, ...]:
    found = for_machine(CASCADE_LAKE)
    return found if takes_epilogues else tuple(replace(one, emit_with=None) for one in found)


def test_maps_run_at_the_last_block_of_a_sum_or_stay_apart() -> None:
    """Chimera's schedules say by conditions at which blocks an operator runs."""
    one = made(mapping("map", RELU, ["t:mn"], "y:mn", EXTENTS))
    used = {"product": for_machine(CASCADE_LAKE)[0]}
    schedule = permuted(one, "kmn", {"m": 12, "n": 64, "k": 8})
    assert maps_in_tiles(one, schedule, used) == {"map": "product"}
    early = Schedule((Compute("product"), Compute("map", (When("b", Trip.FIRST),))))
    assert maps_in_tiles(one, early, used) == {}
