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
      for (long in_k0 = 0; in_k0 < 3; in_k0++) {
        for (long in_k1 = 0; in_k1 < 3; in_k1++) {
          for (long in_o0 = 0; in_o0 < 28; in_o0++) {
            {
              const long inside_0 = tw_max(0, (-(in_k1 + (0) * 2 + -1) + 1) / 2);
              const long outside_0 = (in_k0 + (in_o0) * 2 + -1) >= 0 ? 28 : 0;
              long in_o1 = 0;
              for (; in_o1 + TW_LANES <= 28; in_o1 += TW_LANES) {
                tw_vec load_0;
                if (in_o1 >= inside_0 && in_o1 + TW_LANES <= outside_0)
                  load_0 = tw_load_strided_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_k0 + (in_o0) * 2 + -1) * stride_x_2 + (in_k1 + (in_o1) * 2 + -1), 2, 0, TW_LANES, 0.0f);
                else {
                  const long first_0 = tw_max(0, (-(in_k1 + (in_o1) * 2 + -1) + 1) / 2);
                  const long last_0 = (in_k0 + (in_o0) * 2 + -1) >= 0 ? TW_LANES : 0;
                  load_0 = tw_load_strided_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_k0 + (in_o0) * 2 + -1) * stride_x_2 + (in_k1 + (in_o1) * 2 + -1), 2, first_0, last_0, 0.0f);
                }
                const tw_vec result = load_0;
                tw_store(t_3 + at_c * 7056 + in_c * 7056 + in_k0 * 2352 + in_k1 * 784 + in_o0 * 28 + in_o1, result);
              }
              if (in_o1 < 28) {
                in_o1 = 28 - TW_LANES;
                tw_vec load_0;
                if (in_o1 >= inside_0 && in_o1 + TW_LANES <= outside_0)
                  load_0 = tw_load_strided_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_k0 + (in_o0) * 2 + -1) * stride_x_2 + (in_k1 + (in_o1) * 2 + -1), 2, 0, TW_LANES, 0.0f);
                else {
                  const long first_0 = tw_max(0, (-(in_k1 + (in_o1) * 2 + -1) + 1) / 2);
                  const long last_0 = (in_k0 + (in_o0) * 2 + -1) >= 0 ? TW_LANES : 0;
                  load_0 = tw_load_strided_between(x + (0) * stride_x_0 + (at_c + in_c) * stride_x_1 + (in_k0 + (in_o0) * 2 + -1) * stride_x_2 + (in_k1 + (in_o1) * 2 + -1), 2, first_0, last_0, 0.0f);
                }
                const tw_vec result = load_0;
                tw_store(t_3 + at_c * 7056 + in_c * 7056 + in_k0 * 2352 + in_k1 * 784 + in_o0 * 28 + in_o1, result);
              }
            }
          }
        }
      }
    }
  }
}
