"""Maps behind a grouped convolution walk its groups; the oracle is the interpreter of the graph as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.axes import ShareGroups
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.regions.epilogues import epilogues

AVX512 = Machine.named("x86-64-v4")


def function(groups: int, *, shortcut: bool = False) -> Any:
    """A grouped convolution of one tap with a bias and a relu, and with the image added."""

    def layer(x: Any, w: Any, b: Any) -> Any:
        y = tw.conv2d(x, w, groups=groups) + b
        return tw.relu(y + x) if shortcut else tw.relu(y)

    return layer


def graph_of(groups: int, channels: int, taps: int = 1, *, shortcut: bool = False) -> Graph:
    shapes = ((2, groups * channels, 5, 6), (groups * channels, channels, taps, taps), (groups * channels, 1, 1))
    traced = tw.jit(function(groups, shortcut=shortcut)).lower(*map(tw.spec, shapes)).traced.graph
    return compiler.rewrite(traced, compiler.REWRITES)


@pytest.mark.parametrize("shortcut", [False, True])
def test_maps_walk_groups_and_results_keep_their_shapes(shortcut: bool) -> None:
    before = graph_of(3, 4, shortcut=shortcut)
    after = ShareGroups().run(before)
    verify(after, before)
    product, last = after.operators[0], after.operators[-1]
    assert after.tensor(product.write.tensor).shape[:3] == (2, 3, 4)
    assert {axis.extent for axis in last.axes} == {axis.extent for axis in product.axes if axis.name in product.write.axes()}
    random = np.random.default_rng(0)
    inputs = {name: random.integers(-8, 9, before.tensor(name).shape).astype(np.float32) for name in before.inputs}
    for name, expected in evaluate(before, inputs).items():
        np.testing.assert_array_equal(evaluate(after, inputs)[name], expected, strict=True)


@pytest.mark.parametrize(("groups", "channels"), [(1, 4), (4, 1)])
def test_one_group_and_groups_of_one_channel_stay(groups: int, channels: int) -> None:
    before = graph_of(groups, channels)
    assert ShareGroups().run(before) == before


@pytest.mark.parametrize("groups", [2, 3])
def test_micro_tiles_apply_bias_and_relu_of_groups(groups: int) -> None:
    plan = compiler.plan(graph_of(groups, 40), AVX512)
    (chain,) = (one.chain for one in plan.plans)
    assert [len(one.maps) for one in epilogues(chain)] == [1]


def test_grouped_layers_are_right() -> None:
    """Sums of long depths pass through the result, too."""

    def check() -> None:
        random = np.random.default_rng(1)
        for groups, channels in ((3, 5), (2, 700)):
            x, w, b = (
                random.standard_normal(shape).astype(np.float32)
                for shape in ((1, groups * channels, 3, 7), (groups * channels, channels, 1, 1), (groups * channels, 1, 1))
            )
            parts = zip(np.split(x, groups, 1), np.split(w[:, :, 0, 0], groups), strict=True)
            expected = np.concatenate([np.einsum("nchw,mc->nmhw", *pair) for pair in parts], 1) + b + x
            np.testing.assert_allclose(tw.jit(function(groups, shortcut=True))(x, w, b), np.maximum(expected, 0), 1e-4, 1e-3)

    in_child(check)
