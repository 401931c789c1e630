static void rows_19fc792c(float *const tensor_0, float *const tensor_1, float *const tensor_2, float *const tensor_3, const long size_d1, const long size_d2, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_ROWS <= size_d1; in_d1 += TW_ROWS) {
      {
        tw_vec state_row_max_lanes[TW_ROWS];
        TW_EACH_ROW(state_row_max_lanes[way] = tw_splat(-3.4028234663852886e+38f);)
        {
          long in_d2 = 0;
          for (; in_d2 + TW_LANES <= size_d2; in_d2 += TW_LANES) {
            tw_vec load_0[TW_ROWS];
            TW_EACH_ROW(load_0[way] = tw_load(tensor_0 + (in_d1 + way) * stride_0 + in_d2);)
            tw_vec point[TW_ROWS];
            TW_EACH_ROW(point[way] = load_0[way];)
            tw_vec contribution[TW_ROWS];
            TW_EACH_ROW(contribution[way] = point[way];)
            TW_EACH_ROW(state_row_max_lanes[way] = tw_larger(state_row_max_lanes[way], contribution[way]);)
          }
          if (in_d2 < size_d2) {
            const long lanes = size_d2 - in_d2;
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
          for (; in_d2 + TW_LANES <= size_d2; in_d2 += TW_LANES) {
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
          if (in_d2 < size_d2) {
            const long lanes = size_d2 - in_d2;
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

static void map_9e48d520(float *const tensor_0, const float *const tensor_1, const long size_d1, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_ROWS <= size_d1; in_d1 += TW_ROWS) {
      {
        long in_d2 = 0;
        for (; in_d2 + TW_LANES <= 64; in_d2 += TW_LANES) {
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tw_load(tensor_0 + (in_d1 + way) * stride_0 + in_d2);)
          tw_vec load_1[TW_ROWS];
          TW_EACH_ROW(load_1[way] = tw_splat(tw_read(tensor_1 + in_d1 + way));)
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (load_0[way] * load_1[way]);)
          TW_EACH_ROW(tw_store(tensor_0 + (in_d1 + way) * stride_0 + in_d2, result[way]);)
        }
        if (in_d2 < 64) {
          const long lanes = 64 - in_d2;
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tw_load_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, lanes);)
          tw_vec load_1[TW_ROWS];
          TW_EACH_ROW(load_1[way] = tw_splat(tw_read(tensor_1 + in_d1 + way));)
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (load_0[way] * load_1[way]);)
          TW_EACH_ROW(tw_store_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, result[way], lanes);)
        }
      }
    }
  }
}

static void map_d09c45cf(float *const tensor_0, const float *const tensor_1, const long size_d1, const long stride_0) {
  {
    long in_d1 = 0;
    for (; in_d1 + TW_ROWS <= size_d1; in_d1 += TW_ROWS) {
      {
        long in_d2 = 0;
        for (; in_d2 + TW_LANES <= 64; in_d2 += TW_LANES) {
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tw_load(tensor_0 + (in_d1 + way) * stride_0 + in_d2);)
          tw_vec load_1[TW_ROWS];
          TW_EACH_ROW(load_1[way] = tw_splat(tw_read(tensor_1 + in_d1 + way));)
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (load_0[way] / load_1[way]);)
          TW_EACH_ROW(tw_store(tensor_0 + (in_d1 + way) * stride_0 + in_d2, result[way]);)
        }
        if (in_d2 < 64) {
          const long lanes = 64 - in_d2;
          tw_vec load_0[TW_ROWS];
          TW_EACH_ROW(load_0[way] = tw_load_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, lanes);)
          tw_vec load_1[TW_ROWS];
          TW_EACH_ROW(load_1[way] = tw_splat(tw_read(tensor_1 + in_d1 + way));)
          tw_vec result[TW_ROWS];
          TW_EACH_ROW(result[way] = (load_0[way] / load_1[way]);)
          TW_EACH_ROW(tw_store_part(tensor_0 + (in_d1 + way) * stride_0 + in_d2, result[way], lanes);)
        }
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
 *   for b in blocks of 1
 *     for m in blocks of 24
 *       for l in blocks of 128
 *         scores
 *         weights (online over l by 128)
 *         out
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
  const long stride_E_0 = sizes[7];
  const long stride_E_1 = sizes[8];
  const float *const A = call->tensors[0];
  const float *const B = call->tensors[1];
  const float *const D = call->tensors[2];
  float *const E = call->tensors[3];
  float *const C = (float *)(scratch + 0); /* b block x m block x l block */
  float *const running_P_row_max = (float *)(scratch + 13824); /* row_max of the rows of weights */
  float *const running_P_row_sum = (float *)(scratch + 13952); /* row_sum of the rows of weights */
  float *const running_P_factor = (float *)(scratch + 14080); /* factor of the rows of weights */
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_b = block / 22;
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    for (long at_l = 0; at_l < 512; at_l += 128) {
      matmul_avx512_f32_6x64_tiles_8_24x128_n128_k64_bp64_cr144_a0(size_m, A + at_b * stride_A_0 + at_m * stride_A_1, stride_A_1, stride_A_2, B + at_b * stride_B_0 + at_l, stride_B_1, C);
      if (at_l == 0) {
        /* weights_row_max: start */
        {
          long in_m = 0;
          for (; in_m + TW_LANES <= size_m; in_m += TW_LANES) {
            const tw_vec result = tw_splat(-3.4028234663852886e+38f);
            tw_store(running_P_row_max + in_m, result);
          }
          if (in_m < size_m) {
            const long lanes = size_m - in_m;
            const tw_vec result = tw_splat(-3.4028234663852886e+38f);
            tw_store_part(running_P_row_max + in_m, result, lanes);
          }
        }
        /* weights_row_sum: start */
        {
          long in_m = 0;
          for (; in_m + TW_LANES <= size_m; in_m += TW_LANES) {
            const tw_vec result = tw_splat(0.0f);
            tw_store(running_P_row_sum + in_m, result);
          }
          if (in_m < size_m) {
            const long lanes = size_m - in_m;
            const tw_vec result = tw_splat(0.0f);
            tw_store_part(running_P_row_sum + in_m, result, lanes);
          }
        }
      }
      /* weights: softmax */
      rows_19fc792c(C, running_P_row_max, running_P_row_sum, running_P_factor, size_m, 128, 144);
      if (at_l != 0) {
        /* out_multiply: correct */
        map_9e48d520(E + at_b * stride_E_0 + at_m * stride_E_1, running_P_factor, size_m, stride_E_1);
      }
      matmul_avx512_f32_6x64_tiles_8_24x64_n64_k128_ar144_ac1_bp64(size_m, C, D + at_b * stride_D_0 + at_l * stride_D_1, stride_D_1, E + at_b * stride_E_0 + at_m * stride_E_1, stride_E_1, at_l != 0);
      if ((at_l + 128) == 512) {
        /* out_divide: correct */
        map_d09c45cf(E + at_b * stride_E_0 + at_m * stride_E_1, running_P_row_sum, size_m, stride_E_1);
      }
    }
  }
}

static void chain_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_task, &call, 264, 14208, 0);
}

__attribute__((visibility("default"))) long tilewright_run_workspace_bytes(const long *sizes) {
  (void)sizes;
  return 0;
}

__attribute__((visibility("default"))) void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace) {
  (void)workspace;
  chain_run(context, (void *const[]){tensors[0], tensors[1], tensors[2], tensors[3]}, (const long[]){sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[6], sizes[7], sizes[9], sizes[10]});
  if (context->chain_done) context->chain_done(context->pool, 0);
}
