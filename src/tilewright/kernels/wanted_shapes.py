"""Shapes of a tile that a caller of a micro kernel needs: code is emitted for no others."""

from __future__ import annotations

from itertools import product

from tilewright.errors import TilewrightError


def wanted_shapes(rows: int, vectors: int, variants: frozenset[tuple[int, int]] | None, name: str) -> list[tuple[int, int]]:
    """(rows, vectors) of every shape, largest first; None asks for all up to the whole tile.

    Fewer vectors may come with more rows, up to the number of accumulators of the tile. Raises TilewrightError for no shape at
    all, and for a shape that the tile cannot hold, where `name` is that of the function.

    >>> wanted_shapes(2, 2, None, "product"), wanted_shapes(2, 2, frozenset({(4, 1)}), "product")
    ([(2, 2), (2, 1), (1, 2), (1, 1)], [(4, 1)])
    """
    wanted = set(product(range(1, rows + 1), range(1, vectors + 1)) if variants is None else variants)
    if not wanted or not all(1 <= v <= vectors and 1 <= m <= rows * vectors // v for m, v in wanted):
        width = f"{vectors} {'vector' if vectors == 1 else 'vectors'}"
        raise TilewrightError(
            f"shapes {sorted(wanted)} are not within the tile of {rows} rows by {width}",
            where=f"micro kernel {name}",
            hint="ask for (rows, vectors) with at most as many vectors, and as many accumulators in all",
        )
    return sorted(wanted, reverse=True)
