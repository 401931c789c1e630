static void unfold_task(void *argument, struct tw_blocks *blocks, char *scratch) {
  const struct tw_call *call = argument;
  const long *sizes = call->sizes;
  const long stride_x_0 = sizes[0];
  const long stride_x_1 = sizes[1];
  const long stride_x_2 = sizes[2];
  const float *const x = call->tensors[0];
  float *const t_3 = call->tensors[1];
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_c = block * 4;
    /* unfold: unfold */
    for (long in_c = 0; in_c < 4; in_c++) {
      {
        long in_k1 = 0;
        for (; in_k1 < 3; in_k1++) {
          {
            long in_o1 = 0;
            for (; in_o1 + TW_LANES <= 56; in_o1 += TW_LANES) {
              const tw_vec result = tw_splat(0.0f);
              tw_store(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1, result);
            }
            if (in_o1 < 56) {
              const long lanes = 56 - in_o1;
              const tw_vec result = tw_splat(0.0f);
              tw_store_part(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1, result, lanes);
            }
          }
        }
      }
    }
    /* unfold: unfold */
    for (long in_c = 0; in_c < 4; in_c++) {
      for (long in_k1 = 0; in_k1 < 3; in_k1++) {
        for (long in_s0 = 0; in_s0 < 56; in_s0++) {
          {
            const long inside_0 = tw_max(0, -(in_k1 + 0 + -1));
            const long outside_0 = tw_min(56, ((in_k1) * -1 + (0) * -1 + 56) + 1);
            long in_o1 = 0;
            for (; in_o1 + TW_LANES <= 56; in_o1 += TW_LANES) {
              tw_vec load_0;
              if (in_o1 >= inside_0 && in_o1 + TW_LANES <= outside_0)
                load_0 = tw_load(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_s0 + 1 + -1) * stride_x_2 + (in_k1 + in_o1 + -1));
              else {
                const long first_0 = tw_max(0, -(in_k1 + in_o1 + -1));
                const long last_0 = tw_min(TW_LANES, ((in_k1) * -1 + (in_o1) * -1 + 56) + 1);
                load_0 = tw_load_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_s0 + 1 + -1) * stride_x_2 + (in_k1 + in_o1 + -1), first_0, last_0, 0.0f);
              }
              const tw_vec result = load_0;
              tw_store(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1 + in_s0 * 56 + 56, result);
            }
            if (in_o1 < 56) {
              in_o1 = 56 - TW_LANES;
              tw_vec load_0;
              if (in_o1 >= inside_0 && in_o1 + TW_LANES <= outside_0)
                load_0 = tw_load(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_s0 + 1 + -1) * stride_x_2 + (in_k1 + in_o1 + -1));
              else {
                const long first_0 = tw_max(0, -(in_k1 + in_o1 + -1));
                const long last_0 = tw_min(TW_LANES, ((in_k1) * -1 + (in_o1) * -1 + 56) + 1);
                load_0 = tw_load_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_s0 + 1 + -1) * stride_x_2 + (in_k1 + in_o1 + -1), first_0, last_0, 0.0f);
              }
              const tw_vec result = load_0;
              tw_store(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1 + in_s0 * 56 + 56, result);
            }
          }
        }
      }
    }
    /* unfold: unfold */
    for (long in_c = 0; in_c < 4; in_c++) {
      {
        long in_k1 = 0;
        for (; in_k1 < 3; in_k1++) {
          {
            long in_o1 = 0;
            for (; in_o1 + TW_LANES <= 56; in_o1 += TW_LANES) {
              const tw_vec result = tw_splat(0.0f);
              tw_store(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1 + 3192, result);
            }
            if (in_o1 < 56) {
              const long lanes = 56 - in_o1;
              const tw_vec result = tw_splat(0.0f);
              tw_store_part(t_3 + at_c * 9744 + in_c * 9744 + in_k1 * 3248 + in_o1 + 3192, result, lanes);
            }
          }
        }
      }
    }
  }
}
