// [reads]
TW_INLINE float tw_read_@NAME@(const @TYPE@ *p) { return (float)*p; }
TW_INLINE tw_vec tw_load_strided_@NAME@(const @TYPE@ *p, long stride, long n) {
  float lanes[TW_LANES];
  tw_store(lanes, tw_splat(0.0f));
  for (long i = 0; i < n; i++)
    lanes[i] = (float)p[i * stride];
  return tw_load(lanes);
}

// [load]
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_strided_@NAME@(p, 1, n); }
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { return tw_load_strided_@NAME@(p, 1, TW_LANES); }

// [whole]
#instructions lanes_as_elements
#end
#ifndef TW_WHOLE_@NAME@
#define TW_WHOLE_@NAME@
typedef @TYPE@ tw_@NAME@ __attribute__((vector_size(TW_LANES * sizeof(@TYPE@)), aligned(1), may_alias));
TW_INLINE tw_int tw_load_whole_@NAME@(const @TYPE@ *p) {
#instructions load_whole
  return __builtin_convertvector(*(const tw_@NAME@ *)p, tw_int);
#end
}
TW_INLINE void tw_store_whole_@NAME@(@TYPE@ *p, tw_int whole) {
#instructions store_whole
  *(tw_@NAME@ *)p = __builtin_convertvector(whole, tw_@NAME@);
#end
}
@PART@
#endif

// [whole_int32]
#ifndef TW_WHOLE_int32
#define TW_WHOLE_int32
typedef int tw_int32 __attribute__((vector_size(TW_LANES * sizeof(int)), aligned(1), may_alias));
TW_INLINE tw_int tw_load_whole_int32(const int *p) { return *(const tw_int32 *)p; }
TW_INLINE void tw_store_whole_int32(int *p, tw_int whole) { *(tw_int32 *)p = whole; }
@PART@
#endif

// [whole_part]
// Elements whose lanes a mask leaves out are not touched, as if they were not there.
#instructions load_whole_part
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) {
  @TYPE@ lanes[TW_LANES] = {0};
  for (long i = 0; i < n; i++)
    lanes[i] = p[i];
  return tw_load_whole_@NAME@(lanes);
}
#end

// [load_narrow]
TW_INLINE tw_vec tw_load_@NAME@(const @TYPE@ *p) { return __builtin_convertvector(tw_load_whole_@NAME@(p), tw_vec); }
TW_INLINE tw_vec tw_load_part_@NAME@(const @TYPE@ *p, long n) {
  return __builtin_convertvector(tw_load_whole_part_@NAME@(p, n), tw_vec);
}

// [load_half]
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

// [stores]
TW_INLINE void tw_store_strided_@NAME@(@TYPE@ *p, long stride, tw_vec v, long n) {
  float lanes[TW_LANES];
  tw_store(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = tw_@NAME@_of(lanes[i]);
}
TW_INLINE void tw_store_part_@NAME@(@TYPE@ *p, tw_vec v, long n) { tw_store_strided_@NAME@(p, 1, v, n); }
TW_INLINE void tw_store_@NAME@(@TYPE@ *p, tw_vec v) { tw_store_strided_@NAME@(p, 1, v, TW_LANES); }

// [stores_half]
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

// [stores_narrow]
TW_INLINE void tw_store_@NAME@(@TYPE@ *p, tw_vec v) { tw_store_whole_@NAME@(p, tw_whole_numbers_of(v)); }
TW_INLINE void tw_store_strided_@NAME@(@TYPE@ *p, long stride, tw_vec v, long n) {
  @TYPE@ lanes[TW_LANES];
  tw_store_@NAME@(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = lanes[i];
}
TW_INLINE void tw_store_part_@NAME@(@TYPE@ *p, tw_vec v, long n) {
#instructions store_whole_part
  tw_store_strided_@NAME@(p, 1, v, n);
#end
}
