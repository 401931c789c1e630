"""The graph under construction: names, operators and constants in the order in which the user's function asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, TilewrightError
from tilewright.frontend.tracing_location import located, user_location
from tilewright.graph.constant_values import can_change
from tilewright.graph.types import Constant, Graph, Operator, Tensor

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
"""Element types of positions, lengths and indices: maps may read them, and no kernel stores them."""


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


class Recorder:
    """Collects operators. `element_types` are accepted for tensors; None accepts all (for the interpreter)."""

    def __init__(self, name: str, element_types: Collection[str] | None = None) -> None:
        self.name = identifier(name)
        self.element_types = element_types
        self.tensors: dict[str, Tensor] = {}
        self.operators: list[Operator] = []
        self.inputs: list[str] = []
        self.constants: dict[str, Constant] = {}
        self._known: dict[Constant, str] = {}
        self._counts: dict[str, int] = {}

    def input(self, name: str, shape: tuple[Any, ...], dtype: str) -> Tensor:
        """A new input of the graph."""
        tensor = self._declare(Tensor(self.unique(name), shape, dtype), f"argument {name!r}")
        self.inputs.append(tensor.name)
        return tensor

    def constant(self, array: Any) -> Tensor:
        """The tensor of an array's present contents, which are copied if they can change; equal contents give the same tensor."""
        if isinstance(array, np.ma.MaskedArray):
            raise DTypeError("a masked array cannot be a constant", where=user_location(), hint="use its filled(value)")
        is_fixed = isinstance(array, np.ndarray) and array.flags.c_contiguous and not can_change(array)
        value = array if is_fixed else np.array(array, order="C")
        constant = Constant(value)
        if constant in self._known:
            return self.tensors[self._known[constant]]
        if value.dtype.kind not in "fiub" and value.dtype.name != "bfloat16":
            raise DTypeError(f"an array of {value.dtype} cannot be a constant", where=user_location())
        if not is_fixed:
            value.flags.writeable = False
        tensor = self._declare(Tensor(self.unique("constant"), value.shape, value.dtype.name), "a constant of the function")
        self.constants[tensor.name] = constant
        self._known[constant] = tensor.name
        return tensor

    def record(self, build: Callable[..., tuple[Operator, Tensor]], *arguments: Any, kind: str, **options: Any) -> Tensor:
        """Run an operator builder under unique names and keep the operator. Errors are given the place in the user's source."""
        try:
            operator, result = build(*arguments, **options, name=self.unique(kind), result=self.unique("t"))
        except TilewrightError as error:
            raise located(error) from error.__cause__
        self._declare(result, f"the result of {kind}")
        if not operator.is_map():
            self._check_operands(operator, kind)
        self.operators.append(operator)
        return result

    def graph(self, outputs: tuple[str, ...]) -> Graph:
        """The finished graph."""
        tensors = tuple(self.tensors.values())
        return Graph(self.name, tensors, tuple(self.operators), tuple(self.inputs), outputs, tuple(self.constants.items()))

    def unique(self, name: str) -> str:
        """An identifier that no tensor and no operator has: the name itself, or with a number behind it.

        >>> recorder = Recorder("f")
        >>> [recorder.unique("einsum"), recorder.unique("einsum"), recorder.unique("t")]
        ['einsum', 'einsum_2', 't_1']
        """
        base = identifier(name)
        while True:
            count = self._counts[base] = self._counts.get(base, 0) + 1
            candidate = base if count == 1 and base != "t" else f"{base}_{count}"
            if candidate == base or candidate not in self._counts:
                self._counts.setdefault(candidate, 1)
                return candidate

    def _check_operands(self, operator: Operator, kind: str) -> None:
        """Refuse what is no map of integers: only maps convert what they read."""
        tensors = [self.tensors[access.tensor] for access in (*operator.reads, operator.write)]
        dtype = next((tensor.dtype for tensor in tensors if tensor.dtype in INTEGERS), None)
        if self.element_types is not None and dtype is not None:
            raise DTypeError(
                f"{kind} of {dtype} elements",
                where=user_location(),
                why="compiled kernels take integers in comparisons, where and other elementwise functions only",
                hint="convert them with .astype(numpy.float32), or pass interpret=True to run the NumPy meaning",
            )

    def _declare(self, tensor: Tensor, what: str) -> Tensor:
        if self.element_types is not None and tensor.dtype not in (*self.element_types, "bool", *INTEGERS):
            raise DTypeError(
                f"{what} has dtype {tensor.dtype}",
                where=user_location(),
                why=f"compiled kernels compute in {', '.join(self.element_types)}; promotion follows the array API",
                hint="convert arrays with .astype(numpy.float32), or pass interpret=True to run the NumPy meaning",
            )
        self.tensors[tensor.name] = tensor
        return tensor


def identifier(name: str) -> str:
    """A name made of ASCII letters, digits and underscores that starts with a letter.

    >>> identifier("params['w']"), identifier("<lambda>")
    ('params_w', 'lambda')
    """
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return text if text[:1].isalpha() else f"x_{text}".rstrip("_")
