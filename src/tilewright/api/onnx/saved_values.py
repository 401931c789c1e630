"""Values of sessions as data, as packages hold them: arrays, texts, sequences, symbolic shapes, and attributes of nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright.errors import TilewrightError
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.records import record
from tilewright.runtime.packages.reading import Package, StoredArray

if TYPE_CHECKING:
    from tilewright.runtime.packages.writing import PackageWriter


INLINE_BYTES = 1024
"""Of arrays that are part of a plan."""


@record
class SavedTexts:
    """An array of texts."""

    shape: tuple[int, ...]
    texts: tuple[str, ...]


@record
class SavedSymbolic:
    """An array of extents, some of which a call tells."""

    shape: tuple[int, ...]
    extents: tuple[int | SymbolicExtent, ...]
    dtype: str


@record
class SavedSequence:
    """A list, or a tuple."""

    is_list: bool
    items: tuple[SavedValue, ...]


SavedValue: TypeAlias = (
    bool | int | float | str | bytes | np.ndarray | StoredArray | SavedTexts | SavedSymbolic | SavedSequence | None
)


def saved_value(value: Any, writer: PackageWriter, where: str) -> SavedValue:
    """The data of a value. Raises `TilewrightError` for what packages have no place for."""
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value  # type: ignore[no-any-return]
    if isinstance(value, Symbolic):
        extents = tuple(one if isinstance(one, SymbolicExtent) else int(one) for one in value.array.reshape(-1).tolist())
        return SavedSymbolic(value.array.shape, extents, value.dtype)
    if isinstance(value, (list, tuple)):
        return SavedSequence(isinstance(value, list), tuple(saved_value(item, writer, where) for item in value))
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
        texts = value.reshape(-1).tolist()
        if all(isinstance(text, str) for text in texts):
            return SavedTexts(value.shape, tuple(texts))
    elif isinstance(value, np.ndarray):
        return np.ascontiguousarray(value) if value.nbytes <= INLINE_BYTES else writer.array(value)
    kind, why = type(value).__name__, "a package holds arrays, numbers and texts"
    raise TilewrightError(f"a {kind} cannot be saved", where=where, why=why)


def loaded_value(value: SavedValue, package: Package) -> Any:
    """The value of its data. Raises `InvalidPackage` or `ValueError`."""
    match value:
        case StoredArray():
            return package.array(value)
        case SavedTexts(shape, texts):
            return _objects(texts, shape)
        case SavedSymbolic(shape, extents, dtype):
            return Symbolic(_objects(extents, shape), np.dtype(dtype).name)
        case SavedSequence(is_list, items):
            found = [loaded_value(item, package) for item in items]
            return found if is_list else tuple(found)
        case _:
            return value


def _objects(values: tuple[Any, ...], shape: tuple[int, ...]) -> np.ndarray:
    if math.prod(shape) != len(values):
        raise ValueError("an array has another number of elements than its shape")
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)
