"""Every algorithm computes convolutions of every layout: the oracle is the interpreter of the operator as it is written."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.algorithms import computed_by, problems
from tests.support.convolutions import Case, cases
from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import Layouts, convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.plan.algorithms.definition import applicable
from tilewright.plan.algorithms.padded_image import convolution_of
from tilewright.plan.algorithms.product_roles import points
from tilewright.precision import Precision


def laid_out(case: Case, layouts: Layouts) -> Graph:
    """The convolution of a case, of tensors whose dimensions have another order."""
    begins, ends = zip(*case.pads, strict=True)
    window = window_of(
        case.x[2:], case.w[2:], where="Conv", pads=(*begins, *ends), strides=case.strides, dilations=case.dilations
    )
    builder = Builder("laid_out")
    pairs = ((case.x, layouts.image), (case.w, layouts.filters))
    shapes = [tuple(shape[places.index(d)] for d in range(len(shape))) for shape, places in pairs]
    x, w = builder.input("x", shapes[0], "float32"), builder.input("w", shapes[1], "float32")
    return builder.graph((builder.record(convolution, x, w, window, case.groups, layouts, kind="conv").name,))


@settings(max_examples=150)
@given(data=st.data(), case=cases())
def test_every_algorithm_takes_every_layout(data: st.DataObject, case: Case) -> None:
    places = range(len(case.x))
    layouts = Layouts(*(tuple(data.draw(st.permutations(places))) for _ in range(3)))
    graph = laid_out(case, layouts)
    random = np.random.default_rng(0)
    inputs = {name: random.integers(-8, 9, graph.tensor(name).shape).astype(np.float32) for name in graph.inputs}
    (wanted,) = evaluate(graph, inputs).values()
    for algorithm in applicable(*problems(graph), Precision.FAST):
        expanded = computed_by(graph, algorithm.name)
        for by_it in (expanded, compiler._simplified(expanded, frozenset((*graph.inputs, *graph.outputs)))):
            verify(by_it)
            (found,) = evaluate(by_it, inputs).values()
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3, err_msg=algorithm.name)


@given(data=st.data(), case=cases())
def test_windows_of_every_layout(data: st.DataObject, case: Case) -> None:
    """Operators of one window and no padding are products of matrices, which have none."""
    layouts = Layouts(*(tuple(data.draw(st.permutations(range(len(case.x))))) for _ in range(3)))
    form = convolution_of(*problems(laid_out(case, layouts)))
    if form is None:
        assert len(case.strides) == 1
        assert case.w[2] == 1
        return
    assert (points(form.roles.group), points(form.summed_channels)) == (case.groups, case.w[1])
    assert [(slide.stride, points((slide.tap,)) if slide.tap else 1) for slide in form.slides] == list(
        zip(case.strides, case.w[2:], strict=True)
    )
