"""Register tiles: a value with a dimension for each axis of several points, and how it is spread over more of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.records import record
from tilewright.render.triton.refusals import refused

MATRIX = 2
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
TYPES: Mapping[str, str] = {
    "bool": "tl.int1",
    **{name: f"tl.{name}" for name in (*INTEGERS, "float16", "bfloat16", "float32", "float64")},
}


def type_text(dtype: str) -> str:
    """An element type. Raises `UnsupportedOperation` for types that kernels do not have."""
    if dtype not in TYPES:
        raise refused(f"elements of {dtype}", f"it has {', '.join(TYPES)}")
    return TYPES[dtype]


@record
class Dim:
    """A dimension of a tile: an axis, and a power of two of points along it."""

    axis: str
    size: int


@record
class Tile:
    """The name of a value in a kernel, and its dimensions; a scalar has none."""

    text: str
    dims: tuple[Dim, ...] = ()
    dtype: str = "float32"
    zero: frozenset[str] = frozenset()
    """Axes along which it is 0 behind the last point."""

    @property
    def shape(self) -> str:
        """As a tuple of the kernel's text."""
        return shape_text(self.dims)


def shape_text(dims: Sequence[Dim]) -> str:
    """The sizes as a tuple.

    >>> shape_text((Dim("m", 16), Dim("n", 32))), shape_text((Dim("m", 16),))
    ('(16, 32)', '(16,)')
    """
    return "(" + ", ".join(str(dim.size) for dim in dims) + ("," if len(dims) == 1 else "") + ")"


def spread(tile: Tile, dims: Sequence[Dim]) -> str:
    """The text of a tile over these dimensions, among which are its own: of one point along those that it lacks.

    >>> m, n = Dim("m", 16), Dim("n", 32)
    >>> spread(Tile("x", (n,)), (m, n)), spread(Tile("x", (n, m)), (m, n)), spread(Tile("x"), (m, n))
    ('x[None, :]', 'tl.trans(x)', 'x')
    """
    own = [dim for dim in dims if dim in tile.dims]
    if len(own) != len(tile.dims):
        raise refused(f"{tile.text} over {shape_text(dims)}", f"it has the shape {tile.shape}")
    text = _in_order(tile, own)
    if not own or len(own) == len(dims):
        return text
    return f"{text}[{', '.join(':' if dim in own else 'None' for dim in dims)}]"


def _in_order(tile: Tile, dims: Sequence[Dim]) -> str:
    if tuple(dims) == tile.dims:
        return tile.text
    if len(dims) == MATRIX:
        return f"tl.trans({tile.text})"
    return f"tl.permute({tile.text}, {tuple(tile.dims.index(dim) for dim in dims)})"


def together(tiles: Sequence[Tile], dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The dimensions of all tiles: those of the tile with the most of them first, the others in the given order."""
    longest = max((tile.dims for tile in tiles), key=len, default=())
    found = {dim for tile in tiles for dim in tile.dims}
    return (*longest, *(dim for dim in dims if dim in found and dim not in longest))
