"""Calls of functions that have kernels: those whose arguments are plain arrays find theirs by exact shapes and types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from sys import modules
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from tilewright.api import dynamo
from tilewright.api.calls.calling import Array, Binder
from tilewright.api.dynamo import opaque, traced_as, unmarked
from tilewright.api.tracebacks import shorten
from tilewright.runtime import native
from tilewright.runtime.arrays import views

MOST_REMEMBERED = 4096
"""Exact shapes whose kernels are found at once; beyond, they are found by their ranges again."""


class Runs(Protocol):
    """A kernel."""

    def run(self, inputs: tuple[Array, ...], first: object, out: Any) -> Any:
        """The result for arrays: in the kind of `first`, or in `out`."""


KernelT = TypeVar("KernelT", bound=Runs)


class PlainCalls(ABC, Generic[KernelT]):
    """A function that has kernels. Safe from several threads."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder
        self._plain: dict[Hashable, KernelT] = {}
        """By the signatures of calls."""
        self._signature: Callable[[tuple[Any, ...]], Hashable] = _described
        """The types and shapes of NumPy's arrays; None where anything needs more care."""

    _dynamo_name: str | None = None
    """By which Dynamo knows a function whose calls can be part of its graphs."""

    def _seen_by_dynamo(self, *args: Any, out: Any = None, interpret: bool = False, **options: Any) -> Any:
        """What Dynamo traces in the place of a call."""
        if out is not None or interpret or self._dynamo_name is None:
            return self._left_alone(args, out, interpret, options)
        return self._recorded(args, options)

    @opaque
    def _left_alone(self, args: tuple[Any, ...], out: Any, interpret: bool, options: dict[str, Any]) -> Any:
        return self(*args, out=out, interpret=interpret, **options)

    def _recorded(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result of a call, as part of a graph."""
        return self._left_alone(args, None, False, options)

    @traced_as(_seen_by_dynamo)
    @opaque
    def __call__(self, *args: Any, out: Any = None, interpret: bool = False, **options: Any) -> Any:
        """Run the kernel for these arguments; the first call of a signature compiles it.

        `out` takes the results (one array, or containers nested like the result; elements share no memory) and is returned.
        `interpret=True` interprets the function in NumPy instead, in any element type. Inside another traced function the
        function is simply inlined. A function of a package raises `ShapeError` where it has no kernel.
        """
        if unmarked and "torch" in modules:
            dynamo.mark()
            return self(*args, out=out, interpret=interpret, **options)
        try:
            kernel = None if options or interpret else self._plain.get(self._signature(args))
            if kernel is not None:
                return kernel.run(args, args[0] if args else None, out)
            inputs = None if options or interpret or self._binder.static_names else views(args)
            if inputs is None:
                return self._call(args, out, interpret, options)
            kernel = self._plain.get(self._signature(inputs)) or self._remembered(args, inputs)
            return kernel.run(inputs, args[0] if args else None, out)
        except Exception as problem:
            shorten(problem)
            raise

    def _remembered(self, args: tuple[Any, ...], inputs: tuple[Array, ...]) -> KernelT:
        """The kernel of a call, which is found at once from now on."""
        kernel = self._plain_kernel(args, inputs)
        if native.is_loaded():  # not for devices
            self._signature = native.signature()
        signature = self._signature(inputs)
        if signature is not None:
            if len(self._plain) >= MOST_REMEMBERED:
                self._plain.clear()
            self._plain[signature] = kernel
        return kernel

    @abstractmethod
    def _call(self, args: tuple[Any, ...], out: Any, interpret: bool, options: dict[str, Any]) -> Any:
        """The result of any call."""

    @abstractmethod
    def _plain_kernel(self, args: tuple[Any, ...], inputs: tuple[Array, ...]) -> KernelT:
        """The kernel of a call whose arguments are plain arrays, `inputs`."""


def _described(arrays: tuple[Any, ...]) -> Hashable:
    """A signature, where no C part is loaded."""
    if any(type(array) is not np.ndarray for array in arrays):
        return None
    return tuple([(array.shape, array.dtype) for array in arrays])
