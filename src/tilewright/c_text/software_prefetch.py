"""C text of software prefetch: a cursor for every input, set where blocks begin, and advanced by the micro tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.block.statements import Prefetch
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.element_types import C_TYPES, suffix
from tilewright.kernels.helpers import Helper, filled

TEXTS = CTexts(__file__)


CURSORS = Helper("tw_fetch", TEXTS["cursors"])


def prefetch_helpers(software_prefetches: Iterable[Prefetch]) -> Iterator[Helper]:
    """What the statements that set cursors call."""
    for dtype in (prefetch.view.dtype for prefetch in software_prefetches):
        text = filled(TEXTS["start"], {"NAME": dtype, "TYPE": C_TYPES[dtype]})
        yield CURSORS if dtype == "float32" else Helper(f"tw_start_{dtype}", text, (CURSORS,))


def declaration(software_prefetches: tuple[Prefetch, ...]) -> list[str]:
    """The cursors of a task."""
    return [f"struct tw_fetch fetches[{len(software_prefetches)}] = {{0}};"] if software_prefetches else []


def start(number: int, prefetch: Prefetch) -> str:
    """The statement that sets a cursor; the block's variables are those of the block that it is for."""
    place = pointer(prefetch.view.buffer, prefetch.view.offset)
    sizes = ", ".join(map(to_c, (prefetch.rows, prefetch.row_stride, prefetch.columns, prefetch.column_stride, prefetch.lines)))
    return f"tw_start{suffix(prefetch.view.dtype)}(&fetches[{number}], {place}, {sizes});"
