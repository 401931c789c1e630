"""Forms of chains leave out numbers, and nothing else that loops depend on."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenate
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.types import Graph
from tilewright.plan.chains import canonical_form, make_chain
from tilewright.plan.whole_model.forms import Form, form_of


def form(graph: Graph) -> Form:
    return form_of(canonical_form(make_chain(graph, graph.operators)))


def filtered(channels: int, size: int = 14, stride: int = 1, function: str = "relu") -> Graph:
    builder = Builder("filtered")
    weights = builder.constant(np.ones((channels, 32, 3, 3), np.float32))
    window = window_of((size, size), (3, 3), where="Conv", pads=(0,) * 4, strides=(stride, stride))
    image = builder.input("x", (1, 32, size, size), "float32")
    return builder.graph((builder.map(function, builder.record(convolution, image, weights, window, 1, kind="conv")).name,))


def joined(*channels: int) -> Graph:
    builder = Builder("joined")
    parts = [builder.input(f"x{number}", (1, channel, 6, 6), "float32") for number, channel in enumerate(channels)]
    return builder.graph((builder.record(concatenate, parts, 1, kind="concat").name,))


def test_extents_are_numbers_of_a_form() -> None:
    few, many = form(filtered(32)), form(filtered(64))
    assert few.structure == many.structure
    assert few.distance(many) == pytest.approx(log(2))
    assert few.distance(few) == 0


def test_functions_and_shapes_of_operators_are_its_structure() -> None:
    assert form(filtered(32)).structure != form(filtered(32, function="exp")).structure
    assert form(filtered(32)).structure != form(joined(32, 32)).structure


def test_strides_are_numbers() -> None:
    plain, strided = form(filtered(32, size=9)), form(filtered(32, size=15, stride=2))
    assert plain.structure == strided.structure
    assert plain.distance(strided) == pytest.approx(2 * log(2)), "the results have as many points, the steps are two by two"


def test_concatenations_of_many_tensors_have_one_form() -> None:
    few, many = form(joined(16, 16, 16)), form(joined(16, 16, 16, 16))
    assert few.structure == many.structure
    assert few.distance(many) == pytest.approx(log(64 / 48))
