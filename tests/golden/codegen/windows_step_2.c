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
    {
      const float *tw_p0 = x;
      const long tw_n0 = stride_x_0;
      const long tw_n1 = at_c;
      const long tw_n2 = stride_x_1;
      const long tw_n3 = stride_x_2;
      float *tw_p1 = t_3 + at_c * 7056;
      const float32x16 tw_c0 = in_16_lanes(0x0p0f);
      for (long tw_i1 = 0; tw_i1 < 4; tw_i1++) {
        for (long tw_i2 = 0; tw_i2 < 3; tw_i2++) {
          for (long tw_i3 = 0; tw_i3 < 3; tw_i3++) {
            for (long tw_i4 = 0; tw_i4 < 28; tw_i4++) {
              const long tw_n_0 = (-tw_i3 + 2) / (2) - ((-tw_i3 + 2) % (2) < 0);
              const long tw_n_1 = (-1) < (2 * tw_i4 + tw_i2 - 1);
              const long tw_n_2 = (tw_n_1) ? (28) : (0);
              for (long tw_i5 = 0; tw_i5 < 13; tw_i5 += 16) {
                const long tw_n_3 = (tw_n_0 - tw_i5) < (1);
                const long tw_n_4 = (tw_i5 + 15) < (tw_n_2);
                const long tw_n_5 = (tw_n_3) && (tw_n_4);
                float32x16 tw_s0 = tw_c0;
                if (tw_n_5) {
                  const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 - 1);
                  const float32x16 tw_v1 = *(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 14);
                  const float32x16 tw_v2 = __builtin_shufflevector(tw_v0, tw_v1, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
                  tw_s0 = tw_v2;
                } else {
                  const long tw_v3_n = tw_n_2 - tw_i5;
                  const unsigned short tw_v3 = (unsigned short)(tw_v3_n >= 16 ? 0xffff : tw_v3_n > 0 ? (1u << tw_v3_n) - 1 : 0);
                  (void)tw_v3;
                  const long tw_v4_n = tw_n_0 - tw_i5;
                  const unsigned short tw_v4 = (unsigned short)(tw_v4_n >= 16 ? 0xffff : tw_v4_n > 0 ? (1u << tw_v4_n) - 1 : 0);
                  (void)tw_v4;
                  const unsigned short tw_v5 = (unsigned short)(tw_v4 ^ 0xffff);
                  const unsigned short tw_v6 = (unsigned short)(tw_v3 & tw_v5);
                  const long tw_v7_n = 2 * tw_n_2 - 2 * tw_i5 - 1;
                  const unsigned short tw_v7 = (unsigned short)(tw_v7_n >= 16 ? 0xffff : tw_v7_n > 0 ? (1u << tw_v7_n) - 1 : 0);
                  (void)tw_v7;
                  const long tw_v8_n = 2 * tw_n_0 - 2 * tw_i5;
                  const unsigned short tw_v8 = (unsigned short)(tw_v8_n >= 16 ? 0xffff : tw_v8_n > 0 ? (1u << tw_v8_n) - 1 : 0);
                  (void)tw_v8;
                  const unsigned short tw_v9 = (unsigned short)(tw_v8 ^ 0xffff);
                  const unsigned short tw_v10 = (unsigned short)(tw_v7 & tw_v9);
                  float32x16 tw_v11;
                  __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v11) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 - 1)), "Yk"(tw_v10));
                  const long tw_v12_n = 2 * tw_n_2 - 2 * tw_i5 - 17;
                  const unsigned short tw_v12 = (unsigned short)(tw_v12_n >= 16 ? 0xffff : tw_v12_n > 0 ? (1u << tw_v12_n) - 1 : 0);
                  (void)tw_v12;
                  const long tw_v13_n = 2 * tw_n_0 - 2 * tw_i5 - 16;
                  const unsigned short tw_v13 = (unsigned short)(tw_v13_n >= 16 ? 0xffff : tw_v13_n > 0 ? (1u << tw_v13_n) - 1 : 0);
                  (void)tw_v13;
                  const unsigned short tw_v14 = (unsigned short)(tw_v13 ^ 0xffff);
                  const unsigned short tw_v15 = (unsigned short)(tw_v12 & tw_v14);
                  float32x16 tw_v16;
                  __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v16) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 15)), "Yk"(tw_v15));
                  const float32x16 tw_v17 = __builtin_shufflevector(tw_v11, tw_v16, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                  tw_s0 = tw_v17;
                }
                *(float32x16_u *)(tw_p1 + tw_i5 + 28 * tw_i4 + 784 * tw_i3 + 2352 * tw_i2 + 7056 * tw_i1) = tw_s0;
              }
              const long tw_n_10 = (tw_n_0 - 12) < (1);
              const long tw_n_11 = (27) < (tw_n_2);
              const long tw_n_12 = (tw_n_10) && (tw_n_11);
              float32x16 tw_s1 = tw_c0;
              if (tw_n_12) {
                const float32x16 tw_v18 = *(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 23);
                const float32x16 tw_v19 = *(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 38);
                const float32x16 tw_v20 = __builtin_shufflevector(tw_v18, tw_v19, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
                tw_s1 = tw_v20;
              } else {
                const long tw_v21_n = tw_n_2 - 12;
                const unsigned short tw_v21 = (unsigned short)(tw_v21_n >= 16 ? 0xffff : tw_v21_n > 0 ? (1u << tw_v21_n) - 1 : 0);
                (void)tw_v21;
                const long tw_v22_n = tw_n_0 - 12;
                const unsigned short tw_v22 = (unsigned short)(tw_v22_n >= 16 ? 0xffff : tw_v22_n > 0 ? (1u << tw_v22_n) - 1 : 0);
                (void)tw_v22;
                const unsigned short tw_v23 = (unsigned short)(tw_v22 ^ 0xffff);
                const unsigned short tw_v24 = (unsigned short)(tw_v21 & tw_v23);
                const long tw_v25_n = 2 * tw_n_2 - 25;
                const unsigned short tw_v25 = (unsigned short)(tw_v25_n >= 16 ? 0xffff : tw_v25_n > 0 ? (1u << tw_v25_n) - 1 : 0);
                (void)tw_v25;
                const long tw_v26_n = 2 * tw_n_0 - 24;
                const unsigned short tw_v26 = (unsigned short)(tw_v26_n >= 16 ? 0xffff : tw_v26_n > 0 ? (1u << tw_v26_n) - 1 : 0);
                (void)tw_v26;
                const unsigned short tw_v27 = (unsigned short)(tw_v26 ^ 0xffff);
                const unsigned short tw_v28 = (unsigned short)(tw_v25 & tw_v27);
                float32x16 tw_v29;
                __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v29) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 23)), "Yk"(tw_v28));
                const long tw_v30_n = 2 * tw_n_2 - 41;
                const unsigned short tw_v30 = (unsigned short)(tw_v30_n >= 16 ? 0xffff : tw_v30_n > 0 ? (1u << tw_v30_n) - 1 : 0);
                (void)tw_v30;
                const long tw_v31_n = 2 * tw_n_0 - 40;
                const unsigned short tw_v31 = (unsigned short)(tw_v31_n >= 16 ? 0xffff : tw_v31_n > 0 ? (1u << tw_v31_n) - 1 : 0);
                (void)tw_v31;
                const unsigned short tw_v32 = (unsigned short)(tw_v31 ^ 0xffff);
                const unsigned short tw_v33 = (unsigned short)(tw_v30 & tw_v32);
                float32x16 tw_v34;
                __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v34) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 39)), "Yk"(tw_v33));
                const float32x16 tw_v35 = __builtin_shufflevector(tw_v29, tw_v34, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                tw_s1 = tw_v35;
              }
              *(float32x16_u *)(tw_p1 + 28 * tw_i4 + 784 * tw_i3 + 2352 * tw_i2 + 7056 * tw_i1 + 12) = tw_s1;
            }
          }
        }
      }
    }
  }
}
