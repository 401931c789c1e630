"""The graph under construction: names, operators and constants in the order in which the user's function asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, TilewrightError
from tilewright.frontend.tracing.element_types import check_known
from tilewright.frontend.tracing.location import located, user_location
from tilewright.graph.builders.builder import Builder
from tilewright.graph.constant_values import can_change
from tilewright.graph.short_names import short_name
from tilewright.graph.types import Constant, Extent, Operator, Tensor

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of positions, lengths and indices: maps may read them, and no kernel stores them."""
_INTERPRET = "or pass interpret=True to interpret the function in NumPy"


_current: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


def current_recorder() -> Recorder | None:
    """The recorder of the function that is being traced, None outside."""
    return _current.get()


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Make a recorder the current one, inside the context."""
    token = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(token)


class Recorder(Builder):
    """A builder for functions that are traced: it says where in the user's source something went wrong.

    `element_types` are accepted for tensors; None accepts all (for the interpreter).
    """

    def __init__(self, name: str, element_types: Collection[str] | None = None) -> None:
        super().__init__(short_name(name))
        self.element_types = element_types
        self._known: dict[Constant, str] = {}

    def input(self, name: str, shape: Sequence[Extent], dtype: str) -> Tensor:
        """A new input of the graph."""
        self._check_type(dtype, f"argument {name!r}")
        return super().input(name, shape, dtype)

    def constant(self, array: Any, name: str = "constant") -> Tensor:
        """The tensor of an array's present contents, which are copied if they can change; equal contents give the same tensor."""
        if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
            raise DTypeError("a masked array cannot be a constant", where=user_location(), hint="use its filled(value)")
        is_fixed = isinstance(array, np.ndarray) and array.flags.c_contiguous and not can_change(array)
        value = array if is_fixed else np.array(array, order="C")
        constant = Constant(value)
        if constant in self._known:
            return self.tensors[self._known[constant]]
        self._check_type(value.dtype.name, "a constant of the function")
        if not is_fixed:
            value.flags.writeable = False
        tensor = super().constant(value, name)
        self._known[constant] = tensor.name
        return tensor

    def record(self, build: Callable[..., tuple[Operator, Tensor]], *arguments: Any, kind: str, **options: Any) -> Tensor:
        """Run an operator builder under unique names and keep the operator. Errors are given the place in the user's source."""
        try:
            result = super().record(build, *arguments, kind=kind, **options)
        except TilewrightError as error:
            raise located(error) from error.__cause__
        self._check_type(result.dtype, f"the result of {kind}")
        if not self.operators[-1].is_map():
            self._check_operands(self.operators[-1], kind)
        return result

    def check_result(self, kind: str, operands: str, dtype: str, *, is_map: bool = True) -> None:
        """Refuse what kernels do not compute: maps may have truth values and integers as results, other operators not."""
        if self.element_types is None or dtype in self.element_types or (is_map and dtype in ("bool", *INTEGERS)):
            return
        why = f"NumPy promotes to that type, and kernels compute {kind} in {', '.join(self.element_types)}"
        hint = f"convert the operands: x.astype(numpy.float32); {_INTERPRET}"
        raise DTypeError(f"{kind} of {operands} has {dtype} elements", where=user_location(), why=why, hint=hint)

    def _check_operands(self, operator: Operator, kind: str) -> None:
        """Refuse what is no map of integers that kernels do not sum: only maps convert what they read."""
        types = [self.tensors[access.tensor].dtype for access in (*operator.reads, operator.write)]
        known = INTEGERS if self.element_types is None else self.element_types
        dtype = next((dtype for dtype in types if dtype in INTEGERS and dtype not in known), None)
        if dtype is not None:
            why = "compiled kernels take integers in comparisons, where and other elementwise functions only"
            hint = f"convert them with .astype(numpy.float32), {_INTERPRET}"
            raise DTypeError(f"{kind} of {dtype} elements", where=user_location(), why=why, hint=hint)

    def _check_type(self, dtype: str, subject: str) -> None:
        check_known(dtype, subject)
        if self.element_types is not None and dtype not in (*self.element_types, "bool", *INTEGERS):
            why = f"compiled kernels compute in {', '.join(self.element_types)}; promotion follows the array API"
            hint = f"convert arrays with .astype(numpy.float32), {_INTERPRET}"
            raise DTypeError(f"{subject} has dtype {dtype}", where=user_location(), why=why, hint=hint)
