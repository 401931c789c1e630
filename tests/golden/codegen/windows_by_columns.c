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
    map_743ac5bd(t_3 + at_c * 9744, 9744, 3248);
    /* unfold: unfold */
    {
      const float *tw_p0 = x;
      const long tw_n0 = stride_x_0;
      const long tw_n1 = at_c;
      const long tw_n2 = stride_x_1;
      const long tw_n3 = stride_x_2;
      float *tw_p1 = t_3 + at_c * 9744 + 56;
      const float32x16 tw_c0 = in_16_lanes(0x0p0f);
      for (long tw_i1 = 0; tw_i1 < 4; tw_i1++) {
        for (long tw_i2 = 0; tw_i2 < 3; tw_i2++) {
          for (long tw_i3 = 0; tw_i3 < 56; tw_i3++) {
            for (long tw_i4 = 0; tw_i4 < 41; tw_i4 += 16) {
              const long tw_n_0 = (-tw_i4 - tw_i2 + 1) < (1);
              const long tw_n_1 = (tw_i4 + 15) < (-tw_i2 + 57);
              const long tw_n_2 = (tw_n_0) && (tw_n_1);
              float32x16 tw_s0 = tw_c0;
              if (tw_n_2) {
                const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_n1 * tw_n2 + tw_i4 + tw_i3 * tw_n3 + tw_i2 + tw_i1 * tw_n2 - 1);
                tw_s0 = tw_v0;
              } else {
                const long tw_v1_n = -tw_i4 - tw_i2 + 57;
                const unsigned short tw_v1 = (unsigned short)(tw_v1_n >= 16 ? 0xffff : tw_v1_n > 0 ? (1u << tw_v1_n) - 1 : 0);
                (void)tw_v1;
                const long tw_v2_n = -tw_i4 - tw_i2 + 1;
                const unsigned short tw_v2 = (unsigned short)(tw_v2_n >= 16 ? 0xffff : tw_v2_n > 0 ? (1u << tw_v2_n) - 1 : 0);
                (void)tw_v2;
                const unsigned short tw_v3 = (unsigned short)(tw_v2 ^ 0xffff);
                const unsigned short tw_v4 = (unsigned short)(tw_v1 & tw_v3);
                float32x16 tw_v5;
                __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v5) : "m"(*(const float32x16_u *)(tw_p0 + tw_n1 * tw_n2 + tw_i4 + tw_i3 * tw_n3 + tw_i2 + tw_i1 * tw_n2 - 1)), "Yk"(tw_v4));
                tw_s0 = tw_v5;
              }
              *(float32x16_u *)(tw_p1 + tw_i4 + 56 * tw_i3 + 3248 * tw_i2 + 9744 * tw_i1) = tw_s0;
            }
            const long tw_n_7 = (-tw_i2 - 39) < (1);
            const long tw_n_8 = (55) < (-tw_i2 + 57);
            const long tw_n_9 = (tw_n_7) && (tw_n_8);
            float32x16 tw_s1 = tw_c0;
            if (tw_n_9) {
              const float32x16 tw_v6 = *(const float32x16_u *)(tw_p0 + tw_n1 * tw_n2 + tw_i3 * tw_n3 + tw_i2 + tw_i1 * tw_n2 + 39);
              tw_s1 = tw_v6;
            } else {
              const long tw_v7_n = -tw_i2 + 17;
              const unsigned short tw_v7 = (unsigned short)(tw_v7_n >= 16 ? 0xffff : tw_v7_n > 0 ? (1u << tw_v7_n) - 1 : 0);
              (void)tw_v7;
              const long tw_v8_n = -tw_i2 - 39;
              const unsigned short tw_v8 = (unsigned short)(tw_v8_n >= 16 ? 0xffff : tw_v8_n > 0 ? (1u << tw_v8_n) - 1 : 0);
              (void)tw_v8;
              const unsigned short tw_v9 = (unsigned short)(tw_v8 ^ 0xffff);
              const unsigned short tw_v10 = (unsigned short)(tw_v7 & tw_v9);
              float32x16 tw_v11;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v11) : "m"(*(const float32x16_u *)(tw_p0 + tw_n1 * tw_n2 + tw_i3 * tw_n3 + tw_i2 + tw_i1 * tw_n2 + 39)), "Yk"(tw_v10));
              tw_s1 = tw_v11;
            }
            *(float32x16_u *)(tw_p1 + 56 * tw_i3 + 3248 * tw_i2 + 9744 * tw_i1 + 40) = tw_s1;
          }
        }
      }
    }
    /* unfold: unfold */
    map_743ac5bd(t_3 + at_c * 9744 + 3192, 9744, 3248);
  }
}
