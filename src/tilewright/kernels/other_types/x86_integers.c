// [dots]
// GCC gets its builtin function: with assembly in its place, GCC 12 keeps all sums of an inlined tile in memory (6 x 64: 245 of
// 561 GOP/s). Its types are those of GCC up to 15.
typedef tw_int @PREFIX@_part;
typedef unsigned tw_@PREFIX@_sums __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE tw_int @PREFIX@_left_0(tw_int a) { return a; }
TW_INLINE tw_int @PREFIX@_right_0(tw_int b) { return b; }
TW_INLINE tw_@PREFIX@_sums @PREFIX@_add(tw_@PREFIX@_sums sum, tw_int a, tw_int b) {
#if defined(@MACRO@) && !defined(__clang__) && __GNUC__ <= 15
  return (tw_@PREFIX@_sums)__builtin_ia32_@INSTRUCTION@_@VECTOR@((tw_int)sum, a, b);
#else
  __asm__("@ENCODING@@INSTRUCTION@ %2, %1, %0" : "+@REGISTER@"(sum) : "@REGISTER@"(a), "@REGISTER@"(b));
  return sum;
#endif
}

// [pairs]
typedef unsigned tw_u8s8pairs_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int u8s8pairs_part;
TW_INLINE tw_int u8s8pairs_left_0(tw_int a) { return a; }
TW_INLINE tw_int u8s8pairs_right_0(tw_int b) { return b; }
TW_INLINE tw_u8s8pairs_sums u8s8pairs_add(tw_u8s8pairs_sums sum, tw_int a, tw_int b) {
  const tw_int ones = tw_splat_int(0x00010001);
  tw_int pairs;
  tw_u8s8pairs_sums fours;
  __asm__("vpmaddubsw %2, %1, %0" : "=@REGISTER@"(pairs) : "@REGISTER@"(a), "@REGISTER@"(b));
  __asm__("vpmaddwd %2, %1, %0" : "=@REGISTER@"(fours) : "@REGISTER@"(pairs), "@REGISTER@"(ones));
  return sum + fours;
}

// [s16s16]
typedef unsigned tw_@PREFIX@_sums __attribute__((vector_size(4 * TW_LANES)));
typedef tw_int @PREFIX@_part;
TW_INLINE tw_int @PREFIX@_left_0(tw_int a) { return a; }
TW_INLINE tw_int @PREFIX@_right_0(tw_int b) { return b; }
TW_INLINE tw_@PREFIX@_sums @PREFIX@_add(tw_@PREFIX@_sums sum, tw_int a, tw_int b) {
  tw_@PREFIX@_sums pairs;
  __asm__("vpmaddwd %2, %1, %0" : "=@REGISTER@"(pairs) : "@REGISTER@"(a), "@REGISTER@"(b));
  return sum + pairs;
}

// [signs]
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
