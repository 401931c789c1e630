"""The functions that trace: array-API names where one exists. On plain arrays they compute NumPy's meaning at once.

This module is the `__array_namespace__` of traced values and is re-exported by `tilewright`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend import tracing_types
from tilewright.frontend.tracing_hints import instead_of
from tilewright.frontend.tracing_integers import whole, wholes
from tilewright.frontend.tracing_location import UnsupportedAttribute, located, unsupported, user_location
from tilewright.frontend.tracing_map import apply_map, is_number, numeric, record_map, recorder_of, tensor_of
from tilewright.frontend.tracing_types import arange as arange
from tilewright.frontend.tracing_value import Traced
from tilewright.graph.operators import einsum as einsum_operator
from tilewright.graph.operators import elementwise as map_operator
from tilewright.graph.operators import matmul as matmul_operator
from tilewright.graph.operators import reduce as reduce_operator
from tilewright.graph.operators import reshape as reshape_operator
from tilewright.graph.operators import slicing as slicing_operator
from tilewright.graph.operators import softmax as softmax_operator
from tilewright.graph.operators import transpose as transpose_operator
from tilewright.graph.scalar import Literal, Load, Scalar, apply
from tilewright.graph.shapes import broadcast_shapes, normalize_axes, normalize_axis, shape_text
from tilewright.graph.types import Extent

F = TypeVar("F", bound=Callable[..., Any])
float32 = np.dtype("float32")
float64 = np.dtype("float64")
bool_ = np.dtype("bool")
newaxis = None
FUNCTION_NAMES: list[str] = []
"""Every function here, in order of definition."""


def _traceable(meaning: Callable[..., Any] | str) -> Callable[[F], F]:
    """Register a recording function; without traced arguments, `meaning` (NumPy's function, by name) is called in its place."""

    def decorate(record: F) -> F:
        name = record.__name__
        plain = getattr(np, meaning) if isinstance(meaning, str) else meaning

        @functools.wraps(record)
        def function(*args: Any, **options: Any) -> Any:
            return record(*args, **options) if _has_traced((*args, *options.values())) else plain(*args, **options)

        FUNCTION_NAMES.append(name)
        return cast(F, function)

    return decorate


def _has_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(v, Traced) or (isinstance(v, list | tuple) and _has_traced(v)) for v in values)


def _record(build: Callable[..., Any], operands: Sequence[Any], *arguments: Any, kind: str, **options: Any) -> Any:
    recorder = recorder_of(operands)
    tensors = [tensor_of(recorder, numeric(operand)) for operand in operands]
    return Traced(recorder, recorder.record(build, *tensors, *arguments, kind=kind, **options))


def _plain(function: str) -> Callable[..., Any]:
    return map_operator.numpy_meaning(function)


# Contractions


def _numpy_einsum(subscripts: str, *operands: Any, optimize: Any = True) -> Any:
    return np.einsum(subscripts, *operands, optimize=optimize)


@_traceable(_numpy_einsum)
def einsum(subscripts: str, *operands: Any, optimize: Any = None) -> Any:
    """Sums of products, in NumPy's notation; more than two operands are multiplied from left to right (`optimize` is ignored).

    Raises `ShapeError` for extents that differ and `UnsupportedOperation` for an index repeated inside one operand.

    >>> import numpy as np
    >>> einsum("ij,jk->ik", np.eye(2), np.ones((2, 3))).shape
    (2, 3)
    """
    if not isinstance(subscripts, str):
        raise unsupported("einsum without a string of subscripts", FUNCTION_NAMES, "operands and indices are interleaved")
    recorder = recorder_of(operands)
    first, *others = [tensor_of(recorder, numeric(operand)) for operand in operands]
    steps = einsum_operator.pairwise(_subscripts(subscripts, [first, *others]))
    tensors = [first, *others[:1]]
    result = recorder.record(einsum_operator.einsum, steps[0], tensors, kind="einsum")
    for step, other in zip(steps[1:], others[1:], strict=True):
        result = recorder.record(einsum_operator.einsum, step, [result, other], kind="einsum")
    return Traced(recorder, result)


def _subscripts(subscripts: str, tensors: Sequence[Any]) -> einsum_operator.Subscripts:
    try:
        return einsum_operator.parse(subscripts, [len(tensor.shape) for tensor in tensors])
    except (ShapeError, UnsupportedOperation) as error:
        raise located(error) from error.__cause__


@_traceable("matmul")
def matmul(left: Any, right: Any) -> Any:
    """`left (..., m, k) @ right (..., k, n)`; batches broadcast, 1-D operands are a row or a column.

    >>> import numpy as np
    >>> matmul(np.ones((5, 2, 3)), np.ones(3)).shape
    (5, 2)
    """
    return _record(matmul_operator.matmul, (left, right), kind="matmul")


# Row operators and reductions


@_traceable(softmax_operator.numpy_meaning)
def softmax(x: Any, axis: int = -1) -> Any:
    """`exp(x - max) / sum(exp(x - max))` along `axis`, any shape. A row of -inf alone gives NaN.

    >>> import numpy as np
    >>> softmax(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    return _record(softmax_operator.softmax, (x,), whole(axis), kind="softmax")


@_traceable(partial(softmax_operator.numpy_meaning, safe=True))
def safe_softmax(x: Any, axis: int = -1) -> Any:
    """The softmax along `axis`, any shape, but 0 for a row of -inf alone: what attention makes of queries without keys.

    PyTorch's `_safe_softmax` (since 2.5), which its scaled_dot_product_attention is made of.

    >>> import numpy as np
    >>> safe_softmax(np.array([[0.0, 0.0], [-np.inf, -np.inf]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    return _record(softmax_operator.softmax, (x,), whole(axis), kind="softmax", safe=True)


def _reduce(function: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Kept dimensions are an index change behind the reduction, which folds into whoever reads the result."""
    recorder = recorder_of((x,))
    tensor = tensor_of(recorder, numeric(x))
    chosen = wholes(axis) if isinstance(axis, tuple | list) else None if axis is None else whole(axis)
    reduced = recorder.record(reduce_operator.reduce, function, tensor, axis=chosen, kind=function)
    result = Traced(recorder, reduced)
    if not keepdims:
        return result
    dropped = normalize_axes(chosen, len(tensor.shape))
    return reshape(result, tuple(1 if d in dropped else extent for d, extent in enumerate(tensor.shape)))


@_traceable("sum")
def sum(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The sum over `axis` (an integer, a tuple; None: all)."""
    return _reduce("sum", x, axis, keepdims)


@_traceable("prod")
def prod(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The product over `axis`."""
    return _reduce("prod", x, axis, keepdims)


@_traceable("max")
def max(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest element over `axis`; NaN if there is one."""
    return _reduce("max", x, axis, keepdims)


@_traceable("min")
def min(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The smallest element over `axis`; NaN if there is one."""
    return _reduce("min", x, axis, keepdims)


@_traceable("mean")
def mean(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The arithmetic mean over `axis`."""
    return _reduce("mean", x, axis, keepdims)


# Elementwise functions of one operand


def _unary(name: str, formula: str, meaning: Callable[..., Any] | str = "") -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return apply_map(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, element by element; the shape stays."
    return _traceable(meaning or name)(function)


exp = _unary("exp", "The exponential function")
log = _unary("log", "The natural logarithm, relative error below 1e-6; -inf for 0, NaN below")
tanh = _unary("tanh", "The hyperbolic tangent, relative error below 1e-6")
erf = _unary("erf", "The error function, relative error below 1e-6", _plain("erf"))
sqrt = _unary("sqrt", "The square root; NaN for negative numbers")
abs = _unary("abs", "The absolute value")
negative = _unary("negative", "-x")
positive = _unary("positive", "+x")
square = _unary("square", "x * x")
reciprocal = _unary("reciprocal", "1 / x", _plain("reciprocal"))
floor = _unary("floor", "The largest integer <= x")
relu = _unary("relu", "max(x, 0)", _plain("relu"))
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)), relative error below 1e-6, in the left tail, too", _plain("sigmoid"))
silu = _unary("silu", "x / (1 + exp(-x)), relative error below 1e-6, in the left tail, too; the limit 0 at -inf", _plain("silu"))
logical_not = _unary("logical_not", "Whether x is false")


def _numpy_gelu(x: Any, approximate: str = "none") -> Any:
    return _plain(_form_of_gelu(approximate))(x)


@_traceable(_numpy_gelu)
def gelu(x: Any, approximate: str = "none") -> Any:
    """The Gaussian error linear unit, element by element; relative error below 1e-6, in the left tail, too; the limit 0 at -inf.

    `approximate="none"` is x (1 + erf(x / sqrt(2))) / 2, "tanh" is x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 (Hendrycks
    and Gimpel, "Gaussian Error Linear Units", 2016). Raises `UnsupportedOperation` for other forms.

    >>> import numpy as np
    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4).tolist(), gelu(np.array([1.0]), approximate="tanh").round(4).tolist()
    ([-0.1587, 0.0, 0.8413], [0.8412])
    """
    return apply_map(_form_of_gelu(approximate), x)


def _form_of_gelu(approximate: str) -> str:
    forms = {"none": "gelu", "tanh": "gelu_tanh"}
    if approximate not in forms:
        raise unsupported(f"gelu with approximate={approximate!r}", (), 'choose from "none" and "tanh"')
    return forms[approximate]


# Elementwise functions of two operands, with broadcasting


def _binary(name: str, formula: str) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        return apply_map(name, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, element by element with broadcasting; numbers take the type of the arrays."
    return _traceable(name)(function)


add = _binary("add", "x + y")
subtract = _binary("subtract", "x - y")
multiply = _binary("multiply", "x * y")
divide = _binary("divide", "x / y")
maximum = _binary("maximum", "The larger of x and y; NaN if one of them is")
minimum = _binary("minimum", "The smaller of x and y; NaN if one of them is")
less = _binary("less", "Whether x < y")
less_equal = _binary("less_equal", "Whether x <= y")
greater = _binary("greater", "Whether x > y")
greater_equal = _binary("greater_equal", "Whether x >= y")
equal = _binary("equal", "Whether x == y")
not_equal = _binary("not_equal", "Whether x != y")
logical_and = _binary("logical_and", "Whether x and y are true")
logical_or = _binary("logical_or", "Whether x or y is true")


@_traceable("power")
def pow(x: Any, exponent: Any) -> Any:
    """`x ** exponent` for an exponent that is a whole number in -16..16, or a half of one: products, a square root, a quotient.

    >>> import numpy as np
    >>> pow(np.array([2.0]), 3).tolist()
    [8.0]
    """
    if not is_number(exponent) or float(exponent) * 2 % 1 or not -16 <= float(exponent) <= 16:
        why = "an exponent must be a number that is a multiple of 1/2 in -16..16"
        raise unsupported(
            f"pow with the exponent {exponent!r}", (), why, "whole and half exponents are products and square roots"
        )
    return record_map("pow", _power_body(float(exponent)), (x,))


def _power_body(exponent: float) -> Scalar:
    if exponent < 0:
        return apply("reciprocal", _power_body(-exponent))
    if exponent == 0:
        return apply("add", apply("multiply", Load(0), Literal(0.0)), Literal(1.0))
    if exponent % 1:
        root = apply("sqrt", Load(0))
        return root if exponent < 1 else apply("multiply", _power_body(exponent - 0.5), root)
    if exponent == 1:
        return Load(0)
    half = _power_body(exponent // 2)
    even = apply("square", half)
    return apply("multiply", even, Load(0)) if exponent % 2 else even


@_traceable("where")
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, with broadcasting.

    >>> import numpy as np
    >>> where(np.array([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """
    return apply_map("where", condition, x, y)


@_traceable("clip")
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """`minimum(maximum(x, min), max)`; None leaves a side open."""
    if min is not None and max is not None:
        return apply_map("clip", x, min, max)
    if min is None and max is None:
        return positive(x)
    return maximum(x, min) if max is None else minimum(x, max)


astype = _traceable(lambda x, dtype: np.asarray(x).astype(dtype))(tracing_types.astype)


# Index changes


@_traceable("reshape")
def reshape(x: Any, shape: Any) -> Any:
    """The elements in row-major order in a new shape; one extent may be -1. A symbolic extent must stay a dimension of its own.

    >>> import numpy as np
    >>> reshape(np.ones((2, 6)), (3, -1)).shape
    (3, 4)
    """
    wanted = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    extents = wholes(wanted)
    return x if extents == wholes(x.shape) else _record(reshape_operator.reshape, (x,), extents, kind="reshape")


@_traceable("transpose")
def transpose(x: Any, axes: Any = None) -> Any:
    """Dimension i of the result is dimension `axes[i]`; None reverses the order."""
    order = None if axes is None else wholes(axes)
    return _record(transpose_operator.transpose, (x,), order, kind="transpose")


@_traceable("permute_dims")
def permute_dims(x: Any, axes: Any) -> Any:
    """The array API's name of `transpose` with given axes."""
    return transpose(x, axes)


@_traceable("matrix_transpose")
def matrix_transpose(x: Any) -> Any:
    """The last two dimensions exchanged."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose of shape {shape_text(x.shape)}", where=user_location(), why="no matrix")
    return swapaxes(x, -2, -1)


@_traceable("swapaxes")
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions exchanged."""
    order = list(range(x.ndim))
    first, second = (normalize_axis(axis, x.ndim, user_location()) for axis in wholes((axis1, axis2)))
    order[first], order[second] = second, first
    return transpose(x, order)


@_traceable("expand_dims")
def expand_dims(x: Any, axis: Any) -> Any:
    """New dimensions of extent 1 at the positions `axis` of the result."""
    new = wholes(axis if isinstance(axis, tuple | list) else (axis,))
    positions = normalize_axes(new, x.ndim + len(new), user_location())
    old = iter(x.shape)
    return reshape(x, tuple(1 if d in positions else next(old) for d in range(x.ndim + len(new))))


@_traceable("squeeze")
def squeeze(x: Any, axis: Any = None) -> Any:
    """Without the dimensions `axis`, which must have extent 1 (None: all that have)."""
    ones = [d for d, extent in enumerate(wholes(x.shape)) if extent == 1]
    wanted = ones if axis is None else wholes(axis if isinstance(axis, tuple | list) else (axis,))
    chosen = normalize_axes(wanted, x.ndim, user_location())
    if not set(chosen) <= set(ones):
        raise ShapeError(
            f"squeeze of axis {axis} of shape {shape_text(x.shape)}", where=user_location(), why="its extent is not 1"
        )
    return reshape(x, tuple(extent for d, extent in enumerate(x.shape) if d not in chosen))


@_traceable("broadcast_to")
def broadcast_to(x: Any, shape: Sequence[Extent]) -> Any:
    """The array repeated along dimensions of extent 1 and new leading ones."""
    wanted = wholes(shape)
    if broadcast_shapes([wholes(x.shape), wanted], user_location()) != wanted:
        raise ShapeError(f"cannot broadcast {shape_text(x.shape)} to {shape_text(wanted)}", where=user_location())
    return _record(map_operator.broadcast, (x,), wanted, kind="broadcast")


@_traceable(lambda x, key: np.asarray(x)[key])
def index(x: Any, key: Any) -> Any:
    """`x[key]` for integers, slices, None and `...`."""
    parts = key if isinstance(key, tuple) else (key,)
    parts = tuple(whole(part) if isinstance(part, Traced) and not part.ndim else part for part in parts)
    return _record(slicing_operator.slicing, (x,), parts, kind="slice")


def asarray(x: Any, dtype: Any = None) -> Any:
    """A traced value as it is, anything else as a NumPy array; in another element type if one is given."""
    if isinstance(x, Traced):
        return x if dtype is None else astype(x, dtype)
    return np.asarray(x, dtype=dtype)


FUNCTION_NAMES.extend(("asarray", "arange"))
__all__ = [*FUNCTION_NAMES, "bool_", "float32", "float64", "newaxis"]


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    raise UnsupportedAttribute(
        f"function {name!r}", where=user_location(), why="it is not there", hint=instead_of(name, FUNCTION_NAMES)
    )
