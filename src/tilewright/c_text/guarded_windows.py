"""C text of guarded windows: a vector of which some lanes lie in the padding, and every other element of a row.

A guard says of which lanes an access is real. Every constraint is affine, so that along the lanes it holds from some lane on or
up to some lane; those that do not move with the lanes hold for all of them or for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.block.memory import Gather
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import to_c
from tilewright.c_text.lookups import index_text, lane_stride, place_text
from tilewright.c_text.scalar_expressions import literal_text
from tilewright.c_text.statements import indent
from tilewright.graph.expressions.index import Index
from tilewright.kernels.element_access import C_TYPES, NARROW, reading, suffix
from tilewright.kernels.helpers import Helper, filled

WINDOWS = """\
TW_INLINE tw_vec tw_load_every_other(const float *p) {
  tw_vec even = TW_SHUFFLE_TWO(tw_load(p), tw_load(p + TW_LANES - 1), @EVEN_THEN_ODD@); /* reads no element behind the last */
  TW_KEEP(even); /* GCC 12 would shuffle where the vector is used, and keep two vectors until then */
  return even;
}
TW_INLINE tw_vec tw_load_every_other_part(const float *p, long n) {
  tw_vec low = tw_load_part(p, tw_min(2 * n - 1, TW_LANES));
  tw_vec even = TW_SHUFFLE_TWO(low, tw_load_part(p + TW_LANES, tw_max(2 * n - 1 - TW_LANES, 0)), @EVEN@);
  TW_KEEP(even);
  return even;
}
#ifdef TW_DIALECT_AVX512
TW_INLINE tw_vec tw_load_every_other_between(const float *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1)) /* the interior of a row: no masks */
    return tw_load_every_other(p);
  tw_vec zero = tw_splat(0.0f);
  unsigned inside = last > first ? ((1u << (2 * last - 1)) - 1u) & ~((1u << 2 * first) - 1u) : 0;
  tw_mask lanes = last > first ? (tw_mask)(tw_prefix(last) & ~tw_prefix(first)) : 0;
  tw_vec low = __builtin_ia32_loadups512_mask((const void *)p, zero, (tw_mask)inside);
  tw_vec high = __builtin_ia32_loadups512_mask((const void *)(p + TW_LANES), zero, (tw_mask)(inside >> TW_LANES));
  return tw_where(lanes, TW_SHUFFLE_TWO(low, high, @EVEN@), tw_splat(otherwise));
}
#elif defined(TW_DIALECT_AVX2)
TW_INLINE tw_vec tw_load_lanes(const float *p, long first, long last) { /* the others are not read, and zero */
  return __builtin_ia32_maskloadps256((const void *)p, tw_prefix(last) & ~tw_prefix(first));
}
TW_INLINE tw_vec tw_load_every_other_between(const float *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1))
    return tw_load_every_other(p);
  tw_vec low = tw_load_lanes(p, 2 * first, 2 * last - 1);
  tw_vec even = TW_SHUFFLE_TWO(low, tw_load_lanes(p + TW_LANES, 2 * first - TW_LANES, 2 * last - 1 - TW_LANES), @EVEN@);
  return tw_where(tw_prefix(last) & ~tw_prefix(first), even, tw_splat(otherwise));
}
#endif
TW_INLINE tw_vec tw_load_strided_between(const float *p, long stride, long first, long last, float otherwise) {
  float lanes[TW_LANES];
#if defined(TW_DIALECT_AVX512) || defined(TW_DIALECT_AVX2)
  if (stride == 2)
    return tw_load_every_other_between(p, first, last, otherwise);
#endif
  if (last - first == TW_LANES)
    return stride == 2 ? tw_load_every_other(p) : tw_load_strided(p, stride, TW_LANES);
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = p[i * stride];
  return tw_load(lanes);
}
#ifdef TW_DIALECT_AVX512
TW_INLINE tw_vec tw_load_between(const float *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1))
    return tw_load(p);
  tw_mask inside = last > first ? (tw_mask)(tw_prefix(last) & ~tw_prefix(first)) : 0;
  return __builtin_ia32_loadups512_mask((const void *)p, tw_splat(otherwise), inside);
}
#elif defined(TW_DIALECT_AVX2)
TW_INLINE tw_vec tw_load_between(const float *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1))
    return tw_load(p);
  return tw_where(tw_prefix(last) & ~tw_prefix(first), tw_load_lanes(p, first, last), tw_splat(otherwise));
}
#else
TW_INLINE tw_vec tw_load_between(const float *p, long first, long last, float otherwise) {
  return last - first == TW_LANES ? tw_load(p) : tw_load_strided_between(p, 1, first, last, otherwise);
}
#endif
"""
"""Lanes from `first` to before `last` are read, the others are `otherwise`: 0 <= first, last <= TW_LANES."""
SHORT_WINDOWS = """\
TW_INLINE tw_vec tw_load_between_@NAME@(const @TYPE@ *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1))
    return tw_load_@NAME@(p);
@MASKED@  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = tw_read_@NAME@(p + i);
  return tw_load(lanes);
}
@EVERY_OTHER@\
TW_INLINE tw_vec tw_load_strided_between_@NAME@(const @TYPE@ *p, long stride, long first, long last, float otherwise) {
  if (last - first == TW_LANES)
    return @WHOLE@tw_load_strided_@NAME@(p, stride, TW_LANES);
  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = tw_read_@NAME@(p + i * stride);
  return tw_load(lanes);
}
"""
"""The same for elements of other types, converted."""
MASKED = """\
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_mask inside = last > first ? (tw_mask)(tw_prefix(last) & ~tw_prefix(first)) : 0;
  return tw_where(inside, __builtin_convertvector(tw_load_whole_lanes_@NAME@(p, inside), tw_vec), tw_splat(otherwise));
#endif
"""
SOME_BYTES = """\
#ifdef TW_DIALECT_AVX2
  const unsigned long bytes = last > first ? tw_some_bytes((const unsigned char *)p + first, last - first) << 8 * first : 0;
  const tw_vec loaded = tw_load_@NAME@((const @TYPE@ *)&bytes);
  return tw_where(tw_prefix(last) & ~tw_prefix(first), loaded, tw_splat(otherwise));
#endif
"""
"""Bytes that a mask leaves out are not touched, as if they were not there."""
EVERY_OTHER_BYTE = """\
TW_INLINE tw_vec tw_load_every_other_@NAME@(const @TYPE@ *p) { /* two halves, of which the second ends with the last byte */
  typedef @WORD@ words __attribute__((vector_size(TW_LANES), aligned(1), may_alias));
  typedef float half __attribute__((vector_size(2 * TW_LANES)));
  const words low = *(const words *)p << 8 >> 8, high = *(const words *)(p + TW_LANES - 1) >> 8;
  return __builtin_shufflevector(__builtin_convertvector(low, half), __builtin_convertvector(high, half), @IN_ORDER@);
}
"""
"""Bytes as halves of words: shifts give them their signs."""
WORDS = {"int8": "short", "uint8": "unsigned short", "bool": "unsigned short"}


def short_windows(dtypes: Iterable[str], lanes: int) -> list[Helper]:
    """The functions that load windows of elements of these types, in vectors of so many lanes."""
    return [_short_windows(dtype, lanes) for dtype in sorted(set(dtypes) - {"float32"})]


def _short_windows(dtype: str, lanes: int) -> Helper:
    is_byte = dtype in WORDS
    parts = {
        "MASKED": (MASKED if dtype in NARROW else "") + SOME_BYTES * is_byte,
        "EVERY_OTHER": EVERY_OTHER_BYTE * is_byte,
        "WHOLE": "stride == 2 ? tw_load_every_other_@NAME@(p) : " * is_byte,
        "WORD": WORDS.get(dtype, ""),
        "IN_ORDER": ", ".join(map(str, range(lanes))),
    }
    text = filled(SHORT_WINDOWS, {**parts, "NAME": dtype, "TYPE": C_TYPES[dtype]})
    return Helper(f"tw_load_between_{dtype}", text, tuple(reading([dtype])))


def windows(lanes: int) -> Helper:
    """The functions that load windows, in vectors of so many lanes."""
    even = [2 * lane for lane in range(lanes)]
    even_then_odd = ", ".join(str(lane + (lane >= lanes)) for lane in even)
    text = filled(WINDOWS, {"EVEN": ", ".join(map(str, even)), "EVEN_THEN_ODD": even_then_odd})
    return Helper("tw_load_between", text)


def guarded_lines(read: int, operand: Gather, lanes: str, vector: str | None, position: Callable[[str], str]) -> list[str]:
    """The statements that define `load_<read>` from an affine read; `position` is that of the first lane along an axis."""
    return [
        *_bounds(("first", "last"), read, operand, lanes, vector, position),
        f"const tw_vec {_assigned(read, operand, vector, position)}",
    ]


def lines_inside(read: int, operand: Gather, vector: str, position: Callable[[str], str]) -> list[str]:
    """As `guarded_lines`, of a whole vector behind `span_inside`: all lanes are real but near the ends of a row."""
    offset = names.axis_offset(vector)
    return [
        f"tw_vec load_{read};",
        f"if ({offset} >= inside_{read} && {offset} + TW_LANES <= outside_{read})",
        f"  {_assigned(read, operand, vector, position, ('0', 'TW_LANES'))}",
        "else {",
        *indent(_bounds(("first", "last"), read, operand, "TW_LANES", vector, position)),
        f"  {_assigned(read, operand, vector, position)}",
        "}",
    ]


def span_inside(read: int, operand: Gather, vector: str, size: str, position: Callable[[str], str]) -> list[str]:
    """The statements before a loop over vectors that say from which element up to which all are real: `inside_<read>` and
    `outside_<read>`. `position` is that of the first element of the loop."""
    return _bounds(("inside", "outside"), read, operand, size, vector, position)


def _assigned(
    read: int, operand: Gather, vector: str | None, position: Callable[[str], str], span: tuple[str, str] | None = None
) -> str:
    """The assignment of a vector of whose lanes those of a span are real."""
    first, last = span or (f"first_{read}", f"last_{read}")
    step, pointer = lane_stride(operand, vector), f"{names.buffer_name(operand.buffer)} + {place_text(operand, position)}"
    of = suffix(operand.dtype)
    if step == 1 and span is not None:
        return f"load_{read} = tw_load{of}({pointer});"
    otherwise = literal_text(operand.guard.otherwise) if operand.guard is not None else "0.0f"
    call = f"tw_load_between{of}({pointer}" if step == 1 else f"tw_load_strided_between{of}({pointer}, {to_c(step)}"
    return f"load_{read} = {call}, {first}, {last}, {otherwise});"


def _bounds(
    called: tuple[str, str], read: int, operand: Gather, size: str, vector: str | None, position: Callable[[str], str]
) -> list[str]:
    """The first and the end, by these names, of the elements that are real, of so many from a position on."""
    constraints = operand.guard.constraints if operand.guard is not None else ()
    fixed = [constraint for constraint in constraints if not constraint.coefficient(vector or "")]
    starts = [_start(c, c.coefficient(vector or ""), position) for c in constraints if c.coefficient(vector or "") > 0]
    stops = [_stop(c, -c.coefficient(vector or ""), position) for c in constraints if c.coefficient(vector or "") < 0]
    first, last = _folded("tw_max", ["0", *starts]), _folded("tw_min", [size, *stops])
    if fixed:
        condition = " && ".join(f"({index_text(constraint, position)}) >= 0" for constraint in fixed)
        last = f"{condition} ? {last} : 0"
    return [f"const long {called[0]}_{read} = {first};", f"const long {called[1]}_{read} = {last};"]


def is_guarded_window(operand: Gather) -> bool:
    """Whether a read is affine, with affine constraints."""
    constraints = operand.guard.constraints if operand.guard is not None else ()
    return not operand.lookups and all(index.is_affine() for index in (*operand.indices, *constraints))


def _start(constraint: Index, factor: int, position: Callable[[str], str]) -> str:
    """The first lane at which a constraint that grows by `factor` a lane holds."""
    value = f"-({index_text(constraint, position)})"
    return value if factor == 1 else f"({value} + {factor - 1}) / {factor}"


def _stop(constraint: Index, factor: int, position: Callable[[str], str]) -> str:
    """The lane from which on a constraint that falls by `factor` a lane does not hold; not below 0 is needed of it."""
    value = f"({index_text(constraint, position)})"
    return f"{value} + 1" if factor == 1 else f"({value} + {factor}) / {factor}"


def _folded(function: str, values: list[str]) -> str:
    text = values[0]
    for value in values[1:]:
        text = f"{function}({text}, {value})"
    return text
