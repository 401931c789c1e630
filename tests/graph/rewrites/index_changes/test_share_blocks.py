"""Readers in the blocks of their producer; the oracle is the interpreter of the graph as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.axes import ShareBlocks
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Graph, Operator, Tensor
from tilewright.graph.verifier import verify

CHANNELS = 3
SHARED = ShareBlocks(least_elements=1)


def product(builder: Builder, read: Access, weights: Tensor, written: tuple[Index, ...], **extents: int) -> Tensor:
    """y[written] = sum(c) read * weights[m, c]."""

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        axes = (Axis("m", CHANNELS), *(Axis(axis, extent) for axis, extent in extents.items()))
        reads = (read, Access(weights.name, (axis_index("m"), axis_index("c"))))
        highest = {axis: extent - 1 for axis, extent in {**extents, "m": CHANNELS}.items()}
        shape = tuple(int(index.evaluate(highest)) + 1 for index in written)
        operator = Operator(
            name, "conv", (*axes, Axis("c", CHANNELS, AxisKind.REDUCTION)), reads, Access(result, written), PRODUCT, SUM
        )
        return operator, Tensor(result, shape)

    return builder.record(build, kind="conv")


def first(builder: Builder, blocks: int, pixels: int) -> Tensor:
    """t[m, pixels b + p]: sums that are written block by block."""
    image = builder.input("image", (CHANNELS, blocks, pixels), "float32")
    weights = builder.input("w", (CHANNELS, CHANNELS), "float32")
    m, b, p = map(axis_index, "mbp")
    return product(builder, Access(image.name, (axis_index("c"), b, p)), weights, (m, b * pixels + p), b=blocks, p=pixels)


def by_rows(tensor: Tensor, columns: int) -> Access:
    """A read of pixels by rows and columns."""
    return Access(tensor.name, (axis_index("c"), axis_index("h") * columns + axis_index("w")))


def graph(blocks: int, rows: int, columns: int, *, maps: int = 0, behind: int = 0, flat: bool = False) -> Graph:
    """Two products, the second of rows and columns or of pixels, with maps between and behind."""
    builder = Builder("pair")
    tensor = first(builder, blocks, rows * columns)
    for _ in range(maps):
        tensor = builder.map("negative", tensor)
    m, h, w = axis_index("m"), axis_index("h"), axis_index("w")
    if flat:
        read, written, extents = Access(tensor.name, (axis_index("c"), h)), (m, h), {"h": blocks * rows * columns}
    else:
        read, written, extents = by_rows(tensor, columns), (m, h, w), {"h": blocks * rows, "w": columns}
    tensor = product(builder, read, builder.input("v", (CHANNELS, CHANNELS), "float32"), written, **extents)
    for _ in range(behind):
        tensor = builder.map("negative", tensor)
    return builder.graph([tensor.name])


def results(graph: Graph) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    inputs = {name: random.integers(-8, 9, graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    (found,) = evaluate(graph, inputs).values()
    return found


def check(before: Graph) -> Graph:
    """The graph with shared blocks, after comparing its results."""
    after = SHARED.run(before)
    verify(after, before)
    np.testing.assert_array_equal(results(after), results(before), strict=True)
    return after


@given(st.integers(2, 4), st.integers(1, 4), st.integers(2, 5), st.integers(0, 2), st.integers(0, 2), st.booleans())
def test_blocks_are_shared_through_maps_and_behind_the_product(
    blocks: int, rows: int, columns: int, maps: int, behind: int, flat: bool
) -> None:
    before = graph(blocks, rows, columns, maps=maps, behind=behind, flat=flat)
    after = check(before)
    between = [operator.write.tensor for operator in after.operators[: maps + 1]]
    assert all(after.tensor(name).shape == (CHANNELS, blocks, rows * columns) for name in between)
    assert all(index.is_axis() for operator in after.operators[: maps + 1] for index in operator.write.indices)
    assert after.tensor(after.outputs[0]).shape == before.tensor(before.outputs[0]).shape


def unlike(before: Graph) -> bool:
    return check(before) != before


def test_a_reader_whose_rows_do_not_fill_blocks_stays() -> None:
    builder = Builder("uneven")
    tensor = first(builder, 4, 9)
    written = (axis_index("m"), axis_index("h"), axis_index("w"))
    weights = builder.input("v", (CHANNELS, CHANNELS), "float32")
    result = product(builder, by_rows(tensor, 6), weights, written, h=6, w=6)
    assert not unlike(builder.graph([result.name]))


def test_tensors_with_two_readers_and_results_of_the_graph_stay() -> None:
    before = graph(3, 2, 4)
    between, result = (operator.write.tensor for operator in before.operators)
    assert unlike(before)
    assert SHARED.run(replace(before, outputs=(between,), operators=before.operators[:1])).tensor(between).shape == (3, 24)
    assert SHARED.run(replace(before, outputs=(result, between))) == replace(before, outputs=(result, between))
    second = replace(before.operators[1], name="again", write=Access("again", before.operators[1].write.indices))
    tensors = (*before.tensors, replace(before.tensor(result), name="again"))
    twice = replace(before, operators=(*before.operators, second), tensors=tensors, outputs=(result, "again"))
    assert SHARED.run(twice) == twice


@pytest.mark.parametrize("axis", ["h", "w"])
def test_a_map_that_computes_with_its_position_ends_the_blocks(axis: str) -> None:
    """Along blocks no axis may be split; along others it may stay."""
    before = graph(3, 2, 4, behind=1)
    last = before.operators[-1]
    names = dict(zip("mhw", (each.name for each in last.axes), strict=True))
    moved = replace(last, body=apply("add", Load(0), AxisValue(names[axis])))
    after = check(replace(before, operators=(*before.operators[:-1], moved)))
    assert after.operators[-1].axes == moved.axes if axis == "h" else len(after.operators[-1].axes) == 4


def test_maps_alone_behind_a_product_walk_its_blocks() -> None:
    builder = Builder("alone")
    sums = first(builder, 3, 8)
    assert not unlike(builder.graph([sums.name]))
    after = check(builder.graph([builder.map("negative", sums).name]))
    assert after.tensor(sums.name).shape == (CHANNELS, 3, 8)
    assert after.tensor(after.outputs[0]).shape == (CHANNELS, 24)


def test_small_blocks_are_left_to_their_writer() -> None:
    assert ShareBlocks().run(graph(3, 2, 4)) == graph(3, 2, 4)
    assert ShareBlocks().run(graph(3, 8, 8)) != graph(3, 8, 8)


def test_sums_whose_columns_are_not_the_last_dimension_end_elsewhere() -> None:
    """The result is t[7 m + n, 0, 0]: columns of micro tiles lie along the last dimension of what these store."""
    x, y = (np.random.default_rng(seed).standard_normal((7, 6)).astype(np.float32) for seed in (0, 1))
    found = tw.jit(lambda x, y: tw.reshape(x @ y.mT * 0.5, (-1, 1, 1)), threads=1)(x, y)
    np.testing.assert_allclose(found, (x @ y.T * 0.5).reshape(-1, 1, 1), rtol=1e-5, atol=1e-5)
