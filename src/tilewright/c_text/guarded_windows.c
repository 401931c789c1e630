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
#instructions every_other_between
#end
TW_INLINE tw_vec tw_load_strided_between(const float *p, long stride, long first, long last, float otherwise) {
  float lanes[TW_LANES];
#instructions strided_between
#end
  if (last - first == TW_LANES)
    return stride == 2 ? tw_load_every_other(p) : tw_load_strided(p, stride, TW_LANES);
  tw_store(lanes, tw_splat(otherwise));
  for (long i = first; i < last; i++)
    lanes[i] = p[i * stride];
  return tw_load(lanes);
}
#instructions load_between
TW_INLINE tw_vec tw_load_between(const float *p, long first, long last, float otherwise) {
  return last - first == TW_LANES ? tw_load(p) : tw_load_strided_between(p, 1, first, last, otherwise);
}
#end

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
#instructions elements_between
#end

// [some_bytes]
// Bytes that a mask leaves out are not touched, as if they were not there.
#instructions some_bytes_between
#end

// [every_other_byte]
// Bytes as halves of words: shifts give them their signs.
TW_INLINE tw_vec tw_load_every_other_@NAME@(const @TYPE@ *p) { /* two halves, of which the second ends with the last byte */
  typedef @WORD@ words __attribute__((vector_size(TW_LANES), aligned(1), may_alias));
  typedef float half __attribute__((vector_size(2 * TW_LANES)));
  const words low = *(const words *)p << 8 >> 8, high = *(const words *)(p + TW_LANES - 1) >> 8;
  return __builtin_shufflevector(__builtin_convertvector(low, half), __builtin_convertvector(high, half), @IN_ORDER@);
}
