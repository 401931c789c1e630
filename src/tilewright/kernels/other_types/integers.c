// [u8s8]
typedef unsigned tw_u8s8_sums __attribute__((vector_size(4 * TW_LANES)));
typedef short u8s8_part __attribute__((vector_size(4 * TW_LANES)));
typedef unsigned short tw_u8s8_bits __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE u8s8_part u8s8_left_0(tw_int a) { return (u8s8_part)(a & 0x00ff00ff); }
TW_INLINE u8s8_part u8s8_left_1(tw_int a) { return (u8s8_part)((tw_u8s8_bits)a >> 8); }
TW_INLINE u8s8_part u8s8_right_0(tw_int b) { return (u8s8_part)((tw_u8s8_bits)b << 8) >> 8; }
TW_INLINE u8s8_part u8s8_right_1(tw_int b) { return (u8s8_part)b >> 8; }
TW_INLINE tw_u8s8_sums u8s8_add(tw_u8s8_sums sum, u8s8_part a, u8s8_part b) {
#instructions products_of_bytes
  const u8s8_part products = a * b;
  const tw_int even = (tw_int)((tw_u8s8_sums)products << 16) >> 16, odd = (tw_int)products >> 16;
  return sum + (tw_u8s8_sums)even + (tw_u8s8_sums)odd;
#end
}
