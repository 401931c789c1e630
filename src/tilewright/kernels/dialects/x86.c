// [whole_numbers]
#if defined(__AVX512F__) || (defined(__AVX__) && TW_LANES <= 8)
  tw_int whole;
  __asm__("vcvttps2dq %1, %0" : "=v"(whole) : "v"(v));
  return whole;

// [nearest]
#if (defined(__AVX512F__) && TW_LANES == 16) || (defined(__AVX2__) && TW_LANES == 8)
  return tw_round(v); /* one instruction, right for all numbers */

// [rounded_quotient]
// A division of 16 lanes takes 16 cycles (Sapphire Rapids), this 5. With r = RN(1/d), two steps q <- RN(q + RN(x - q d) r) from
// RN(x r): the first gives a neighbour of x/d, of which the second makes RN(x/d) (Markstein 1990, theorem 5; Muller et al.,
// Handbook of Floating-Point Arithmetic, section 4.7). Remainders must not underflow: within these bounds they do not where the
// quotient is 1/4 or more, and below that it becomes 0, with the sign of RN(x r), whatever its last places are. What is left, NaN
// included, is divided.
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_vec inverse = tw_splat(1.0f) / d, size = tw_abs(d);
  const tw_mask is_near = tw_greater_equal(size, tw_splat(0x1p-60f)) & tw_less_equal(size, tw_splat(0x1p60f));
  const tw_vec about = x * inverse;
  if (tw_any((tw_mask) ~(is_near & tw_less(tw_abs(about), tw_splat(0x1p120f)))))
    return tw_nearest(x / d);
  const tw_vec near = tw_multiply_add(tw_multiply_add(-about, d, x), inverse, about);
  const tw_vec quotient = tw_multiply_add(tw_multiply_add(-near, d, x), inverse, near);
  return (tw_vec)((tw_int)tw_nearest(quotient) | ((tw_int)about & (-0x7fffffff - 1))); /* a sum with -0 is 0 */

// [load_whole]
#if defined(__AVX512F__) || (defined(__AVX2__) && TW_LANES <= 8)
  tw_int whole;
  __asm__("@WIDENS@ %1, %0" : "=v"(whole) : "m"(*(const tw_@NAME@ *)p));
  return whole;

// [store_whole]
#if defined(__AVX512F__) && TW_LANES == 16
  __asm__("@NARROWS@ %1, %0" : "=m"(*(tw_@NAME@ *)p) : "v"(whole));

// [store_whole_8]
#if defined(__AVX2__) && TW_LANES == 8
  *(tw_eight_bytes *)p = tw_low_bytes(whole);

// [lanes_as_elements_8]
// Lanes as bytes. Compilers (gcc 12) narrow lanes one by one, in 30 instructions for 8 bytes.
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

// [load_whole_part]
#if defined(__AVX512F__) && TW_LANES == 16
TW_INLINE tw_int tw_load_whole_lanes_@NAME@(const @TYPE@ *p, tw_mask lanes) {
  tw_int whole;
  __asm__("@WIDENS@ %1, %0%{%2%}%{z%}" : "=v"(whole) : "m"(*(const tw_@NAME@ *)p), "Yk"(lanes));
  return whole;
}
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) { return tw_load_whole_lanes_@NAME@(p, tw_prefix(n)); }

// [load_whole_part_8]
#if defined(__AVX2__) && TW_LANES == 8
TW_INLINE tw_int tw_load_whole_part_@NAME@(const @TYPE@ *p, long n) {
  const unsigned long bytes = tw_some_bytes((const unsigned char *)p, n);
  return tw_load_whole_@NAME@((const @TYPE@ *)&bytes);
}

// [store_whole_part]
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_int whole = tw_whole_numbers_of(v);
  const unsigned short mask = (1u << n) - 1;
  __asm__("@NARROWS@ %1, %0%{%2%}" : "+m"(*(tw_@NAME@ *)p) : "v"(whole), "Yk"(mask));

// [store_whole_part_8]
#if defined(__AVX2__) && TW_LANES == 8
  tw_store_some_bytes((unsigned char *)p, tw_low_bytes(tw_whole_numbers_of(v)), n);

// [words_in_part]
#if defined(__AVX2__) || defined(__AVX512F__)
TW_INLINE tw_int tw_load_words_part(const void *p, long n) { return (tw_int)tw_load_part((const float *)p, n); }
TW_INLINE void tw_store_words_part(void *p, tw_int v, long n) { tw_store_part((float *)p, (tw_vec)v, n); }

// [products_of_bytes]
#if defined(__AVX512BW__) && TW_LANES == 16
  tw_u8s8_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=v"(pairs) : "v"(a), "v"(b));
  return sum + pairs;
#elif (defined(__AVX2__) && TW_LANES == 8) || (defined(__AVX__) && TW_LANES == 4)
  tw_u8s8_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(pairs) : "x"(a), "x"(b));
  return sum + pairs;
#elif defined(__SSE2__) && TW_LANES == 4
  __asm__("pmaddwd %1, %0" : "+x"(a) : "x"(b));
  return sum + (tw_u8s8_sums)a;

// [every_other_between]
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

// [strided_between]
#if defined(TW_DIALECT_AVX512) || defined(TW_DIALECT_AVX2)
  if (stride == 2)
    return tw_load_every_other_between(p, first, last, otherwise);

// [load_between]
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

// [elements_between]
#if defined(__AVX512F__) && TW_LANES == 16
  const tw_mask inside = last > first ? (tw_mask)(tw_prefix(last) & ~tw_prefix(first)) : 0;
  return tw_where(inside, __builtin_convertvector(tw_load_whole_lanes_@NAME@(p, inside), tw_vec), tw_splat(otherwise));

// [some_bytes_between]
#ifdef TW_DIALECT_AVX2
  const unsigned long bytes = last > first ? tw_some_bytes((const unsigned char *)p + first, last - first) << 8 * first : 0;
  const tw_vec loaded = tw_load_@NAME@((const @TYPE@ *)&bytes);
  return tw_where(tw_prefix(last) & ~tw_prefix(first), loaded, tw_splat(otherwise));

// [multiply_add_doubles]
#if (defined(__AVX512F__) && TW_LANES == 16) || (defined(__FMA__) && TW_LANES == 8)
#if TW_HAS_FMA_OF_VECTORS
  return __builtin_elementwise_fma(a, b, sum);
#elif TW_LANES == 16
  return __builtin_ia32_vfmaddpd512_mask(a, b, sum, (unsigned char)-1, 4);
#else
  return __builtin_ia32_vfmaddpd256(a, b, sum);
#endif

// [load_float16]
#if (defined(__AVX512F__) && TW_LANES == 16) || (defined(__F16C__) && TW_LANES == 8)
  tw_vec wide;
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "m"(*(const tw_bits_16 *)p));
  return wide;

// [load_part_float16]
#if defined(__AVX512F__) && TW_LANES == 16
  tw_bits_16 bits;
  tw_vec wide;
  __asm__("vpmovdw %1, %0" : "=v"(bits) : "v"(tw_load_whole_part_uint16(p, n)));
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "v"(bits));
  return wide;
#elif defined(__F16C__) && TW_LANES == 8
  typedef unsigned long tw_two_longs __attribute__((vector_size(16)));
  const unsigned char *from = (const unsigned char *)p;
  const tw_two_longs bits = {tw_some_bytes(from, n < 4 ? 2 * n : 8), n > 4 ? tw_some_bytes(from + 8, 2 * n - 8) : 0};
  tw_vec wide;
  __asm__("vcvtph2ps %1, %0" : "=x"(wide) : "x"(bits));
  return wide;

// [splat_float16]
#if (defined(__AVX512F__) && TW_LANES == 16) || (defined(__F16C__) && TW_LANES == 8)
  tw_bits_16 all;
  tw_vec wide;
  __asm__("vpbroadcastw %1, %0" : "=v"(all) : "m"(*p));
  __asm__("vcvtph2ps %1, %0" : "=v"(wide) : "v"(all));
  return wide;
