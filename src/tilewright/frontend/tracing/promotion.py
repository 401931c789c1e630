"""Element types of the results of traced functions: those of NumPy's functions, or a refusal.

| Function | Type of the result |
|---|---|
| a map that NumPy has (`add`, `exp`, `less`, `floor_divide`, ...) | as NumPy's ufunc resolves the types of the operands |
| `where`, `einsum`, `matmul` | the operands' common type (`numpy.result_type`) |
| `sum`, `prod` | the type itself; of truth values and signed integers int64, of unsigned ones uint64 |
| `mean` | the type itself; of truth values and integers float64 |
| `max`, `min`, index changes | the type itself |
| what NumPy has not (`sigmoid`, `erf`, `gelu`, `softmax`, `layer_norm`, ...) | the operands' common floating-point type |

Python's numbers take the type of the arrays beside them where their kind allows (NEP 50), and NumPy's scalars count as Python's
numbers: `x / np.sqrt(64)` keeps the type of x. Floating-point numbers alone, and arguments that are numbers, are float32, the
default type of the array API here; the latter are float16 beside float16.

Refused is what NumPy refuses, and what is no arithmetic in NumPy: sums, products, largest and smallest of truth values alone are
truth values there. NumPy has no bfloat16: it stays where all operands have it, and mixes as ml_dtypes says. Nothing is complex.
A map computes in the type of its result, and a condition in the common type of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import ml_dtypes
import numpy as np

from tilewright.errors import DTypeError
from tilewright.frontend.tracing.dynamic_dimensions import RunTimeNumber
from tilewright.frontend.tracing.location import user_location
from tilewright.frontend.tracing.numpy_functions import constant_array
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.types import SymbolicExtent
from tilewright.tile.functions.registry import DECLARED

Kind: TypeAlias = np.dtype[Any] | type
"""An element type, or `int` or `float` for a number that takes the type of the arrays beside it."""
Rule: TypeAlias = Callable[[str, Sequence[Kind]], np.dtype[Any]]
"""The type that a function computes in, by its name and the types of its operands."""
_OTHER_NAMES = {"mod": "remainder", "pow": "power", "abs": "absolute", "relu": "maximum", "round": "rint"}
_OF_TRUTH = {"add": "x | y", "maximum": "x | y", "multiply": "x & y", "minimum": "x & y", "subtract": "x != y", "negative": "~x"}
"""What NumPy's function, or what it advises, means for truth values."""
_CONVERT = "convert the operands first: x.astype(numpy.float32)"


def map_type(function: str, operands: Sequence[Any]) -> str:
    """The element type of a map of arrays and numbers. Raises `DTypeError` for what NumPy does not compute with numbers."""
    kinds = [kind_of(operand) for operand in operands]
    if function == "where":
        result = _common(function, kinds[1:])
    elif function == "clip":
        result = _resolved("minimum", [_resolved("maximum", kinds[:2]), kinds[2]])
    elif function == "reciprocal" or (function in DECLARED and not isinstance(DECLARED[function].numpy, np.ufunc)):
        result = float_type(function, kinds)
    elif function == "relu":
        result = reduced_type("max", kinds)
    else:
        result = _resolved(function, kinds)
    for operand in operands:
        _check_fits(function, operand, result)
    return result.name


def check_numbers(function: str, operands: Sequence[Any], result: str) -> None:
    """Raise `DTypeError` where a number that was rounded to float32 would be one of float64, beside integers."""
    rounded = [operand for operand in operands if isinstance(operand, Traced) and operand.is_rounded]
    others = {kind.name for kind in map(kind_of, operands) if isinstance(kind, np.dtype)} - {"float32"}
    if not rounded or result != "float64" or "float64" in others or not others:
        return
    text = f"{function} of {' and '.join(sorted(others))} elements and the number {rounded[0].tensor.name!r}"
    why = "the result is float64, and numbers that are arguments are float32 without a float64 array beside them"
    hint = "pass it as an array, numpy.asarray(number), or name it in static_argnames"
    raise DTypeError(text, where=user_location(), why=why, hint=hint)


def float_type(function: str, kinds: Sequence[Kind]) -> np.dtype[Any]:
    """The common type of floating-point operands. Raises `DTypeError` for others."""
    _check_arithmetic(function, kinds)
    if not all(map(is_float, kinds)):
        _refuse(function, kinds, "it is a function of floating-point numbers", _CONVERT)
    return _common(function, kinds)


def contracted_type(function: str, kinds: Sequence[Kind]) -> np.dtype[Any]:
    """The type of sums of products. Raises `DTypeError` for truth values alone."""
    common = _common(function, kinds)
    if common == np.bool_:
        _refuse(function, kinds, "NumPy gives truth values: whether any product is true", f"for counts, {_CONVERT}")
    return common


def power_type(x: Any, exponent: Any) -> str:
    """Of an array to a power. Raises `DTypeError` for truth values, and for integers to powers that may be negative."""
    kinds = [kind_of(x), kind_of(exponent)]
    _check_arithmetic("pow", kinds)
    is_number = isinstance(exponent, int | float)
    may_be_negative = exponent < 0 if is_number else not isinstance(kinds[1], type) and kinds[1].kind == "i"
    if np.bool_ in kinds or (may_be_negative and not any(map(is_float, kinds))):
        why = "integers have no negative powers" if may_be_negative else "NumPy's type depends on the exponent"
        _refuse("pow", kinds, why, _CONVERT)
    result = _resolved("pow", kinds)
    for operand in (x, exponent):
        _check_fits("pow", operand, result)
    return result.name


def reduced_type(function: str, kinds: Sequence[Kind]) -> np.dtype[Any]:
    """The type that a sum, prod, max, min or mean is computed in. Raises `DTypeError` for the largest of truth values."""
    _check_arithmetic(function, kinds)
    kind = np.dtype(kinds[0])
    if function in ("max", "min"):
        if kind == np.bool_:
            _refuse(function, kinds, "NumPy gives truth values: whether any is true, or all are", _CONVERT)
        return kind
    if function == "mean":
        return np.dtype(np.float64) if kind.kind in "biu" else kind
    return np.result_type(kind, np.uint64 if kind.kind == "u" else np.int64) if kind.kind in "biu" else kind


def kind_of(operand: Any) -> Kind:
    """The element type of an array, or what kind of number it is."""
    if isinstance(operand, np.generic):
        operand = operand.item()
    if isinstance(operand, bool):
        return np.dtype(np.bool_)
    if isinstance(operand, SymbolicExtent | RunTimeNumber):
        return int if isinstance(operand, SymbolicExtent) else float
    if isinstance(operand, int | float):
        return type(operand)
    return dtype_of(operand)


def dtype_of(operand: Any) -> np.dtype[Any]:
    """The element type of a traced value or of anything that is an array."""
    return operand.dtype if isinstance(operand, Traced) else constant_array(operand).dtype


def is_float(kind: Kind) -> bool:
    """Whether it is a type, or a number, of floating point."""
    return kind is float or (isinstance(kind, np.dtype) and (kind.kind == "f" or kind == ml_dtypes.bfloat16))


def text_of(kinds: Sequence[Kind]) -> str:
    """Element types for messages.

    >>> text_of([np.dtype("bool"), float, np.dtype("bool")])
    'bool elements and a number'
    """
    names = [f"{kind.name} elements" if isinstance(kind, np.dtype) else "a number" for kind in kinds]
    return " and ".join(dict.fromkeys(names))


def _common(function: str, kinds: Sequence[Kind]) -> np.dtype[Any]:
    """The type that holds all: numbers are weak beside arrays, and have the default types alone."""
    _check_arithmetic(function, kinds)
    if not any(isinstance(kind, np.dtype) for kind in kinds):
        return np.dtype(np.float32 if float in kinds else np.int64)
    try:
        return np.result_type(*(kind if isinstance(kind, np.dtype) else kind(0) for kind in kinds))
    except TypeError:
        return _refuse(function, kinds, "these have no common type", _CONVERT)


def _check_arithmetic(function: str, kinds: Sequence[Kind]) -> None:
    """Raise `DTypeError` for types that are stored only."""
    if any(isinstance(kind, np.dtype) and kind.name in SHORT_TYPES for kind in kinds):
        _refuse(function, kinds, "such numbers are stored and converted, without arithmetic", _CONVERT)


def _resolved(function: str, kinds: Sequence[Kind]) -> np.dtype[Any]:
    _common(function, kinds)  # numbers of types without one are refused, where ml_dtypes has a loop for them
    name = _OTHER_NAMES.get(function, function)
    ufunc: Any = DECLARED[name].numpy if name in DECLARED else getattr(np, name)
    try:
        result: np.dtype[Any] = ufunc.resolve_dtypes((*kinds, None))[-1]
    except TypeError as problem:
        return _refuse(function, kinds, f"NumPy refuses it: {problem}", _instead(function))
    if result == np.bool_ and not (function in FUNCTIONS and FUNCTIONS[function].is_condition):
        _refuse(function, kinds, "NumPy gives truth values", _instead(function))
    return result


def _instead(function: str) -> str:
    return f"use {_OF_TRUTH[function]}, or {_CONVERT}" if function in _OF_TRUTH else _CONVERT


def _check_fits(function: str, operand: Any, result: np.dtype[Any]) -> None:
    """Integers that the type of a result cannot hold are refused, as by NumPy."""
    value = operand.item() if isinstance(operand, np.generic) else operand
    value = value.high if isinstance(value, SymbolicExtent) else value
    if not isinstance(value, int) or result.kind not in "iu":
        return
    limits = np.iinfo(result)
    if not limits.min <= value <= limits.max:
        why = f"it lies outside of {limits.min}..{limits.max}"
        hint = f"convert the array first: x.astype(numpy.{'float32' if abs(value) < 1 << 24 else 'int64'})"
        raise DTypeError(f"{function} of {result} elements and {value}", where=user_location(), why=why, hint=hint)


def _refuse(function: str, kinds: Sequence[Kind], why: str, hint: str) -> NoReturn:
    raise DTypeError(f"{function} of {text_of(kinds)}", where=user_location(), why=why, hint=hint)
