"""Generated code reports positions that data gives outside of their dimension: which one, and on any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import compiler
from tilewright.errors import PositionError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather, gather_elements, gather_nd
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, SymbolicExtent
from tilewright.machine import Machine
from tilewright.runtime.executable import Executable


def built(graph: Graph, threads: int = 1) -> Executable:
    return compiler.build(compiler.plan(graph, Machine.detect()), threads=threads)


def result(executable: Executable, inputs: list[Any]) -> Any:
    outputs = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    return outputs[0]


def refusal(executable: Executable, inputs: list[Any]) -> PositionError:
    with pytest.raises(PositionError) as caught:
        result(executable, inputs)
    return caught.value


def rows(extent: Any = 21, columns: int = 19, count: int = 7, dtype: str = "float32") -> Graph:
    builder = Builder("rows")
    x, ids = builder.input("x", (extent, columns), dtype), builder.input("ids", (count,), "int64")
    return builder.graph((builder.record(gather, x, ids, 0, kind="gather").name,))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_first_position_outside_is_told_and_the_next_call_is_right(dtype):
    graph = rows(dtype=dtype)
    executable, x = built(graph), np.arange(21 * 19).reshape(21, 19).astype(dtype)
    outside = np.array([0, 20, -21, 5, -22, 99, 21])
    problem = refusal(executable, [x, outside])
    assert problem.message == "position -22 is out of range"
    assert problem.why == "dimension 0 of x, looked up by ids, has 21 elements"
    assert problem.hint == "positions lie between -21 and 20; negative ones count from the end"
    with pytest.raises(PositionError, match="position -22 is out of range"):
        evaluate(graph, {"x": x, "ids": outside})
    inside = np.array([0, 20, -21, 5, -1, 9, 2])
    np.testing.assert_array_equal(result(executable, [x, inside]), x[inside])


def test_which_position_is_told_does_not_depend_on_threads():
    graph, generator = rows(count=5000), np.random.default_rng(0)
    x, ids = np.ones((21, 19), np.float32), generator.integers(-21, 21, 5000)
    ids[generator.integers(300, 5000, 900)] = 2**40 + np.arange(900)
    expected = f"position {ids[ids > 20][0]} is out of range"
    for threads in (1, 2, 4):
        executable = built(graph, threads)
        assert {refusal(executable, [x, ids]).message for _ in range(10)} == {expected}


def test_positions_that_the_kernel_computes_are_checked():
    builder = Builder("computed")
    x, start = builder.input("x", (6, 5), "float32"), builder.input("start", (4, 5), "int64")
    ids = builder.map("add", builder.map("multiply", start, start), start)
    y = builder.record(gather_elements, x, ids, 0, kind="gather")
    executable = built(builder.graph((builder.map("exp", y).name,)))
    values, at = np.ones((6, 5), np.float32), np.ones((4, 5), np.int64)
    np.testing.assert_allclose(result(executable, [values, at]), np.full((4, 5), np.e), rtol=1e-6)
    at[2, 3], at[3, 0] = 2, -4
    assert refusal(executable, [values, at]).message == "position 6 is out of range"


def test_of_several_lookups_the_first_one_is_told():
    """Its result is what the second looks up."""
    builder = Builder("twice")
    table, x = builder.input("table", (4,), "int64"), builder.input("x", (3, 8), "float32")
    ids = builder.input("ids", (2,), "int64")
    found = builder.record(gather, table, ids, 0, kind="gather")
    executable = built(builder.graph((builder.record(gather, x, found, 0, kind="gather").name,)))
    values = np.ones((3, 8), np.float32)
    at = {slot.name: number for number, slot in enumerate(executable.signature.inputs)}

    def inputs(table: Any, ids: Any) -> list[Any]:
        given = {"table": np.array(table), "ids": np.array(ids), "x": values}
        return [given[name] for name in at]

    assert refusal(executable, inputs([9, 9, 9, 9], [5, 0])).why.startswith("dimension 0 of table,")
    assert refusal(executable, inputs([0, 1, 7, 2], [0, 2])).why.startswith("dimension 0 of x,")
    np.testing.assert_array_equal(result(executable, inputs([0, 1, 2, -3], [0, 3])), values[:2])


def test_equal_chains_tell_their_own_tensors():
    """Both have the same code; every dimension of GatherND has a number of its own."""
    builder = Builder("equal")
    pairs = [(builder.input(f"x{n}", (5, 4, 16), "float32"), builder.input(f"ids{n}", (3, 2), "int64")) for n in range(2)]
    results = [builder.record(gather_nd, x, ids, 0, kind="gather") for x, ids in pairs]
    executable = built(builder.graph(tuple(one.name for one in results)))
    x, inside = np.ones((5, 4, 16), np.float32), np.zeros((3, 2), np.int64)
    for number in range(2):
        for dimension, position in ((0, 5), (1, -5)):
            outside = inside.copy()
            outside[1, dimension] = position
            ids = [outside, inside] if number == 0 else [inside, outside]
            inputs = [{"x": x, "i": ids[int(slot.name[-1])]}[slot.name[0]] for slot in executable.signature.inputs]
            assert refusal(executable, inputs).why.startswith(f"dimension {dimension} of x{number}, looked up by ids{number},")


def test_the_extent_may_be_known_at_run_time_only():
    executable = built(rows(SymbolicExtent("s0", 2, 64, 32)))
    ids = np.array([0, 1, 2, 3, 4, 5, 6])
    for extent in (3, 7, 64):
        x = np.random.default_rng(0).random((extent, 19), np.float32)
        if extent > 6:
            np.testing.assert_array_equal(result(executable, [x, ids]), x[ids])
        else:
            assert refusal(executable, [x, ids]).why.endswith("has 3 elements")


def test_measurements_refuse_too():
    executable, x = built(rows()), np.ones((21, 19), np.float32)
    inputs = [x, np.array([0, 1, 2, 3, 4, 5, 21])]
    outputs = executable.new_outputs(inputs)
    for measure in (lambda: executable.profile(inputs, outputs), lambda: executable.run_repeatedly(3, inputs, outputs)):
        with pytest.raises(PositionError, match="position 21 is out of range"):
            measure()
