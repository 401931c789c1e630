"""C text that reads elements of any type as floats, and stores floats as elements: converted where they are loaded and stored.

Integers up to 2^24 are exact as floats; larger ones are rounded to the nearest, which does not change how they compare with
positions along an axis. What is stored is converted as in `conversions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tilewright.graph.exactness import SHORT_TYPES
from tilewright.graph.types import element_bytes
from tilewright.kernels.conversions import BITS, CONVERSIONS, WHOLE_NUMBERS, conversions_of
from tilewright.kernels.helpers import Helper, filled

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
        "float16": "unsigned short",
        "bfloat16": "unsigned short",
        "float64": "double",
        **dict.fromkeys(sorted(SHORT_TYPES), "unsigned char"),
    }
)
"""The C type of the elements of every tensor that generated code may read or write, by NumPy name."""
ELEMENT_TYPES = frozenset(C_TYPES)
"""Element types of tensors that kernels read and write, by NumPy name."""
ELEMENT_BYTES: Mapping[str, int] = MappingProxyType({name: element_bytes(name) for name in C_TYPES})
NARROW = frozenset(("bool", "int8", "int16", "int32", "uint8", "uint16"))
"""Types whose elements fit into the lanes of a vector of 32 bits, widened."""
NARROW_STORES = NARROW - {"bool"}
"""Types that are the low bits of an int32."""

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
READ_SHORT = READS.replace("(float)*p", "tw_float_of_@NAME@(*p)").replace(
    "(float)p[i * stride]", "tw_float_of_@NAME@(p[i * stride])"
)
LOAD = """\
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_strided_@NAME@(p, 1, n); }
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { return tw_load_strided_@NAME@(p, 1, TW_LANES); }
"""
WHOLE = """\
#ifndef TW_WHOLE_@NAME@
#define TW_WHOLE_@NAME@
typedef @TYPE@ tw_@NAME@ __attribute__((vector_size(TW_LANES * sizeof(@TYPE@)), aligned(1), may_alias));
TW_INLINE tw_int tw_load_whole_@NAME@(const @TYPE@ *p) {
#if defined(__AVX512F__) || (defined(__AVX2__) && TW_LANES <= 8)
  tw_int whole;
  __asm__("@WIDENS@ %1, %0" : "=v"(whole) : "m"(*(const tw_@NAME@ *)p));
  return whole;
#else
  return __builtin_convertvector(*(const tw_@NAME@ *)p, tw_int);
#endif
}
TW_INLINE void tw_store_whole_@NAME@(@TYPE@ *p, tw_int whole) {
#if defined(__AVX512F__) && TW_LANES == 16
  __asm__("@NARROWS@ %1, %0" : "=m"(*(tw_@NAME@ *)p) : "v"(whole));
@STORE_BYTES@#else
  *(tw_@NAME@ *)p = __builtin_convertvector(whole, tw_@NAME@);
#endif
}
@PART@#endif
"""
BYTES = """\
#if defined(__AVX2__) && TW_LANES == 8 && !defined(TW_EIGHT_BYTES)
#define TW_EIGHT_BYTES
typedef unsigned long tw_eight_bytes __attribute__((aligned(1), may_alias));
typedef unsigned tw_four_bytes __attribute__((aligned(1), may_alias));
typedef unsigned short tw_two_bytes __attribute__((aligned(1), may_alias));
typedef char tw_octets __attribute__((vector_size(32)));
typedef unsigned long tw_quarters __attribute__((vector_size(32)));
/* The low byte of every lane. */
TW_INLINE unsigned long tw_low_bytes(tw_int v) {
  const tw_octets low = {0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1};
  const tw_quarters picked = (tw_quarters)__builtin_ia32_pshufb256((tw_octets)v, low);
  return picked[0] | picked[2];
}
/* 0 to 8 bytes, zeros behind them: from both ends, as neither reads beyond. */
TW_INLINE unsigned long tw_some_bytes(const unsigned char *p, long n) {
  if (n >= 4)
    return *(const tw_four_bytes *)p | (unsigned long)*(const tw_four_bytes *)(p + n - 4) << (8 * (n - 4));
  if (n >= 2)
    return *(const tw_two_bytes *)p | (unsigned long)*(const tw_two_bytes *)(p + n - 2) << (8 * (n - 2));
  return n == 1 ? *p : 0;
}
TW_INLINE void tw_store_some_bytes(unsigned char *p, unsigned long bytes, long n) {
  if (n >= 4) {
    *(tw_four_bytes *)p = (unsigned)bytes;
    *(tw_four_bytes *)(p + n - 4) = (unsigned)(bytes >> (8 * (n - 4)));
  } else if (n >= 2) {
    *(tw_two_bytes *)p = (unsigned short)bytes;
    *(tw_two_bytes *)(p + n - 2) = (unsigned short)(bytes >> (8 * (n - 2)));
  } else if (n == 1) {
    *p = (unsigned char)bytes;
  }
}
#endif
"""
"""Lanes as bytes with AVX2. Compilers (gcc 12) narrow lanes one by one, in 30 instructions for 8 bytes."""
BYTE_BRANCHES = {
    "BYTES": BYTES,
    "STORE_BYTES": """\
#elif defined(__AVX2__) && TW_LANES == 8
  *(tw_eight_bytes *)p = tw_low_bytes(whole);
""",
    "LOAD_SOME_BYTES": """\
#elif defined(__AVX2__) && TW_LANES == 8
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) {
  const unsigned long bytes = tw_some_bytes((const unsigned char *)p, n);
  return tw_load_whole_@NAME@((const @TYPE@ *)&bytes);
}
""",
    "STORE_SOME_BYTES": """\
#elif defined(__AVX2__) && TW_LANES == 8
  tw_store_some_bytes((unsigned char *)p, tw_low_bytes(tw_whole_numbers_of(v)), n);
""",
}
"""What types of bytes have in the places of these names; other types have nothing there."""
WHOLE_INT32 = """\
#ifndef TW_WHOLE_int32
#define TW_WHOLE_int32
typedef int tw_int32 __attribute__((vector_size(TW_LANES * sizeof(int)), aligned(1), may_alias));
TW_INLINE tw_int tw_load_whole_int32(const int *p) { return *(const tw_int32 *)p; }
TW_INLINE void tw_store_whole_int32(int *p, tw_int whole) { *(tw_int32 *)p = whole; }
@PART@#endif
"""
WHOLE_PART = """\
#if defined(__AVX512F__) && TW_LANES == 16
TW_INLINE tw_int tw_load_whole_lanes_@NAME@(const @TYPE@ *p, tw_mask lanes) {
  tw_int whole;
  __asm__("@MASKED@ %1, %0%{%2%}%{z%}" : "=v"(whole) : "m"(*(const tw_@NAME@ *)p), "Yk"(lanes));
  return whole;
}
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_whole_lanes_@NAME@(p, tw_prefix(n)); }
@LOAD_SOME_BYTES@#else
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) {
  @TYPE@ lanes[TW_LANES] = {0};
  for (long i = 0; i < n; i++)
    lanes[i] = p[i];
  return tw_load_whole_@NAME@(lanes);
}
#endif
"""
"""Elements whose lanes a mask leaves out are not touched, as if they were not there."""
LOAD_NARROW = """\
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { return __builtin_convertvector(tw_load_whole_@NAME@(p), tw_vec); }
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) {
  return __builtin_convertvector(tw_load_whole_part_@NAME@(p, n), tw_vec);
}
"""
WIDENS = {"bool": "vpmovzxbd", "uint8": "vpmovzxbd", "int8": "vpmovsxbd", "uint16": "vpmovzxwd", "int16": "vpmovsxwd"}
"""One instruction each, which compilers (gcc 12) do not find: they widen bytes one by one, and halves of vectors."""
LOAD_HALF = """\
TW_INLINE float tw_read_@NAME@(const unsigned short *p) { return tw_widen_@NAME@(tw_splat_int(*p))[0]; }
TW_INLINE tw_vec tw_load_@NAME@(const unsigned short *p) {
  return tw_widen_@NAME@(__builtin_convertvector(*(const tw_bits_16 *)p, tw_int));
}
TW_INLINE tw_vec tw_load_strided_@NAME@(const unsigned short *p, long stride, long n) {
  unsigned short lanes[TW_LANES] = {0};
  for (long i = 0; i < n; i++)
    lanes[i] = p[i * stride];
  return tw_load_@NAME@(lanes);
}
TW_INLINE tw_vec tw_load_part_@NAME@(const unsigned short *p, long n) { return tw_load_strided_@NAME@(p, 1, n); }
"""
STORES = """\
TW_INLINE void tw_store_strided_@NAME@(@TYPE@ *p, long stride, tw_vec v, long n) {
  float lanes[TW_LANES];
  tw_store(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = tw_@NAME@_of(lanes[i]);
}
TW_INLINE void tw_store_part_@NAME@(@TYPE@ *p, tw_vec v, long n) { tw_store_strided_@NAME@(p, 1, v, n); }
TW_INLINE void tw_store_@NAME@(@TYPE@ *p, tw_vec v) { tw_store_strided_@NAME@(p, 1, v, TW_LANES); }
"""
STORES_HALF = """\
TW_INLINE void tw_store_@NAME@(unsigned short *p, tw_vec v) {
  *(tw_bits_16 *)p = __builtin_convertvector(tw_narrow_@NAME@(v), tw_bits_16);
}
TW_INLINE void tw_store_strided_@NAME@(unsigned short *p, long stride, tw_vec v, long n) {
  unsigned short lanes[TW_LANES];
  tw_store_@NAME@(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = lanes[i];
}
TW_INLINE void tw_store_part_@NAME@(unsigned short *p, tw_vec v, long n) { tw_store_strided_@NAME@(p, 1, v, n); }
"""
STORES_NARROW = """\
TW_INLINE void tw_store_@NAME@(@TYPE@ *p, tw_vec v) { tw_store_whole_@NAME@(p, tw_whole_numbers_of(v)); }
TW_INLINE void tw_store_strided_@NAME@(@TYPE@ *p, long stride, tw_vec v, long n) {
  @TYPE@ lanes[TW_LANES];
  tw_store_@NAME@(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = lanes[i];
}
TW_INLINE void tw_store_part_@NAME@(@TYPE@ *p, tw_vec v, long n) {
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_int whole = tw_whole_numbers_of(v);
  const unsigned short mask = (1u << n) - 1;
  __asm__("@NARROWS@ %1, %0%{%2%}" : "+m"(*(tw_@NAME@ *)p) : "v"(whole), "Yk"(mask));
@STORE_SOME_BYTES@#else
  tw_store_strided_@NAME@(p, 1, v, n);
#endif
}
"""
NARROWS = {"bool": "vpmovdb", "uint8": "vpmovdb", "int8": "vpmovdb", "uint16": "vpmovdw", "int16": "vpmovdw"}
"""Instructions that store the low bits of lanes."""
HALVES = frozenset(("float16", "bfloat16"))
"""Floats whose bits are taken apart."""
GUARDED = "#ifndef TW_%_@NAME@\n#define TW_%_@NAME@\n@TEXT@#endif\n"
READS_ONCE, STORES_ONCE = GUARDED.replace("%", "READS"), GUARDED.replace("%", "STORES")


def suffix(dtype: str) -> str:
    """What the names of the functions that read elements of this type end with.

    >>> suffix("float32"), suffix("bool")
    ('', '_bool')
    """
    return "" if dtype == "float32" else f"_{dtype}"


def reading(dtypes: Iterable[str]) -> list[Helper]:
    """The functions that read elements of these types; their text may be repeated within a translation unit."""
    return [_reading(dtype) for dtype in _converted(dtypes)]


def writing(dtypes: Iterable[str]) -> list[Helper]:
    """The functions that store elements of these types; their text may be repeated within a translation unit."""
    return [_writing(dtype) for dtype in _converted(dtypes)]


def whole_numbers(dtype: str) -> Helper:
    """`tw_load_whole_<dtype>` and `tw_store_whole_<dtype>`: vectors of a type of `NARROW` as lanes of 32 bits, and their low bits
    as such elements; `tw_load_whole_part_<dtype>`: the first elements, and with AVX-512 `tw_load_whole_lanes_<dtype>`,
    those of a mask. The text may be repeated within a translation unit."""
    text = WHOLE_INT32
    if dtype in WIDENS:
        text = "@BYTES@" + WHOLE
    return Helper(f"tw_load_whole_{dtype}", _named(text, dtype))


def _reading(dtype: str) -> Helper:
    text, needed = READS + LOAD, _bits(dtype)
    if dtype in HALVES:
        text = LOAD_HALF
    elif dtype in SHORT_TYPES:
        text, needed = READ_SHORT + LOAD, (conversions_of(dtype),)
    elif dtype in NARROW:
        text, needed = READS + LOAD_NARROW, (whole_numbers(dtype),)
    return Helper(f"tw_load_{dtype}", _named(READS_ONCE, dtype, text), needed)


def _writing(dtype: str) -> Helper:
    text, needed = STORES, (*_bits(dtype), CONVERSIONS)
    if dtype in HALVES:
        text = STORES_HALF
    elif dtype in SHORT_TYPES:
        needed = (conversions_of(dtype),)
    elif dtype in NARROW_STORES:
        text, needed = STORES_NARROW, (WHOLE_NUMBERS, whole_numbers(dtype))
    return Helper(f"tw_store_{dtype}", _named(STORES_ONCE, dtype, text), needed)


def _bits(dtype: str) -> tuple[Helper, ...]:
    return (BITS,) if dtype in HALVES else ()


def _converted(dtypes: Iterable[str]) -> list[str]:
    return sorted(set(dtypes) - {"float32"})


def _named(text: str, dtype: str, inner: str = "") -> str:
    branches = BYTE_BRANCHES if ELEMENT_BYTES[dtype] == 1 else dict.fromkeys(BYTE_BRANCHES, "")
    instructions = {
        "WIDENS": WIDENS.get(dtype),
        "MASKED": WIDENS.get(dtype, "vmovdqu32"),
        "NARROWS": NARROWS.get(dtype, "vmovdqu32"),
    }
    types = {"NAME": dtype, "TYPE": C_TYPES[dtype]}
    return filled(text, {"TEXT": inner, "PART": WHOLE_PART, **branches, **instructions, **types})
