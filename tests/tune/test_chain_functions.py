from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from benchmarks.studies.parts.planning_side import TARGET, convolutions
from tilewright import compiler
from tilewright.machine import Machine
from tilewright.tune.chain_functions import conv_chain
from tilewright.tune.shapes import ConvChainShape, conv_chain_shape

SMALL = ConvChainShape("small", (3, 9, 10), channels=(5, 4), strides=(2, 1), kernels=(3, 3))


@pytest.mark.parametrize("name", ["C3", "C6", "C7"])
def test_a_convolution_chain_is_planned_like_a_model_with_its_weights(name: str) -> None:
    shape = conv_chain_shape(name)
    ours = tw.jit(conv_chain(shape, with_relu=True), target=TARGET).lower(tw.spec((1, *shape.image))).model_plan
    of_model = compiler.plan(convolutions(name), Machine.named(TARGET))
    assert [plan.price.seconds for plan in ours.plans] == [plan.price.seconds for plan in of_model.plans]


@pytest.mark.parametrize("with_relu", [False, True])
def test_a_convolution_chain_computes_both_convolutions(with_relu: bool) -> None:
    function = conv_chain(SMALL, with_relu=with_relu)
    image = np.random.default_rng(1).standard_normal((1, *SMALL.image)).astype(np.float32)
    once, again = tw.jit(function)(image), tw.jit(function, fuse=False)(image)
    assert once.shape == (1, 4, 5, 5)
    np.testing.assert_allclose(once, again, atol=1e-4)


def test_relu_is_between_the_convolutions() -> None:
    image = np.random.default_rng(1).standard_normal((1, *SMALL.image)).astype(np.float32)
    plain, with_relu = (tw.jit(conv_chain(SMALL, with_relu=relu))(image) for relu in (False, True))
    assert np.abs(plain - with_relu).max() > 0.1
    assert with_relu.min() < 0, "the last result is no relu's"
