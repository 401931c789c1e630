"""Storage of tensors while a chain runs: arguments with run-time strides, and scratch buffers of blocks or whole extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from tilewright.codegen.expressions import Value, add, multiply, round_up, subtract
from tilewright.codegen.loop_nest import Gather, Range, View
from tilewright.graph.index import Index
from tilewright.graph.types import Access

LINE_BYTES = 64
"""Alignment of buffers, and of the contract of micro kernels."""
CACHE_LINE_FLOATS = LINE_BYTES // 4


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in memory: the stride of every dimension in elements, and the position at which the buffer starts.

    `offset` is where in the buffer that position lies.
    """

    buffer: str
    strides: tuple[Value, ...]
    origins: tuple[Value, ...]
    offset: Value = 0
    dtype: str = "float32"


def dense_strides(sizes: tuple[Value, ...], padding: int = 0, multiple: int = 1) -> tuple[Value, ...]:
    """Row-major strides; the innermost row is rounded up to `multiple` and then padded.

    >>> dense_strides((2, 3, 5))
    (15, 5, 1)
    >>> dense_strides((2, 3, 5), padding=16, multiple=16)
    (96, 32, 1)
    """
    strides: list[Value] = []
    running: Value = 1
    for position, size in enumerate(reversed(sizes)):
        strides.append(running)
        running = multiply(running, add(round_up(size, multiple), padding) if position == 0 else size)
    return tuple(reversed(strides))


def spread_strides(sizes: tuple[Value, ...], period_bytes: int, multiple: int = 1) -> tuple[Value, ...]:
    """Row-major strides of a tensor whose blocks of rows spread over the sets of a cache: `Execution.set_period_bytes`.

    Rows that fill cache lines are padded as `spread_lines` says, those of run-time length by a line. One row, and rows that are
    no whole lines, are left alone.

    >>> [spread_strides(sizes, 4096) for sizes in ((4, 64), (4, 80), (4, 8), (64,))]
    [(80, 1), (80, 1), (8, 1), (1,)]
    """
    if not period_bytes:
        return dense_strides(sizes, 0, multiple)
    row = round_up(sizes[-1], multiple) if len(sizes) > 1 else 1
    if not isinstance(row, int):
        return dense_strides(sizes, CACHE_LINE_FLOATS, multiple)
    lines, rest = divmod(row, CACHE_LINE_FLOATS)
    padding = 0 if rest else spread_lines(lines, period_bytes // LINE_BYTES) - lines
    return dense_strides(sizes, padding * CACHE_LINE_FLOATS, multiple)


def spread_lines(lines: int, sets: int) -> int:
    """The least stride, in lines, at which neither a column of lines nor a block of long rows meets in few sets of a cache.

    Numbers of sets are powers of two, so that an odd stride takes a column through all sets. Rows that are longer than the
    distance to their successors modulo the sets overlap there: twelve rows of eleven lines at a distance of one fill the same
    set eleven times. At a distance of more than an eighth of the sets, either way, no set gets more than three lines beyond
    twice its share, whatever the block.

    >>> [spread_lines(lines, 64) for lines in (1, 5, 32, 64, 127, 128)]
    [1, 5, 33, 73, 137, 137]
    """
    least = sets // 8
    return next(n for n in count(lines | 1, 2) if n <= sets - least or least < n % sets < sets - least)


def elements(sizes: tuple[Value, ...], strides: tuple[Value, ...]) -> Value:
    """The number of elements that a buffer with these sizes and row-major strides needs."""
    if not sizes:
        return 1
    return multiply(sizes[0], strides[0]) if len(sizes) > 1 else sizes[0]


def start_of(index: Index, box: Mapping[str, Range]) -> Value:
    """The value of an affine index at the start of a box."""
    parts = (multiply(box[str(atom)].start, coefficient) for atom, coefficient in index.terms)
    return add(*parts, index.constant)


def view(access: Access, stored: Stored, box: Mapping[str, Range]) -> View | Gather:
    """How the elements that an access addresses in a box lie in memory."""
    if not access.is_affine():
        return _gather(access, stored)
    offsets = []
    strides: dict[str, Value] = {}
    for index, stride, origin in zip(access.indices, stored.strides, stored.origins, strict=True):
        offsets.append(multiply(subtract(start_of(index, box), origin), stride))
        for atom, coefficient in index.terms:
            strides[str(atom)] = add(strides.get(str(atom), 0), multiply(stride, coefficient))
    return View(stored.buffer, add(stored.offset, *offsets), tuple(strides.items()), stored.dtype)


def _gather(access: Access, stored: Stored) -> Gather:
    shifts = (multiply(origin, stride, -1) for origin, stride in zip(stored.origins, stored.strides, strict=True))
    return Gather(stored.buffer, add(*shifts), access.indices, stored.strides, access.guard, stored.dtype)
