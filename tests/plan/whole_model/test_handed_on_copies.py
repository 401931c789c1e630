"""A copy between two products belongs to the one where it is cheaper: padded images to the filters that read them."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilewright as tw
from tests.codegen.test_convolution_algorithms import wanted
from tests.codegen.test_convolutions import EPS, Floats, normal, run
from tests.support.algorithms import forced
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.model.memory import pages
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model.division import _Dividing

AVX2 = Machine.named("x86-64-v3")


def layers(shape: tuple[int, ...], first: Floats, second: Floats, groups: int) -> Graph:
    """Filters of one tap, then 3x3 filters by two with padding and a bias, each with a relu; channels lie last."""
    bias = np.linspace(-1, 1, second.shape[0], dtype=np.float32)

    def function(x: Any) -> Any:
        y = tw.relu(tw.conv2d(x, first, layout="NHWC"))
        return tw.relu(tw.conv2d(y, second, stride=2, padding=1, groups=groups, layout="NHWC") + bias)

    return tw.jit(function).lower(tw.spec(shape)).traced.graph


def planned(size: int, channels: int = 96) -> ModelPlan:
    """The plan of such layers of a square image, for an AVX2 machine."""
    graph = layers((1, size, size, 16), normal(channels, 16, 1, 1), normal(channels, channels // 2, 3, 3), 2)
    with forced("pixel rows"):
        return compiler.plan(graph, AVX2)


def chain_of_pad(plan: ModelPlan) -> tuple[int, int]:
    """How many products stand before and behind the pad in its chain."""
    (chain,) = (one.chain.operators for one in plan.plans if any(operator.name == "pad" for operator in one.chain.operators))
    place = next(number for number, operator in enumerate(chain) if operator.name == "pad")
    products = [operator.is_contraction() for operator in chain]
    return sum(products[:place]), sum(products[place:])


def test_pads_of_images_that_no_cache_holds_go_over_to_their_readers() -> None:
    plan = planned(90, 192)
    with patch.object(_Dividing, "_handed_on", lambda *_: None):
        without = planned(90, 192)
    assert chain_of_pad(plan) == (0, 1)
    assert plan.predicted_seconds <= without.predicted_seconds


def test_pads_of_images_that_a_cache_holds_stay_where_images_are_made() -> None:
    assert chain_of_pad(planned(28)) == (1, 0)


def check(x: Floats, first: Floats, second: Floats, groups: int) -> None:
    """Plans in which pads are handed on, and their results."""
    with patch.object(pages, "SHARE_HELD", 0.0), forced("pixel rows"):
        found = run(layers(x.shape, first, second, groups), [x])
    between = np.maximum(np.einsum("nhwc,fc->nfhw", x.astype(np.float64), first[:, :, 0, 0].astype(np.float64)), 0)
    exact, size = wanted(between, second, {"pads": (1, 1, 1, 1), "strides": (2, 2), "group": groups})
    tolerance = (4 + second[0].size + first[0].size) * EPS * (size + 1)
    assert np.all(np.abs(found.transpose(0, 3, 1, 2) - exact) <= tolerance)


@pytest.mark.parametrize(("size", "channels", "groups"), [((29, 37), 60, 2), ((17, 70), 42, 3)])
def test_ragged_layers_are_right(size: tuple[int, int], channels: int, groups: int) -> None:
    first, second = normal(channels, 5, 1, 1), normal(channels, channels // groups, 3, 3)
    in_child(check, normal(1, *size, 5), first, second, groups)
