"""All functions by the names of `graph.expressions.scalar_functions`, and more: of a builder and values.

Floats are float32 or float64; of narrower ones the caller computes in float32. Of integers there are the functions of `INTEGERS`.
`report_not_finite` is not here: it tells the caller, as no function of values can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, and_, ge, gt, invert, le, lt, mul, neg, or_, sub, xor
from types import MappingProxyType
from typing import Any, TypeAlias

from tilewright.package_files import modules
from tilewright.tile.builder import Builder
from tilewright.tile.functions import activations, arithmetic, error_functions, integers, powers, remainders, steps
from tilewright.tile.functions.arithmetic import condition
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value

Function: TypeAlias = Callable[..., Value]
"""Of a builder and values."""


def _operator(function: Callable[..., Any]) -> Function:
    return lambda b, *values: function(*values)


def _logical(function: Callable[..., Any]) -> Function:
    return lambda b, *values: function(*map(condition, values))


_ROUNDINGS = {"floor": Operation.FLOOR, "ceil": Operation.CEIL, "round": Operation.ROUND, "trunc": Operation.TRUNCATE}
_BOTH: dict[str, Function] = {
    **{name: _operator(one) for name, one in (("add", add), ("subtract", sub), ("multiply", mul), ("negative", neg))},
    **{name: _operator(one) for name, one in (("less", lt), ("less_equal", le), ("greater", gt), ("greater_equal", ge))},
    **{f"logical_{name}": _logical(one) for name, one in (("and", and_), ("or", or_), ("xor", xor), ("not", invert))},
    **{name: arithmetic.rounding(operation) for name, operation in _ROUNDINGS.items()},
    "equal": _operator(Value.equals),
    "not_equal": _operator(Value.differs),
    "isnan": _operator(steps.is_nan),
    "isinf": arithmetic.is_infinite,
    "abs": steps.size_of,
    "rounded": _operator(lambda x: x),
    **{
        name: getattr(arithmetic, name)
        for name in ("square", "reciprocal", "divide", "sign", "maximum", "minimum", "where", "relu")
    },
}
INTEGERS: Mapping[str, Function] = MappingProxyType(
    {
        **_BOTH,
        **{f"bitwise_{name}": _operator(one) for name, one in (("and", and_), ("or", or_), ("xor", xor), ("not", invert))},
        "left_shift": integers.left_shift,
        "right_shift": integers.right_shift,
        "mod": integers.floor_mod,
        "fmod": lambda b, left, right: b.apply(Operation.REMAINDER, left, right),
        "floor_divide": integers.floor_divide,
        "pow": integers.power,
    }
)
DECLARED: Mapping[str, Declared] = MappingProxyType(
    {one.name: one for module in modules(__package__, without=("registry",)) for one in getattr(module, "DECLARED", ())}
)
"""The functions of floats that modules of this folder list, by name."""
FLOATS: Mapping[str, Function] = MappingProxyType(
    {
        **_BOTH,
        **{one.name: one.floats for one in DECLARED.values()},
        **{name: getattr(activations, name) for name in ("softplus", "mish")},
        **{name: getattr(activations, name) for name in ("elu", "selu", "celu", "hardswish")},
        **{name: getattr(remainders, name) for name in ("fmod", "mod", "floor_divide")},
        "pow": powers.power,
        "sqrt": steps.square_root,
        "rsqrt": powers.rsqrt,
        "as_float16": arithmetic.stored_as("float16"),
        "as_bfloat16": arithmetic.stored_as("bfloat16"),
    }
)

FAST: Mapping[str, Function] = MappingProxyType({"erf": error_functions.fast_erf})
"""Of float32: forms of functions of `FLOATS` that are less exact, and take three quarters of the time."""


def apply(b: Builder, name: str, *values: Value) -> Value:
    """A function of values: of floats or integers as the last of them is.

    >>> from tilewright.tile.types import vector
    >>> b = Builder()
    >>> x = b.argument("x", vector("int32", 4))
    >>> apply(b, "multiply", x, x).type is x.type
    True
    """
    functions = FLOATS if values[-1].type.is_float else INTEGERS
    return functions[name](b, *values)
