"""Convolutions as cases: layers of models, drawn shapes, names, and what all contenders compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.errors import TilewrightError
from tilewright_bench.benchmarks import CONVOLUTIONS
from tilewright_bench.cases import conv_models, conv_sets
from tilewright_bench.cases.conv import ConvCase, convolved
from tilewright_bench.cases.conv_drawn import drawn, layer_lists
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape
from tilewright_bench.measurement.contender import Peer
from tilewright_bench.tilewright_contender import conv as contender

LAYERS = {
    **{"googlenet": 57, "inception_v2": 69, "resnet_18": 20, "resnet_50": 53},
    **{"resnet_152": 155, "squeezenet": 26, "vgg_16": 13},
}
SMALL = ("3x3_5-6_9_s2", "5x5_6-6_9_g6", "1x1_8-9_7", "3x1_4-6_9x7_d2_g2", "3_6-8_11_s2", "1x1_8-9_7_s2", "3x3_4-5_8_p0")


def all_shapes() -> set[ConvShape]:
    drawable = (shape for shapes in layer_lists().values() for shape in shapes)
    return {*drawable, *(shape for model in conv_models.MODELS for shape in conv_models.layers(model))}


def test_the_seven_models_have_the_convolutions_that_the_paper_counts() -> None:
    layers = {model: conv_models.layers(model) for model in conv_models.MODELS}
    assert {model: shapes.total() for model, shapes in layers.items()} == LAYERS
    assert sum(LAYERS.values()) == 393
    assert sum(count for shapes in layers.values() for shape, count in shapes.items() if shape.is_pointwise) == 219


def test_a_name_says_its_shape() -> None:
    assert all(named_shape(shape.name) == shape for shape in all_shapes())


@pytest.mark.parametrize("name", ["3x3", "3x3_4-4", "3x3_4-5_8_g2", "5x5_4-4_2_p0", "3x3_4-4_8x8x8", "3x3_4-4_0", "3x3_4-4_8_s0"])
def test_a_name_that_says_no_convolution_is_refused(name: str) -> None:
    with pytest.raises(TilewrightError, match="names no convolution"):
        named_shape(name)


def test_drawn_shapes_are_those_of_other_models() -> None:
    of_models = {shape for model in conv_models.MODELS for shape in conv_models.layers(model)}
    shapes = drawn(conv_sets.SEED)
    assert len(set(shapes)) == 120
    assert not of_models & set(shapes)
    assert any(shape.groups > 1 for shape in shapes)


def test_a_shape_is_measured_once() -> None:
    cases = conv_sets.cases([named_shape("3x3_64-64_56")], ["resnet_18", "resnet_50", "yardsticks"], 0)
    names = [case.name for case in cases]
    assert len(names) == len(set(names))
    assert names[0] == "3x3_64-64_56"


def test_the_reference_is_the_sum_over_taps_and_channels() -> None:
    shape = named_shape("2x3_4-6_5x7_s2x1_d1x2_g2_p1x0")
    case = ConvCase(shape, "t")
    expected = np.zeros(shape.result_shape)
    for filter_, row, column, channel, i, j in np.ndindex(6, *shape.output, 2, 2, 3):
        y, x = 2 * row + i - 1, column + 2 * j
        if 0 <= y < 5 and 0 <= x < 7:
            seen = float(case.image[0, filter_ // 3 * 2 + channel, y, x])
            expected[0, filter_, row, column] += float(case.filters[filter_, channel, i, j]) * seen
    assert np.allclose(convolved(shape, case.image, case.filters), expected, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("peer", CONVOLUTIONS.peers.values(), ids=lambda peer: peer.name)
def test_peers_compute_what_the_reference_says(peer: Peer[Any], name: str) -> None:
    if peer.missing():
        pytest.skip(f"{', '.join(peer.missing())} not installed")
    if peer.name == "torch.compile":
        pytest.skip("takes Inductor seconds; what it compiles is what is called eagerly beside it")
    check(peer, name)


@pytest.mark.parametrize("name", SMALL[:3])
def test_our_variants_compute_what_the_reference_says(name: str) -> None:
    check(CONVOLUTIONS.tilewright, name)


def test_every_algorithm_is_a_variant_once() -> None:
    contenders = list(contender.prepare_each(ConvCase(named_shape("3x3_3-4_8"), "t"), 1))
    algorithms = [made.note for made in contenders]
    assert contenders[0].name == "tilewright"
    assert {"im2col", "windows by columns", "filters in place", "Winograd F(2x2, 3x3)"} <= set(algorithms)


def check(peer: Peer[Any], name: str) -> None:
    case = ConvCase(named_shape(name), "t")
    for made in peer.prepare(case, 1):
        made.call()
        assert case.error(made.result()) < 1e-5, made.name
