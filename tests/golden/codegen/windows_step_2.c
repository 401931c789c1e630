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
      const float32x16 tw_c0 = {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f};
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
                  const float32x16 tw_v0 = (float32x16){tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 - 1], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 1], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 3], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 5], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 7], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 9], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 11], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 13], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 15], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 17], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 19], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 21], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 23], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 25], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 27], tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 29]};
                  tw_s0 = tw_v0;
                } else {
                  const long tw_v1_n = tw_n_2 - tw_i5;
                  const unsigned short tw_v1 = (unsigned short)(tw_v1_n >= 16 ? 0xffff : tw_v1_n > 0 ? (1u << tw_v1_n) - 1 : 0);
                  const long tw_v2_n = tw_n_0 - tw_i5;
                  const unsigned short tw_v2 = (unsigned short)(tw_v2_n >= 16 ? 0xffff : tw_v2_n > 0 ? (1u << tw_v2_n) - 1 : 0);
                  const unsigned short tw_v3 = (unsigned short)(tw_v2 ^ 0xffff);
                  const unsigned short tw_v4 = (unsigned short)(tw_v1 & tw_v3);
                  float32x16 tw_v5 = {0};
                  if (tw_v4 >> 0 & 1) tw_v5[0] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 - 1];
                  if (tw_v4 >> 1 & 1) tw_v5[1] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 1];
                  if (tw_v4 >> 2 & 1) tw_v5[2] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 3];
                  if (tw_v4 >> 3 & 1) tw_v5[3] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 5];
                  if (tw_v4 >> 4 & 1) tw_v5[4] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 7];
                  if (tw_v4 >> 5 & 1) tw_v5[5] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 9];
                  if (tw_v4 >> 6 & 1) tw_v5[6] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 11];
                  if (tw_v4 >> 7 & 1) tw_v5[7] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 13];
                  if (tw_v4 >> 8 & 1) tw_v5[8] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 15];
                  if (tw_v4 >> 9 & 1) tw_v5[9] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 17];
                  if (tw_v4 >> 10 & 1) tw_v5[10] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 19];
                  if (tw_v4 >> 11 & 1) tw_v5[11] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 21];
                  if (tw_v4 >> 12 & 1) tw_v5[12] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 23];
                  if (tw_v4 >> 13 & 1) tw_v5[13] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 25];
                  if (tw_v4 >> 14 & 1) tw_v5[14] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 27];
                  if (tw_v4 >> 15 & 1) tw_v5[15] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i5 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 29];
                  tw_s0 = tw_v5;
                }
                *(float32x16_u *)(tw_p1 + tw_i5 + 28 * tw_i4 + 784 * tw_i3 + 2352 * tw_i2 + 7056 * tw_i1) = tw_s0;
              }
              const long tw_v6_n = tw_n_2 - 16;
              const unsigned short tw_v6 = (unsigned short)(tw_v6_n >= 16 ? 0xffff : tw_v6_n > 0 ? (1u << tw_v6_n) - 1 : 0);
              const long tw_v7_n = tw_n_0 - 16;
              const unsigned short tw_v7 = (unsigned short)(tw_v7_n >= 16 ? 0xffff : tw_v7_n > 0 ? (1u << tw_v7_n) - 1 : 0);
              const unsigned short tw_v8 = (unsigned short)(tw_v7 ^ 0xffff);
              const unsigned short tw_v9 = (unsigned short)0xfff;
              const unsigned short tw_v10 = (unsigned short)(tw_v6 & tw_v8);
              const unsigned short tw_v11 = (unsigned short)(tw_v10 & tw_v9);
              float32x16 tw_v12 = {0};
              if (tw_v11 >> 0 & 1) tw_v12[0] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 31];
              if (tw_v11 >> 1 & 1) tw_v12[1] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 33];
              if (tw_v11 >> 2 & 1) tw_v12[2] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 35];
              if (tw_v11 >> 3 & 1) tw_v12[3] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 37];
              if (tw_v11 >> 4 & 1) tw_v12[4] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 39];
              if (tw_v11 >> 5 & 1) tw_v12[5] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 41];
              if (tw_v11 >> 6 & 1) tw_v12[6] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 43];
              if (tw_v11 >> 7 & 1) tw_v12[7] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 45];
              if (tw_v11 >> 8 & 1) tw_v12[8] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 47];
              if (tw_v11 >> 9 & 1) tw_v12[9] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 49];
              if (tw_v11 >> 10 & 1) tw_v12[10] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 51];
              if (tw_v11 >> 11 & 1) tw_v12[11] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 53];
              if (tw_v11 >> 12 & 1) tw_v12[12] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 55];
              if (tw_v11 >> 13 & 1) tw_v12[13] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 57];
              if (tw_v11 >> 14 & 1) tw_v12[14] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 59];
              if (tw_v11 >> 15 & 1) tw_v12[15] = tw_p0[-tw_n3 + tw_n1 * tw_n2 + 2 * tw_i4 * tw_n3 + tw_i3 + tw_i2 * tw_n3 + tw_i1 * tw_n2 + 61];
              __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p1 + 28 * tw_i4 + 784 * tw_i3 + 2352 * tw_i2 + 7056 * tw_i1 + 16)) : "v"(tw_v12), "Yk"(tw_v9));
            }
          }
        }
      }
    }
  }
}
