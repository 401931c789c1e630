"""A multiply-add of float64 that is rounded once, in integers, for machines without one."""

from __future__ import annotations

from tilewright.render.c.tiles.vocabulary import Vocabulary

NAME = "fma_float64"
TEXT = """\
/* The exact sum of a product of 106 bits and a number of 53, in 192 bits whose lowest one stands for all below it. */
static __attribute__((noinline, cold)) double fma_float64(double a, double b, double c) {
  typedef unsigned long bits_64;
  typedef unsigned __int128 bits_128;
  const double product = a * b;
  union { double value; bits_64 bits; } x = {a}, y = {b}, z = {c};
  const bits_64 fraction = ((bits_64)1 << 52) - 1;
  if (!(__builtin_fabs(a) < __builtin_inf() && __builtin_fabs(b) < __builtin_inf() && a != 0 && b != 0))
    return product + c;
  if (!(__builtin_fabs(c) < __builtin_inf()))
    return c;
  long x_exponent = x.bits >> 52 & 2047, y_exponent = y.bits >> 52 & 2047, z_exponent = z.bits >> 52 & 2047;
  const bits_64 x_size = (x.bits & fraction) | (x_exponent ? (bits_64)1 << 52 : 0);
  const bits_64 y_size = (y.bits & fraction) | (y_exponent ? (bits_64)1 << 52 : 0);
  const bits_64 z_size = (z.bits & fraction) | (z_exponent ? (bits_64)1 << 52 : 0);
  const bits_64 sign = (x.bits ^ y.bits) >> 63, z_sign = z.bits >> 63;
  long exponent = (x_exponent ? x_exponent : 1) + (y_exponent ? y_exponent : 1) - 2150;
  long other_exponent = (z_exponent ? z_exponent : 1) - 1075;
  /* Both as sizes below 2^126 at exponents of their lowest bits. */
  bits_128 size = (bits_128)x_size * y_size, other = z_size;
  while (!(size >> 119)) /* at most 119 steps: only machines without multiply-adds come here */
    size <<= 1, exponent--;
  if (other)
    while (!(other >> 119))
      other <<= 1, other_exponent--;
  bits_64 result_sign = sign;
  if (other) {
    if (other_exponent > exponent || (other_exponent == exponent && other > size)) {
      const bits_128 swap = size;
      const long swap_exponent = exponent;
      size = other, other = swap, exponent = other_exponent, other_exponent = swap_exponent;
      result_sign = z_sign;
    }
    const long distance = exponent - other_exponent;
    size <<= 4, other <<= 4, exponent -= 4;
    if (distance >= 128)
      other = 1;
    else if (distance)
      other = other >> distance | ((other << (128 - distance)) != 0);
    size = sign == z_sign ? size + other : size - other;
    if (!size)
      return 0.0;
  }
  /* Rounded to nearest even at 53 bits, or at 2^-1074. */
  long top = 127;
  while (!(size >> top))
    top--;
  long drop = top - 52;
  if (exponent + drop < -1074)
    drop = -1074 - exponent;
  bits_64 kept = 0;
  if (drop <= 0) {
    kept = (bits_64)(size << -drop);
  } else if (drop < 128) {
    const bits_128 rest = size & (((bits_128)1 << drop) - 1), half = (bits_128)1 << (drop - 1);
    kept = (bits_64)(size >> drop);
    kept += rest > half || (rest == half && (kept & 1));
  }
  const long unit = exponent + drop;
  if (kept >> 53)
    return fma_scaled(kept >> 1, unit + 1, result_sign);
  return fma_scaled(kept, unit, result_sign);
}"""
SCALED = """\
static double fma_scaled(unsigned long size, long unit, unsigned long sign) {
  typedef unsigned long bits_64;
  union { bits_64 bits; double value; } result;
  if (!(size >> 52))
    result.bits = size;
  else if (unit + 1075 >= 2047)
    result.bits = (bits_64)2047 << 52;
  else
    result.bits = ((bits_64)(unit + 1075) << 52) + (size & (((bits_64)1 << 52) - 1));
  result.bits |= sign << 63;
  return result.value;
}"""


def define(vocabulary: Vocabulary) -> str:
    """Its name, once it is defined."""
    vocabulary.define("fma_scaled", SCALED)
    return vocabulary.define(NAME, TEXT)
