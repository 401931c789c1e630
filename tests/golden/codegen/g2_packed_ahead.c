/*
 * chain, planned for x86-64-v4
 *
 * C[b, m, l] = einsum(A[b, m, k], B[b, k, l]) over k
 * E[b, m, n] = einsum(C[b, m, l], D[b, l, n]) over l
 *
 *   pack operand 1 of scores into panels of 64 columns, when the kernel is loaded
 *   pack operand 1 of out into panels of 64 columns, when the kernel is loaded
 *   for b in blocks of 1
 *     for m in blocks of 24
 *       for k in blocks of 24
 *         scores
 *       out
 *
 * predicted 0.0 us on one thread (floor 0.0 us, operator by operator 0.0 us)
 */
static void chain_task(void *argument, struct tw_blocks *blocks, char *scratch) {
  const struct tw_call *call = argument;
  const long *sizes = call->sizes;
  const long stride_A_0 = sizes[0];
  const long stride_A_1 = sizes[1];
  const long stride_A_2 = sizes[2];
  const long stride_E_0 = sizes[3];
  const long stride_E_1 = sizes[4];
  const float *const A = call->tensors[0];
  float *const E = call->tensors[1];
  const float *const packed_B = call->tensors[2];
  const float *const packed_D = call->tensors[3];
  float *const C = (float *)(scratch + 0); /* b block x m block x l whole */
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_b = block / 22;
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    for (long at_k = 0; at_k < 64; at_k += 24) {
      const long size_k = tw_min(24, 64 - at_k);
      matmul_avx512_f32_6x64_tiles_8_24x512_n512_br64_cr528(size_m, size_k, A + at_b * stride_A_0 + at_m * stride_A_1 + at_k * stride_A_2, stride_A_1, stride_A_2, packed_B + at_b * 32768 + at_k * 512, size_k * 64, C, at_k != 0);
    }
    matmul_avx512_f32_6x64_tiles_8_24x64_n64_k512_ar528_ac1_bp32768_br64_a0(size_m, C, packed_D + at_b * 32768, E + at_b * stride_E_0 + at_m * stride_E_1, stride_E_1);
  }
}

static void chain_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_task, &call, 264, 50688, 0);
}

__attribute__((visibility("default"))) long tilewright_run_workspace_bytes(const long *sizes) {
  (void)sizes;
  return 0;
}

__attribute__((visibility("default"))) void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {
  (void)workspace;
  chain_run(context, (void *const[]){tensors[0], tensors[1], (void *)context->constants[0], (void *)context->constants[1]}, (const long[]){sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]});
  if (context->chain_done) context->chain_done(context->pool, 0);
}

static void tilewright_run_pack_0(const void *source, char *packed) {
  const float *const B = source;
  float *const packed_B = (float *)packed; /* B packed ahead */
  for (long at_k = 0; at_k < 64; at_k += 24) {
    const long size_k = tw_min(24, 64 - at_k);
    {
      float *tw_p0 = packed_B + at_k * 512;
      const float *tw_p1 = B + at_k * 512;
      const long tw_n0 = size_k;
      for (long tw_o0 = 0; tw_o0 < 12; tw_o0++) {
        for (long tw_start = 0; tw_start < tw_n0; tw_start += 8) {
          const long tw_n_1 = (8) < (-tw_start + tw_n0) ? (8) : (-tw_start + tw_n0);
          for (long tw_panel = 0; tw_panel < 8; tw_panel++) {
            for (long tw_p = 0; tw_p < tw_n_1; tw_p++) {
              __builtin_prefetch(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 4096);
              const float32x16 tw_v0 = *(const float32x16_u *)(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0);
              *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 64 * tw_n0 * tw_panel) = tw_v0;
              __builtin_prefetch(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 4112);
              const float32x16 tw_v1 = *(const float32x16_u *)(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 16);
              *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 64 * tw_n0 * tw_panel + 16) = tw_v1;
              __builtin_prefetch(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 4128);
              const float32x16 tw_v2 = *(const float32x16_u *)(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 32);
              *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 64 * tw_n0 * tw_panel + 32) = tw_v2;
              __builtin_prefetch(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 4144);
              const float32x16 tw_v3 = *(const float32x16_u *)(tw_p1 + 512 * tw_start + 64 * tw_panel + 512 * tw_p + 32768 * tw_o0 + 48);
              *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 64 * tw_n0 * tw_panel + 48) = tw_v3;
            }
          }
        }
      }
    }
  }
}

static void tilewright_run_pack_1(const void *source, char *packed) {
  const float *const D = source;
  float *const packed_D = (float *)packed; /* D packed ahead */
  {
    float *tw_p0 = packed_D;
    const float *tw_p1 = D;
    for (long tw_o0 = 0; tw_o0 < 12; tw_o0++) {
      for (long tw_start = 0; tw_start < 512; tw_start += 8) {
        const long tw_n_0 = (8) < (-tw_start + 512) ? (8) : (-tw_start + 512);
        for (long tw_p = 0; tw_p < tw_n_0; tw_p++) {
          __builtin_prefetch(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 512);
          const float32x16 tw_v0 = *(const float32x16_u *)(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0);
          *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0) = tw_v0;
          __builtin_prefetch(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 528);
          const float32x16 tw_v1 = *(const float32x16_u *)(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 16);
          *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 16) = tw_v1;
          __builtin_prefetch(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 544);
          const float32x16 tw_v2 = *(const float32x16_u *)(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 32);
          *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 32) = tw_v2;
          __builtin_prefetch(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 560);
          const float32x16 tw_v3 = *(const float32x16_u *)(tw_p1 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 48);
          *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + 32768 * tw_o0 + 48) = tw_v3;
        }
      }
    }
  }
}

__attribute__((visibility("default"))) long tilewright_run_packed_bytes(long number) {
  static const long sizes[] = {1572864, 1572864};
  return sizes[number];
}

__attribute__((visibility("default"))) void tilewright_run_prepare(long number, const void *source, char *packed) {
  static void (*const ways[])(const void *source, char *packed) = {tilewright_run_pack_0, tilewright_run_pack_1};
  ways[number](source, packed);
}
