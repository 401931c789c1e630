"""Chimera's convolution chains as one kernel: planned for every CPU where that is asked for, right, and named where it loses."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

import tilewright as tw
from tilewright.machine import targets
from tilewright.report.reasons import rejected_text
from tilewright.tune.chain_functions import conv_chain
from tilewright.tune.shapes import TABLE_V, ConvChainShape

CPUS = targets.names("cpu")
REDUCED = (
    ConvChainShape("3x3, 1x1", (6, 28, 28), channels=(20, 10), strides=(1, 1), kernels=(3, 1)),
    ConvChainShape("3x3 of stride 2, 1x1", (5, 56, 56), channels=(17, 12), strides=(2, 1), kernels=(3, 1)),
    ConvChainShape("3x3 of stride 4, 1x1", (4, 109, 109), channels=(18, 7), strides=(4, 1), kernels=(3, 1)),
    ConvChainShape("1x1, 3x3", (12, 28, 28), channels=(10, 20), strides=(1, 1), kernels=(1, 3)),
)


def planned(shape: ConvChainShape, target: str, fuse: bool | None, *, with_relu: bool) -> tw.Lowered:
    return tw.jit(conv_chain(shape, with_relu=with_relu), target=target, fuse=fuse).lower(tw.spec((1, *shape.image), "float32"))


@pytest.mark.parametrize(
    ("target", "shape"), [*zip(CPUS, cycle(TABLE_V), strict=False)], ids=lambda one: getattr(one, "name", one)
)
def test_every_cpu_has_one_kernel_where_it_is_forced(target: str, shape: ConvChainShape) -> None:
    assert len(planned(shape, target, True, with_relu=True).model_plan.plans) == 1


@pytest.mark.sweep
@pytest.mark.parametrize("with_relu", [False, True], ids=["as written", "with relu"])
@pytest.mark.parametrize("shape", TABLE_V, ids=lambda shape: shape.name)
@pytest.mark.parametrize("target", CPUS)
def test_every_chain_is_one_kernel(target: str, shape: ConvChainShape, with_relu: bool) -> None:
    assert len(planned(shape, target, True, with_relu=with_relu).model_plan.plans) == 1


@pytest.mark.parametrize("shape", REDUCED, ids=lambda shape: shape.name)
def test_one_kernel_is_right(shape: ConvChainShape) -> None:
    function = tw.jit(conv_chain(shape, with_relu=True), fuse=True)
    x = np.random.default_rng(1).standard_normal((1, *shape.image), dtype=np.float32)
    kernel = function.lower(x)
    assert len(kernel.model_plan.plans) == 1
    expected = function(x, interpret=True)
    np.testing.assert_allclose(kernel.compile()(x), expected, rtol=1e-4, atol=1e-4)


def test_the_loser_has_a_figure() -> None:
    model_plan = planned(TABLE_V[2], "cascadelake-6240", None, with_relu=True).model_plan
    assert len(model_plan.plans) > 1
    told = [rejected_text(lost) for plan in model_plan.plans for lost in plan.rejected]
    assert any(text.startswith("one kernel, conv by ") and "apart is faster" in text for text in told)
