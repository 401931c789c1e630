"""Jitted functions in packages: saved with the kernels that they have, and loaded as functions that have these and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tilewright.api.calls.calling import Array, Binder
from tilewright.api.calls.plain_calls import PlainCalls
from tilewright.api.calls.saved_calls import (
    SavedCall,
    SavedFunction,
    SavedSignatures,
    saved_binder,
    saved_structure,
    structure,
)
from tilewright.api.kernel import FixedResult, Kernel
from tilewright.api.ranges import KernelTable
from tilewright.api.signatures import Signatures, extents_of
from tilewright.backends.saving import load_kernel
from tilewright.errors import ShapeError, TilewrightError
from tilewright.graph import data_format
from tilewright.runtime.packages.layout import Content
from tilewright.runtime.packages.reading import Package
from tilewright.runtime.packages.writing import PackageWriter

AnyKernel: TypeAlias = Kernel | FixedResult
CallKey: TypeAlias = tuple[Any, ...]
"""A structure of arguments, then the rank and the type of every array in it."""


def save_function(
    name: str,
    binder: Binder,
    signatures: Sequence[tuple[CallKey, Signatures[Any, AnyKernel]]],
    kernels: Iterable[AnyKernel],
    path: str | Path,
) -> None:
    """Write a package of a function. Raises `TilewrightError` where it has no kernels, or what a package has no place for."""
    numbers = {kernel: number for number, kernel in enumerate(dict.fromkeys(kernels))}
    if not numbers:
        hint = "call the function, or prepare() its shapes, before it is saved"
        raise TilewrightError(f"{name} has no kernels to save", where="save", hint=hint)
    writer = PackageWriter(Content.FUNCTION)
    tables = [
        SavedSignatures(
            saved_structure(called),
            tuple(arrays),
            found.saved(sum(rank for rank, _ in arrays), numbers.get),
        )
        for (called, *arrays), found in signatures
    ]
    saved = SavedFunction(name, saved_binder(binder), tuple(kernel._saved(writer) for kernel in numbers), tuple(tables))
    writer.target(data_format.encode(saved, SavedFunction))
    writer.write(path)


def kernel_of(saved: SavedCall, package: Package, threads: int | None) -> AnyKernel:
    """A kernel of a package. Raises `InvalidPackage`."""
    with package.refusing("a call is described wrongly"):
        called = saved.called()
    if saved.kernel is None:
        return FixedResult(called)
    explained = None if saved.explanation is None else package.explanation(saved.explanation)
    return Kernel(called, *load_kernel(saved.kernel, package, threads), explained)


def function_of(saved: SavedFunction, package: Package, threads: int | None) -> LoadedFunction:
    """The function of a package. Raises `InvalidPackage`."""
    kernels = [kernel_of(kernel, package, threads) for kernel in saved.kernels]
    with package.refusing("a function is described wrongly"):
        tables: dict[CallKey, KernelTable[AnyKernel]] = {
            (structure(one.call), *one.arrays): one.table.table(kernels) for one in saved.signatures
        }
        return LoadedFunction(saved.name, saved.binder.binder(), tables)


class LoadedFunction(PlainCalls[AnyKernel]):
    """A jitted function of a package, called like the function: with the shapes that were compiled before it was saved.

    Other calls raise `ShapeError`.
    """

    def __init__(self, name: str, binder: Binder, tables: dict[CallKey, KernelTable[AnyKernel]]) -> None:
        super().__init__(binder)
        self.__name__, self._tables = name, tables

    def _call(self, args: tuple[Any, ...], out: Any, interpret: bool, options: dict[str, Any]) -> Any:
        if interpret:
            hint = "interpret the jitted function that was saved"
            raise TilewrightError(f"the saved function {self.__name__} cannot be interpreted", where="interpret", hint=hint)
        call = self._binder.flatten(args, options)
        inputs = call.arrays()
        return self._kernel(call.structure, inputs).run(inputs, call.first_array(), out)

    def _plain_kernel(self, args: tuple[Any, ...], inputs: tuple[Array, ...]) -> AnyKernel:
        return self._kernel(self._binder.flatten(args, {}).structure, inputs)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Its kernels."""
        every = dict.fromkeys(kernel for table in self._tables.values() for kernel in table.kernels.values())
        return tuple(kernel for kernel in every if isinstance(kernel, Kernel))

    def _kernel(self, called: Any, inputs: tuple[Array, ...]) -> AnyKernel:
        table = self._tables.get((called, *[(array.ndim, array.dtype) for array in inputs]))
        found = None if table is None else table.find(extents_of(inputs))
        if found is None:
            given = ", ".join(f"{array.dtype} {array.shape}" for array in inputs)
            raise ShapeError(
                f"the saved function {self.__name__} has no kernel for this call",
                where=f"arguments: {given or 'no arrays'}",
                why=f"it was saved with {len(self.kernels)} kernels, for other structures, element types or shapes",
                hint="prepare() or call the jitted function with such arguments before it is saved",
            )
        return found
