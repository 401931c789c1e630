"""Transposition of a square of lanes in registers, by shuffles that are one instruction each.

Inside of 128 bits neighbouring lanes of two vectors are put side by side; then blocks of 128 bits are gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tile.builder import Builder
from tilewright.tile.program import Value

BLOCK_BITS = 128


def transposed(b: Builder, rows: Sequence[Value]) -> list[Value]:
    """The columns of as many vectors as they have lanes.

    >>> from tilewright.tile.types import vector
    >>> b = Builder()
    >>> x = b.buffer("x", "int32")
    >>> len(transposed(b, [b.load(x, 4 * i, vector("int32", 4)) for i in range(4)]))
    4
    """
    lanes, size = len(rows), min(len(rows), BLOCK_BITS // rows[0].type.bits)
    blocks = lanes // size
    by_column: list[list[Value]] = [[] for _ in range(size)]
    for first in range(0, lanes, size):
        for column, value in enumerate(_inside_of_blocks(b, rows[first : first + size], blocks)):
            by_column[column].append(value)
    found = [_of_blocks(b, values, size) for values in by_column]
    return [found[lane % size][lane // size] for lane in range(lanes)]


def _inside_of_blocks(b: Builder, rows: Sequence[Value], blocks: int) -> list[Value]:
    """Every block transposed: rows of the first half alternate with those of the second until each has been split."""
    values, size = list(rows), len(rows)
    for _ in range(size.bit_length() - 1):
        pairs = zip(values[: size // 2], values[size // 2 :], strict=True)
        values = [b.shuffle(pair, _alternating(size, blocks, part)) for pair in pairs for part in (0, size // 2)]
    return values


def _alternating(size: int, blocks: int, first: int) -> list[int]:
    """Lanes of two vectors in turn, from one lane of each block on."""
    lanes = size * blocks
    return [
        block * size + first + lane + other * lanes for block in range(blocks) for lane in range(size // 2) for other in (0, 1)
    ]


def _of_blocks(b: Builder, values: Sequence[Value], size: int) -> list[Value]:
    """Vectors of the first blocks, of the second ones, and so on."""
    blocks = len(values)
    if blocks == 1:
        return list(values)
    half = blocks // 2
    pairs = [values[number : number + 2] for number in range(0, blocks, 2)]
    if blocks == 2:
        return [b.shuffle(pairs[0], _blocks((part, 2 + part), size)) for part in (0, 1)]
    found = []
    for part in range(0, blocks, half):
        low, high = (b.shuffle(pair, _blocks((part, part + 1, blocks + part, blocks + part + 1), size)) for pair in pairs)
        found += [b.shuffle((low, high), _blocks((one, 2 + one, blocks + one, blocks + 2 + one), size)) for one in (0, 1)]
    return found


def _blocks(numbers: Sequence[int], size: int) -> list[int]:
    return [number * size + lane for number in numbers for lane in range(size)]
