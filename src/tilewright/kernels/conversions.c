// [of_doubles]
#ifndef TW_CONVERSIONS
#define TW_CONVERSIONS
TW_INLINE unsigned char tw_bool_of(double x) { return x != 0; }
TW_INLINE int tw_int32_of(double x) { return x > -0x1.00000002p31 && x < 0x1p31 ? (int)x : -0x7fffffff - 1; }
TW_INLINE long tw_int64_of(double x) { return x >= -0x1p63 && x < 0x1p63 ? (long)x : -0x7fffffffffffffffL - 1; }
TW_INLINE signed char tw_int8_of(double x) { return (signed char)tw_int32_of(x); }
TW_INLINE short tw_int16_of(double x) { return (short)tw_int32_of(x); }
TW_INLINE unsigned char tw_uint8_of(double x) { return (unsigned char)tw_int32_of(x); }
TW_INLINE unsigned short tw_uint16_of(double x) { return (unsigned short)tw_int32_of(x); }
TW_INLINE unsigned tw_uint32_of(double x) { return (unsigned)tw_int64_of(x); }
TW_INLINE unsigned long tw_uint64_of(double x) {
  return x < 0x1p63 || x != x ? (unsigned long)tw_int64_of(x) : x < 0x1p64 ? (unsigned long)x : 0;
}
TW_INLINE float tw_float32_of(double x) { return (float)x; }
TW_INLINE double tw_float64_of(double x) { return x; }
/* Rounded to odd, so that rounding once more gives what rounding once would have given. */
TW_INLINE unsigned tw_odd_bits_of(double x) {
  union { float value; unsigned bits; } to = {(float)x};
  if ((double)to.value != x && x == x) {
    to.bits -= __builtin_fabs((double)to.value) > __builtin_fabs(x);
    to.bits |= 1;
  }
  return to.bits;
}
TW_INLINE unsigned short tw_float16_of(double x) {
  const unsigned bits = tw_odd_bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size >= 0x47800000)
    return (unsigned short)(sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00));
  if (size >= 0x38800000)
    return (unsigned short)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
  const union { unsigned bits; float value; } small = {size};
  const union { float value; unsigned bits; } sum = {small.value + 0.5f};
  return (unsigned short)(sign | (sum.bits - 0x3f000000));
}
TW_INLINE unsigned short tw_bfloat16_of(double x) {
  const unsigned bits = tw_odd_bits_of(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (unsigned short)((bits >> 16 & 0x8000) | 0x7fc0);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
TW_INLINE float tw_float_of_bfloat16(unsigned short x) {
  const union { unsigned bits; float value; } to = {(unsigned)x << 16};
  return to.value;
}
TW_INLINE float tw_float_of_float16(unsigned short x) {
  const unsigned sign = (x & 0x8000u) << 16, size = (x & 0x7fffu) << 13;
  const union { unsigned bits; float value; } from = {size};
  union { float value; unsigned bits; } to = {from.value * 0x1p112f};
  to.bits |= sign | (size >= 0x0f800000 ? 0x7f800000 : 0);
  return to.value;
}
#endif

// [whole_numbers]
#ifndef TW_WHOLE_NUMBERS
#define TW_WHOLE_NUMBERS
/* As tw_int32_of, of every lane. */
TW_INLINE tw_int tw_whole_numbers_of(tw_vec v) {
#instructions whole_numbers
  const tw_int inside = (tw_int)(v >= -0x1p31f) & (tw_int)(v < 0x1p31f);
  return (__builtin_convertvector((tw_vec)((tw_int)v & inside), tw_int) & inside) | (~inside & (-0x7fffffff - 1));
#end
}
#endif

// [halves]
// Vectors of the bits of halves. 0x1p112 moves an exponent from the bias of 15 to that of 127, denormal numbers included, and
// 0.5f plus a number below 2^-14 is rounded where the last bit of a denormal half stands.
#ifndef TW_BITS_16
#define TW_BITS_16
typedef unsigned short tw_bits_16 __attribute__((vector_size(TW_LANES * sizeof(short)), aligned(1), may_alias));
typedef unsigned tw_bits_32 __attribute__((vector_size(TW_LANES * sizeof(int))));
TW_INLINE tw_vec tw_widen_bfloat16(tw_int x) { return (tw_vec)((tw_bits_32)x << 16); }
TW_INLINE tw_vec tw_widen_float16(tw_int x) {
  const tw_int size = (x & 0x7fff) << 13, special = (tw_int)(size >= 0x0f800000) & 0x7f800000;
  return (tw_vec)((tw_int)((tw_vec)size * 0x1p112f) | special | (tw_int)((tw_bits_32)(x & 0x8000) << 16));
}
TW_INLINE tw_bits_32 tw_narrow_bfloat16(tw_vec x) {
  const tw_bits_32 bits = (tw_bits_32)x, nan = (tw_bits_32)((tw_int)(bits & 0x7fffffff) > 0x7f800000);
  return (~nan & (bits + 0x7fff + (bits >> 16 & 1)) >> 16) | (nan & ((bits >> 16 & 0x8000) | 0x7fc0));
}
TW_INLINE tw_bits_32 tw_narrow_float16(tw_vec x) {
  const tw_bits_32 bits = (tw_bits_32)x, size = bits & 0x7fffffff;
  const tw_bits_32 is_large = (tw_bits_32)((tw_int)size >= 0x47800000), is_nan = (tw_bits_32)((tw_int)size > 0x7f800000);
  const tw_bits_32 is_normal = (tw_bits_32)((tw_int)size >= 0x38800000) & ~is_large;
  const tw_bits_32 normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  const tw_bits_32 small = (tw_bits_32)((tw_vec)(size & ~is_large) + 0.5f) - 0x3f000000;
  const tw_bits_32 large = 0x7c00 | (is_nan & 0x200);
  return (bits >> 16 & 0x8000) | (is_large & large) | (is_normal & normal) | (~is_large & ~is_normal & small);
}
#endif

// [integer]
TW_INLINE float tw_float_of_@NAME@(unsigned char x) { return (float)@VALUE@; }
TW_INLINE unsigned char tw_@NAME@_of(float x) { return (unsigned char)(tw_int32_of(x) & ((1 << @BITS@) - 1)); }

// [float]
// Numbers below the least normal one are rounded by a sum: the last bit of floats as large as @ROUNDER@ is worth @LEAST@.
TW_INLINE float tw_float_of_@NAME@(unsigned char x) {
  const int size = x & (@SIGN@ - 1);
  const union { unsigned bits; float value; } normal = {((unsigned)size << @BELOW@) + (@REBIASED@u << 23)};
  const float number = size >= 1 << @MANTISSA@ ? normal.value : (float)size * @LEAST@;
  const float found = size <= @LARGEST@ ? number : @ABOVE_LARGEST@;
  if (!@HAS_NEGATIVE_ZERO@ && x == @SIGN@)
    return __builtin_nanf("");
  return x & @SIGN@ ? -found : found;
}
TW_INLINE unsigned char tw_@NAME@_of(float x) {
  const union { float value; unsigned bits; } from = {x};
  const unsigned size = from.bits & 0x7fffffff, sign = from.bits >> 31 ? @SIGN@ : 0;
  if (size > 0x7f800000)
    return (unsigned char)(@NAN@ | sign);
  const union { unsigned bits; float value; } positive = {size};
  const union { float value; unsigned bits; } sum = {positive.value + @ROUNDER@}, rounder = {@ROUNDER@};
  const unsigned half = (1u << (@BELOW@ - 1)) - 1 + (size >> @BELOW@ & 1);
  unsigned code = sum.bits - rounder.bits;
  if (size >= (@REBIASED@u + 1) << 23)
    code = (size - (@REBIASED@u << 23) + half) >> @BELOW@;
  if (code > @LARGEST@)
    code = @BEYOND@;
  return (unsigned char)(code || @HAS_NEGATIVE_ZERO@ ? code | sign : 0);
}

// [powers]
// Codes are exponents as float32 has them; 0 stands for 2^-127, which float32 holds without a leading bit.
// Zeros, negative numbers and what is not finite become NaN; numbers from 2^-127 to 2^-126 the latter, as in ml_dtypes.
TW_INLINE float tw_float_of_@NAME@(unsigned char x) {
  const union { unsigned bits; float value; } power = {x ? (unsigned)x << 23 : 0x400000};
  return x == 255 ? __builtin_nanf("") : power.value;
}
TW_INLINE unsigned char tw_@NAME@_of(float x) {
  const union { float value; unsigned bits; } from = {x};
  if (from.bits - 1 >= 0x7f7fffff)
    return 255;
  return (unsigned char)(from.bits < 0x800000 ? from.bits > 0x400000 : (from.bits + 0x400000) >> 23);
}
