"""NumPy's functions and ufuncs on traced values: `numpy.exp(x)` means `tilewright.exp(x)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.frontend.tracing import namespace
from tilewright.frontend.tracing.location import unsupported

ALIASES = {
    "absolute": "abs",
    "true_divide": "divide",
    "power": "pow",
    "float_power": "pow",
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
}
"""NumPy's names of functions that have another name here."""
REDUCING = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
"""What `ufunc.reduce` means."""
IGNORED = frozenset(("casting", "order", "subok", "copy"))
"""Options that do not change values."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """`ufunc(*inputs)`, or its reduction."""
    name = f"numpy.{ufunc.__name__}"
    if method == "reduce" and ufunc.__name__ in REDUCING:
        axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
        _refuse(name, {key: value for key, value in options.items() if key not in ("axis", "keepdims")})
        return getattr(namespace, REDUCING[ufunc.__name__])(inputs[0], axis, keepdims=keepdims)
    if method != "__call__":
        raise unsupported(f"{name}.{method}", namespace.FUNCTIONS)
    _refuse(name, options)
    if ufunc.__name__ in ("bitwise_and", "bitwise_or", "invert"):
        check_truth(name, *inputs)
    return _function(name, ufunc.__name__)(*inputs)


def call_function(function: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A function of NumPy's namespace."""
    name = f"{function.__module__}.{function.__name__}"
    known = _function(name, function.__name__)
    accepted = {key: value for key, value in options.items() if key in ("axis", "keepdims", "axes", "min", "max", "optimize")}
    _refuse(name, {key: value for key, value in options.items() if key not in accepted})
    return known(*args, **accepted)


def check_truth(operation: str, *operands: Any) -> None:
    """Operators on bits are there for truth values only."""
    dtypes = [np.dtype(operand.dtype if hasattr(operand, "dtype") else type(operand)) for operand in operands]
    if any(dtype != np.bool_ for dtype in dtypes):
        why = f"it works on bits, and the operands are {' and '.join(dtype.name for dtype in dtypes)}"
        raise unsupported(operation, (), why, "compare first: x > 0 has truth values, and so has logical_not(x)")


def _function(full_name: str, name: str) -> Any:
    name = ALIASES.get(name, name)
    if name not in namespace.FUNCTIONS:
        raise unsupported(full_name.replace("numpy._core.", "numpy."), namespace.FUNCTIONS)
    return getattr(namespace, name)


def _refuse(name: str, options: Mapping[str, Any]) -> None:
    """Options that are set to something other than nothing cannot be honoured."""
    for key, value in options.items():
        if key not in IGNORED and value is not None and value is not np._NoValue:
            raise unsupported(f"{name} with {key}=", (), f"the option {key!r} has no meaning for traced values")
