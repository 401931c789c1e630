// [u8s8]
typedef unsigned tw_u8s8_sums __attribute__((vector_size(4 * TW_LANES)));
typedef short u8s8_part __attribute__((vector_size(4 * TW_LANES)));
typedef unsigned short tw_u8s8_bits __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE u8s8_part u8s8_left_0(tw_int a) { return (u8s8_part)(a & 0x00ff00ff); }
TW_INLINE u8s8_part u8s8_left_1(tw_int a) { return (u8s8_part)((tw_u8s8_bits)a >> 8); }
TW_INLINE u8s8_part u8s8_right_0(tw_int b) { return (u8s8_part)((tw_u8s8_bits)b << 8) >> 8; }
TW_INLINE u8s8_part u8s8_right_1(tw_int b) { return (u8s8_part)b >> 8; }
TW_INLINE tw_u8s8_sums u8s8_add(tw_u8s8_sums sum, u8s8_part a, u8s8_part b) {
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
#else
  const u8s8_part products = a * b;
  const tw_int even = (tw_int)((tw_u8s8_sums)products << 16) >> 16, odd = (tw_int)products >> 16;
  return sum + (tw_u8s8_sums)even + (tw_u8s8_sums)odd;
#endif
}

// [u8s8vnni]
// GCC gets its builtin function: with assembly in its place, GCC 12 keeps all sums of an inlined tile in memory (6 x 64: 245 of
// 561 GOP/s). Its types are those of GCC up to 15.
typedef tw_int u8s8vnni_part;
typedef unsigned tw_u8s8vnni_sums __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE tw_int u8s8vnni_left_0(tw_int a) { return a; }
TW_INLINE tw_int u8s8vnni_right_0(tw_int b) { return b; }
TW_INLINE tw_u8s8vnni_sums u8s8vnni_add(tw_u8s8vnni_sums sum, tw_int a, tw_int b) {
#if defined(__AVX512VNNI__) && !defined(__clang__) && __GNUC__ <= 15
  return (tw_u8s8vnni_sums)__builtin_ia32_vpdpbusd_v16si((tw_int)sum, a, b);
#else
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
#endif
}

// [u8s8pairs]
typedef unsigned tw_u8s8pairs_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int u8s8pairs_part;
TW_INLINE tw_int u8s8pairs_left_0(tw_int a) { return a; }
TW_INLINE tw_int u8s8pairs_right_0(tw_int b) { return b; }
TW_INLINE tw_u8s8pairs_sums u8s8pairs_add(tw_u8s8pairs_sums sum, tw_int a, tw_int b) {
  const tw_int ones = tw_splat_int(0x00010001);
  tw_int pairs;
  tw_u8s8pairs_sums fours;
  __asm__("vpmaddubsw %2, %1, %0" : "=v"(pairs) : "v"(a), "v"(b));
  __asm__("vpmaddwd %2, %1, %0" : "=v"(fours) : "v"(pairs), "v"(ones));
  return sum + fours;
}

// [s16s16]
typedef unsigned tw_s16s16_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int s16s16_part;
TW_INLINE tw_int s16s16_left_0(tw_int a) { return a; }
TW_INLINE tw_int s16s16_right_0(tw_int b) { return b; }
TW_INLINE tw_s16s16_sums s16s16_add(tw_s16s16_sums sum, tw_int a, tw_int b) {
  tw_s16s16_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=x"(pairs) : "x"(a), "x"(b));
  return sum + pairs;
}

// [s8s8signs]
typedef unsigned tw_s8s8signs_sums __attribute__((vector_size(4 * TW_LANES)));
typedef struct {
  tw_int value, size;
} s8s8signs_part;
TW_INLINE s8s8signs_part s8s8signs_left_0(tw_int a) {
  s8s8signs_part part = {a, a};
  __asm__("vpabsb %1, %0" : "=x"(part.size) : "x"(a));
  return part;
}
TW_INLINE s8s8signs_part s8s8signs_right_0(tw_int b) { return (s8s8signs_part){b, b}; }
TW_INLINE tw_s8s8signs_sums s8s8signs_add(tw_s8s8signs_sums sum, s8s8signs_part a, s8s8signs_part b) {
  const tw_int ones = tw_splat_int(0x00010001);
  tw_int signed_b, pairs;
  tw_s8s8signs_sums fours;
  __asm__("vpsignb %2, %1, %0" : "=x"(signed_b) : "x"(b.value), "x"(a.value));
  __asm__("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(a.size), "x"(signed_b));
  __asm__("vpmaddwd %2, %1, %0" : "=x"(fours) : "x"(pairs), "x"(ones));
  return sum + fours;
}
