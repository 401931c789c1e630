"""Positions along the lanes that are the same in all rows are found once; where they are not, every element finds its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import compiler
from tilewright.block.statements import VectorLoops
from tilewright.errors import PositionError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather, gather_elements
from tilewright.graph.types import Graph, SymbolicExtent
from tilewright.leaves.tile_programs.gathers import Gathers
from tilewright.leaves.tile_programs.points import Points
from tilewright.machine import Machine
from tilewright.render.c.program import lower_program
from tilewright.runtime.executable import Executable


def columns(rows: Any = 7, extent: int = 21, count: int = 45, dtype: str = "float32", batch: int = 2) -> Graph:
    """Columns of matrices, and what becomes of them."""
    builder = Builder("columns")
    x, ids = builder.input("x", (batch, rows, extent), dtype), builder.input("ids", (count,), "int64")
    return builder.graph((builder.map("negative", builder.record(gather, x, ids, 2, kind="gather")).name,))


ANY_ROWS = columns(rows=SymbolicExtent("s", 0, 9, 7))


def built(graph: Graph, threads: int = 1) -> Executable:
    return compiler.build(compiler.plan(graph, Machine.detect()), threads=threads)


def result(executable: Executable, *inputs: Any) -> Any:
    outputs = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    return outputs[0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
@pytest.mark.parametrize("count", [1, 3, 16, 45, 512])
def test_columns_are_those_of_numpy(count: int, dtype: str) -> None:
    generator = np.random.default_rng(count)
    x, ids = generator.integers(0, 2, (2, 7, 21)).astype(dtype), generator.integers(-21, 21, count)
    builder = Builder("columns")
    of, at = builder.input("x", x.shape, dtype), builder.input("ids", (count,), "int64")
    taken = builder.cast(builder.record(gather, of, at, 2, kind="gather"), "float32")
    executable = built(builder.graph((builder.map("exp", taken).name,)), threads=2)
    np.testing.assert_allclose(result(executable, x, ids), np.exp(x[..., ids].astype(np.float32)), rtol=1e-6)


def test_strided_inputs_are_read_where_they_lie() -> None:
    executable = built(columns())
    x, ids = np.random.default_rng(0).standard_normal((7, 21, 2)).astype(np.float32).transpose(2, 0, 1), np.arange(45) % 21
    np.testing.assert_array_equal(result(executable, x, ids), -x[..., ids])


def test_a_position_outside_is_told() -> None:
    executable, x, ids = built(columns(), threads=2), np.ones((2, 7, 21), np.float32), np.zeros(45, np.int64)
    ids[[5, 44]] = 21, -22
    with pytest.raises(PositionError, match="position 21 is out of range"):
        result(executable, x, ids)


@pytest.mark.parametrize(("graph", "are_kept"), [(columns(), True), (columns(rows=1, batch=1), False), (ANY_ROWS, False)])
def test_positions_are_kept_where_there_are_rows(graph: Graph, are_kept: bool) -> None:
    (region,) = lower_program(compiler.plan(graph, Machine.named("x86-64-v4"))).regions
    loops = next(node for node in region.nodes() if isinstance(node, VectorLoops))
    assert Gathers(Points(loops)).are_kept() == are_kept


def test_nobody_looks_where_there_is_no_row() -> None:
    executable = built(ANY_ROWS)
    assert result(executable, np.ones((2, 0, 21), np.float32), np.full(45, 99)).shape == (2, 0, 45)


def test_positions_that_differ_from_row_to_row_are_not_kept() -> None:
    builder = Builder("elements")
    x, ids = builder.input("x", (7, 21), "float32"), builder.input("ids", (7, 21), "int64")
    executable = built(builder.graph((builder.record(gather_elements, x, ids, 1, kind="gather").name,)))
    values, at = np.arange(7 * 21, dtype=np.float32).reshape(7, 21), np.random.default_rng(0).integers(0, 21, (7, 21))
    np.testing.assert_array_equal(result(executable, values, at), np.take_along_axis(values, at, 1))
