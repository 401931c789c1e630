"""Padding of rows, so that columns and blocks of rows spread over the sets of a cache (design, kernels.md)."""

from __future__ import annotations

from itertools import count

LINE_BYTES = 64
"""Of every cache that is planned for; buffers begin with a line."""


def spread_padding(row: int | None, element_bytes: int, period_bytes: int) -> int:
    """Elements behind every row of `row` elements, where lines `period_bytes` apart share a set; 0 where nothing is known of it.

    Rows that fill cache lines are padded as `spread_lines` says, those of run-time length (None) by a line. Rows that are no
    whole lines are left alone.

    >>> [spread_padding(row, 4, 4096) for row in (64, 80, 8, None)], spread_padding(64, 1, 4096), spread_padding(64, 4, 0)
    ([16, 0, 0, 16], 0, 0)
    """
    line = LINE_BYTES // element_bytes
    if not period_bytes:
        return 0
    if row is None:
        return line
    lines, rest = divmod(row, line)
    return 0 if rest else (spread_lines(lines, period_bytes // LINE_BYTES) - lines) * line


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
