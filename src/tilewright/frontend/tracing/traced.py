"""`Traced`: the stand-in for an array while a function is traced. Every operation on it becomes an operator of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.tracing import namespace
from tilewright.frontend.tracing.dynamic_dimensions import lengths
from tilewright.frontend.tracing.hints import instead_of
from tilewright.frontend.tracing.location import UnsupportedAttribute, unsupported, user_location
from tilewright.frontend.tracing.numpy_functions import call_function, call_ufunc, check_truth, torch_function
from tilewright.frontend.tracing.recorder import Recorder
from tilewright.graph.expressions.extents import times
from tilewright.graph.shapes import Shape, shape_text
from tilewright.graph.types import Tensor


def _refused(operation: str, name: str) -> Callable[..., NoReturn]:
    """A method for an operator that has no meaning here; `name` is its function's in the hints."""

    def method(self: Traced, *operands: Any) -> NoReturn:
        raise unsupported(operation, (), hint=instead_of(name, ()))

    return method


def _method(name: str) -> Callable[..., Any]:
    """The function of that name as a method."""

    def method(self: Traced, *operands: Any, **options: Any) -> Any:
        return getattr(namespace, name)(self, *operands, **options)

    method.__doc__ = f"As `tilewright.{name}`."
    return method


def _operator(name: str) -> tuple[Callable[..., Any], Callable[[Any, Any], Any]]:
    """The methods of an operator that is a function of two operands: with a traced array on its left, and on its right."""

    def reflected(self: Any, other: Any) -> Any:
        return getattr(namespace, name)(other, self)

    return _method(name), reflected


class Traced:
    """An array without values: `shape` (integers and symbols), `dtype`, `ndim`, and NumPy's operators and methods."""

    __slots__ = ("is_rounded", "recorder", "tensor")

    def __init__(self, recorder: Recorder, tensor: Tensor, *, is_rounded: bool = False) -> None:
        self.recorder = recorder
        self.tensor = tensor
        self.is_rounded = is_rounded
        """Whether it is a number of the caller's, or made of such alone, that was rounded to float32."""

    @property
    def shape(self) -> Shape:
        """Extents in elements; those known at run time are symbols, which answer comparisons that their range decides."""
        return lengths(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return np.dtype(self.tensor.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.tensor.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return lengths((times(*self.tensor.shape),))[0]

    T = property(_method("transpose"))
    mT = property(_method("matrix_transpose"))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """As `numpy.ndarray.reshape`."""
        return namespace.reshape(self, *(shape if len(shape) == 1 else (shape,)), **options)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.ndarray.transpose`."""
        first = axes[0] if axes else None
        order = first if len(axes) <= 1 and (first is None or isinstance(first, tuple | list)) else axes
        return namespace.transpose(self, order)

    swapaxes, astype, clip = _method("swapaxes"), _method("astype"), _method("clip")
    sum, prod, max, min, mean = map(_method, ("sum", "prod", "max", "min", "mean"))
    __getitem__ = _method("index")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        why, hint = "traced values do not change", "build a new array: where(), or einsum with a constant"
        raise UnsupportedOperation("assignment into a traced array", where=user_location(), why=why, hint=hint)

    def __len__(self) -> int:
        if self.shape and isinstance(self.shape[0], int):
            return self.shape[0]
        raise TypeError(f"a traced array of shape {shape_text(self.shape)} has no len()")

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return namespace

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return call_function(function, args, options)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
        return torch_function(function, namespace.FUNCTIONS)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        methods = [known for known in dir(Traced) if not known.startswith("_")]
        hint = f"use tilewright.{name}" if name in namespace.FUNCTIONS else instead_of(name, methods)
        text = f"attribute {name!r} of a traced array"
        raise UnsupportedAttribute(text, where=user_location(), why="it is not there", hint=hint)

    def __repr__(self) -> str:
        return f"Traced({self.tensor.name}: {self.tensor.dtype}{shape_text(self.shape)})"

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise _no_value("truth", "use where(condition, a, b)")

    def __int__(self) -> NoReturn:
        raise _no_value("integer value")

    __index__ = __int__

    def __float__(self) -> NoReturn:
        raise _no_value("value", "keep it an array: a 0-d array works in arithmetic")

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise _no_value("contents", "use functions of tilewright or NumPy functions that it traces; arrays in a list, one by one")

    __lshift__ = __rlshift__ = _refused("x << y", "left_shift")
    __rshift__ = __rrshift__ = _refused("x >> y", "right_shift")
    __xor__ = __rxor__ = _refused("x ^ y", "xor")
    __round__ = _method("round")
    __trunc__ = _method("trunc")

    __neg__ = _method("negative")
    __abs__ = _method("abs")

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        check_truth("~x", self)
        return namespace.logical_not(self)

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide")
    __mod__, __rmod__ = _operator("remainder")
    __matmul__, __rmatmul__ = _operator("matmul")
    __pow__, __rpow__ = _operator("pow")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        check_truth("x & y", self, other)
        return namespace.logical_and(self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        check_truth("x | y", self, other)
        return namespace.logical_or(self, other)

    __ror__ = __or__

    __lt__ = _method("less")
    __le__ = _method("less_equal")
    __gt__ = _method("greater")
    __ge__ = _method("greater_equal")
    __eq__: Any = _method("equal")
    __ne__: Any = _method("not_equal")


def _no_value(property_name: str, alternative: str = "") -> UnsupportedOperation:
    static = "if it depends on an argument that is no array, name that argument in static_argnames"
    text = f"the {property_name} of a traced array was asked for"
    why = "while a function is traced, its arrays have shapes but no values"
    return UnsupportedOperation(text, where=user_location(), why=why, hint=f"{alternative}; {static}" if alternative else static)
