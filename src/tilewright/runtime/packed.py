"""Packed constants of a kernel, and the table of their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tilewright.records import record
from tilewright.runtime.arrays import Array


@record
class Packed:
    """The packed constants of a kernel, as bytes, and the table of their addresses that calls are given."""

    arrays: tuple[Array, ...]
    table: ctypes.Array[ctypes.c_void_p]

    @staticmethod
    def of(arrays: Sequence[Array]) -> Packed:
        """These arrays, in the order of the signature."""
        return Packed(tuple(arrays), (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))

    @property
    def address(self) -> int | None:
        """Of the table; None where nothing is packed."""
        return ctypes.addressof(self.table) if self.arrays else None

    @property
    def nbytes(self) -> int:
        """Of all that is packed, whoever else reads it."""
        return sum(array.nbytes for array in self.arrays)
