"""Elementwise ATen operators against eager: special values, integers that wrap, numbers beyond a type, short floats, extents."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tests.support.torch.tracing import arrays_of, eager_reasons, evaluated, recorded, traced

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

NAN, INF = math.nan, math.inf
SPECIAL = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, 7.0, 1e-38, 1e4, -1e4, 88.0)
INTEGERS = (0, 1, 2, 3, 7, 8, 31, 63, 100, 127, -1, -2, -128, 2**31 - 1, -(2**31), 2**62 + 1)


def differences(functions, *tensors, mode="fake"):
    """The functions whose results are not eager's in type, shape or value; all are recorded."""
    module = traced(lambda *given: tuple(function(*given) for function in functions.values()), *tensors, mode=mode)
    recording = recorded(module)
    assert not eager_reasons(recording, module)
    found = evaluated(recording, module, tensors)
    return [name for (name, function), one in zip(functions.items(), found, strict=True) if not _agrees(one, function(*tensors))]


def _agrees(found, expected):
    if found.dtype != arrays_of(expected).dtype or found.shape != tuple(expected.shape):
        return False
    if not expected.is_floating_point():
        return bool((torch.from_numpy(found) == expected).all())
    pair = (torch.from_numpy(found.astype("float64")), expected.double())
    tolerance = torch.finfo(expected.dtype).eps * 8
    return torch.allclose(*pair, rtol=tolerance, atol=tolerance, equal_nan=True)


def named(*functions):
    return {function.__name__: function for function in functions}


def pairs(values, dtype):
    x = torch.tensor(values).to(dtype)
    return x.repeat_interleave(len(x)), x.repeat(len(x))


UNARY = named(
    *(torch.sign, torch.sgn, torch.frac, torch.round, torch.trunc, torch.rsqrt, torch.logit, torch.sinc, torch.angle),
    *(torch.nan_to_num, torch.isnan, torch.isinf, torch.isfinite, torch.isposinf, torch.isneginf, torch.logical_not),
    *(F.relu6, F.hardsigmoid, F.hardswish, F.mish, F.softplus, F.logsigmoid, F.elu, F.selu, F.celu, F.leaky_relu),
    *(F.hardshrink, F.softshrink, F.silu, torch.lgamma, torch.erfinv, torch.special.entr),
)
BINARY = named(
    *(torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide, torch.pow, torch.maximum, torch.minimum),
    *(torch.fmax, torch.fmin, torch.heaviside, torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge),
    *(torch.atan2, torch.hypot, torch.logaddexp, torch.logaddexp2, torch.xlogy),
) | {"truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "alpha": lambda x, y: torch.add(x, y, alpha=0.3)}
OF_INTEGERS = named(
    *(torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.lt, torch.eq, torch.bitwise_and, torch.bitwise_xor),
    *(torch.bitwise_left_shift, torch.bitwise_right_shift, torch.pow, torch.logical_and),
)


@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.rest), torch.bfloat16])
def test_special_values(dtype):
    assert not differences(UNARY, torch.tensor(SPECIAL).to(dtype))
    assert not differences(BINARY, *pairs(SPECIAL, dtype))


@pytest.mark.parametrize("dtype", [torch.int64, pytest.param(torch.int32, marks=pytest.mark.rest), torch.uint8])
def test_integers_wrap(dtype):
    assert not differences(OF_INTEGERS, *pairs(INTEGERS, dtype))


def test_numbers_that_a_type_does_not_hold_wrap_or_are_refused():
    x = torch.tensor([1, 44, 200, 255], dtype=torch.uint8)
    wraps = {"less": lambda x: x < 300, "negative": lambda x: x < -1, "sum": lambda x: x + 300, "real": lambda x: x * 1.5}
    assert not differences(wraps, x)
    beyond = {"product": lambda x: x * 1e39, "quotient": lambda x: x / 1e39, "less": lambda x: x < 1e39}
    assert not differences(beyond, torch.tensor([0.0, 1.0, INF]))
    big = torch.tensor([2**53, 2**53 + 1])
    assert not differences({"equal": lambda x: x == 2**53 + 1, "product": lambda x: x * (2**53 + 1)}, big)
    assert not differences({"filled": lambda x: x.masked_fill(x > 2**53, torch.iinfo(torch.int64).min)}, big)


def test_integers_are_divided_by_known_numbers_alone():
    x = torch.tensor([-7, -1, 0, 5, 2**62 + 1])
    known = {
        "floor": lambda x: x // -2,
        "rest": lambda x: x % -3,
        "fmod": lambda x: torch.fmod(x, 4),
        "whole": lambda x: torch.div(x, 2, rounding_mode="trunc"),
    }
    assert not differences(known, x)
    recording = recorded(traced(lambda x, y: x // y, x, x))
    assert any("where torch raises an error" in reason for reason in recording.refused.values())


def test_powers_of_one_half_have_eagers_signs_and_infinities():
    functions = {str(exponent): lambda x, e=exponent: x**e for exponent in (0.5, -0.5, 1.5, -1.5)}
    for dtype in (torch.float32, torch.float16):
        x = torch.tensor((NAN, INF, -INF, 0.0, -0.0, -1.0, 4.0)).to(dtype)
        assert not differences(functions | {"sign": lambda x: 1 / x**0.5}, x)


def test_steps_of_short_floats_are_rounded_where_eager_rounds_them():
    x, y = (torch.randn(4000, generator=torch.Generator().manual_seed(seed)).bfloat16() for seed in (1, 2))
    exact = {
        "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
        "whole": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        "number": lambda x, y: torch.div(x, 0.3, rounding_mode="floor"),
        "scaled": lambda x, y: torch.sub(x, y, alpha=0.3),
        "tenth": lambda x, y: x * 0.1,
        "compared": lambda x, y: x < 0.1,
        "quotient": lambda x, y: torch.addcdiv(x, x, y, value=0.3),
        "logit": lambda x, y: torch.logit(x.abs().clamp(max=1)),
    }
    module = traced(lambda x, y: tuple(one(x, y) for one in exact.values()), x, y)
    recording = recorded(module)
    found = evaluated(recording, module, (x, y))
    different = [
        name
        for (name, function), one in zip(exact.items(), found, strict=True)
        if not torch.equal(torch.from_numpy(one.astype("float32")), function(x, y).float())
    ]
    assert not different


def test_types_are_promoted_as_torch_promotes():
    x, n, b = torch.randn(3), torch.tensor([1, 2, 2**24 + 1]), torch.tensor([True, False, True])
    mixed = {
        "sum": lambda x, n, b: n + x,
        "compared": lambda x, n, b: n < 16777216.5,
        "chosen": lambda x, n, b: torch.where(b, n, x),
        "truths": lambda x, n, b: b < True,
        "clamped": lambda x, n, b: n.clamp(min=1.5),
        "number": lambda x, n, b: 2 ** n.float(),
        "double": lambda x, n, b: x.double() * n,
    }
    assert not differences(mixed, x, n, b)


def test_no_elements_no_dimensions_and_extents_at_run_time():
    functions = {"sum": lambda x: x * x.shape[0] + 1, "rounded": lambda x: x.round(decimals=1)}
    assert not differences(functions | {"gate": F.glu}, torch.randn(0, 4))
    assert not differences({"sum": lambda x: x.sigmoid() - 2}, torch.tensor(0.3))
    assert not differences(functions, torch.randn(5, 6), mode="symbolic")


def test_derivatives_that_torch_func_takes():
    aten = torch.ops.aten
    functions = {"tanh": aten.tanh_backward, "sigmoid": aten.sigmoid_backward}
    functions["threshold"] = lambda x, y: aten.threshold_backward(x, y, 0.2)
    assert not differences(functions, torch.randn(5, 6), torch.tensor([NAN, 0.2, 0.3, 0.1, INF, -1]))
