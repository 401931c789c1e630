"""Interface of the C launcher: the description of an entry point, and the meaning of its answers (see native/launcher.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import assert_never

from tilewright.dtypes import dtype_named
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.errors import UnsupportedOperation
from tilewright.graph.expressions.extents import Extent, Operation, Sum


class Reason(IntEnum):
    """Why the launcher refused; `enum reason` of launcher.c."""

    OK = 0
    NO_BUFFER = 1
    DTYPE = 2
    RANK = 3
    SHAPE = 4
    RANGE = 5
    LAYOUT = 6
    OVERLAP = 7
    MEMORY = 8
    COUNT = 9
    POSITION = 10
    NOT_FINITE = 11


def long_fields(*names: str) -> tuple[tuple[str, type[ctypes.c_long]], ...]:
    """Fields of a structure that are `long`."""
    return tuple((name, ctypes.c_long) for name in names)


class Fault(ctypes.Structure):
    """`struct fault` of launcher.c: a position out of range, or bytes for which there is no memory."""

    _fields_ = long_fields("lookup", "place", "position", "extent", "missing_bytes")


class _SymbolRule(ctypes.Structure):
    _fields_ = (*long_fields("low", "high"), ("steps", ctypes.POINTER(ctypes.c_long)))


class _TensorRule(ctypes.Structure):
    _fields_ = (
        *long_fields("kind", "itemsize", "rank", "unit_stride_dim", "joined"),
        ("shape", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
    )


class Record(ctypes.Structure):
    """`struct tw_record` of launcher.c. Instances keep alive what they point to."""

    shapes: ctypes.Array[ctypes.c_long]
    """Of all tensors, one behind the other."""
    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        *long_fields("symbol_count", "input_count", "tensor_count", "size_count"),
        ("symbols", ctypes.POINTER(_SymbolRule)),
        ("tensors", ctypes.POINTER(_TensorRule)),
        ("constants", ctypes.c_void_p),
    )


def make_record(signature: Signature, entry: int, workspace_bytes: int, pool: int, constants: int | None = None) -> Record:
    """The record of an entry point, given the addresses of its two functions, of the pool and of packed constants."""
    slots = (*signature.inputs, *signature.outputs)
    numbers = {symbol.name: -1 - number for number, symbol in enumerate(signature.symbols)}
    symbols = (_SymbolRule * len(signature.symbols))(*(_symbol_rule(symbol, numbers) for symbol in signature.symbols))
    shapes = longs([numbers[extent] if isinstance(extent, str) else extent for slot in slots for extent in slot.shape])
    tensors = (_TensorRule * len(slots))()
    place = ctypes.addressof(shapes)
    for number, slot in enumerate(slots):
        tensors[number] = _tensor_rule(slot, place)
        place += len(slot.shape) * ctypes.sizeof(ctypes.c_long)
    counts = len(symbols), len(signature.inputs), len(slots), len(symbols) + len(shapes)
    record = Record(entry, workspace_bytes, pool, *counts, symbols, tensors, constants)
    record.shapes = shapes
    return record


def split_answer(answer: int) -> tuple[Reason, int]:
    """The reason and the number of the argument, or of the lookup, that it is about.

    >>> split_answer(4 + 256 * 2)
    (<Reason.SHAPE: 4>, 2)
    """
    return Reason(answer % 256), answer // 256


def _tensor_rule(slot: TensorSlot, shape: int) -> _TensorRule:
    """The rule of a tensor, given the address of its shape. `dtype_named` keeps its type for ever."""
    dtype = dtype_named(slot.dtype)
    kind = "b" if needs_view(slot) else {"b": "?"}.get(dtype.kind, dtype.kind)
    unit = -1 if slot.unit_stride_dim is None else slot.unit_stride_dim
    joined = sum(1 << dim for dim in slot.joined)
    return _TensorRule(ord(kind), dtype.itemsize, len(slot.shape), unit, joined, shape, id(dtype))


class Step(IntEnum):
    """How the value of a formula is computed on a stack; `enum step` of launcher.c."""

    END = 0
    INTEGER = 1
    SYMBOL = 2
    ADD = 3
    MULTIPLY = 4
    DIVIDE = 5
    LEAST = 6
    GREATEST = 7


OPERATIONS = {"//": Step.DIVIDE, "min": Step.LEAST, "max": Step.GREATEST}
MOST_STACKED = 64
"""Of launcher.c's stack."""


def _symbol_rule(symbol: Symbol, numbers: Mapping[str, int]) -> _SymbolRule:
    if symbol.extent is None:
        return _SymbolRule(symbol.low, symbol.high)
    steps = [*_steps(symbol.extent, numbers), Step.END]
    if len(steps) > 2 * MOST_STACKED:
        raise UnsupportedOperation(f"an extent of more than {MOST_STACKED} terms", why=symbol.name)
    return _SymbolRule(symbol.low, symbol.high, longs(steps))


def _steps(extent: Extent, numbers: Mapping[str, int]) -> Iterator[int]:
    """A formula in postfix notation: a step, behind INTEGER and SYMBOL a number.

    >>> from tilewright.graph.expressions.extents import SymbolicExtent, quotient
    >>> dimension = SymbolicExtent("s", 1, 9, 9)
    >>> list(_steps(quotient(dimension, 2), {"s": -1})) == [Step.SYMBOL, 0, Step.INTEGER, 2, Step.DIVIDE]
    True
    """
    if isinstance(extent, int):
        yield from (Step.INTEGER, extent)
        return
    match extent.formula:
        case None:
            yield from (Step.SYMBOL, -1 - numbers[extent.name])
        case Sum(terms):
            yield from (Step.INTEGER, 0)
            for coefficient, factors in terms:
                yield from (Step.INTEGER, coefficient)
                for factor in factors:
                    yield from (*_steps(factor, numbers), Step.MULTIPLY)
                yield Step.ADD
        case Operation(function, first, second):
            yield from (*_steps(first, numbers), *_steps(second, numbers), OPERATIONS[function])
        case _:
            assert_never(extent.formula)


def needs_view(slot: TensorSlot) -> bool:
    """Whether NumPy cannot export the type as a buffer (bfloat16 and the like): the launcher is shown the bits.

    >>> needs_view(TensorSlot("x", "bfloat16", (2,)))
    True
    """
    return dtype_named(slot.dtype).isbuiltin != 1


def longs(values: Sequence[int]) -> ctypes.Array[ctypes.c_long]:
    """Numbers as a C array.

    >>> list(longs([2, 3]))
    [2, 3]
    """
    return (ctypes.c_long * len(values))(*values)
