"""C text that reads truth values and integers as floats: masks, lengths and positions, converted where they are loaded.

Integers up to 2^24 are exact as floats; larger ones are rounded to the nearest, which does not change how they compare with
positions along an axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

C_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "float",
        "bool": "unsigned char",
        "int8": "signed char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "uint8": "unsigned char",
        "uint16": "unsigned short",
        "uint32": "unsigned",
        "uint64": "unsigned long",
    }
)
"""The C type of the elements of every tensor that generated code may read, by NumPy name."""
NARROW = frozenset(("bool", "int8", "int16", "uint8", "uint16"))
"""Types whose elements fit into the lanes of a vector of floats, widened."""

READS = """\
TW_INLINE float tw_read_@NAME@(const @TYPE@ *p) { return (float)*p; }
TW_INLINE tw_vec tw_load_strided_@NAME@(const @TYPE@ *p, long stride, long n) {
  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(0.0f));
  for (long i = 0; i < n; i++)
    lanes[i] = (float)p[i * stride];
  return tw_load(lanes);
}
"""
LOAD = """\
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_strided_@NAME@(p, 1, n); }
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { return tw_load_strided_@NAME@(p, 1, TW_LANES); }
"""
LOAD_NARROW = """\
typedef @TYPE@ tw_@NAME@ __attribute__((vector_size(TW_LANES * sizeof(@TYPE@)), aligned(1), may_alias));
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) {
  return __builtin_convertvector(__builtin_convertvector(*(const tw_@NAME@ *)p, tw_int), tw_vec);
}
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) {
  @TYPE@ lanes[TW_LANES] = {0};
  for (long i = 0; i < n; i++)
    lanes[i] = p[i];
  return tw_load_@NAME@(lanes);
}
"""
GUARDED = "#ifndef TW_READS_@NAME@\n#define TW_READS_@NAME@\n@TEXT@#endif\n"
TOUCHES = """\
TW_INLINE float tw_read_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, TW_LANES * sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) { tw_touch_bytes(p, n * sizeof *p); return 0.0f; }
TW_INLINE tw_vec tw_load_strided_@NAME@(const @TYPE@ *p, long stride, long n) {
  for (long i = 0; i < n; i++)
    tw_touch_bytes(p + i * stride, sizeof *p);
  return 0.0f;
}
"""
TOUCH_BYTES = """\
TW_INLINE void tw_touch_bytes(const void *p, long size) {
  for (tw_word line = (tw_word)p >> TW_LINE_SHIFT; line <= ((tw_word)p + size - 1) >> TW_LINE_SHIFT && size > 0; line++)
    tw_touch_line(line, 0);
}
"""


def suffix(dtype: str) -> str:
    """What the names of the functions that read elements of this type end with.

    >>> suffix("float32"), suffix("bool")
    ('', '_bool')
    """
    return "" if dtype == "float32" else f"_{dtype}"


def reading(dtypes: Iterable[str]) -> list[str]:
    """The functions that read elements of these types; the text may be repeated within a translation unit."""
    texts = {dtype: READS + (LOAD_NARROW if dtype in NARROW else LOAD) for dtype in _converted(dtypes)}
    return [_named(GUARDED.replace("@TEXT@", text), dtype) for dtype, text in texts.items()]


def touching(dtypes: Iterable[str]) -> list[str]:
    """The same for traces of memory accesses."""
    converted = _converted(dtypes)
    return [*([TOUCH_BYTES] if converted else []), *(_named(TOUCHES, dtype) for dtype in converted)]


def _converted(dtypes: Iterable[str]) -> list[str]:
    return sorted(set(dtypes) - {"float32"})


def _named(text: str, dtype: str) -> str:
    return text.replace("@NAME@", dtype).replace("@TYPE@", C_TYPES[dtype])
