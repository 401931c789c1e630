"""Which schedules can be executed, and why others cannot."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tests.plan.cases import batch_chain, chain_of, contraction, elementwise, gemm_chain, without_laws
from tests.plan.walk import blocks
from tests.support.halo_chains import convolution_chain
from tilewright.graph.types import Chain, SymbolicExtent
from tilewright.plan.permutations import permuted
from tilewright.plan.schedule import Compute, Loop, Schedule, Storage, Trip, When, fused_schedule
from tilewright.plan.space.executability import is_executable, runs_below, why_not_executable

SMALL = {"m": 3, "n": 2, "k": 2, "l": 3, "b": 1}


def test_conditions_of_the_papers_permutations() -> None:
    chain = gemm_chain(7, 5, 4, 8)
    leaves = {leaf.operator: leaf.when for _, leaf in permuted(chain, "nkml", SMALL).leaves()}
    assert leaves == {"C": (When("n", Trip.FIRST),), "E": (When("k", Trip.LAST),)}
    recomputed = permuted(chain, "nkml", SMALL, storage=Storage.RECOMPUTE)
    assert next(leaf for _, leaf in recomputed.leaves()).when == ()


def test_recomputation_inside_a_sum_is_refused() -> None:
    chain = gemm_chain(7, 5, 4, 8)
    reason = why_not_executable(chain, permuted(chain, "knml", SMALL, storage=Storage.RECOMPUTE))
    assert reason == "C is recomputed along n inside a loop that sums it: n must come first"


def test_a_row_operator_without_laws_needs_whole_rows() -> None:
    chain = without_laws(batch_chain(2, 7, 5, 4, 8, with_softmax=True))
    assert why_not_executable(chain, fused_schedule(chain, "bml", {}, SMALL)) == "P needs whole rows, and a loop cuts l"
    assert is_executable(chain, fused_schedule(chain, "bm", {"C": "l", "E": "l"}, SMALL))
    assert is_executable(chain, fused_schedule(chain, "bml", {}, {**SMALL, "l": 8}))


def test_a_symbolic_row_is_whole_only_without_a_loop() -> None:
    rows = SymbolicExtent("s", 1, 100, 8)
    chain = without_laws(batch_chain(2, 7, 5, 4, rows, with_softmax=True))
    assert not is_executable(chain, fused_schedule(chain, "bml", {}, {**SMALL, "l": 8}))
    assert is_executable(chain, fused_schedule(chain, "bml", {}, {**SMALL, "l": 100}))


def test_an_operator_that_would_sum_twice_is_refused() -> None:
    chain = gemm_chain(7, 5, 4, 8)
    twice = Schedule(permuted(chain, "mnlk", SMALL, storage=Storage.RECOMPUTE).body)
    assert why_not_executable(chain, twice) == "C would run again at every block of n, which it does not have"


def test_a_consumer_before_its_operand_is_finished_is_refused() -> None:
    chain = gemm_chain(7, 5, 4, 8)
    assert "E would run again at every block of k" in why_not_executable(chain, fused_schedule(chain, "k", {}, SMALL))
    late = permuted(chain, "kml", SMALL).body
    hasty = Schedule(tuple(_without_conditions(node) for node in late), (("C", Storage.RECOMPUTE),))
    assert "E would run again at every block of k" in why_not_executable(chain, hasty)
    partial = fused_schedule(chain_with_shared_sum(), "k", {}, SMALL)
    assert why_not_executable(chain_with_shared_sum(), partial) == "E would read C before C has finished it along k"


def chain_with_shared_sum() -> Chain:
    """T[m,k] is read by the producer C, which sums k, and by the consumer E, which keeps it."""
    extents = {"m": 5, "k": 4, "l": 6}
    return chain_of(
        (
            elementwise("T", "mk", [("X", "mk")], extents),
            contraction("C", "mk,kl->ml", "TB", extents),
            contraction("E", "ml,mk->mlk", "CT", extents),
        )
    )


def _without_conditions(node):
    if isinstance(node, Loop):
        return Loop(node.axis, node.tile, tuple(_without_conditions(inner) for inner in node.body))
    return Compute(node.operator)


def test_operators_out_of_order_are_refused() -> None:
    chain = gemm_chain(7, 5, 4, 8)
    assert "topological order" in why_not_executable(chain, Schedule((Compute("E"), Compute("C"))))


def test_a_shared_buffer_is_kept_or_recomputed_as_a_whole() -> None:
    chain = batch_chain(2, 7, 5, 4, 8, with_softmax=True)
    mixed = permuted(chain, "bnm", SMALL, storage={"C": Storage.KEEP, "P": Storage.RECOMPUTE})
    assert why_not_executable(chain, mixed) == "C, P share a buffer and must be kept, recomputed or line-buffered together"


def five_operators() -> Chain:
    extents = {"m": 5, "k": 4, "l": 6, "n": 3, "p": 4}
    return chain_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            elementwise("R", "ml", [("C", "ml"), ("bias", "l")], extents),
            contraction("E", "ml,ln->mn", "RD", extents),
            elementwise("S", "mn", [("E", "mn")], extents),
            contraction("G", "mn,np->mp", "SF", extents),
        )
    )


@pytest.mark.parametrize("outer_loops", ["", "m", "mp", "pm"])
def test_longer_chains_compute_the_right_thing_under_a_prefix(outer_loops: str) -> None:
    chain = five_operators()
    tiles = {"m": 2, "k": 3, "l": 4, "n": 2, "p": 3}
    schedule = fused_schedule(chain, outer_loops, {"C": "lk", "E": "ln", "G": "n"}, tiles)
    assert is_executable(chain, schedule)
    assert np.array_equal(executed(chain, schedule), executed(chain, Schedule(fused_schedule(chain, "", {}, {}).body)))


def executed(chain: Chain, schedule: Schedule) -> np.ndarray:
    """Run a schedule block by block on small integers; additions and products only."""
    rng = np.random.default_rng(1)
    sizes = {name: int(extent) for name, extent in chain.extents.items()}
    values = {}
    for operator in chain.operators:
        for read in (*operator.reads, operator.write):
            shape = tuple(sizes[str(index)] for index in read.indices)
            values.setdefault(read.tensor, rng.integers(-3, 4, shape))
    for operator, ranges in blocks(chain, schedule):
        letters = ["".join(str(index) for index in one.indices) for one in (*operator.reads, operator.write)]
        boxes = [tuple(slice(*ranges[name]) for name in own) for own in letters]
        operands = [values[one.tensor][box] for one, box in zip(operator.reads, boxes, strict=False)]
        target = values[operator.write.tensor]
        if operator.is_contraction():
            result = np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", *operands)
            first = all(ranges[axis.name][0] == 0 for axis in operator.reduction_axes())
            target[boxes[-1]] = result if first else target[boxes[-1]] + result
        else:
            target[boxes[-1]] = operands[0] + operands[1] if len(operands) == 2 else np.maximum(operands[0], 0)
    return values[chain.output]


CHAINS = {
    "products": gemm_chain(8, 6, 4, 10),
    "softmax": batch_chain(3, 8, 6, 4, 10, with_softmax=True),
    "five": five_operators(),
    "convolutions": convolution_chain(height=6, width=6, channels=(8, 8, 8), kernels=(3, 3)),
    "strided": convolution_chain(height=8, width=8, channels=(4, 4, 4), kernels=(1, 3)),
    "shared sum": chain_with_shared_sum(),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_shares_loops_is_what_can_be_executed(name: str) -> None:
    """All orders of up to three loops: the answer without a schedule is that of the schedule."""
    chain = CHAINS[name]
    orders = [order for length in range(4) for order in permutations(chain.extents, length)]
    schedules = (fused_schedule(chain, order, {}, dict.fromkeys(order, 1)) for order in orders)
    told = [(runs_below(chain, order), is_executable(chain, one)) for order, one in zip(orders, schedules, strict=True)]
    assert all(known is None or known == is_able for known, is_able in told)
    assert sum(known is not None for known, _ in told) > 1
