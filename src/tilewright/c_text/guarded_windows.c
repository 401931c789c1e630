// [windows]
// Lanes from `first` to before `last` are read, the others are `otherwise`: 0 <= first, last <= TW_LANES.
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

// [short_windows]
// The same for elements of other types, converted.
TW_INLINE tw_vec tw_load_between_@NAME@(const @TYPE@ *p, long first, long last, float otherwise) {
  if (__builtin_expect(last - first == TW_LANES, 1))
    return tw_load_@NAME@(p);
@MASKED@
  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = tw_read_@NAME@(p + i);
  return tw_load(lanes);
}
@EVERY_OTHER@
TW_INLINE tw_vec tw_load_strided_between_@NAME@(const @TYPE@ *p, long stride, long first, long last, float otherwise) {
  if (last - first == TW_LANES)
    return @WHOLE@tw_load_strided_@NAME@(p, stride, TW_LANES);
  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = tw_read_@NAME@(p + i * stride);
  return tw_load(lanes);
}

// [masked]
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_mask inside = last > first ? (tw_mask)(tw_prefix(last) & ~tw_prefix(first)) : 0;
  return tw_where(inside, __builtin_convertvector(tw_load_whole_lanes_@NAME@(p, inside), tw_vec), tw_splat(otherwise));
#endif

// [some_bytes]
// Bytes that a mask leaves out are not touched, as if they were not there.
#ifdef TW_DIALECT_AVX2
  const unsigned long bytes = last > first ? tw_some_bytes((const unsigned char *)p + first, last - first) << 8 * first : 0;
  const tw_vec loaded = tw_load_@NAME@((const @TYPE@ *)&bytes);
  return tw_where(tw_prefix(last) & ~tw_prefix(first), loaded, tw_splat(otherwise));
#endif

// [every_other_byte]
// Bytes as halves of words: shifts give them their signs.
TW_INLINE tw_vec tw_load_every_other_@NAME@(const @TYPE@ *p) { /* two halves, of which the second ends with the last byte */
  typedef @WORD@ words __attribute__((vector_size(TW_LANES), aligned(1), may_alias));
  typedef float half __attribute__((vector_size(2 * TW_LANES)));
  const words low = *(const words *)p << 8 >> 8, high = *(const words *)(p + TW_LANES - 1) >> 8;
  return __builtin_shufflevector(__builtin_convertvector(low, half), __builtin_convertvector(high, half), @IN_ORDER@);
}
