typedef float float32x8 __attribute__((vector_size(32)));
typedef float float32x8_u __attribute__((vector_size(32), aligned(1), may_alias));
#define in_8_lanes(x) {x, x, x, x, x, x, x, x}
#define keep_x(v) __asm__("" : "+x"(v))
#if __has_builtin(__builtin_elementwise_fma)
#define fma_float32x8 __builtin_elementwise_fma
#else
#define fma_float32x8(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#endif
typedef unsigned uint32x8 __attribute__((vector_size(32)));
typedef unsigned uint32x8_u __attribute__((vector_size(32), aligned(1), may_alias));
typedef int int32x8 __attribute__((vector_size(32)));
typedef int int32x8_u __attribute__((vector_size(32), aligned(1), may_alias));

static __attribute__((noinline, unused)) void matmul_avx2_f32_6x16_6x2(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate) {
  const float32x8 c0 = in_8_lanes(0x0p0f);
  const float *a_4_a_row = a + 4 * a_row;
  __asm__("" : "+r"(a_4_a_row));
  float32x8 s0 = c0;
  float32x8 s1 = c0;
  float32x8 s2 = c0;
  float32x8 s3 = c0;
  float32x8 s4 = c0;
  float32x8 s5 = c0;
  float32x8 s6 = c0;
  float32x8 s7 = c0;
  float32x8 s8 = c0;
  float32x8 s9 = c0;
  float32x8 s10 = c0;
  float32x8 s11 = c0;
  const long n_0 = (63) < (k);
  if (n_0) {
    __builtin_prefetch(c + 15);
    __builtin_prefetch(c + c_row + 15);
    __builtin_prefetch(c + 2 * c_row + 15);
    __builtin_prefetch(c + 3 * c_row + 15);
    __builtin_prefetch(c + 4 * c_row + 15);
    __builtin_prefetch(c + 5 * c_row + 15);
  }
  for (long p = 0; p < k; p++) {
    float32x8 v0 = *(const float32x8_u *)(b + b_row * p);
    keep_x(v0);
    float32x8 v1 = *(const float32x8_u *)(b + b_row * p + 8);
    keep_x(v1);
    const float v2_x = a[a_column * p];
    const float32x8 v2 = (float32x8)in_8_lanes(v2_x);
    const float32x8 v3 = fma_float32x8(v2, v0, s0);
    s0 = v3;
    const float32x8 v4 = fma_float32x8(v2, v1, s1);
    s1 = v4;
    const float v5_x = a[a_row + a_column * p];
    const float32x8 v5 = (float32x8)in_8_lanes(v5_x);
    const float32x8 v6 = fma_float32x8(v5, v0, s2);
    s2 = v6;
    const float32x8 v7 = fma_float32x8(v5, v1, s3);
    s3 = v7;
    const float v8_x = a[2 * a_row + a_column * p];
    const float32x8 v8 = (float32x8)in_8_lanes(v8_x);
    const float32x8 v9 = fma_float32x8(v8, v0, s4);
    s4 = v9;
    const float32x8 v10 = fma_float32x8(v8, v1, s5);
    s5 = v10;
    const float v11_x = a[3 * a_row + a_column * p];
    const float32x8 v11 = (float32x8)in_8_lanes(v11_x);
    const float32x8 v12 = fma_float32x8(v11, v0, s6);
    s6 = v12;
    const float32x8 v13 = fma_float32x8(v11, v1, s7);
    s7 = v13;
    const float v14_x = a_4_a_row[a_column * p];
    const float32x8 v14 = (float32x8)in_8_lanes(v14_x);
    const float32x8 v15 = fma_float32x8(v14, v0, s8);
    s8 = v15;
    const float32x8 v16 = fma_float32x8(v14, v1, s9);
    s9 = v16;
    const float v17_x = a_4_a_row[a_row + a_column * p];
    const float32x8 v17 = (float32x8)in_8_lanes(v17_x);
    const float32x8 v18 = fma_float32x8(v17, v0, s10);
    s10 = v18;
    const float32x8 v19 = fma_float32x8(v17, v1, s11);
    s11 = v19;
  }
  if (accumulate) {
    const float32x8 v20 = *(const float32x8_u *)(c);
    const float32x8 v21 = v20 + s0;
    s0 = v21;
    const float32x8 v22 = *(const float32x8_u *)(c + 8);
    const float32x8 v23 = v22 + s1;
    s1 = v23;
    const float32x8 v24 = *(const float32x8_u *)(c + c_row);
    const float32x8 v25 = v24 + s2;
    s2 = v25;
    const float32x8 v26 = *(const float32x8_u *)(c + c_row + 8);
    const float32x8 v27 = v26 + s3;
    s3 = v27;
    const float32x8 v28 = *(const float32x8_u *)(c + 2 * c_row);
    const float32x8 v29 = v28 + s4;
    s4 = v29;
    const float32x8 v30 = *(const float32x8_u *)(c + 2 * c_row + 8);
    const float32x8 v31 = v30 + s5;
    s5 = v31;
    const float32x8 v32 = *(const float32x8_u *)(c + 3 * c_row);
    const float32x8 v33 = v32 + s6;
    s6 = v33;
    const float32x8 v34 = *(const float32x8_u *)(c + 3 * c_row + 8);
    const float32x8 v35 = v34 + s7;
    s7 = v35;
    const float32x8 v36 = *(const float32x8_u *)(c + 4 * c_row);
    const float32x8 v37 = v36 + s8;
    s8 = v37;
    const float32x8 v38 = *(const float32x8_u *)(c + 4 * c_row + 8);
    const float32x8 v39 = v38 + s9;
    s9 = v39;
    const float32x8 v40 = *(const float32x8_u *)(c + 5 * c_row);
    const float32x8 v41 = v40 + s10;
    s10 = v41;
    const float32x8 v42 = *(const float32x8_u *)(c + 5 * c_row + 8);
    const float32x8 v43 = v42 + s11;
    s11 = v43;
  }
  *(float32x8_u *)(c) = s0;
  *(float32x8_u *)(c + 8) = s1;
  *(float32x8_u *)(c + c_row) = s2;
  *(float32x8_u *)(c + c_row + 8) = s3;
  *(float32x8_u *)(c + 2 * c_row) = s4;
  *(float32x8_u *)(c + 2 * c_row + 8) = s5;
  *(float32x8_u *)(c + 3 * c_row) = s6;
  *(float32x8_u *)(c + 3 * c_row + 8) = s7;
  *(float32x8_u *)(c + 4 * c_row) = s8;
  *(float32x8_u *)(c + 4 * c_row + 8) = s9;
  *(float32x8_u *)(c + 5 * c_row) = s10;
  *(float32x8_u *)(c + 5 * c_row + 8) = s11;
}
static __attribute__((noinline, unused)) void matmul_avx2_f32_6x16_6x2_edge(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  const int32x8 c0 = {0, 1, 2, 3, 4, 5, 6, 7};
  const float32x8 c1 = in_8_lanes(0x0p0f);
  const float *a_4_a_row = a + 4 * a_row;
  __asm__("" : "+r"(a_4_a_row));
  const long v0_n = last;
  const int v0_n_lanes = (int)(v0_n >= 8 ? 8 : v0_n > 0 ? v0_n : 0);
  const int32x8 v0 = (int32x8)(c0 < (int32x8)in_8_lanes(v0_n_lanes));
  (void)v0;
  float32x8 s0 = c1;
  float32x8 s1 = c1;
  float32x8 s2 = c1;
  float32x8 s3 = c1;
  float32x8 s4 = c1;
  float32x8 s5 = c1;
  float32x8 s6 = c1;
  float32x8 s7 = c1;
  float32x8 s8 = c1;
  float32x8 s9 = c1;
  float32x8 s10 = c1;
  float32x8 s11 = c1;
  const long n_0 = (63) < (k);
  if (n_0) {
    __builtin_prefetch(c + last + 7);
    __builtin_prefetch(c + last + c_row + 7);
    __builtin_prefetch(c + last + 2 * c_row + 7);
    __builtin_prefetch(c + last + 3 * c_row + 7);
    __builtin_prefetch(c + last + 4 * c_row + 7);
    __builtin_prefetch(c + last + 5 * c_row + 7);
  }
  for (long p = 0; p < k; p++) {
    float32x8 v1 = *(const float32x8_u *)(b + b_row * p);
    keep_x(v1);
    float32x8 v2;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v2) : "m"(*(const float32x8_u *)(b + b_row * p + 8)), "x"(v0));
    const float v3_x = a[a_column * p];
    const float32x8 v3 = (float32x8)in_8_lanes(v3_x);
    const float32x8 v4 = fma_float32x8(v3, v1, s0);
    s0 = v4;
    const float32x8 v5 = fma_float32x8(v3, v2, s1);
    s1 = v5;
    const float v6_x = a[a_row + a_column * p];
    const float32x8 v6 = (float32x8)in_8_lanes(v6_x);
    const float32x8 v7 = fma_float32x8(v6, v1, s2);
    s2 = v7;
    const float32x8 v8 = fma_float32x8(v6, v2, s3);
    s3 = v8;
    const float v9_x = a[2 * a_row + a_column * p];
    const float32x8 v9 = (float32x8)in_8_lanes(v9_x);
    const float32x8 v10 = fma_float32x8(v9, v1, s4);
    s4 = v10;
    const float32x8 v11 = fma_float32x8(v9, v2, s5);
    s5 = v11;
    const float v12_x = a[3 * a_row + a_column * p];
    const float32x8 v12 = (float32x8)in_8_lanes(v12_x);
    const float32x8 v13 = fma_float32x8(v12, v1, s6);
    s6 = v13;
    const float32x8 v14 = fma_float32x8(v12, v2, s7);
    s7 = v14;
    const float v15_x = a_4_a_row[a_column * p];
    const float32x8 v15 = (float32x8)in_8_lanes(v15_x);
    const float32x8 v16 = fma_float32x8(v15, v1, s8);
    s8 = v16;
    const float32x8 v17 = fma_float32x8(v15, v2, s9);
    s9 = v17;
    const float v18_x = a_4_a_row[a_row + a_column * p];
    const float32x8 v18 = (float32x8)in_8_lanes(v18_x);
    const float32x8 v19 = fma_float32x8(v18, v1, s10);
    s10 = v19;
    const float32x8 v20 = fma_float32x8(v18, v2, s11);
    s11 = v20;
  }
  if (accumulate) {
    const float32x8 v21 = *(const float32x8_u *)(c);
    const float32x8 v22 = v21 + s0;
    s0 = v22;
    float32x8 v23;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v23) : "m"(*(const float32x8_u *)(c + 8)), "x"(v0));
    const float32x8 v24 = v23 + s1;
    s1 = v24;
    const float32x8 v25 = *(const float32x8_u *)(c + c_row);
    const float32x8 v26 = v25 + s2;
    s2 = v26;
    float32x8 v27;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v27) : "m"(*(const float32x8_u *)(c + c_row + 8)), "x"(v0));
    const float32x8 v28 = v27 + s3;
    s3 = v28;
    const float32x8 v29 = *(const float32x8_u *)(c + 2 * c_row);
    const float32x8 v30 = v29 + s4;
    s4 = v30;
    float32x8 v31;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v31) : "m"(*(const float32x8_u *)(c + 2 * c_row + 8)), "x"(v0));
    const float32x8 v32 = v31 + s5;
    s5 = v32;
    const float32x8 v33 = *(const float32x8_u *)(c + 3 * c_row);
    const float32x8 v34 = v33 + s6;
    s6 = v34;
    float32x8 v35;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v35) : "m"(*(const float32x8_u *)(c + 3 * c_row + 8)), "x"(v0));
    const float32x8 v36 = v35 + s7;
    s7 = v36;
    const float32x8 v37 = *(const float32x8_u *)(c + 4 * c_row);
    const float32x8 v38 = v37 + s8;
    s8 = v38;
    float32x8 v39;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v39) : "m"(*(const float32x8_u *)(c + 4 * c_row + 8)), "x"(v0));
    const float32x8 v40 = v39 + s9;
    s9 = v40;
    const float32x8 v41 = *(const float32x8_u *)(c + 5 * c_row);
    const float32x8 v42 = v41 + s10;
    s10 = v42;
    float32x8 v43;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v43) : "m"(*(const float32x8_u *)(c + 5 * c_row + 8)), "x"(v0));
    const float32x8 v44 = v43 + s11;
    s11 = v44;
  }
  *(float32x8_u *)(c) = s0;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + 8)) : "x"(s1), "x"(v0));
  *(float32x8_u *)(c + c_row) = s2;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + c_row + 8)) : "x"(s3), "x"(v0));
  *(float32x8_u *)(c + 2 * c_row) = s4;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + 2 * c_row + 8)) : "x"(s5), "x"(v0));
  *(float32x8_u *)(c + 3 * c_row) = s6;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + 3 * c_row + 8)) : "x"(s7), "x"(v0));
  *(float32x8_u *)(c + 4 * c_row) = s8;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + 4 * c_row + 8)) : "x"(s9), "x"(v0));
  *(float32x8_u *)(c + 5 * c_row) = s10;
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c + 5 * c_row + 8)) : "x"(s11), "x"(v0));
}
static __attribute__((noinline, unused)) void matmul_avx2_f32_6x16_1x1(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate) {
  (void)a_row;
  (void)c_row;
  const float32x8 c0 = in_8_lanes(0x0p0f);
  float32x8 s0 = c0;
  const long n_0 = (63) < (k);
  if (n_0) {
    __builtin_prefetch(c + 7);
  }
  for (long p = 0; p < k; p++) {
    const float v0_x = a[a_column * p];
    const float32x8 v0 = (float32x8)in_8_lanes(v0_x);
    const float32x8 v1 = *(const float32x8_u *)(b + b_row * p);
    const float32x8 v2 = fma_float32x8(v0, v1, s0);
    s0 = v2;
  }
  if (accumulate) {
    const float32x8 v3 = *(const float32x8_u *)(c);
    const float32x8 v4 = v3 + s0;
    s0 = v4;
  }
  *(float32x8_u *)(c) = s0;
}
static __attribute__((noinline, unused)) void matmul_avx2_f32_6x16_1x1_edge(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  (void)a_row;
  (void)c_row;
  const int32x8 c0 = {0, 1, 2, 3, 4, 5, 6, 7};
  const float32x8 c1 = in_8_lanes(0x0p0f);
  const long v0_n = last;
  const int v0_n_lanes = (int)(v0_n >= 8 ? 8 : v0_n > 0 ? v0_n : 0);
  const int32x8 v0 = (int32x8)(c0 < (int32x8)in_8_lanes(v0_n_lanes));
  (void)v0;
  float32x8 s0 = c1;
  const long n_0 = (63) < (k);
  if (n_0) {
    __builtin_prefetch(c + last - 1);
  }
  for (long p = 0; p < k; p++) {
    const float v1_x = a[a_column * p];
    const float32x8 v1 = (float32x8)in_8_lanes(v1_x);
    float32x8 v2;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v2) : "m"(*(const float32x8_u *)(b + b_row * p)), "x"(v0));
    const float32x8 v3 = fma_float32x8(v1, v2, s0);
    s0 = v3;
  }
  if (accumulate) {
    float32x8 v4;
    __asm__("vmaskmovps %1, %2, %0" : "=x"(v4) : "m"(*(const float32x8_u *)(c)), "x"(v0));
    const float32x8 v5 = v4 + s0;
    s0 = v5;
  }
  __asm__("vmaskmovps %1, %2, %0" : "+m"(*(float32x8_u *)(c)) : "x"(s0), "x"(v0));
}
void matmul_avx2_f32_6x16(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long m, long n, long accumulate) {
  const long vectors = (n + 8 - 1) / 8, last = n - (vectors - 1) * 8;
  switch ((m * 256 + vectors) * 2 + (last < 8)) {
  case (6 * 256 + 2) * 2 + 0:
    matmul_avx2_f32_6x16_6x2(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (6 * 256 + 2) * 2 + 1:
    matmul_avx2_f32_6x16_6x2_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  case (1 * 256 + 1) * 2 + 0:
    matmul_avx2_f32_6x16_1x1(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (1 * 256 + 1) * 2 + 1:
    matmul_avx2_f32_6x16_1x1_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  default:
    __builtin_trap();
  }
}
