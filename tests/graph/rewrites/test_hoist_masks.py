"""What masks let through, apart from the mask."""

from __future__ import annotations

import numpy as np

from tests.support.masked_chains import CAUSAL
from tests.support.operators import mapping, softmax
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.masks import HoistMasks
from tilewright.graph.types import Graph, Tensor
from tilewright.graph.verifier import verify

EXTENTS = {"b": 2, "m": 4, "l": 5}
SUM = apply("add", apply("multiply", Load(0), Literal(0.5)), Load(1))


def masked(body: Scalar, *, is_read: bool = True) -> Graph:
    """A softmax of a map of x and y."""
    mask = mapping("mask", body, ["x:bml", "y:ml"], "t:bml", EXTENTS)
    operators = (mask, softmax("rows", "t:bml", "z:bml", "l", EXTENTS)) if is_read else (mask,)
    shape = tuple(EXTENTS.values())
    tensors = (Tensor("x", shape), Tensor("y", shape[1:]), Tensor("t", shape), *([Tensor("z", shape)] if is_read else []))
    graph = Graph("masked", tensors, operators, ("x", "y"), ("z" if is_read else "t",))
    verify(graph)
    return graph


def test_a_map_and_a_mask() -> None:
    before = masked(apply("where", CAUSAL, SUM, Literal(float("-inf"))))
    after = HoistMasks().run(before)
    verify(after)
    assert [operator.body for operator in after.operators[:2]] == [SUM, apply("where", CAUSAL, Load(0), Literal(float("-inf")))]
    generator = np.random.default_rng(0)
    inputs = {name: generator.standard_normal(before.tensor(name).shape).astype(np.float32) for name in "xy"}
    np.testing.assert_array_equal(evaluate(after, inputs)["z"], evaluate(before, inputs)["z"])


def test_other_maps_stay_whole() -> None:
    fill = Literal(float("-inf"))
    by_data = apply("where", apply("less", Load(0), Load(1)), SUM, fill)
    for graph in (
        masked(by_data),
        masked(apply("where", CAUSAL, Load(0), fill)),
        masked(apply("where", CAUSAL, SUM, Load(0))),
        masked(apply("where", CAUSAL, SUM, fill), is_read=False),
    ):
        assert HoistMasks().run(graph) == graph
