/*
 * chain, planned for x86-64-v4
 *
 * C[b, m, l] = einsum(A[b, m, k], B[b, k, l]) over k
 * E[b, m, n] = einsum(C[b, m, l], D[b, l, n]) over l
 *
 *   for b in blocks of 1
 *     pack operand 1 of scores into panels of 64 columns
 *     pack operand 1 of out into panels of 64 columns
 *     for m in blocks of 24
 *       scores
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
  const long stride_B_0 = sizes[3];
  const long stride_B_1 = sizes[4];
  const long stride_B_2 = sizes[5];
  const long stride_D_0 = sizes[6];
  const long stride_D_1 = sizes[7];
  const long stride_D_2 = sizes[8];
  const long stride_E_0 = sizes[9];
  const long stride_E_1 = sizes[10];
  const float *const A = call->tensors[0];
  const float *const B = call->tensors[1];
  const float *const D = call->tensors[2];
  float *const E = call->tensors[3];
  float *const packed_B = (float *)(scratch + 0); /* B packed for scores */
  float *const packed_D = (float *)(scratch + 131072); /* D packed for out */
  float *const C = (float *)(scratch + 262144); /* b block x m block x l whole */
  long last_b = -1;
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_b = block / 22;
    if ((block / 22) != last_b) {
      last_b = block / 22;
      pack_2ecf31f4(B + at_b * stride_B_0, packed_B, stride_B_1, stride_B_2, 64, 512, 4096);
      pack_2ecf31f4(D + at_b * stride_D_0, packed_D, stride_D_1, stride_D_2, 512, 64, 32768);
    }
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    matmul_avx512_f32_6x64_tiles_8_24x512_n512_k64_bp4096_br64_cr528_a0(size_m, A + at_b * stride_A_0 + at_m * stride_A_1, stride_A_1, stride_A_2, packed_B, C);
    matmul_avx512_f32_6x64_tiles_8_24x64_n64_k512_ar528_ac1_bp32768_br64_a0(size_m, C, packed_D, E + at_b * stride_E_0 + at_m * stride_E_1, stride_E_1);
  }
}

static void chain_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_task, &call, 264, 312832, 0);
}

__attribute__((visibility("default"))) long tilewright_run_workspace_bytes(const long *sizes) {
  (void)sizes;
  return 0;
}

__attribute__((visibility("default"))) void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {
  (void)workspace;
  chain_run(context, (void *const[]){tensors[0], tensors[1], tensors[2], tensors[3]}, (const long[]){sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6], sizes[7], sizes[8], sizes[9], sizes[10]});
  if (context->chain_done) context->chain_done(context->pool, 0);
}
