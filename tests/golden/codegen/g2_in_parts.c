static void rows_d8de5b25(float *const tensor_0, float *const tensor_1, float *const tensor_2, float *const tensor_3, const long size_d1, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_ROWS <= size_d1; in_d1 += TW_ROWS) {
      {
        tw_vec state_row_max_lanes[TW_ROWS];
        TW_EACH_ROW(state_row_max_lanes[way] = tw_splat(-3.4028234663852886e+38f);)
        {
          long in_d2 = 0;
          for (; in_d2 + TW_LANES <= 64; in_d2 += TW_LANES) {
            tw_vec load_0[TW_ROWS];
            TW_EACH_ROW(load_0[way] = tw_load(tensor_0 + (in_d1 + way) * stride_0 + in_d2);)
            tw_vec point[TW_ROWS];
            TW_EACH_ROW(point[way] = load_0[way];)
            tw_vec contribution[TW_ROWS];
            TW_EACH_ROW(contribution[way] = point[way];)
            TW_EACH_ROW(state_row_max_lanes[way] = tw_larger(state_row_max_lanes[way], contribution[way]);)
          }
          if (in_d2 < 64) {
            const long lanes = 64 - in_d2;
            tw_vec load_0[TW_ROWS];
            TW_EACH_ROW(load_0[way] = tw_load_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, lanes);)
            tw_vec point[TW_ROWS];
            TW_EACH_ROW(point[way] = load_0[way];)
            tw_vec contribution[TW_ROWS];
            TW_EACH_ROW(contribution[way] = point[way];)
            TW_EACH_ROW(state_row_max_lanes[way] = tw_larger(state_row_max_lanes[way], tw_first(contribution[way], tw_splat(-3.4028234663852886e+38f), lanes));)
          }
        }
        tw_reduce_larger_rows(state_row_max_lanes);
        tw_vec gained_row_max[TW_ROWS];
        TW_EACH_ROW(gained_row_max[way] = state_row_max_lanes[way];)
        tw_vec previous_row_max[TW_ROWS];
        TW_EACH_ROW(previous_row_max[way] = tw_splat(tw_read(tensor_1 + in_d1 + way));)
        tw_vec state_row_max[TW_ROWS];
        TW_EACH_ROW(state_row_max[way] = tw_larger(previous_row_max[way], gained_row_max[way]);)
        TW_EACH_ROW(tw_store_part(tensor_1 + in_d1 + way, state_row_max[way], 1);)
        tw_vec state_row_sum_lanes[TW_ROWS];
        TW_EACH_ROW(state_row_sum_lanes[way] = tw_splat(0.0f);)
        {
          long in_d2 = 0;
          for (; in_d2 + TW_LANES <= 64; in_d2 += TW_LANES) {
            TW_EACH_ROW(tw_prefetch(tensor_0 + (in_d1 + way) * stride_0 + in_d2 + TW_ROWS * stride_0);)
            tw_vec load_0[TW_ROWS];
            TW_EACH_ROW(load_0[way] = tw_load(tensor_0 + (in_d1 + way) * stride_0 + in_d2);)
            tw_vec point[TW_ROWS];
            TW_EACH_ROW(point[way] = load_0[way];)
            tw_vec contribution[TW_ROWS];
            TW_EACH_ROW(contribution[way] = ((point[way] - state_row_max[way]) * tw_splat(1.4426950216293335f));)
            tw_exp2_down_rows(contribution);
            TW_EACH_ROW(tw_store(tensor_0 + (in_d1 + way) * stride_0 + in_d2, contribution[way]);)
            TW_EACH_ROW(state_row_sum_lanes[way] = state_row_sum_lanes[way] + contribution[way];)
          }
          if (in_d2 < 64) {
            const long lanes = 64 - in_d2;
            TW_EACH_ROW(tw_prefetch(tensor_0 + (in_d1 + way) * stride_0 + in_d2 + TW_ROWS * stride_0);)
            tw_vec load_0[TW_ROWS];
            TW_EACH_ROW(load_0[way] = tw_load_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, lanes);)
            tw_vec point[TW_ROWS];
            TW_EACH_ROW(point[way] = load_0[way];)
            tw_vec contribution[TW_ROWS];
            TW_EACH_ROW(contribution[way] = ((point[way] - state_row_max[way]) * tw_splat(1.4426950216293335f));)
            tw_exp2_down_rows(contribution);
            TW_EACH_ROW(tw_store_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, contribution[way], lanes);)
            TW_EACH_ROW(state_row_sum_lanes[way] = state_row_sum_lanes[way] + tw_first(contribution[way], tw_splat(0.0f), lanes);)
          }
        }
        tw_reduce_add_rows(state_row_sum_lanes);
        tw_vec gained_row_sum[TW_ROWS];
        TW_EACH_ROW(gained_row_sum[way] = state_row_sum_lanes[way];)
        tw_vec previous_row_sum[TW_ROWS];
        TW_EACH_ROW(previous_row_sum[way] = tw_splat(tw_read(tensor_2 + in_d1 + way));)
        tw_vec factor_row_sum[TW_ROWS];
        TW_EACH_ROW(factor_row_sum[way] = (previous_row_max[way] - state_row_max[way]);)
        tw_exp_rows(factor_row_sum);
        tw_vec state_row_sum[TW_ROWS];
        TW_EACH_ROW(state_row_sum[way] = (previous_row_sum[way] * factor_row_sum[way]) + gained_row_sum[way];)
        TW_EACH_ROW(tw_store_part(tensor_2 + in_d1 + way, state_row_sum[way], 1);)
        TW_EACH_ROW(tw_store_part(tensor_3 + in_d1 + way, factor_row_sum[way], 1);)
      }
    }
  }
}

static void map_8bf59a1a(float *const tensor_0, const float *const tensor_1, const long size_d1, const long stride_0) {
  {
    const long tw_n0 = size_d1;
    float *tw_p0 = tensor_0;
    const long tw_n1 = stride_0;
    const float *tw_p1 = tensor_1;
    for (long tw_i1 = 0; tw_i1 < tw_n0 - 3; tw_i1 += 4) {
      for (long tw_i2 = 0; tw_i2 < 49; tw_i2 += 16) {
        const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n1);
        const float tw_v1_x = tw_p1[tw_i1];
        const float32x16 tw_v1 = (float32x16)in_16_lanes(tw_v1_x);
        const float32x16 tw_v2 = tw_v0 * tw_v1;
        *(float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n1) = tw_v2;
        const float32x16 tw_v3 = *(const float32x16_u *)(tw_p0 + tw_n1 + tw_i2 + tw_i1 * tw_n1);
        const float tw_v4_x = tw_p1[tw_i1 + 1];
        const float32x16 tw_v4 = (float32x16)in_16_lanes(tw_v4_x);
        const float32x16 tw_v5 = tw_v3 * tw_v4;
        *(float32x16_u *)(tw_p0 + tw_n1 + tw_i2 + tw_i1 * tw_n1) = tw_v5;
        const float32x16 tw_v6 = *(const float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2 + tw_i1 * tw_n1);
        const float tw_v7_x = tw_p1[tw_i1 + 2];
        const float32x16 tw_v7 = (float32x16)in_16_lanes(tw_v7_x);
        const float32x16 tw_v8 = tw_v6 * tw_v7;
        *(float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2 + tw_i1 * tw_n1) = tw_v8;
        const float32x16 tw_v9 = *(const float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2 + tw_i1 * tw_n1);
        const float tw_v10_x = tw_p1[tw_i1 + 3];
        const float32x16 tw_v10 = (float32x16)in_16_lanes(tw_v10_x);
        const float32x16 tw_v11 = tw_v9 * tw_v10;
        *(float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2 + tw_i1 * tw_n1) = tw_v11;
      }
    }
  }
}

static void rows_6621fbf5(const float *const tensor_0, const float *const tensor_1, float *const tensor_2, const float *const tensor_3, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_LANES <= 8; in_d1 += TW_LANES) {
      tw_vec state_row_max_lanes = tw_splat(-3.4028234663852886e+38f);
      for (long in_d2 = 0; in_d2 < 4; in_d2++) {
        const tw_vec load_0 = tw_load(tensor_0 + in_d1 + in_d2 * stride_0);
        const tw_vec point = load_0;
        const tw_vec contribution = point;
        state_row_max_lanes = tw_maximum(state_row_max_lanes, contribution);
      }
      const tw_vec state_row_max = state_row_max_lanes;
      const tw_vec result = state_row_max;
      tw_store(tensor_2 + in_d1, result);
    }
    if (in_d1 < 8) {
      const long lanes = 8 - in_d1;
      tw_vec state_row_max_lanes = tw_splat(-3.4028234663852886e+38f);
      for (long in_d2 = 0; in_d2 < 4; in_d2++) {
        const tw_vec load_0 = tw_load_part(tensor_0 + in_d1 + in_d2 * stride_0, lanes);
        const tw_vec point = load_0;
        const tw_vec contribution = point;
        state_row_max_lanes = tw_maximum(state_row_max_lanes, contribution);
      }
      const tw_vec state_row_max = state_row_max_lanes;
      const tw_vec result = state_row_max;
      tw_store_part(tensor_2 + in_d1, result, lanes);
    }
  }
}

static void rows_c4a9ec37(const float *const tensor_0, const float *const tensor_1, const float *const tensor_2, float *const tensor_3, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_LANES <= 8; in_d1 += TW_LANES) {
      tw_vec state_row_sum_lanes = tw_splat(0.0f);
      for (long in_d2 = 0; in_d2 < 4; in_d2++) {
        const tw_vec load_0 = tw_load(tensor_0 + in_d1 + in_d2 * stride_0);
        const tw_vec load_1 = tw_load(tensor_1 + in_d1 + in_d2 * stride_0);
        const tw_vec load_2 = tw_load(tensor_2 + in_d1);
        const tw_vec factor_0 = load_1;
        const tw_vec factor_1 = tw_exp((load_0 - load_2));
        state_row_sum_lanes = tw_multiply_add(factor_0, factor_1, state_row_sum_lanes);
      }
      const tw_vec state_row_sum = state_row_sum_lanes;
      const tw_vec result = state_row_sum;
      tw_store(tensor_3 + in_d1, result);
    }
    if (in_d1 < 8) {
      const long lanes = 8 - in_d1;
      tw_vec state_row_sum_lanes = tw_splat(0.0f);
      for (long in_d2 = 0; in_d2 < 4; in_d2++) {
        const tw_vec load_0 = tw_load_part(tensor_0 + in_d1 + in_d2 * stride_0, lanes);
        const tw_vec load_1 = tw_load_part(tensor_1 + in_d1 + in_d2 * stride_0, lanes);
        const tw_vec load_2 = tw_load_part(tensor_2 + in_d1, lanes);
        const tw_vec factor_0 = load_1;
        const tw_vec factor_1 = tw_exp((load_0 - load_2));
        state_row_sum_lanes = tw_multiply_add(factor_0, factor_1, state_row_sum_lanes);
      }
      const tw_vec state_row_sum = state_row_sum_lanes;
      const tw_vec result = state_row_sum;
      tw_store_part(tensor_3 + in_d1, result, lanes);
    }
  }
}

static void map_b96743bc(const float *const tensor_0, const float *const tensor_1, const float *const tensor_2, const float *const tensor_3, float *const tensor_4, const long stride_0) {
  for (long in_d1_start = 0; in_d1_start < 8; in_d1_start += TW_LANES) {
    const long in_d1_stop = tw_min(in_d1_start + TW_LANES, 8);
    {
      long in_d2 = 0;
      for (; in_d2 + TW_LANES <= 4; in_d2 += TW_LANES) {
        tw_vec tile_0[TW_LANES];
        tw_load_transposed(tile_0, tensor_0 + in_d1_start + in_d2 * stride_0, stride_0, in_d1_stop - in_d1_start, TW_LANES);
        long in_d1 = in_d1_start;
        for (; in_d1 + TW_ROWS <= in_d1_stop; in_d1 += TW_ROWS) {
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tile_0[in_d1 + way - in_d1_start];)
          tw_vec load_2[TW_ROWS];
          TW_EACH_ROW(load_2[way] = tw_splat(tw_read(tensor_2 + in_d1 + way));)
          tw_vec load_3[TW_ROWS];
          TW_EACH_ROW(load_3[way] = tw_splat(tw_read(tensor_3 + in_d1 + way));)
          tw_vec result_part_0[TW_ROWS];
          TW_EACH_ROW(result_part_0[way] = (load_0[way] - load_2[way]);)
          tw_exp_rows(result_part_0);
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (result_part_0[way] / load_3[way]);)
          TW_EACH_ROW(tw_store(tensor_4 + (in_d1 + way) * 4 + in_d2, result[way]);)
        }
        for (; in_d1 < in_d1_stop; in_d1++) {
          const tw_vec load_0 = tile_0[in_d1 - in_d1_start];
          const tw_vec load_2 = tw_splat(tw_read(tensor_2 + in_d1));
          const tw_vec load_3 = tw_splat(tw_read(tensor_3 + in_d1));
          const tw_vec result_part_0 = tw_exp((load_0 - load_2));
          const tw_vec result = (result_part_0 / load_3);
          tw_store(tensor_4 + in_d1 * 4 + in_d2, result);
        }
      }
      if (in_d2 < 4) {
        const long lanes = 4 - in_d2;
        tw_vec tile_0[TW_LANES];
        tw_load_transposed(tile_0, tensor_0 + in_d1_start + in_d2 * stride_0, stride_0, in_d1_stop - in_d1_start, lanes);
        long in_d1 = in_d1_start;
        for (; in_d1 + TW_ROWS <= in_d1_stop; in_d1 += TW_ROWS) {
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tile_0[in_d1 + way - in_d1_start];)
          tw_vec load_2[TW_ROWS];
          TW_EACH_ROW(load_2[way] = tw_splat(tw_read(tensor_2 + in_d1 + way));)
          tw_vec load_3[TW_ROWS];
          TW_EACH_ROW(load_3[way] = tw_splat(tw_read(tensor_3 + in_d1 + way));)
          tw_vec result_part_0[TW_ROWS];
          TW_EACH_ROW(result_part_0[way] = (load_0[way] - load_2[way]);)
          tw_exp_rows(result_part_0);
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (result_part_0[way] / load_3[way]);)
          TW_EACH_ROW(tw_store_part(tensor_4 + (in_d1 + way) * 4 + in_d2, result[way], lanes);)
        }
        for (; in_d1 < in_d1_stop; in_d1++) {
          const tw_vec load_0 = tile_0[in_d1 - in_d1_start];
          const tw_vec load_2 = tw_splat(tw_read(tensor_2 + in_d1));
          const tw_vec load_3 = tw_splat(tw_read(tensor_3 + in_d1));
          const tw_vec result_part_0 = tw_exp((load_0 - load_2));
          const tw_vec result = (result_part_0 / load_3);
          tw_store_part(tensor_4 + in_d1 * 4 + in_d2, result, lanes);
        }
      }
    }
  }
}

static void rows_bbbc1b9e(const float *const tensor_0, const float *const tensor_1, float *const tensor_2, const long stride_0, const long stride_1, const long stride_2) {
  for (long in_d1 = 0; in_d1 < 8; in_d1++) {
    {
      long in_d2 = 0;
      for (; in_d2 + TW_LANES <= 64; in_d2 += TW_LANES) {
        tw_vec state_sum_lanes = tw_splat(0.0f);
        for (long in_d3 = 0; in_d3 < 4; in_d3++) {
          const tw_vec load_0 = tw_load(tensor_0 + in_d1 * stride_0 + in_d2 + in_d3 * stride_1);
          const tw_vec load_1 = tw_splat(tw_read(tensor_1 + in_d1 * 4 + in_d3));
          const tw_vec factor_0 = load_0;
          const tw_vec factor_1 = load_1;
          state_sum_lanes = tw_multiply_add(factor_0, factor_1, state_sum_lanes);
        }
        const tw_vec state_sum = state_sum_lanes;
        const tw_vec result = state_sum;
        tw_store(tensor_2 + in_d1 * stride_2 + in_d2, result);
      }
      if (in_d2 < 64) {
        const long lanes = 64 - in_d2;
        tw_vec state_sum_lanes = tw_splat(0.0f);
        for (long in_d3 = 0; in_d3 < 4; in_d3++) {
          const tw_vec load_0 = tw_load_part(tensor_0 + in_d1 * stride_0 + in_d2 + in_d3 * stride_1, lanes);
          const tw_vec load_1 = tw_splat(tw_read(tensor_1 + in_d1 * 4 + in_d3));
          const tw_vec factor_0 = load_0;
          const tw_vec factor_1 = load_1;
          state_sum_lanes = tw_multiply_add(factor_0, factor_1, state_sum_lanes);
        }
        const tw_vec state_sum = state_sum_lanes;
        const tw_vec result = state_sum;
        tw_store_part(tensor_2 + in_d1 * stride_2 + in_d2, result, lanes);
      }
    }
  }
}

/*
 * chain, planned for x86-64-v4
 *
 * C[b, m, l] = einsum(A[b, m, k], B[b, k, l]) over k
 * P[b, m, l] = softmax(C[b, m, l]) over l
 * E[b, m, n] = einsum(P[b, m, l], D[b, l, n]) over l
 *
 *   for l in blocks of 128
 *     for b in blocks of 1
 *       for m in blocks of 24
 *         for l in blocks of 64
 *           scores
 *           weights (l in parts of 128, combined at the end; online over l by 64)
 *           out
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
  const long stride_D_0 = sizes[5];
  const long stride_D_1 = sizes[6];
  const float *const A = call->tensors[0];
  const float *const B = call->tensors[1];
  const float *const D = call->tensors[2];
  float *const partial_E = call->tensors[3];
  float *const partial_P_row_max = call->tensors[4];
  float *const partial_P_row_sum = call->tensors[5];
  float *const C = (float *)(scratch + 0); /* b block x m block x l block */
  float *const running_P_factor = (float *)(scratch + 7680); /* factor of the rows of weights */
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_l = (block / 264) * 128;
    const long at_b = (block / 22) % 12;
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    for (long at_l_1 = at_l; at_l_1 < at_l + 128; at_l_1 += 64) {
      matmul_avx512_f32_6x64_tiles_8_24x64_n64_k64_bp64_cr80_a0(size_m, A + at_b * stride_A_0 + at_m * stride_A_1, stride_A_1, stride_A_2, B + at_b * stride_B_0 + at_l_1, stride_B_1, C);
      if (at_l_1 == at_l) {
        /* weights_row_max: start */
        {
          const long tw_n0 = size_m;
          float *tw_p0 = partial_P_row_max + (at_l / 128) * 6144 + at_b * 512 + at_m;
          const float32x16 tw_c0 = in_16_lanes((-0x1.fffffep127f));
          for (long tw_i1 = 0; tw_i1 < tw_n0 - 15; tw_i1 += 16) {
            *(float32x16_u *)(tw_p0 + tw_i1) = tw_c0;
          }
          const long tw_n_1 = (tw_n0) % (16) + ((tw_n0) % (16) < 0 ? (16) : 0);
          if (tw_n_1) {
            const long tw_v0_n = tw_n_1;
            const unsigned short tw_v0 = (unsigned short)(tw_v0_n >= 16 ? 0xffff : tw_v0_n > 0 ? (1u << tw_v0_n) - 1 : 0);
            __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_1 + tw_n0)) : "v"(tw_c0), "Yk"(tw_v0));
          }
        }
        /* weights_row_sum: start */
        {
          const long tw_n0 = size_m;
          float *tw_p0 = partial_P_row_sum + (at_l / 128) * 6144 + at_b * 512 + at_m;
          const float32x16 tw_c0 = in_16_lanes(0x0p0f);
          for (long tw_i1 = 0; tw_i1 < tw_n0 - 15; tw_i1 += 16) {
            *(float32x16_u *)(tw_p0 + tw_i1) = tw_c0;
          }
          const long tw_n_1 = (tw_n0) % (16) + ((tw_n0) % (16) < 0 ? (16) : 0);
          if (tw_n_1) {
            const long tw_v0_n = tw_n_1;
            const unsigned short tw_v0 = (unsigned short)(tw_v0_n >= 16 ? 0xffff : tw_v0_n > 0 ? (1u << tw_v0_n) - 1 : 0);
            __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_1 + tw_n0)) : "v"(tw_c0), "Yk"(tw_v0));
          }
        }
      }
      /* weights: softmax */
      rows_d8de5b25(C, partial_P_row_max + (at_l / 128) * 6144 + at_b * 512 + at_m, partial_P_row_sum + (at_l / 128) * 6144 + at_b * 512 + at_m, running_P_factor, size_m, 80);
      if (at_l_1 != at_l) {
        /* out_multiply: correct */
        map_8bf59a1a(partial_E + (at_l / 128) * 393216 + at_b * 32768 + at_m * 64, running_P_factor, size_m, 64);
      }
      matmul_avx512_f32_6x64_tiles_8_24x64_n64_k64_ar80_ac1_bp64_cr64(size_m, C, D + at_b * stride_D_0 + at_l_1 * stride_D_1, stride_D_1, partial_E + (at_l / 128) * 393216 + at_b * 32768 + at_m * 64, at_l_1 != at_l);
    }
  }
}

static void chain_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_task, &call, 1056, 7808, 0);
}

/*
 * combines the partial results of chain: states of weights, then E
 */
static void chain_merge_task(void *argument, struct tw_blocks *blocks, char *scratch) {
  const struct tw_call *call = argument;
  const long *sizes = call->sizes;
  const long stride_E_0 = sizes[0];
  const long stride_E_1 = sizes[1];
  float *const E = call->tensors[0];
  float *const partial_E = call->tensors[1];
  float *const partial_P_row_max = call->tensors[2];
  float *const partial_P_row_sum = call->tensors[3];
  float *const running_P_row_max = (float *)(scratch + 0); /* row_max of a block of rows */
  float *const running_P_row_sum = (float *)(scratch + 64); /* row_sum of a block of rows */
  float *const running_P_weights = (float *)(scratch + 128); /* weights of a block of rows */
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_b = block / 64;
    const long at_m = (block % 64) * 8;
    /* weights_row_max: merge */
    rows_6621fbf5(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, 6144);
    /* weights_row_sum: merge */
    rows_c4a9ec37(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, 6144);
    /* weights_weights: merge */
    map_b96743bc(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, running_P_weights, 6144);
    /* out_merge: merge */
    rows_bbbc1b9e(partial_E + at_b * 32768 + at_m * 64, running_P_weights, E + at_b * stride_E_0 + at_m * stride_E_1, 64, 393216, stride_E_1);
  }
}

static void chain_merge_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_merge_task, &call, 768, 256, 0);
}

__attribute__((visibility("default"))) long tilewright_run_workspace_bytes(const long *sizes) {
  (void)sizes;
  return 6488064;
}

__attribute__((visibility("default"))) void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {
  chain_run(context, (void *const[]){tensors[0], tensors[1], tensors[2], workspace + 0, workspace + 6291456, workspace + 6389760}, (const long[]){sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[6], sizes[7]});
  chain_merge_run(context, (void *const[]){tensors[3], workspace + 0, workspace + 6291456, workspace + 6389760}, (const long[]){sizes[9], sizes[10]});
  if (context->chain_done) context->chain_done(context->pool, 0);
}
