"""The functions that trace: array-API names where one exists. On plain arrays they call NumPy at once.

They fill the `namespace` of traced values, and `tilewright` re-exports them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.tracing.dynamic_dimensions import whole, wholes
from tilewright.frontend.tracing.element_types import check_known, types_between
from tilewright.frontend.tracing.location import located_call, unsupported, user_location
from tilewright.frontend.tracing.namespace import FUNCTIONS, bool_, float32, float64, newaxis
from tilewright.frontend.tracing.namespace import __getattr__ as __getattr__
from tilewright.frontend.tracing.promotion import (
    contracted_type,
    float_type,
    is_float,
    kind_of,
    map_type,
    power_type,
    reduced_type,
)
from tilewright.frontend.tracing.recorder import INTEGERS, current_recorder
from tilewright.frontend.tracing.recording import (
    apply_map,
    beside_float16,
    converted,
    in_one_type,
    record_change,
    record_map,
    record_operator,
    traceable,
)
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders import einsum as einsum_operator
from tilewright.graph.builders import elementwise as map_operator
from tilewright.graph.builders import norms as norm_operator
from tilewright.graph.builders.diagonals import contracted, without_diagonals
from tilewright.graph.builders.elementwise import has_simple_power, power_body
from tilewright.graph.expressions.scalar import Apply, Load
from tilewright.graph.shapes import broadcast_shapes, normalize_axes, normalize_axis, shape_text
from tilewright.graph.types import Extent, SymbolicExtent
from tilewright.tile.functions.registry import DECLARED

_plain = map_operator.numpy_reference


# Functions of elements


def _unary(name: str, formula: str, reference: Callable[..., Any] | str = "") -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return apply_map(name, x)

    return traceable(reference or name, name, f"{formula}, element by element; the shape stays.")(function)


sqrt = _unary("sqrt", "The square root; NaN for negative numbers")
abs = _unary("abs", "The absolute value")
negative = _unary("negative", "-x")
positive = _unary("positive", "+x")
square = _unary("square", "x * x")
reciprocal = _unary("reciprocal", "1 / x", _plain("reciprocal"))
floor = _unary("floor", "The largest integer <= x")
ceil = _unary("ceil", "The smallest integer >= x")
trunc = _unary("trunc", "The integer next to x toward 0")
sign = _unary("sign", "-1, 0 or 1 as x is negative, 0 or positive; NaN of NaN")
isnan = _unary("isnan", "Whether x is NaN")
isinf = _unary("isinf", "Whether x is an infinity")
relu = _unary("relu", "max(x, 0)", lambda x: np.maximum(x, np.asarray(x).dtype.type(0)))
logical_not = _unary("logical_not", "Whether x is false")


@traceable("round")
def round(x: Any) -> Any:
    """The integer next to x, the even one of two, element by element; integers stay.

    >>> import numpy as np
    >>> round(np.array([0.5, 1.5, -2.7])).tolist()
    [0.0, 2.0, -3.0]
    """
    return apply_map("round", x) if is_float(kind_of(x)) else positive(x)


@traceable("isfinite")
def isfinite(x: Any) -> Any:
    """Whether x is neither NaN nor an infinity, element by element.

    >>> import numpy as np
    >>> isfinite(np.array([1.0, np.inf, np.nan])).tolist()
    [True, False, False]
    """
    return less(abs(x), math.inf) if is_float(kind_of(x)) else equal(x, x)


def _numpy_gelu(x: Any, approximate: str = "none") -> Any:
    return _plain(_form_of_gelu(approximate))(x)


@traceable(_numpy_gelu)
def gelu(x: Any, approximate: str = "none") -> Any:
    """The Gaussian error linear unit, element by element; relative error below 1e-6, in the left tail, too; NaN at -inf.

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


def _binary(name: str, formula: str, recorded: str = "") -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        return apply_map(recorded or name, x, y)

    text = f"{formula}, element by element with broadcasting; numbers take the type of the arrays."
    return traceable(name, name, text)(function)


def _declared(name: str) -> Callable[..., Any]:
    """A function of `tile/functions/`."""
    declared = DECLARED[name]

    def function(*operands: Any) -> Any:
        return apply_map(name, *operands)

    def of_one(x: Any) -> Any:
        return function(x)

    def of_two(x: Any, y: Any) -> Any:
        return function(x, y)

    text = f"{declared.summary}, element by element{' with broadcasting' * (declared.arity - 1)}."
    return traceable(declared.numpy, name, text)(of_one if declared.arity == 1 else of_two)


exp, exp2, expm1 = _declared("exp"), _declared("exp2"), _declared("expm1")
log, log2, log10, log1p = _declared("log"), _declared("log2"), _declared("log10"), _declared("log1p")
sin, cos, tan = _declared("sin"), _declared("cos"), _declared("tan")
asin, acos, atan, atan2 = _declared("asin"), _declared("acos"), _declared("atan"), _declared("atan2")
sinh, cosh, tanh = _declared("sinh"), _declared("cosh"), _declared("tanh")
asinh, acosh, atanh = _declared("asinh"), _declared("acosh"), _declared("atanh")
erf, erfc, sigmoid, silu = _declared("erf"), _declared("erfc"), _declared("sigmoid"), _declared("silu")
for _name in DECLARED.keys() - FUNCTIONS.keys() - {"gelu", "gelu_tanh"}:
    _declared(_name)


add = _binary("add", "x + y")
subtract = _binary("subtract", "x - y")
multiply = _binary("multiply", "x * y")
divide = _binary("divide", "x / y")
floor_divide = _binary("floor_divide", "The largest integer <= x / y, of the exact quotient")
remainder = _binary("remainder", "x - floor_divide(x, y) * y, exactly; of the sign of y", "mod")
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
logical_xor = _binary("logical_xor", "Whether one of x and y is true")
fmod = _binary("fmod", "x - trunc(x / y) * y, exactly; of the sign of x")


@traceable("power")
def pow(x: Any, exponent: Any) -> Any:
    """`x ** exponent`, with broadcasting.

    A number that is an integer in -16..16, or a half of one, makes products, a square root and a quotient of it.

    >>> import numpy as np
    >>> pow(np.array([2.0]), 3).tolist()
    [8.0]
    """
    x, exponent = beside_float16((x, exponent))
    if not isinstance(exponent, int | float | np.generic) or not has_simple_power(float(exponent)):
        return record_map("pow", Apply("pow", (Load(0), Load(1))), (x, exponent), dtype=power_type(x, exponent))
    number = exponent if isinstance(exponent, int) else float(exponent)
    return record_map("pow", power_body(float(exponent)), (x,), dtype=power_type(x, number))


def _numpy_where(condition: Any, x: Any, y: Any) -> Any:
    """NumPy's choice; while a function is traced, in the type that a traced condition gives."""
    chosen = np.where(condition, x, y)
    return chosen if current_recorder() is None else chosen.astype(map_type("where", (True, x, y)), copy=False)


@traceable(_numpy_where)
def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`, with broadcasting; numbers take the type of the array beside them.

    The array API (2024.12) asks for an array among `x` and `y`. Between two numbers, a traced function chooses float32 or int64
    elements, whether or not it knows the condition; outside of traced functions NumPy chooses.

    >>> import numpy as np
    >>> where(np.array([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """
    is_true = condition if kind_of(condition) == np.bool_ else not_equal(condition, 0)
    if kind_of(x) == kind_of(y) == np.bool_:
        return record_map("where", map_operator.CHOSEN_TRUTH, (is_true, x, y), dtype="bool")
    return apply_map("where", is_true, x, y)


@traceable("clip")
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """`minimum(maximum(x, min), max)`; None leaves a side open."""
    if min is not None and max is not None:
        return apply_map("clip", x, min, max)
    if min is None and max is None:
        return positive(x)
    return maximum(x, min) if max is None else minimum(x, max)


# Contractions


def _numpy_einsum(subscripts: str, *operands: Any, optimize: Any = True) -> Any:
    return np.einsum(subscripts, *operands, optimize=optimize)


@traceable(_numpy_einsum)
def einsum(subscripts: str, *operands: Any, optimize: Any = None) -> Any:
    """Sums of products, in NumPy's notation; more than two operands are multiplied from left to right (`optimize` is ignored).

    An index that stands twice in an operand is its diagonal. Raises `ShapeError` for extents that differ.

    >>> import numpy as np
    >>> einsum("ij,jk->ik", np.eye(2), np.ones((2, 3))).shape
    (2, 3)
    """
    if not isinstance(subscripts, str):
        raise unsupported("einsum without a string of subscripts", FUNCTIONS, "operands and indices are interleaved")
    recorder, tensors = in_one_type(operands, contracted_type, "einsum")
    parsed = located_call(einsum_operator.parse, subscripts, [len(tensor.shape) for tensor in tensors])
    return Traced(recorder, contracted(recorder, *without_diagonals(recorder, parsed, tensors)))


@traceable("matmul")
def matmul(left: Any, right: Any) -> Any:
    """`left (..., m, k) @ right (..., k, n)`; batches broadcast, 1-D operands are a row or a column.

    >>> import numpy as np
    >>> matmul(np.ones((5, 2, 3)), np.ones(3)).shape
    (5, 2)
    """
    return record_operator(einsum_operator.matmul, (left, right), contracted_type, kind="matmul")


# Row operators and reductions


@traceable(norm_operator.softmax_reference)
def softmax(x: Any, axis: int = -1) -> Any:
    """`exp(x - max) / sum(exp(x - max))` along `axis`, any shape. A row of -inf alone gives NaN.

    >>> import numpy as np
    >>> softmax(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    return record_operator(norm_operator.softmax, (x,), float_type, whole(axis), kind="softmax")


@traceable(partial(norm_operator.softmax_reference, safe=True))
def safe_softmax(x: Any, axis: int = -1) -> Any:
    """The softmax along `axis`, any shape, but 0 for a row of -inf alone: what attention makes of queries without keys.

    PyTorch's `_safe_softmax` (since 2.5), which its scaled_dot_product_attention is made of.

    >>> import numpy as np
    >>> safe_softmax(np.array([[0.0, 0.0], [-np.inf, -np.inf]])).tolist()
    [[0.5, 0.5], [0.0, 0.0]]
    """
    return record_operator(norm_operator.softmax, (x,), float_type, whole(axis), kind="softmax", safe=True)


def _reduced(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Kept dimensions are an index change behind the reduction, which folds into whoever reads the result."""
    recorder, (tensor,) = in_one_type((x,), reduced_type, name)
    chosen = wholes(axis) if isinstance(axis, tuple | list) else None if axis is None else whole(axis)
    result = Traced(recorder, recorder.record(map_operator.reduce, name, tensor, axis=chosen, kind=name))
    if not keepdims:
        return result
    dropped = normalize_axes(chosen, len(tensor.shape))
    return reshape(result, tuple(1 if d in dropped else extent for d, extent in enumerate(tensor.shape)))


def _largest(name: str, text: str) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return _reduced(name, x, axis, keepdims)

    return traceable(name, name, text)(function)


def _total(name: str, text: str) -> Callable[..., Any]:
    def function(x: Any, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
        if dtype is None:
            return _reduced(name, x, axis, keepdims)
        return astype(_reduced(name, astype(x, dtype), axis, keepdims), dtype)

    return traceable(name, name, text)(function)


sum = _total("sum", "The sum over `axis` (an integer, a tuple; None: all), perhaps in another element type.")
prod = _total("prod", "The product over `axis`.")
max = _largest("max", "The largest element over `axis`; NaN if there is one.")
min = _largest("min", "The smallest element over `axis`; NaN if there is one.")
mean = _total("mean", "The arithmetic mean over `axis`.")

# Element types and positions


@traceable(lambda x, dtype: np.asarray(x).astype(dtype))
def astype(x: Any, dtype: Any) -> Any:
    """The values of `x` in another element type: integers keep the low bits, numbers become integers without their fraction.

    NumPy leaves to the processor what becomes of whole parts that integers do not hold; here they become the least int32 where
    such have 32 bits, or fewer, the least int64 where uint32 and longer types are wanted, and types keep the low bits of that.
    """
    name = np.dtype(dtype).name
    check_known(name, "the result of astype")
    if name == x.tensor.dtype:
        return x
    if name == "bool":
        return record_map("not_equal", map_operator.IS_TRUE, (x,), dtype=name)
    if x.recorder.element_types is not None and name in INTEGERS and not np.can_cast(x.dtype, name):
        why = f"kernels compute integers without wrapping them, and not all {x.dtype} values are {name}"
        raise DTypeError(f"{x.dtype} values as {name}", where=user_location(), why=why, hint="use floor, or a wider type")
    for between in (*types_between(x.tensor.dtype, name), name):
        x = converted(x, dtype_named(between))
    return x


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """`start, start + step, ...` below `stop` (a single argument is the stop), of shape (number,); whole unless told otherwise.

    Inside a traced function these are positions along an axis: they take no memory, and whoever reads them computes them. Start
    and stop may be extents known at run time. Raises `ShapeError` for positions beyond 2^24.

    >>> arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    start, stop = (0, start) if stop is None else (start, stop)
    recorder = current_recorder()
    if recorder is None:
        return np.arange(start, stop, step, dtype=dtype)
    first, last, by = (bound if isinstance(bound, float) else whole(bound) for bound in (start, stop, step))
    if any(isinstance(bound, SymbolicExtent) for bound in (first, last, by)):
        if isinstance(by, SymbolicExtent) or any(isinstance(bound, float) for bound in (first, last, by)) or by == 0:
            raise unsupported("arange to or from an extent by other steps than whole ones", (), hint="multiply the positions")
        number, kind = map_operator.range_length(first, last, by), np.dtype(dtype or np.int64).name
    else:
        try:
            number = map_operator.range_length(first, last, by)
        except (ZeroDivisionError, OverflowError, ValueError) as problem:
            raise ShapeError(f"a range from {first} to {last} in steps of {by} has no length", where="arange") from problem
        kind = np.arange(first, first, by, dtype=dtype).dtype.name
    return Traced(recorder, recorder.record(map_operator.arange, number, first, by, kind, kind="arange"))


# Index changes


@traceable("reshape")
def reshape(x: Any, shape: Any) -> Any:
    """The elements in row-major order in a new shape; one extent may be -1.

    >>> import numpy as np
    >>> reshape(np.ones((2, 6)), (3, -1)).shape
    (3, 4)
    """
    extents = wholes(shape if isinstance(shape, tuple | list) else (shape,))
    if extents == wholes(x.shape):
        return x
    return record_change(x, lambda recorder, tensor: recorder.reshape(tensor, extents))


@traceable("transpose")
def transpose(x: Any, axes: Any = None) -> Any:
    """Dimension i of the result is dimension `axes[i]`; None reverses the order."""
    order = tuple(reversed(range(x.ndim))) if axes is None else wholes(axes)
    return record_change(x, lambda recorder, tensor: recorder.transpose(tensor, order))


@traceable("permute_dims")
def permute_dims(x: Any, axes: Any) -> Any:
    """The array API's name of `transpose` with given axes."""
    return transpose(x, axes)


@traceable("matrix_transpose")
def matrix_transpose(x: Any) -> Any:
    """The last two dimensions exchanged."""
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose of shape {shape_text(x.shape)}", where=user_location(), why="no matrix")
    return swapaxes(x, -2, -1)


@traceable("swapaxes")
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions exchanged."""
    order = list(range(x.ndim))
    first, second = (normalize_axis(axis, x.ndim, user_location()) for axis in wholes((axis1, axis2)))
    order[first], order[second] = second, first
    return transpose(x, order)


@traceable("expand_dims")
def expand_dims(x: Any, axis: Any) -> Any:
    """New dimensions of extent 1 at the positions `axis` of the result."""
    new = wholes(axis if isinstance(axis, tuple | list) else (axis,))
    positions = normalize_axes(new, x.ndim + len(new), user_location())
    old = iter(x.shape)
    return reshape(x, tuple(1 if d in positions else next(old) for d in range(x.ndim + len(new))))


@traceable("squeeze")
def squeeze(x: Any, axis: Any = None) -> Any:
    """Without the dimensions `axis`, which must have extent 1 (None: all that have)."""
    unit_axes = [d for d, extent in enumerate(wholes(x.shape)) if extent == 1]
    wanted = unit_axes if axis is None else wholes(axis if isinstance(axis, tuple | list) else (axis,))
    chosen = normalize_axes(wanted, x.ndim, user_location())
    if not set(chosen) <= set(unit_axes):
        text = f"squeeze of axis {axis} of shape {shape_text(x.shape)}"
        raise ShapeError(text, where=user_location(), why="its extent is not 1")
    return reshape(x, tuple(extent for d, extent in enumerate(x.shape) if d not in chosen))


@traceable("broadcast_to")
def broadcast_to(x: Any, shape: Extent | Sequence[Extent]) -> Any:
    """The array repeated along dimensions of extent 1 and new leading ones; a number is a shape of one dimension."""
    wanted = wholes(shape if isinstance(shape, tuple | list) else (shape,))
    if broadcast_shapes([wholes(x.shape), wanted], user_location()) != wanted:
        raise ShapeError(f"cannot broadcast {shape_text(x.shape)} to {shape_text(wanted)}", where=user_location())
    return record_change(x, lambda recorder, tensor: recorder.record(map_operator.broadcast, tensor, wanted, kind="broadcast"))


@traceable(lambda x, key: np.asarray(x)[key])
def index(x: Any, key: Any) -> Any:
    """`x[key]` for integers, slices, None and `...`."""
    parts = tuple(map(_key_part, key if isinstance(key, tuple) else (key,)))
    return record_change(x, lambda recorder, tensor: recorder.slice(tensor, parts))


def _key_part(part: Any) -> Any:
    """A part of a key with extents in the place of the user's numbers."""
    if isinstance(part, slice):
        return slice(*(whole(end) if isinstance(end, SymbolicExtent) else end for end in (part.start, part.stop, part.step)))
    return whole(part) if isinstance(part, SymbolicExtent) or (isinstance(part, Traced) and not part.ndim) else part


def asarray(x: Any, dtype: Any = None) -> Any:
    """A traced value as it is, anything else as a NumPy array; in another element type if one is given."""
    if isinstance(x, Traced):
        return x if dtype is None else astype(x, dtype)
    return np.asarray(x, dtype=dtype)


FUNCTIONS.update(asarray=asarray, arange=arange)
FUNCTION_NAMES = tuple(FUNCTIONS)
__all__ = [*FUNCTION_NAMES, "bool_", "float32", "float64", "newaxis"]
