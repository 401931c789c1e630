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
@STORE_BYTES@
#else
  *(tw_@NAME@ *)p = __builtin_convertvector(whole, tw_@NAME@);
#endif
}
@PART@
#endif

// [bytes]
// Lanes as bytes with AVX2. Compilers (gcc 12) narrow lanes one by one, in 30 instructions for 8 bytes.
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
#if defined(__AVX512F__) && TW_LANES == 16
TW_INLINE tw_int tw_load_whole_lanes_@NAME@(const @TYPE@ *p, tw_mask lanes) {
  tw_int whole;
  __asm__("@MASKED@ %1, %0%{%2%}%{z%}" : "=v"(whole) : "m"(*(const tw_@NAME@ *)p), "Yk"(lanes));
  return whole;
}
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_whole_lanes_@NAME@(p, tw_prefix(n)); }
@LOAD_SOME_BYTES@
#else
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) {
  @TYPE@ lanes[TW_LANES] = {0};
  for (long i = 0; i < n; i++)
    lanes[i] = p[i];
  return tw_load_whole_@NAME@(lanes);
}
#endif

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
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_int whole = tw_whole_numbers_of(v);
  const unsigned short mask = (1u << n) - 1;
  __asm__("@NARROWS@ %1, %0%{%2%}" : "+m"(*(tw_@NAME@ *)p) : "v"(whole), "Yk"(mask));
@STORE_SOME_BYTES@
#else
  tw_store_strided_@NAME@(p, 1, v, n);
#endif
}
