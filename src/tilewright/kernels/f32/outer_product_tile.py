"""Rows by vectors of sums in C."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

ROWS_PER_POINTER = 4
"""Rows are addressed as pointer + {0, 1, 2, 3} * a_row, as addressing modes can: a pointer per row takes too many registers."""
PRODUCT = ("k", "a", "a_row", "a_column", "b", "b_row", "c", "c_row", "accumulate")
"""What the function of one shape is given of the product."""


class Accumulators:
    """Rows by vectors of sums, and the pointers to the rows of A."""

    __slots__ = ()
    rows: int
    vectors: int

    def _places(self) -> Iterator[tuple[int, int]]:
        """(row, vector) of every accumulator."""
        return product(range(self.rows), range(self.vectors))

    def _pointer_rows(self) -> range:
        return range(0, self.rows, ROWS_PER_POINTER)

    def _row(self, row: int) -> tuple[str, str]:
        """The pointer to a row of A, and the row's place behind it."""
        offset = row % ROWS_PER_POINTER
        return f"a_{row - offset}", ("0", "a_row", "2 * a_row", "a_row_3")[offset]
