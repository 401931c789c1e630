"""The tile of an outer-product micro kernel from the number of registers: Chimera (HPCA 2023), section V-B."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from tilewright.errors import PlanningError


class TileShape(NamedTuple):
    """Rows and vectors of C held in registers, and how many elements of A are broadcast at a time."""

    rows: int
    """MI."""
    vectors: int
    """NI."""
    broadcasts: int
    """MII."""


def chimera_tile(registers: int, *, strict: bool = False) -> TileShape:
    """The tile with the highest arithmetic intensity whose MI*NI + NI + MII vectors fit in the registers.

    The intensity of KI steps is MI*NI*KI / (KI*(MI + NI) + 2*MI*NI): for every KI it orders tiles as MI*NI / (MI + NI) does.
    `strict` is the rule as printed: any MII, the smallest on ties. Otherwise MII divides MI and is at least 2, so that a
    broadcast overlaps with arithmetic, and ties go to the larger MI, then to the smaller MII: the tiles that run best.

    >>> chimera_tile(32)
    TileShape(rows=6, vectors=4, broadcasts=2)
    >>> chimera_tile(32, strict=True)
    TileShape(rows=5, vectors=5, broadcasts=1)
    """
    smallest = 1 if strict else 2
    shapes = [
        TileShape(rows, vectors, broadcasts)
        for rows in range(1, registers)
        for vectors in range(1, registers // rows + 1)
        for broadcasts in range(smallest, rows + 1)
        if rows % broadcasts == 0 and rows * vectors + vectors + broadcasts <= registers
    ]
    if not shapes:
        raise PlanningError(f"{registers} vector registers hold no tile", why=f"the smallest needs {3 if strict else 5}")
    return max(
        shapes,
        key=lambda shape: (Fraction(shape.rows * shape.vectors, shape.rows + shape.vectors), shape.rows, -shape.broadcasts),
    )
