typedef float float32x4 __attribute__((vector_size(16)));
typedef float float32x4_u __attribute__((vector_size(16), aligned(1), may_alias));
#define in_4_lanes(x) {x, x, x, x}
#if defined(__x86_64__)
#define keep(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define keep(v) __asm__("" : "+w"(v))
#elif defined(__powerpc64__)
#define keep(v) __asm__("" : "+wa"(v))
#else
#define keep(v) ((void)0)
#endif
static inline __attribute__((always_inline)) float32x4 multiply_add_float32x4(float32x4 a, float32x4 b, float32x4 c) {
#if defined(__aarch64__)
  __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b)); return c;
#elif defined(__powerpc64__)
  __asm__("xvmaddasp %x0, %x1, %x2" : "+wa"(c) : "wa"(a), "wa"(b)); return c;
#else
  return a * b + c;
#endif
}
typedef unsigned uint32x4 __attribute__((vector_size(16)));
typedef unsigned uint32x4_u __attribute__((vector_size(16), aligned(1), may_alias));
typedef int int32x4 __attribute__((vector_size(16)));
typedef int int32x4_u __attribute__((vector_size(16), aligned(1), may_alias));

static __attribute__((noinline, unused)) void matmul_portable_f32_6x8_2x2(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate) {
  const float32x4 c0 = in_4_lanes(0x0p0f);
  float32x4 s0 = c0;
  float32x4 s1 = c0;
  float32x4 s2 = c0;
  float32x4 s3 = c0;
  for (long p = 0; p < k; p++) {
    float32x4 v0 = *(const float32x4_u *)(b + b_row * p);
    keep(v0);
    float32x4 v1 = *(const float32x4_u *)(b + b_row * p + 4);
    keep(v1);
    const float v2_x = a[a_column * p];
    const float32x4 v2 = (float32x4)in_4_lanes(v2_x);
    const float32x4 v3 = multiply_add_float32x4(v2, v0, s0);
    s0 = v3;
    const float32x4 v4 = multiply_add_float32x4(v2, v1, s1);
    s1 = v4;
    const float v5_x = a[a_row + a_column * p];
    const float32x4 v5 = (float32x4)in_4_lanes(v5_x);
    const float32x4 v6 = multiply_add_float32x4(v5, v0, s2);
    s2 = v6;
    const float32x4 v7 = multiply_add_float32x4(v5, v1, s3);
    s3 = v7;
  }
  if (accumulate) {
    const float32x4 v8 = *(const float32x4_u *)(c);
    const float32x4 v9 = v8 + s0;
    s0 = v9;
    const float32x4 v10 = *(const float32x4_u *)(c + 4);
    const float32x4 v11 = v10 + s1;
    s1 = v11;
    const float32x4 v12 = *(const float32x4_u *)(c + c_row);
    const float32x4 v13 = v12 + s2;
    s2 = v13;
    const float32x4 v14 = *(const float32x4_u *)(c + c_row + 4);
    const float32x4 v15 = v14 + s3;
    s3 = v15;
  }
  *(float32x4_u *)(c) = s0;
  *(float32x4_u *)(c + 4) = s1;
  *(float32x4_u *)(c + c_row) = s2;
  *(float32x4_u *)(c + c_row + 4) = s3;
}
static __attribute__((noinline, unused)) void matmul_portable_f32_6x8_2x2_edge(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  const int32x4 c0 = {0, 1, 2, 3};
  const float32x4 c1 = in_4_lanes(0x0p0f);
  const long v0_n = last;
  const int v0_n_lanes = (int)(v0_n >= 4 ? 4 : v0_n > 0 ? v0_n : 0);
  const int32x4 v0 = (int32x4)(c0 < (int32x4)in_4_lanes(v0_n_lanes));
  (void)v0;
  float32x4 s0 = c1;
  float32x4 s1 = c1;
  float32x4 s2 = c1;
  float32x4 s3 = c1;
  for (long p = 0; p < k; p++) {
    float32x4 v1 = *(const float32x4_u *)(b + b_row * p);
    keep(v1);
    float32x4 v2 = {0};
    if (v0_n > 0) v2[0] = b[b_row * p + 4];
    if (v0_n > 1) v2[1] = b[b_row * p + 5];
    if (v0_n > 2) v2[2] = b[b_row * p + 6];
    if (v0_n > 3) v2[3] = b[b_row * p + 7];
    const float v3_x = a[a_column * p];
    const float32x4 v3 = (float32x4)in_4_lanes(v3_x);
    const float32x4 v4 = multiply_add_float32x4(v3, v1, s0);
    s0 = v4;
    const float32x4 v5 = multiply_add_float32x4(v3, v2, s1);
    s1 = v5;
    const float v6_x = a[a_row + a_column * p];
    const float32x4 v6 = (float32x4)in_4_lanes(v6_x);
    const float32x4 v7 = multiply_add_float32x4(v6, v1, s2);
    s2 = v7;
    const float32x4 v8 = multiply_add_float32x4(v6, v2, s3);
    s3 = v8;
  }
  if (accumulate) {
    const float32x4 v9 = *(const float32x4_u *)(c);
    const float32x4 v10 = v9 + s0;
    s0 = v10;
    float32x4 v11 = {0};
    if (v0_n > 0) v11[0] = c[4];
    if (v0_n > 1) v11[1] = c[5];
    if (v0_n > 2) v11[2] = c[6];
    if (v0_n > 3) v11[3] = c[7];
    const float32x4 v12 = v11 + s1;
    s1 = v12;
    const float32x4 v13 = *(const float32x4_u *)(c + c_row);
    const float32x4 v14 = v13 + s2;
    s2 = v14;
    float32x4 v15 = {0};
    if (v0_n > 0) v15[0] = c[c_row + 4];
    if (v0_n > 1) v15[1] = c[c_row + 5];
    if (v0_n > 2) v15[2] = c[c_row + 6];
    if (v0_n > 3) v15[3] = c[c_row + 7];
    const float32x4 v16 = v15 + s3;
    s3 = v16;
  }
  *(float32x4_u *)(c) = s0;
  if (v0_n > 0) c[4] = s1[0];
  if (v0_n > 1) c[5] = s1[1];
  if (v0_n > 2) c[6] = s1[2];
  if (v0_n > 3) c[7] = s1[3];
  *(float32x4_u *)(c + c_row) = s2;
  if (v0_n > 0) c[c_row + 4] = s3[0];
  if (v0_n > 1) c[c_row + 5] = s3[1];
  if (v0_n > 2) c[c_row + 6] = s3[2];
  if (v0_n > 3) c[c_row + 7] = s3[3];
}
void matmul_portable_f32_6x8(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long m, long n, long accumulate) {
  const long vectors = (n + 4 - 1) / 4, last = n - (vectors - 1) * 4;
  switch ((m * 256 + vectors) * 2 + (last < 4)) {
  case (2 * 256 + 2) * 2 + 0:
    matmul_portable_f32_6x8_2x2(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (2 * 256 + 2) * 2 + 1:
    matmul_portable_f32_6x8_2x2_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  default:
    __builtin_trap();
  }
}
