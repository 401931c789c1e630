"""Register tiles in C: registers by number in inline assembly, or variables of a type that compilers have."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import InternalError
from tilewright.render.c.tiles.names import Names
from tilewright.tile.dialects.description import Entry
from tilewright.tile.operations import TileOperation
from tilewright.tile.program import Configure, OnTile, Place, Variable
from tilewright.tile.types import BITS, vector

PALETTE = """\
typedef struct {
  unsigned char palette, start, reserved[14];
  unsigned short row_bytes[16];
  unsigned char rows[16];
} tile_palette;"""
"""What a configuration of numbered tiles is in memory."""


def configure(body: Names, statement: Configure) -> Iterator[str]:
    """Rows and bytes of a row of every register; a tile without rows has no bytes either."""
    if _is_variable(body):
        for tile, *extents in statement.tiles:
            if extents != [tile.type.rows, tile.type.lanes]:
                raise InternalError(f"{tile.type} has all its rows and lanes")
            yield f"__vector_quad {body.value(tile)};"
            yield from _zero(body, tile)
        return
    most = body.vocabulary.dialect.register_tiles
    if len(statement.tiles) > most:
        raise InternalError(f"there are {most} register tiles, not {len(statement.tiles)}")
    body.tiles = {id(tile): number for number, (tile, _, _) in enumerate(statement.tiles)}
    body.vocabulary.define("tile_palette", PALETTE)
    name = f"{body.prefix}palette"
    yield f"tile_palette {name} = {{1, 0, {{0}}, {{0}}, {{0}}}};"
    for number, (tile, rows, lanes) in enumerate(statement.tiles):
        row_count, lane_count = f"({body.index(rows)})", f"({body.index(lanes)})"
        size = f"{tile.type.bits // 8} * {lane_count}"
        yield f"{name}.rows[{number}] = (unsigned char)({lane_count} == 0 ? 0 : {row_count});"
        yield f"{name}.row_bytes[{number}] = (unsigned short)({row_count} == 0 ? 0 : {size});"
    yield f'__asm__ volatile("{_entry(body, "configure").mnemonic} %0" : : "m"({name}));'


def release(body: Names) -> Iterator[str]:
    """Registers are free for others; variables end with their block."""
    if not _is_variable(body):
        yield f'__asm__ volatile("{_entry(body, "release").mnemonic}" : :);'


def change(body: Names, statement: OnTile) -> Iterator[str]:
    """A statement of one tile."""
    if _is_variable(body):
        yield from _change_variable(body, statement)
        return
    register = _register(body, statement.tile)
    match statement.operation:
        case TileOperation.ZERO:
            yield f'__asm__ volatile("{_entry(body, TileOperation.ZERO).mnemonic} {register}" : :);'
        case TileOperation.PRODUCT:
            factors = [one.type.dtype for one in statement.operands]
            mnemonic = _entry(body, TileOperation.PRODUCT, *factors, statement.tile.type.dtype).mnemonic
            left, right = (_register(body, one) for one in statement.operands if isinstance(one, Variable))
            yield f'__asm__ volatile("{mnemonic} {right}, {left}, {register}" : :);'
        case TileOperation.LOAD | TileOperation.STORE:
            yield _moved(body, statement, register)
        case _:
            raise InternalError(f"no {statement.operation} of tiles by number")


def _moved(body: Names, statement: OnTile, register: str) -> str:
    """A load or a store, rows so many bytes apart."""
    place, mnemonic = statement.place, _entry(body, statement.operation).mnemonic
    assert place is not None
    row = f"(long)({BITS[body.buffers[place.buffer].dtype] // 8} * ({body.index(place.row)}))"
    operands = f"(%0,%1,1), {register}" if statement.operation is TileOperation.LOAD else f"{register}, (%0,%1,1)"
    return f'__asm__ volatile("{mnemonic} {operands}" : : "r"({body.pointer(place)}), "r"({row}) : "memory");'


def _register(body: Names, tile: Variable) -> str:
    return f"%%tmm{body.tiles[id(tile)]}"


def _change_variable(body: Names, statement: OnTile) -> Iterator[str]:
    tile, place = statement.tile, statement.place
    match statement.operation:
        case TileOperation.ZERO:
            yield from _zero(body, tile)
        case TileOperation.OUTER:
            octets = body.vocabulary.vector_type("uint8", vector("uint8", 16).lanes)
            factors = (f"({octets}){body.value(one)}" for one in statement.operands)
            text = _entry(body, TileOperation.OUTER, tile.type.dtype).c
            yield f"{text.format(body.value(tile), *factors)};"
        case TileOperation.STORE if place is not None:
            c, rows = body.vocabulary.type(vector(tile.type.dtype, tile.type.lanes)), f"{body.value(tile)}_rows"
            yield "{"
            yield f"  {c} {rows}[{tile.type.rows}];"
            yield f"  __builtin_mma_disassemble_acc({rows}, &{body.value(tile)});"
            for row in range(tile.type.rows):
                yield f"  *({c}_u *)({body.pointer(_row_of(place, row))}) = {rows}[{row}];"
            yield "}"
        case _:
            raise InternalError(f"no {statement.operation} of a tile that is a variable")


def _row_of(place: Place, row: int) -> Place:
    return Place(place.buffer, place.index + place.row * row)


def _zero(body: Names, tile: Variable) -> Iterator[str]:
    yield f"{_entry(body, TileOperation.ZERO).c.format(body.value(tile))};"


def _is_variable(body: Names) -> bool:
    return bool(_entry(body, TileOperation.ZERO).c)


def _entry(body: Names, operation: str, *dtypes: str) -> Entry:
    """Of the table of the dialect."""
    found = body.vocabulary.dialect.entry(f"tile {operation}", *dtypes)
    if found is None:
        raise InternalError(f"{body.vocabulary.dialect.name} has no {operation} of register tiles of {', '.join(dtypes)}")
    return found
