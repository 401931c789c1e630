"""Checking arrays against a signature in words: the slow, explaining twin of the launcher's checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.dtypes import dtype_named
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.errors import DTypeError, ShapeError
from tilewright.graph.expressions.extents import value_of
from tilewright.runtime.arrays import Array


def bind(signature: Signature, arrays: Sequence[Array]) -> dict[str, int]:
    """The value of every symbol, where `arrays` are the inputs, perhaps followed by the outputs.

    Raises `ShapeError` or `DTypeError` naming the argument, what was got and what was expected.

    >>> import numpy as np
    >>> slot = TensorSlot("x", "float32", ("n", 2))
    >>> bind(Signature((Symbol("n", 1, 9),), (slot,), ()), [np.zeros((3, 2), "float32")])
    {'n': 3}
    """
    slots = (*signature.inputs, *signature.outputs)
    symbols = {symbol.name: symbol for symbol in signature.symbols}
    values: dict[str, int] = {}
    owners: dict[str, str] = {}
    for slot, array in zip(slots, arrays, strict=False):
        _check_dtype(slot, array)
        if array.ndim != len(slot.shape):
            raise _shape_error(slot, array, f"it has {array.ndim} dimensions, not {len(slot.shape)}")
        for dim, (wanted, extent) in enumerate(zip(slot.shape, array.shape, strict=True)):
            if isinstance(wanted, str) and wanted not in values and symbols[wanted].extent is None:
                _check_range(slot, dim, symbols[wanted], array)
                values[wanted], owners[wanted] = extent, slot.name
            elif extent != (expected := _expected(wanted, symbols, values)):
                owner = f" by argument {owners[str(wanted)]}" if wanted in owners else ""
                raise _shape_error(slot, array, f"{wanted} is {expected}{owner}" if isinstance(wanted, str) else "")
    return values


def _expected(wanted: int | str, symbols: Mapping[str, Symbol], values: Mapping[str, int]) -> int:
    """An extent of the signature, given the values of dimensions."""
    if isinstance(wanted, int):
        return wanted
    extent = symbols[wanted].extent
    return values[wanted] if extent is None else value_of(extent, values)


def check_counts(signature: Signature, inputs: int, outputs: int) -> None:
    """Raise `ShapeError` unless there are as many arrays as the signature has slots."""
    for kind, got, slots in (("inputs", inputs, signature.inputs), ("outputs", outputs, signature.outputs)):
        if got != len(slots):
            names = ", ".join(slot.name for slot in slots)
            raise ShapeError(f"got {got} {kind}, expected {len(slots)}: {names}")


def _check_dtype(slot: TensorSlot, array: Array) -> None:
    expected = dtype_named(slot.dtype)
    if array.dtype.newbyteorder("=") != expected:
        raise DTypeError(
            f"argument {slot.name} has element type {array.dtype}, expected {slot.dtype}",
            where=slot.name,
            hint=f"convert it: x.astype({slot.dtype!r})",
        )


def _check_range(slot: TensorSlot, dim: int, symbol: Symbol, array: Array) -> None:
    if not symbol.low <= array.shape[dim] <= symbol.high:
        raise _shape_error(slot, array, f"{symbol.name} must lie in {symbol.low}..{symbol.high}")


def _shape_error(slot: TensorSlot, array: Array, why: str) -> ShapeError:
    expected = ", ".join(map(str, slot.shape)) + ("," if len(slot.shape) == 1 else "")
    return ShapeError(f"argument {slot.name} has shape {array.shape}, expected ({expected})", where=slot.name, why=why)
