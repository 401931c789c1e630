"""NumPy's functions and ufuncs on traced values: `numpy.exp(x)` means `tilewright.exp(x)`.

Arrays of other libraries are constants, and torch's functions are refused, or left to Python's operators.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.dtypes import BITS, dtype_named
from tilewright.errors import UnsupportedOperation
from tilewright.frontend.tracing import namespace
from tilewright.frontend.tracing.hints import instead_of
from tilewright.frontend.tracing.location import unsupported, user_location

ALIASES = {
    "absolute": "abs",
    "true_divide": "divide",
    "power": "pow",
    "float_power": "pow",
    "amax": "max",
    "amin": "min",
    "concatenate": "concat",
    "rint": "round",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
}
"""NumPy's names of functions that have another name here."""
REDUCING = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
"""What `ufunc.reduce` means."""
TOTALS = ("sum", "prod", "mean")
"""Functions that may compute in another element type."""
ACCEPTED = ("axis", "keepdims", "axes", "min", "max", "optimize")
"""Options of NumPy's functions that functions here have, too."""
IGNORED = frozenset(("casting", "order", "subok", "copy"))
"""Options that do not change values."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """`ufunc(*inputs)`, or its reduction."""
    name = f"numpy.{ufunc.__name__}"
    if method == "reduce" and ufunc.__name__ in REDUCING:
        given = {"axis": 0, **{key: value for key, value in options.items() if value is not None or key == "axis"}}
        kept = ("axis", "keepdims", "dtype") if REDUCING[ufunc.__name__] in TOTALS else ("axis", "keepdims")
        _refuse(name, {key: value for key, value in given.items() if key not in kept})
        return getattr(namespace, REDUCING[ufunc.__name__])(inputs[0], **{key: given[key] for key in kept if key in given})
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
    accepted = {
        key: value for key, value in options.items() if key in ACCEPTED or (key == "dtype" and function.__name__ in TOTALS)
    }
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


Array = np.ndarray[Any, np.dtype[Any]]
_OPERATORS = (
    *("add", "sub", "rsub", "mul", "div", "matmul", "pow", "floordiv", "remainder"),
    *("lt", "le", "gt", "ge", "eq", "ne", "bitwise_and", "bitwise_or"),
)
"""Methods of torch.Tensor that stand for operators: where they do not know an operand, Python asks it."""
_TORCH_NAMES = {"sub": "subtract", "mul": "multiply", "div": "divide", "cat": "concat"}


def constant_array(value: Any) -> Array:
    """What the function closes over, as a NumPy array. Raises `UnsupportedOperation` where it cannot be read as one."""
    try:
        array = _of_torch(value) if str(getattr(value, "dtype", "")).startswith("torch.") else np.asanyarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise _unreadable(value, str(problem)) from problem
    if array.dtype.kind == "O":
        raise _unreadable(value, "NumPy makes it an array of Python objects")
    return array


def _of_torch(tensor: Any) -> Array:
    """A tensor, also in the types of `BITS`."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in BITS or tensor.requires_grad:
        return np.asanyarray(tensor)
    bits: Array = tensor.view(getattr(sys.modules["torch"], BITS[name])).numpy()
    return bits.view(dtype_named(name))


def torch_function(function: Any, known: Iterable[str]) -> Any:
    """The answer to a function of torch on a traced value: operators are left to Python, others are refused."""
    name = str(sys.modules["torch"].overrides.resolve_name(function))
    short = name.rpartition(".")[2].strip("_")
    if name.startswith("torch.Tensor.") and short in _OPERATORS:
        return NotImplemented
    short = _TORCH_NAMES.get(short, short)
    names = frozenset(known)
    why = "traced values are arrays as NumPy's, and no tensors"
    hint = f"use tilewright.{short}" if short in names else instead_of(short, names)
    raise UnsupportedOperation(f"{name} cannot be traced", where=user_location(), why=why, hint=hint)


def _unreadable(value: Any, why: str) -> UnsupportedOperation:
    hint = "close over a NumPy array of numbers"
    if getattr(value, "requires_grad", False):
        why, hint = "kernels compute no gradients", "close over its values: w.detach()"
    text = f"a {type(value).__qualname__} cannot be a constant of the function"
    return UnsupportedOperation(text, where=user_location(), why=why, hint=hint)
