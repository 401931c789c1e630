"""Helper functions of generated C as traces have them: they compute nothing, and note the memory that the real ones touch."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.functions.scalar_functions import LIGHT, OF_ONE, TWO_OPERANDS
from tilewright.kernels.helpers import Helper, filled

TOUCH_BYTES = Helper(
    "tw_touch_bytes",
    """\
TW_INLINE void tw_touch_bytes(const void *p, long size) {
  for (tw_word line = (tw_word)p >> TW_LINE_SHIFT; line <= ((tw_word)p + size - 1) >> TW_LINE_SHIFT && size > 0; line++)
    tw_touch_line(line, 0);
}
TW_INLINE void tw_touch_written(const void *p, long size) {
  for (tw_word line = (tw_word)p >> TW_LINE_SHIFT; line <= ((tw_word)p + size - 1) >> TW_LINE_SHIFT && size > 0; line++)
    tw_touch_line(line, 1);
}
""",
)
NATURALS = Helper(
    "tw_naturals",
    """\
typedef unsigned tw_naturals;
TW_INLINE tw_naturals tw_splat_natural(int x) { return (tw_naturals)x; }
TW_INLINE tw_naturals tw_shift_naturals(tw_naturals x, int bits) { return (tw_naturals)((int)x >> bits); }
""",
)
LOADS = """\
TW_INLINE float tw_read_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, TW_LANES * sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) { tw_touch_bytes(p, n * sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_strided_@NAME@(const @TYPE@ *p, long stride, long n) {
  for (long i = 0; i < n; i++)
    tw_touch_bytes(p + i * stride, sizeof *p);
  return 0.0f;
}
"""
STORES = """\
TW_INLINE void tw_store_@NAME@(@TYPE@ *p, tw_vec v) { (void)v; tw_touch_written(p, TW_LANES * sizeof *p); }
TW_INLINE void tw_store_part_@NAME@(@TYPE@ *p, tw_vec v, long n) { (void)v; tw_touch_written(p, n * sizeof *p); }
TW_INLINE void tw_store_strided_@NAME@(@TYPE@ *p, long stride, tw_vec v, long n) {
  (void)v;
  for (long i = 0; i < n; i++)
    tw_touch_written(p + i * stride, sizeof *p);
}
"""
ELEMENTS = """\
TW_INLINE @TYPE@ tw_get_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, sizeof *p); return 0; }
TW_INLINE void tw_put_@NAME@(@TYPE@ *p, @TYPE@ x) { (void)x; tw_touch_written(p, sizeof *p); }
"""
WHOLE_NUMBERS = """\
TW_INLINE tw_naturals tw_load_naturals_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, TW_LANES * sizeof *p); return 0; }
TW_INLINE void tw_store_naturals_@NAME@(@TYPE@ *p, tw_naturals v) { (void)v; tw_touch_written(p, TW_LANES * sizeof *p); }
"""
PACKING = """\
static __attribute__((unused)) void tw_pack_rows_@NAME@_@H@(@TYPE@ *target, long target_row, const @TYPE@ *source, long row,
                                                            long column, long rows, long columns) {
  for (long p = 0; p < rows; p++)
    for (long j = 0; j < columns; j++) {
      tw_touch_bytes(source + p * row + j * column, sizeof *source);
      tw_touch_written(target + p * target_row + j, sizeof *target);
    }
}
static __attribute__((unused)) void tw_pack_panels_@NAME@_@H@(@TYPE@ *target, long panel_stride, long width, const @TYPE@ *source,
                                                              long row, long column, long rows, long columns) {
  for (long first = 0; first < columns; first += width)
    for (long p = 0; p < rows; p++) {
      for (long j = first; j < tw_min(first + width, columns); j++)
        tw_touch_bytes(source + p * row + j * column, sizeof *source);
      if (p % @H@ == 0)
        tw_touch_written(target + first / width * panel_stride + p * width, width * @H@ * sizeof *target);
    }
}
"""
WINDOWS = """\
TW_INLINE tw_vec tw_load_every_other(const float *p) { return tw_load_strided(p, 2, TW_LANES); }
TW_INLINE tw_vec tw_load_every_other_part(const float *p, long n) { return tw_load_strided(p, 2, n); }
TW_INLINE tw_vec tw_load_strided_between(const float *p, long stride, long first, long last, float otherwise) {
  return tw_load_strided(p + first * stride, stride, last - first) + otherwise;
}
TW_INLINE tw_vec tw_load_between(const float *p, long first, long last, float otherwise) {
  return tw_load_strided_between(p, 1, first, last, otherwise);
}
"""
SHORT_WINDOWS = """\
TW_INLINE tw_vec tw_load_strided_between_@NAME@(const @TYPE@ *p, long stride, long first, long last, float otherwise) {
  return tw_load_strided_@NAME@(p + first * stride, stride, last - first) + otherwise;
}
TW_INLINE tw_vec tw_load_between_@NAME@(const @TYPE@ *p, long first, long last, float otherwise) {
  return tw_load_strided_between_@NAME@(p, 1, first, last, otherwise);
}
"""
LOOKUP = """\
@HEAD@
  (void)first, (void)extent, (void)caller, (void)lookup;
  tw_touch_bytes(p, sizeof *p);
  return index;
}
"""
PACKED_PRODUCT = """\
@HEAD@
  for (long block = 0; block < blocks; block++) {
    for (long group = 0; group < @GROUPS@; group++)
      tw_touch_bytes(numbers + (block * @GROUPS@ + group) * @PANEL@ * 4, @COLUMNS@ * 4);
    tw_touch_bytes(scales + block * @PANEL@, @COLUMNS@ * sizeof *scales);
    if (@HAS_ZEROS@)
      tw_touch_bytes(zeros + block * @PANEL@, @COLUMNS@ * sizeof *zeros);
    for (long way = 0; way < @ROWS@; way++)
      tw_touch_bytes(rows + way * row + block * row_block, @GROUPS@ * 4 * (8 / @BITS@) * sizeof *rows);
  }
  (void)sums, (void)row_scales, (void)row_scale, (void)row_shares, (void)row_share;
}
"""


class Traced(NamedTuple):
    """Helpers of these names, as traces have them."""

    name: str
    """A regular expression; `NAME` is an element type."""
    text: str
    uses: tuple[Helper, ...] = ()
    calls: str = ""
    """The name of another helper that the text calls."""


TYPE = f"(?P<NAME>{'|'.join(sorted(C_TYPES, key=len, reverse=True))})"
PACKED_NAME = (
    r"tw_packed_(?P<BITS>\d)_bits_.*?_(?P<ZEROS>[a-z0-9]+)_(?P<GROUPS>\d+)x(?P<COLUMNS>\d+)_of_(?P<PANEL>\d+)_(?P<ROWS>\d+)"
)
TRACED = (
    Traced(f"tw_load_{TYPE}", LOADS, (TOUCH_BYTES,)),
    Traced(f"tw_store_{TYPE}", STORES, (TOUCH_BYTES,)),
    Traced(f"tw_get_{TYPE}", ELEMENTS, (TOUCH_BYTES,)),
    Traced("tw_naturals", NATURALS.text),
    Traced(f"tw_naturals_{TYPE}", WHOLE_NUMBERS, (NATURALS, TOUCH_BYTES)),
    Traced("tw_fold_naturals", "TW_INLINE int tw_fold_naturals(tw_naturals v) { return (int)v; }\n", (NATURALS,)),
    Traced(f"tw_pack_{TYPE}_(?P<H>\\d+)", PACKING, (TOUCH_BYTES,)),
    Traced("tw_load_between", WINDOWS),
    Traced(f"tw_load_between_{TYPE}", SHORT_WINDOWS, calls="tw_load_@NAME@"),
    Traced(f"tw_place_{TYPE}", LOOKUP, (TOUCH_BYTES,)),
    Traced(PACKED_NAME, PACKED_PRODUCT, (TOUCH_BYTES,)),
    Traced("(?P<CALLED>tw_is(nan|inf))", "TW_INLINE tw_mask @CALLED@(tw_vec v) { return v < 0; }\n"),
    Traced(f"(?P<CALLED>tw_({'|'.join({*LIGHT} - {*TWO_OPERANDS})}))", "TW_INLINE tw_vec @CALLED@(tw_vec v) { return v; }\n"),
    Traced(f"(?P<CALLED>tw_lanes_({'|'.join(OF_ONE)}))", "TW_INLINE tw_vec @CALLED@(tw_vec v) { return v; }\n"),
    Traced(
        f"(?P<CALLED>(tw|tw_lanes)_({'|'.join(TWO_OPERANDS)}))",
        "TW_INLINE tw_vec @CALLED@(tw_vec v, tw_vec w) { return v + w; }\n",
    ),
    Traced("(?P<CALLED>tw_report_not_finite(_float64)?)", "#define @CALLED@(caller, v) ((void)(caller), (v))\n"),
    Traced("(?P<CALLED>tw_whole_(below|above))", "TW_INLINE long @CALLED@(float x) { (void)x; return 1L << 30; }\n"),
)
"""In traces data says nothing."""


def traced(helpers: Iterable[Helper]) -> list[Helper]:
    """The helpers for a trace of memory accesses: others in the place of those that load, store or look at numbers."""
    return [_traced(helper) for helper in helpers]


def _traced(helper: Helper) -> Helper:
    for kind in TRACED:
        found = re.fullmatch(kind.name, helper.name)
        if found is not None:
            values = found.groupdict()
            head = helper.text.partition("{\n")[0] + "{"
            types = {"TYPE": C_TYPES[values["NAME"]]} if "NAME" in values else {}
            zeros = {"HAS_ZEROS": int(values.get("ZEROS") not in (None, "middle")), "HEAD": head}
            called = [_traced(Helper(filled(kind.calls, values), ""))] if kind.calls else []
            return Helper(helper.name, filled(kind.text, {**values, **types, **zeros}), (*kind.uses, *called))
    return helper
