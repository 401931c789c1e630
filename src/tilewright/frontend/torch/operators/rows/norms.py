"""Norms of rows, of groups of channels, and of channels; halves are computed in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.frontend.torch.call import Call, Result
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.channels import scaled_channels
from tilewright.graph.builders.norms import group_norm, layer_norm, rms_norm
from tilewright.graph.builders.reductions import variance
from tilewright.graph.expressions.extents import Extent
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Tensor

Weights = tuple[Tensor | None, Tensor | None]


@lowers("aten.native_layer_norm.default")
def native_layer_norm(call: Call) -> tuple[Tensor | None, ...]:
    """The norm, and mean and inverse deviation of the rows where these are used."""
    x, axes = call.tensor("input"), _last(call)
    return _layer_norm(call), *_statistics(call, x, axes)


@lowers("aten.layer_norm.default")
def layer_norm_alone(call: Call) -> Tensor:
    """The norm."""
    return _layer_norm(call)


def _last(call: Call) -> tuple[int, ...]:
    """The dimensions that `normalized_shape` names."""
    rank = len(call.tensor("input").shape)
    return tuple(range(rank - len(call["normalized_shape"]), rank))


def _layer_norm(call: Call) -> Tensor:
    x, axes = call.tensor("input"), _last(call)
    given = [weight for weight in _weights(call) if weight is not None]
    if 0 in x.shape:
        return filled(call.builder, 0, x.shape, x.dtype)
    has_bias = call["bias"] is not None
    found = call.builder.record(layer_norm, [x, *given], axes, call["eps"], has_bias=has_bias, kind="norm")
    return call.cast(found, call.result.dtype)


def _weights(call: Call) -> Weights:
    return call.optional("weight"), call.optional("bias")


def _statistics(call: Call, x: Tensor, axes: Sequence[int]) -> tuple[Tensor | None, Tensor | None]:
    """Mean and inverse deviation along some dimensions, in the shapes and types of the results 1 and 2."""
    mean, inverse = call.results[1:3]
    if not (mean.is_used or inverse.is_used):
        return None, None
    if 0 in x.shape:
        return _no_statistics(call)
    wide = call.cast(x, wide_type(x.dtype))
    found = [None if not said.is_used else made for said, made in zip((mean, inverse), _moments(call, wide, axes), strict=True)]
    first, second = (
        None if one is None else call.cast(call.builder.reshape(one, said.shape), said.dtype)
        for one, said in zip(found, (mean, inverse), strict=True)
    )
    return first, second


def _no_statistics(call: Call) -> tuple[Tensor | None, Tensor | None]:
    """Results 1 and 2 that have no elements, where they are used."""
    first, second = (_of_no_elements(call, said) if said.is_used else None for said in call.results[1:3])
    return first, second


def _of_no_elements(call: Call, said: Result) -> Tensor:
    if 0 not in said.shape:
        raise call.refuse("statistics of no elements")
    return filled(call.builder, 0, said.shape, said.dtype)


def _moments(call: Call, wide: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    builder = call.builder
    spread = builder.record(variance, wide, tuple(axes), 0.0, True, root=False, kind="variance")
    inverse = apply("reciprocal", apply("sqrt", apply("add", Load(0), Literal(float(call["eps"])))))
    return builder.reduce("mean", wide, tuple(axes), keepdims=True), builder.body(inverse, spread, kind="inverse_deviation")


@lowers("aten._fused_rms_norm.default")
def fused_rms_norm(call: Call) -> tuple[Tensor, None]:
    """The norm; the inverse roots are not given."""
    return _rms_norm(call), None


@lowers("aten.rms_norm.default")
def rms_norm_alone(call: Call) -> Tensor:
    """The norm."""
    return _rms_norm(call)


def _rms_norm(call: Call) -> Tensor:
    x, weight = call.tensor("input"), call.optional("weight")
    if 0 in x.shape:
        return filled(call.builder, 0, x.shape, call.result.dtype)
    given = [] if weight is None else [weight]
    found = call.builder.record(rms_norm, [x, *given], _last(call), _epsilon(call, x.dtype), kind="norm")
    return call.cast(found, call.result.dtype)


def _epsilon(call: Call, dtype: str) -> float:
    """The distance from 1 to the next number of the type that is computed in, if it is left out."""
    return float(np.finfo(wide_type(dtype)).eps) if call["eps"] is None else float(call["eps"])


# Channels


@lowers("aten.native_group_norm.default")
def native_group_norm(call: Call) -> tuple[Tensor | None, ...]:
    """The norm of groups of channels, and mean and inverse deviation of every group where these are used."""
    x, groups = call.tensor("input"), call["group"]
    return _group_norm(call, x, groups, call["eps"]), *_group_statistics(call, x, groups)


@lowers("aten.group_norm.default")
def group_norm_alone(call: Call) -> Tensor:
    """The norm."""
    return _group_norm(call, call.tensor("input"), call["num_groups"], call["eps"])


def _group_norm(call: Call, x: Tensor, groups: int, eps: float) -> Tensor:
    if 0 in x.shape:
        return filled(call.builder, 0, x.shape, call.result.dtype)
    given = [weight for weight in _weights(call) if weight is not None]
    has_bias = call["bias"] is not None
    return call.cast(_grouped(call, x, given, groups, eps, has_bias=has_bias), call.result.dtype)


def _grouped(call: Call, x: Tensor, given: Sequence[Tensor], groups: int, eps: float, *, has_bias: bool) -> Tensor:
    """Pixels are laid out as they were before a reshape, so that no positions are divided."""
    builder = call.builder
    pixels = tuple(factor for factors in builder.factors(x)[2:] for factor in factors)
    images = builder.reshape(x, (*x.shape[:2], *pixels))
    found = builder.record(group_norm, [images, *given], groups, eps, has_bias=has_bias, kind="norm")
    return builder.reshape(found, x.shape)


def _group_statistics(call: Call, x: Tensor, groups: int) -> tuple[Tensor | None, Tensor | None]:
    if not any(result.is_used for result in call.results[1:]):
        return None, None
    channels = x.shape[1]
    if not isinstance(channels, int):
        raise call.refuse("the number of channels is not known")
    rows = call.builder.reshape(x, (x.shape[0], groups, channels // groups, *x.shape[2:]))
    return _statistics(call, rows, range(2, len(rows.shape)))


@lowers("aten._native_batch_norm_legit_no_training.default", "aten._batch_norm_no_update.default")
def batch_norm_by_statistics(call: Call) -> tuple[Tensor | None, ...]:
    """Channels by their running statistics."""
    return _by_running_statistics(call), *_no_statistics(call), *(None,) * (len(call.results) - 3)


@lowers("aten.native_batch_norm.default", "aten._native_batch_norm_legit.no_stats")
def native_batch_norm(call: Call) -> tuple[Tensor | None, ...]:
    """Channels by running statistics, or by their own where there are none or in training."""
    has_running = call.has("running_mean") and call["running_mean"] is not None
    if has_running and not call["training"]:
        return _by_running_statistics(call), *_no_statistics(call)
    if has_running:
        raise call.refuse("running statistics change in place")
    x = call.tensor("input")
    return _by_own_statistics(call, x), *_statistics(call, x, (0, *range(2, len(x.shape))))


@lowers("aten.batch_norm.default")
def batch_norm(call: Call) -> Tensor:
    """Channels by running statistics."""
    if call["training"] or call["running_mean"] is None:
        raise call.refuse("training")
    return _by_running_statistics(call)


@lowers("aten._native_batch_norm_legit_functional.default")
def functional_batch_norm(call: Call) -> tuple[Tensor | None, ...]:
    """Channels by running statistics, which stay, or by their own, which are mixed into them."""
    running = call.tensor("running_mean"), call.tensor("running_var")
    if not call["training"]:
        kept = (call.cast(one, said.dtype) for one, said in zip(running, call.results[3:], strict=True))
        return _by_running_statistics(call), *_no_statistics(call), *kept
    x = call.tensor("input")
    axes = (0, *range(2, len(x.shape)))
    return _by_own_statistics(call, x), *_statistics(call, x, axes), *_moved(call, x, axes, *running)


@lowers("aten._batch_norm_with_update_functional.default")
def updating_batch_norm(call: Call) -> tuple[Tensor | None, ...]:
    """Channels by their own statistics, which are mixed into the running ones; the fourth result has no elements."""
    x, running = call.tensor("input"), (call.tensor("running_mean"), call.tensor("running_var"))
    axes = (0, *range(2, len(x.shape)))
    reserve = _of_no_elements(call, call.results[3]) if call.results[3].is_used else None
    return _by_own_statistics(call, x), *_statistics(call, x, axes), reserve, *_moved(call, x, axes, *running)


def _by_running_statistics(call: Call) -> Tensor:
    x, (weight, bias) = call.tensor("input"), _weights(call)
    wide = "float64" if x.dtype == "float64" else "float32"
    mean, var = call.tensor("running_mean", wide), call.tensor("running_var", wide)
    scale, summand = (None if one is None else call.cast(one, wide) for one in (weight, bias))
    return call.cast(scaled_channels(call.builder, x, scale, summand, mean, var, call["eps"]), call.result.dtype)


def _by_own_statistics(call: Call, x: Tensor) -> Tensor:
    """One image of known channels: the norm of groups of one channel. Others: mean and deviation of each channel first."""
    weight, bias = _weights(call)
    channels = x.shape[1]
    if 0 in x.shape:
        raise call.refuse("no elements")
    if x.shape[0] == 1 and len(x.shape) > 2 and isinstance(channels, int):
        return _group_norm(call, x, channels, call["eps"])
    wide = call.cast(x, wide_type(x.dtype))
    mean, inverse = _moments(call, wide, (0, *range(2, len(x.shape))))
    scaled: Scalar = apply("multiply", apply("subtract", Load(0), Load(1)), Load(2))
    columns = [call.builder.reshape(one, _column(channels, x)) for one in (weight, bias) if one is not None]
    if weight is not None:
        scaled = apply("multiply", scaled, Load(3))
    if bias is not None:
        scaled = apply("add", scaled, Load(2 + len(columns)))
    return call.builder.body(scaled, wide, mean, inverse, *columns, dtype=call.result.dtype, kind="batch_norm")


def _column(channels: Extent, x: Tensor) -> tuple[Extent, ...]:
    return (channels, *(1,) * (len(x.shape) - 2))


def _moved(call: Call, x: Tensor, axes: Sequence[int], mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
    """Running statistics with those of this batch mixed in: its variance over one point less."""
    builder, momentum = call.builder, float(call["momentum"])
    wide = call.cast(x, wide_type(x.dtype))
    own = (
        builder.reduce("mean", wide, tuple(axes)),
        builder.record(variance, wide, tuple(axes), 1.0, False, root=False, kind="variance"),
    )
    mixed = apply("add", apply("multiply", Load(0), Literal(1.0 - momentum)), apply("multiply", Load(1), Literal(momentum)))
    first, second = (
        builder.body(mixed, old, new, dtype=said.dtype, kind="running")
        for old, new, said in zip((mean, var), own, call.results[-2:], strict=True)
    )
    return first, second


@lowers("aten._weight_norm_interface.default", "aten._weight_norm.default")
def weight_norm(call: Call) -> tuple[Tensor, Tensor] | Tensor:
    """`v * (g / |v|)`, with a norm for each index of the first or the last dimension, and the norms."""
    wide = wide_type(call.result.dtype)
    v, g = call.tensor("v", wide), call.tensor("g", wide)
    kept = call["dim"] % len(v.shape)
    axes = tuple(axis for axis in range(len(v.shape)) if axis != kept)
    if call["dim"] < 0 or 0 in v.shape:
        raise call.refuse("one norm of all elements, or no elements")
    norms = call.builder.map("sqrt", call.builder.reduce("sum", call.builder.map("square", v), axes, keepdims=True))
    scaled = apply("multiply", Load(0), apply("divide", Load(1), Load(2)))
    weight = call.builder.body(scaled, v, g, norms, dtype=call.result.dtype, kind="weight_norm")
    if len(call.results) == 1:
        return weight
    return weight, call.cast(call.builder.reshape(norms, call.results[1].shape), call.results[1].dtype)
