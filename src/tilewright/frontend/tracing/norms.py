"""`layer_norm`, `group_norm` and `rms_norm`, as PyTorch names their arguments."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.tracing import functions as tw
from tilewright.frontend.tracing.dynamic_dimensions import whole, wholes
from tilewright.frontend.tracing.location import located_call, user_location
from tilewright.frontend.tracing.promotion import float_type
from tilewright.frontend.tracing.recording import array_of, in_one_type, is_number
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders import norms as norm_operator
from tilewright.graph.shapes import normalize_axes, shape_text


def layer_norm(
    x: Any, normalized_shape: Any = None, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, axis: Any = None
) -> Any:
    """`(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimensions, whose extents `normalized_shape` repeats.

    Instead, `axis` may name one dimension or several (default: the last). `weight` and `bias` have the extents of these
    dimensions; None leaves them out. The variance is that of the whole row (divided by n), taken in a second pass; for the error
    see `tilewright.graph.builders.norms`. Source: PyTorch 2.13, torch.nn.functional.layer_norm. Raises `ShapeError`, and
    `DTypeError` for an eps that is no number.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0], [-2.0, 2.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """
    axes = _axes("layer_norm", x, normalized_shape, axis, eps)
    if weight is None and bias is not None and any(isinstance(operand, Traced) for operand in (x, bias)):
        _check_extents("layer_norm", [x, bias], axes)
        shape = wholes(array_of(x).shape)
        aligned = tw.reshape(bias, tuple(extent if d in axes else 1 for d, extent in enumerate(shape)))
        return layer_norm(x, None, None, None, eps, axis=axes) + aligned
    return _normed(norm_operator.layer_norm, (x, weight, bias), axes, eps, kind="layer_norm", has_bias=bias is not None)


def group_norm(x: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`(x - mean) / sqrt(variance + eps) * weight + bias` over groups of channels, dimension 1, and all dimensions behind.

    `weight` and `bias` have an element for every channel; None leaves them out. For the error see
    `tilewright.graph.builders.norms`. Source: PyTorch 2.13, torch.nn.functional.group_norm. Raises `ShapeError` where the groups
    do not divide the channels, and `DTypeError` for an eps that is no number.

    >>> import numpy as np
    >>> group_norm(np.array([[1.0, 3.0, -2.0, 2.0]]), 2, eps=0.0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    _check_eps("group_norm", eps)
    operands, groups = [operand for operand in (x, weight, bias) if operand is not None], whole(num_groups)
    first, *others = (wholes(array_of(operand).shape) for operand in operands)
    located_call(norm_operator.check_groups, first, others, groups)
    if not any(isinstance(operand, Traced) for operand in operands):
        return norm_operator.group_norm_reference(np.asanyarray(x), groups, eps, weight, bias)
    recorder, tensors = in_one_type(operands, float_type, "group_norm")
    options = {"has_bias": bias is not None}
    return Traced(recorder, recorder.record(norm_operator.group_norm, tensors, groups, eps, kind="group_norm", **options))


def rms_norm(x: Any, normalized_shape: Any = None, weight: Any = None, eps: float | None = None, *, axis: Any = None) -> Any:
    """`x / sqrt(mean(x^2) + eps) * weight` over the last dimensions, whose extents `normalized_shape` repeats, or over `axis`.

    `eps` of None is the distance from 1 to the next number of x's type. Source: PyTorch 2.13, torch.nn.functional.rms_norm.
    Raises `ShapeError`, and `DTypeError` for an eps that is no number, or None where x holds integers or truth values.

    >>> import numpy as np
    >>> rms_norm(np.array([[3.0, -3.0]]), 2, weight=np.array([1.0, 2.0]), eps=0.0).tolist()
    [[1.0, -2.0]]
    """
    eps = _usual_eps(x) if eps is None else eps
    axes = _axes("rms_norm", x, normalized_shape, axis, eps)
    return _normed(norm_operator.rms_norm, (x, weight, None), axes, eps, kind="rms_norm")


def _normed(build: Any, given: tuple[Any, Any, Any], axes: tuple[int, ...], eps: Any, *, kind: str, **options: Any) -> Any:
    """The norm of x with its weight and bias: recorded, or of plain arrays by its reference implementation."""
    operands = [operand for operand in given if operand is not None]
    _check_extents(kind, operands, axes)
    if not any(isinstance(operand, Traced) for operand in operands):
        x, weight, bias = given
        return norm_operator.norm_reference(np.asanyarray(x), axes, eps, weight, bias, centred=kind == "layer_norm")
    recorder, tensors = in_one_type(operands, float_type, kind)
    return Traced(recorder, recorder.record(build, tensors, axes, eps, kind=kind, **options))


def _check_extents(kind: str, operands: list[Any], axes: tuple[int, ...]) -> None:
    x, *parameters = (wholes(array_of(operand).shape) for operand in operands)
    located_call(norm_operator.check_extents, kind, x, parameters, axes)


def _usual_eps(x: Any) -> float:
    """The distance from 1 to the next number. Raises `DTypeError` where there is none."""
    dtype = array_of(x).dtype
    if dtype.kind in "iub":
        hint = "convert them with astype(numpy.float32), or give eps"
        raise DTypeError(f"rms_norm of {dtype} elements", where=user_location(), why="their type has no eps", hint=hint)
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def _axes(kind: str, x: Any, normalized_shape: Any, axis: Any, eps: Any) -> tuple[int, ...]:
    """The dimensions to go over. Raises `ShapeError` where `normalized_shape` is not what x ends with."""
    _check_eps(kind, eps)
    shape = wholes(array_of(x).shape)
    if normalized_shape is None:
        chosen = -1 if axis is None else wholes(axis) if isinstance(axis, tuple | list) else whole(axis)
        return normalize_axes(chosen, len(shape), user_location())
    wanted = wholes(normalized_shape if isinstance(normalized_shape, tuple | list) else (normalized_shape,))
    if axis is not None or not wanted or shape[-len(wanted) :] != wanted:
        why = "axis is given, too" if axis is not None else f"normalized_shape is {shape_text(wanted)}"
        hint = "normalized_shape repeats the last extents of x; axis names dimensions: give one of them"
        raise ShapeError(f"{kind} of an array of shape {shape_text(shape)}", where=user_location(), why=why, hint=hint)
    return tuple(range(len(shape) - len(wanted), len(shape)))


def _check_eps(kind: str, eps: Any) -> None:
    if not is_number(eps):
        raise DTypeError(f"{kind} with eps={eps!r}", where=user_location(), hint="eps is a number, and static")
