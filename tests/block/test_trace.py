"""Byte traces of block programs: small ones by hand, and those of planned graphs beside the plan's movement."""

from __future__ import annotations

import pytest

from tests.oracles.byte_traces import Compared, Kind, compared
from tests.oracles.programs import fused, nest, program
from tests.replay.planning import graphs_of
from tests.support.chains import gemm_chain
from tests.support.masked_chains import CAUSAL, masked_chain
from tilewright.block.integers import Variable, VariableKind
from tilewright.block.trace import Blocks, bytes_moved
from tilewright.plan.schedule import Compute, Schedule
from tilewright.render.c.program import Program

EXTENTS, TILES = {"m": 20, "n": 70, "k": 9, "l": 33}, {"m": 8, "n": 64, "k": 4, "l": 16}
OPERATORS = ("scores", "mask", "weights", "out")
STRIDES = {"A": (9, 1), "B": (33, 1), "D": (70, 1), "E": (70, 1)}


def traced(one: Program, **levels: Blocks) -> dict[tuple[str, str], int]:
    strides = {Variable(VariableKind.STRIDE, name, d): pair[d] for name, pair in STRIDES.items() for d in range(2)}
    return {key: size_bytes // 4 for key, size_bytes in bytes_moved(one.regions[-1], one.regions, strides, levels).items()}


def blocks(axes: str) -> Blocks:
    return frozenset((name, axis, TILES[axis]) for name in OPERATORS for axis in axes)


def test_reuse_ends_where_a_loop_that_indexes_a_tensor_stands_inside_one_that_does_not() -> None:
    """Loops m, l, then k of the first product, and n of the second, whose D is packed: Table III of Chimera, with rests."""
    found = traced(program(*fused(EXTENTS, TILES)), L2=blocks("mlkn"))
    visits = {"A": 3, "B": 3, "D": 3, "E": 2 * 3 - 1}
    sizes = {"A": 20 * 9, "B": 9 * 33, "D": 33 * 70, "E": 20 * 70}
    assert found == {(tensor, "L2"): sizes[tensor] * visits[tensor] for tensor in sizes}


def test_what_a_level_behind_holds_comes_once_for_every_block_of_its_own() -> None:
    found = traced(program(*fused(EXTENTS, TILES)), L2=blocks("mlkn"), L3=blocks("m"), L4=frozenset())
    assert {level: found["B", level] // (9 * 33) for level in ("L2", "L3", "L4")} == {"L2": 3, "L3": 1, "L4": 1}
    assert {level: found["A", level] // (20 * 9) for level in ("L2", "L3", "L4")} == {"L2": 3, "L3": 1, "L4": 1}


def test_loops_inside_of_a_block_change_nothing() -> None:
    whole = Schedule(nest("m", TILES, *nest("lk", TILES, Compute("scores")), *nest("n", TILES, Compute("out"))))
    found = traced(program(gemm_chain(EXTENTS), whole), L2=blocks("m"))
    assert found == {("A", "L2"): 180, ("B", "L2"): 297, ("D", "L2"): 2310, ("E", "L2"): 1400}


def test_masks_bring_in_the_keys_that_were_not_there() -> None:
    extents = {"b": 1, "m": 40, "k": 21, "l": 200, "n": 64}
    rows = Schedule(nest("m", {"m": 8}, Compute("scores"), Compute("mask"), Compute("weights"), Compute("out")))
    one = program(masked_chain(extents, CAUSAL), rows)
    sizes = {"A": (840, 21, 1), "B": (4200, 200, 1), "D": (12800, 64, 1), "E": (2560, 64, 1)}
    strides = {Variable(VariableKind.STRIDE, name, d): each[d] for name, each in sizes.items() for d in range(3)}
    found = bytes_moved(one.regions[-1], one.regions, strides, {"L2": blocks("m")})
    assert found["D", "L2"] == 4 * 64 * 64, "up to the last key of the last row, in whole steps"


def of_graph(subject: str, graph: str, machine: str) -> list[Compared]:
    return [one for model_plan in graphs_of(subject)[graph](machine) for one in compared(model_plan)]


@pytest.mark.parametrize("machine", ["cascadelake-6240", "zen5"])
@pytest.mark.parametrize(
    ("subject", "graph"),
    [
        *[("table_iv", "G1"), ("table_iv", "G4-softmax"), ("layers", "product-deep"), ("layers", "einsum-batch-last")],
        *[("decoding", "keys-512"), ("random_graphs", "chains-104"), ("rows", "long-sum")],
    ],
)
def test_plans_move_what_their_programs_want(subject: str, graph: str, machine: str) -> None:
    found = of_graph(subject, graph, machine)
    assert found
    assert [one for one in found if one.kind is not Kind.EQUAL] == []


def test_guards_and_masks_leave_out_what_no_element_is_read_of() -> None:
    """Keys of a causal mask; borders of a convolution in required regions; halves of a tensor that is joined with itself."""
    graphs = [
        ("attention", "long", {"k", "v", "out"}),
        ("convolutions", "chain-pair", {"x"}),
        ("random_graphs", "chains-106", {"x0"}),
    ]
    for subject, graph, tensors in graphs:
        found = of_graph(subject, graph, "cascadelake-6240")
        counted = {(id(one.plan), m.tensor, m.level): m.size_bytes for one in found for m in one.plan.movements}
        assert {one.kind for one in found} == {Kind.EQUAL}
        assert {one.tensor for one in found if one.traced < counted.get((id(one.plan), one.tensor, one.level), 0)} == tensors
