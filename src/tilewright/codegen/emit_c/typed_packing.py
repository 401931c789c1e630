"""C text of packing for elements of any type, and for panels that hold neighbouring steps of the depth side by side."""

from __future__ import annotations

from functools import cache

from tilewright.codegen.loop_nest import Copy
from tilewright.graph.types import element_bytes
from tilewright.kernels.element_access import C_TYPES, whole_numbers
from tilewright.kernels.helpers import Helper

WORD_BYTES = 4
"""Of a lane: groups of so many bytes are put together in vectors."""
PANELS = """\
/* Column panels of `width`, in groups of H steps: target[j / width * panel_stride + (p / H * width + j % width) * H + p % H] =
   source[p * row + j * column]. Steps that the last group lacks, and columns that the last panel lacks, are zero. Some groups of
   all panels are filled before the next ones, so that rows of the source are read in long runs. */
static __attribute__((unused)) void @PANELS@(@TYPE@ *target, long panel_stride, long width, const @TYPE@ *source, long row,
                                             long column, long rows, long columns) {
  enum { H = @H@, BLOCK = 4 * H };
  for (long block = 0; block < rows; block += BLOCK)
    for (long first = 0; first < columns; first += width)
      for (long p = block; p < rows && p < block + BLOCK; p += H) {
        const long some = tw_min(width, columns - first), steps = tw_min(H, rows - p);
        const @TYPE@ *from = source + p * row + first * column;
        @TYPE@ *to = target + first / width * panel_stride + p * width;
        long j = 0;
@WORDS@        for (; j < width; j++)
          for (long q = 0; q < H; q++)
            to[j * H + q] = j < some && q < steps ? from[q * row + j * column] : 0;
      }
}
"""
WORDS = """\
        if (column == 1)
          for (; j + TW_LANES <= some; j += TW_LANES)
            @PANELS@_words(to + j * H, from + j, row, steps);
        else if (column == 2) /* a vector ends with an element that nobody asked for, in front of one that is there */
          for (; j + TW_LANES < some; j += TW_LANES)
            @PANELS@_words_apart(to + j * H, from + 2 * j, row, steps);
        if (steps == H)
          for (; j < some; j++)
            for (long q = 0; q < H; q++)
              to[j * H + q] = from[j * column + q * row];
"""
WORDS_OF_ROWS = """\
typedef unsigned @PANELS@_groups __attribute__((vector_size(TW_LANES * sizeof(int)), aligned(1), may_alias));
/* A vector of columns: each lane of 32 bits takes its element of every step, and 0 for those that the last group lacks. */
TW_INLINE void @PANELS@_words(@TYPE@ *to, const @TYPE@ *from, long row, long steps) {
  @PANELS@_groups groups = {0};
  for (int q = 0; q < @H@ && q < steps; q++)
    groups |= (@PANELS@_groups)tw_load_whole_@LANE@((const void *)(from + q * row)) << (8 * (int)sizeof(*to) * q);
  *(@PANELS@_groups *)to = groups;
}
/* The same of every other column: the first of each pair. */
TW_INLINE void @PANELS@_words_apart(@TYPE@ *to, const @TYPE@ *from, long row, long steps) {
  enum { BITS = 8 * (int)sizeof(*to) };
  @PANELS@_groups groups = {0};
  for (int q = 0; q < @H@ && q < steps; q++)
    groups |= ((@PANELS@_groups)tw_load_whole_@PAIR@((const void *)(from + q * row)) & ((1u << BITS) - 1)) << (BITS * q);
  *(@PANELS@_groups *)to = groups;
}
"""
LANES = {1: ("uint8", "uint16"), 2: ("uint16", "int32")}
"""By the bytes of an element: integers of its size, and of that of two."""
ROWS = """\
/* Rows one after the other: target[p * target_row + j] = source[p * row + j * column]. */
static __attribute__((unused)) void @ROWS@(@TYPE@ *target, long target_row, const @TYPE@ *source, long row, long column,
                                           long rows, long columns) {
  for (long p = 0; p < rows; p++)
    for (long j = 0; j < columns; j++)
      target[p * target_row + j] = source[p * row + j * column];
}
"""


def panels_name(copy: Copy) -> str:
    """The function that fills the panels of a copy."""
    return f"tw_pack_panels_{copy.target.dtype}_{copy.interleave}"


def rows_name(copy: Copy) -> str:
    """The function that copies rows."""
    return f"tw_pack_rows_{copy.target.dtype}_{copy.interleave}"


@cache
def typed_packing(dtype: str, interleave: int) -> Helper:
    """The functions that copy operands of a type, in groups of so many steps."""
    has_words = interleave > 1 and interleave * element_bytes(dtype) == WORD_BYTES

    lane, pair = LANES.get(element_bytes(dtype), ("", ""))

    def named(text: str) -> str:
        text = text.replace("@WORDS@", WORDS if has_words else "").replace("@TYPE@", C_TYPES[dtype])
        text = text.replace("@LANE@", lane).replace("@PAIR@", pair)
        text = text.replace("@PANELS@", f"tw_pack_panels_{dtype}_{interleave}").replace("@H@", str(interleave))
        return text.replace("@ROWS@", f"tw_pack_rows_{dtype}_{interleave}")

    name = f"tw_pack_{dtype}_{interleave}"
    needed = (whole_numbers(lane), whole_numbers(pair)) if has_words else ()
    return Helper(name, named((WORDS_OF_ROWS if has_words else "") + PANELS + ROWS), needed)
