"""C text of software prefetch: a cursor for every input, set where blocks begin, and advanced by the micro tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.block.statements import Prefetch
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.kernels.element_types import C_TYPES, suffix
from tilewright.kernels.helpers import Helper

STRUCT = """\
/* What a later block reads: `rows` rows of `bytes` bytes, of which every micro tile asks for `lines` cache lines. */
struct tw_fetch {
  const char *row;
  long stride, bytes, rows, at, lines;
};
"""
START = """\
/* Rows whose elements do not lie side by side are left alone; those without gaps are one. */
TW_INLINE void @NAME@(struct tw_fetch *fetch, const @TYPE@ *row, long rows, long stride, long columns, long column, long lines) {
  const long bytes = columns * (long)sizeof(@TYPE@), apart = stride * (long)sizeof(@TYPE@);
  const struct tw_fetch dense = {(const char *)row, 0, rows * bytes, 1, 0, lines};
  const struct tw_fetch sparse = {(const char *)row, apart, bytes, column == 1 || columns == 1 ? rows : 0, 0, lines};
  *fetch = apart == bytes && column == 1 ? dense : sparse;
}
"""
ADVANCE = """\
TW_INLINE void tw_advance(struct tw_fetch *fetches, long count) {
  for (struct tw_fetch *fetch = fetches; fetch < fetches + count; fetch++)
    for (long line = 0; line < fetch->lines && fetch->rows > 0; line++) {
      __builtin_prefetch(fetch->row + fetch->at, 0, 2);
      fetch->at += 64;
      if (fetch->at >= fetch->bytes) {
        fetch->at = 0;
        fetch->row += fetch->stride;
        fetch->rows--;
      }
    }
}
"""


def _start(dtype: str) -> str:
    return START.replace("@NAME@", f"tw_start{suffix(dtype)}").replace("@TYPE@", C_TYPES[dtype])


CURSORS = Helper("tw_fetch", f"{STRUCT}{_start('float32')}{ADVANCE}")


def prefetch_helpers(software_prefetches: Iterable[Prefetch]) -> Iterator[Helper]:
    """What the statements that set cursors call."""
    for dtype in (prefetch.view.dtype for prefetch in software_prefetches):
        yield CURSORS if dtype == "float32" else Helper(f"tw_start_{dtype}", _start(dtype), (CURSORS,))


def declaration(software_prefetches: tuple[Prefetch, ...]) -> list[str]:
    """The cursors of a task."""
    return [f"struct tw_fetch fetches[{len(software_prefetches)}] = {{0}};"] if software_prefetches else []


def start(number: int, prefetch: Prefetch) -> str:
    """The statement that sets a cursor; the block's variables are those of the block that it is for."""
    place = pointer(prefetch.view.buffer, prefetch.view.offset)
    sizes = ", ".join(map(to_c, (prefetch.rows, prefetch.row_stride, prefetch.columns, prefetch.column_stride, prefetch.lines)))
    return f"tw_start{suffix(prefetch.view.dtype)}(&fetches[{number}], {place}, {sizes});"
