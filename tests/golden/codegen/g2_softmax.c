static void pack_f239e420(const float *const tensor_0, float *const tensor_1, const long stride_0, const long stride_1, const long depth, const long columns, const long stride_2) {
  {
    float *tw_p0 = tensor_1;
    const float *tw_p1 = tensor_0;
    const long tw_n0 = stride_0;
    const long tw_n1 = stride_1;
    const long tw_n2 = depth;
    const long tw_n3 = columns;
    const long tw_n4 = stride_2;
    const float *tw_p1_8_n0 = tw_p1 + 8 * tw_n0;
    __asm__("" : "+r"(tw_p1_8_n0));
    const float *tw_p1_16_n1 = tw_p1 + 16 * tw_n1;
    __asm__("" : "+r"(tw_p1_16_n1));
    const long tw_n_4 = (tw_n1) == (1);
    if (tw_n_4) {
      const long tw_n_5 = (tw_n3) / (64) - ((tw_n3) % (64) < 0);
      for (long tw_start = 0; tw_start < tw_n2; tw_start += 8) {
        const long tw_n_6 = (8) < (-tw_start + tw_n2) ? (8) : (-tw_start + tw_n2);
        for (long tw_panel = 0; tw_panel < tw_n_5; tw_panel++) {
          for (long tw_p = 0; tw_p < tw_n_6; tw_p++) {
            __builtin_prefetch(tw_p1_8_n0 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p);
            const float32x16 tw_v0 = *(const float32x16_u *)(tw_p1 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p);
            *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + tw_n4 * tw_panel) = tw_v0;
            __builtin_prefetch(tw_p1_8_n0 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 16);
            const float32x16 tw_v1 = *(const float32x16_u *)(tw_p1 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 16);
            *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + tw_n4 * tw_panel + 16) = tw_v1;
            __builtin_prefetch(tw_p1_8_n0 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 32);
            const float32x16 tw_v2 = *(const float32x16_u *)(tw_p1 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 32);
            *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + tw_n4 * tw_panel + 32) = tw_v2;
            __builtin_prefetch(tw_p1_8_n0 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 48);
            const float32x16 tw_v3 = *(const float32x16_u *)(tw_p1 + 64 * tw_panel + tw_n0 * tw_start + tw_n0 * tw_p + 48);
            *(float32x16_u *)(tw_p0 + 64 * tw_start + 64 * tw_p + tw_n4 * tw_panel + 48) = tw_v3;
          }
        }
      }
      if (-64 * tw_n_5 + tw_n3) {
        for (long tw_p_2 = 0; tw_p_2 < tw_n2; tw_p_2++) {
          const long tw_v4_n = -64 * tw_n_5 + tw_n3;
          const unsigned short tw_v4 = (unsigned short)(tw_v4_n >= 16 ? 0xffff : tw_v4_n > 0 ? (1u << tw_v4_n) - 1 : 0);
          float32x16 tw_v5;
          __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v5) : "m"(*(const float32x16_u *)(tw_p1 + 64 * tw_n_5 + tw_n0 * tw_p_2)), "Yk"(tw_v4));
          *(float32x16_u *)(tw_p0 + 64 * tw_p_2 + tw_n4 * tw_n_5) = tw_v5;
          const long tw_v6_n = -64 * tw_n_5 + tw_n3 - 16;
          const unsigned short tw_v6 = (unsigned short)(tw_v6_n >= 16 ? 0xffff : tw_v6_n > 0 ? (1u << tw_v6_n) - 1 : 0);
          float32x16 tw_v7;
          __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v7) : "m"(*(const float32x16_u *)(tw_p1 + 64 * tw_n_5 + tw_n0 * tw_p_2 + 16)), "Yk"(tw_v6));
          *(float32x16_u *)(tw_p0 + 64 * tw_p_2 + tw_n4 * tw_n_5 + 16) = tw_v7;
          const long tw_v8_n = -64 * tw_n_5 + tw_n3 - 32;
          const unsigned short tw_v8 = (unsigned short)(tw_v8_n >= 16 ? 0xffff : tw_v8_n > 0 ? (1u << tw_v8_n) - 1 : 0);
          float32x16 tw_v9;
          __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v9) : "m"(*(const float32x16_u *)(tw_p1 + 64 * tw_n_5 + tw_n0 * tw_p_2 + 32)), "Yk"(tw_v8));
          *(float32x16_u *)(tw_p0 + 64 * tw_p_2 + tw_n4 * tw_n_5 + 32) = tw_v9;
          const long tw_v10_n = -64 * tw_n_5 + tw_n3 - 48;
          const unsigned short tw_v10 = (unsigned short)(tw_v10_n >= 16 ? 0xffff : tw_v10_n > 0 ? (1u << tw_v10_n) - 1 : 0);
          float32x16 tw_v11;
          __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v11) : "m"(*(const float32x16_u *)(tw_p1 + 64 * tw_n_5 + tw_n0 * tw_p_2 + 48)), "Yk"(tw_v10));
          *(float32x16_u *)(tw_p0 + 64 * tw_p_2 + tw_n4 * tw_n_5 + 48) = tw_v11;
        }
      }
    } else {
      const long tw_n_8 = (tw_n0) == (1);
      if (tw_n_8) {
        const long tw_n_9 = (tw_n3 + 63) / (64) - ((tw_n3 + 63) % (64) < 0);
        for (long tw_panel_1 = 0; tw_panel_1 < tw_n_9; tw_panel_1++) {
          const long tw_n_10 = (64) < (-64 * tw_panel_1 + tw_n3) ? (64) : (-64 * tw_panel_1 + tw_n3);
          const long tw_n_11 = (tw_n2) % (16) + ((tw_n2) % (16) < 0 ? (16) : 0);
          for (long tw_i = 0; tw_i < 64; tw_i += 16) {
            const long tw_n_12 = (15) < (tw_n_10 - tw_i);
            const long tw_n_13 = (tw_n_12) ? (-tw_n_11 + tw_n2) : (0);
            for (long tw_p_4 = 0; tw_p_4 < tw_n_13; tw_p_4 += 16) {
              long tw_n_14 = (tw_p_4 + 64 * tw_n1 * tw_panel_1 + tw_i * tw_n1);
              __asm__("" : "+r"(tw_n_14));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_14);
              float32x16 tw_v12 = *(const float32x16_u *)(tw_p1 + tw_n_14);
              __asm__("" : "+v"(tw_v12));
              long tw_n_15 = (tw_n_14 + tw_n1);
              __asm__("" : "+r"(tw_n_15));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_15);
              float32x16 tw_v13 = *(const float32x16_u *)(tw_p1 + tw_n_15);
              __asm__("" : "+v"(tw_v13));
              long tw_n_16 = (tw_n_15 + tw_n1);
              __asm__("" : "+r"(tw_n_16));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_16);
              float32x16 tw_v14 = *(const float32x16_u *)(tw_p1 + tw_n_16);
              __asm__("" : "+v"(tw_v14));
              long tw_n_17 = (tw_n_16 + tw_n1);
              __asm__("" : "+r"(tw_n_17));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_17);
              float32x16 tw_v15 = *(const float32x16_u *)(tw_p1 + tw_n_17);
              __asm__("" : "+v"(tw_v15));
              long tw_n_18 = (tw_n_17 + tw_n1);
              __asm__("" : "+r"(tw_n_18));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_18);
              float32x16 tw_v16 = *(const float32x16_u *)(tw_p1 + tw_n_18);
              __asm__("" : "+v"(tw_v16));
              long tw_n_19 = (tw_n_18 + tw_n1);
              __asm__("" : "+r"(tw_n_19));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_19);
              float32x16 tw_v17 = *(const float32x16_u *)(tw_p1 + tw_n_19);
              __asm__("" : "+v"(tw_v17));
              long tw_n_20 = (tw_n_19 + tw_n1);
              __asm__("" : "+r"(tw_n_20));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_20);
              float32x16 tw_v18 = *(const float32x16_u *)(tw_p1 + tw_n_20);
              __asm__("" : "+v"(tw_v18));
              long tw_n_21 = (tw_n_20 + tw_n1);
              __asm__("" : "+r"(tw_n_21));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_21);
              float32x16 tw_v19 = *(const float32x16_u *)(tw_p1 + tw_n_21);
              __asm__("" : "+v"(tw_v19));
              long tw_n_22 = (tw_n_21 + tw_n1);
              __asm__("" : "+r"(tw_n_22));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_22);
              float32x16 tw_v20 = *(const float32x16_u *)(tw_p1 + tw_n_22);
              __asm__("" : "+v"(tw_v20));
              long tw_n_23 = (tw_n_22 + tw_n1);
              __asm__("" : "+r"(tw_n_23));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_23);
              float32x16 tw_v21 = *(const float32x16_u *)(tw_p1 + tw_n_23);
              __asm__("" : "+v"(tw_v21));
              long tw_n_24 = (tw_n_23 + tw_n1);
              __asm__("" : "+r"(tw_n_24));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_24);
              float32x16 tw_v22 = *(const float32x16_u *)(tw_p1 + tw_n_24);
              __asm__("" : "+v"(tw_v22));
              long tw_n_25 = (tw_n_24 + tw_n1);
              __asm__("" : "+r"(tw_n_25));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_25);
              float32x16 tw_v23 = *(const float32x16_u *)(tw_p1 + tw_n_25);
              __asm__("" : "+v"(tw_v23));
              long tw_n_26 = (tw_n_25 + tw_n1);
              __asm__("" : "+r"(tw_n_26));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_26);
              float32x16 tw_v24 = *(const float32x16_u *)(tw_p1 + tw_n_26);
              __asm__("" : "+v"(tw_v24));
              long tw_n_27 = (tw_n_26 + tw_n1);
              __asm__("" : "+r"(tw_n_27));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_27);
              float32x16 tw_v25 = *(const float32x16_u *)(tw_p1 + tw_n_27);
              __asm__("" : "+v"(tw_v25));
              long tw_n_28 = (tw_n_27 + tw_n1);
              __asm__("" : "+r"(tw_n_28));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_28);
              float32x16 tw_v26 = *(const float32x16_u *)(tw_p1 + tw_n_28);
              __asm__("" : "+v"(tw_v26));
              long tw_n_29 = (tw_n_28 + tw_n1);
              __asm__("" : "+r"(tw_n_29));
              __builtin_prefetch(tw_p1_16_n1 + tw_n_29);
              float32x16 tw_v27 = *(const float32x16_u *)(tw_p1 + tw_n_29);
              __asm__("" : "+v"(tw_v27));
              const float32x16 tw_v28 = __builtin_shufflevector(tw_v12, tw_v14, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v29 = __builtin_shufflevector(tw_v12, tw_v14, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v30 = __builtin_shufflevector(tw_v13, tw_v15, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v31 = __builtin_shufflevector(tw_v13, tw_v15, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v32 = __builtin_shufflevector(tw_v28, tw_v30, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v33 = __builtin_shufflevector(tw_v28, tw_v30, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v34 = __builtin_shufflevector(tw_v29, tw_v31, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v35 = __builtin_shufflevector(tw_v29, tw_v31, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v36 = __builtin_shufflevector(tw_v16, tw_v18, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v37 = __builtin_shufflevector(tw_v16, tw_v18, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v38 = __builtin_shufflevector(tw_v17, tw_v19, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v39 = __builtin_shufflevector(tw_v17, tw_v19, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v40 = __builtin_shufflevector(tw_v36, tw_v38, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v41 = __builtin_shufflevector(tw_v36, tw_v38, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v42 = __builtin_shufflevector(tw_v37, tw_v39, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v43 = __builtin_shufflevector(tw_v37, tw_v39, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v44 = __builtin_shufflevector(tw_v20, tw_v22, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v45 = __builtin_shufflevector(tw_v20, tw_v22, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v46 = __builtin_shufflevector(tw_v21, tw_v23, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v47 = __builtin_shufflevector(tw_v21, tw_v23, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v48 = __builtin_shufflevector(tw_v44, tw_v46, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v49 = __builtin_shufflevector(tw_v44, tw_v46, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v50 = __builtin_shufflevector(tw_v45, tw_v47, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v51 = __builtin_shufflevector(tw_v45, tw_v47, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v52 = __builtin_shufflevector(tw_v24, tw_v26, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v53 = __builtin_shufflevector(tw_v24, tw_v26, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v54 = __builtin_shufflevector(tw_v25, tw_v27, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v55 = __builtin_shufflevector(tw_v25, tw_v27, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v56 = __builtin_shufflevector(tw_v52, tw_v54, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v57 = __builtin_shufflevector(tw_v52, tw_v54, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v58 = __builtin_shufflevector(tw_v53, tw_v55, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v59 = __builtin_shufflevector(tw_v53, tw_v55, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v60 = __builtin_shufflevector(tw_v32, tw_v40, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v61 = __builtin_shufflevector(tw_v48, tw_v56, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v62 = __builtin_shufflevector(tw_v60, tw_v61, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v63 = __builtin_shufflevector(tw_v60, tw_v61, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v64 = __builtin_shufflevector(tw_v32, tw_v40, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v65 = __builtin_shufflevector(tw_v48, tw_v56, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v66 = __builtin_shufflevector(tw_v64, tw_v65, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v67 = __builtin_shufflevector(tw_v64, tw_v65, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v68 = __builtin_shufflevector(tw_v33, tw_v41, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v69 = __builtin_shufflevector(tw_v49, tw_v57, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v70 = __builtin_shufflevector(tw_v68, tw_v69, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v71 = __builtin_shufflevector(tw_v68, tw_v69, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v72 = __builtin_shufflevector(tw_v33, tw_v41, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v73 = __builtin_shufflevector(tw_v49, tw_v57, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v74 = __builtin_shufflevector(tw_v72, tw_v73, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v75 = __builtin_shufflevector(tw_v72, tw_v73, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v76 = __builtin_shufflevector(tw_v34, tw_v42, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v77 = __builtin_shufflevector(tw_v50, tw_v58, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v78 = __builtin_shufflevector(tw_v76, tw_v77, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v79 = __builtin_shufflevector(tw_v76, tw_v77, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v80 = __builtin_shufflevector(tw_v34, tw_v42, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v81 = __builtin_shufflevector(tw_v50, tw_v58, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v82 = __builtin_shufflevector(tw_v80, tw_v81, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v83 = __builtin_shufflevector(tw_v80, tw_v81, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v84 = __builtin_shufflevector(tw_v35, tw_v43, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v85 = __builtin_shufflevector(tw_v51, tw_v59, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v86 = __builtin_shufflevector(tw_v84, tw_v85, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v87 = __builtin_shufflevector(tw_v84, tw_v85, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v88 = __builtin_shufflevector(tw_v35, tw_v43, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v89 = __builtin_shufflevector(tw_v51, tw_v59, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v90 = __builtin_shufflevector(tw_v88, tw_v89, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v91 = __builtin_shufflevector(tw_v88, tw_v89, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v92 = (float32x16)tw_v62;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i) = tw_v92;
              const float32x16 tw_v93 = (float32x16)tw_v70;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 64) = tw_v93;
              const float32x16 tw_v94 = (float32x16)tw_v78;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 128) = tw_v94;
              const float32x16 tw_v95 = (float32x16)tw_v86;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 192) = tw_v95;
              const float32x16 tw_v96 = (float32x16)tw_v63;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 256) = tw_v96;
              const float32x16 tw_v97 = (float32x16)tw_v71;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 320) = tw_v97;
              const float32x16 tw_v98 = (float32x16)tw_v79;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 384) = tw_v98;
              const float32x16 tw_v99 = (float32x16)tw_v87;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 448) = tw_v99;
              const float32x16 tw_v100 = (float32x16)tw_v66;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 512) = tw_v100;
              const float32x16 tw_v101 = (float32x16)tw_v74;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 576) = tw_v101;
              const float32x16 tw_v102 = (float32x16)tw_v82;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 640) = tw_v102;
              const float32x16 tw_v103 = (float32x16)tw_v90;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 704) = tw_v103;
              const float32x16 tw_v104 = (float32x16)tw_v67;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 768) = tw_v104;
              const float32x16 tw_v105 = (float32x16)tw_v75;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 832) = tw_v105;
              const float32x16 tw_v106 = (float32x16)tw_v83;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 896) = tw_v106;
              const float32x16 tw_v107 = (float32x16)tw_v91;
              *(float32x16_u *)(tw_p0 + 64 * tw_p_4 + tw_n4 * tw_panel_1 + tw_i + 960) = tw_v107;
            }
            for (long tw_p_5 = tw_n_13; tw_p_5 < tw_n2; tw_p_5 += 16) {
              long tw_n_30 = (tw_p_5 + 64 * tw_n1 * tw_panel_1 + tw_i * tw_n1);
              __asm__("" : "+r"(tw_n_30));
              const long tw_n_31 = (0) < (tw_n_10 - tw_i);
              const long tw_n_32 = (tw_n_31) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v108_n = tw_n_32;
              const unsigned short tw_v108 = (unsigned short)(tw_v108_n >= 16 ? 0xffff : tw_v108_n > 0 ? (1u << tw_v108_n) - 1 : 0);
              float32x16 tw_v109;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v109) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_30)), "Yk"(tw_v108));
              long tw_n_33 = (tw_n_30 + tw_n1);
              __asm__("" : "+r"(tw_n_33));
              const long tw_n_34 = (1) < (tw_n_10 - tw_i);
              const long tw_n_35 = (tw_n_34) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v110_n = tw_n_35;
              const unsigned short tw_v110 = (unsigned short)(tw_v110_n >= 16 ? 0xffff : tw_v110_n > 0 ? (1u << tw_v110_n) - 1 : 0);
              float32x16 tw_v111;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v111) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_33)), "Yk"(tw_v110));
              long tw_n_36 = (tw_n_33 + tw_n1);
              __asm__("" : "+r"(tw_n_36));
              const long tw_n_37 = (2) < (tw_n_10 - tw_i);
              const long tw_n_38 = (tw_n_37) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v112_n = tw_n_38;
              const unsigned short tw_v112 = (unsigned short)(tw_v112_n >= 16 ? 0xffff : tw_v112_n > 0 ? (1u << tw_v112_n) - 1 : 0);
              float32x16 tw_v113;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v113) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_36)), "Yk"(tw_v112));
              long tw_n_39 = (tw_n_36 + tw_n1);
              __asm__("" : "+r"(tw_n_39));
              const long tw_n_40 = (3) < (tw_n_10 - tw_i);
              const long tw_n_41 = (tw_n_40) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v114_n = tw_n_41;
              const unsigned short tw_v114 = (unsigned short)(tw_v114_n >= 16 ? 0xffff : tw_v114_n > 0 ? (1u << tw_v114_n) - 1 : 0);
              float32x16 tw_v115;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v115) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_39)), "Yk"(tw_v114));
              long tw_n_42 = (tw_n_39 + tw_n1);
              __asm__("" : "+r"(tw_n_42));
              const long tw_n_43 = (4) < (tw_n_10 - tw_i);
              const long tw_n_44 = (tw_n_43) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v116_n = tw_n_44;
              const unsigned short tw_v116 = (unsigned short)(tw_v116_n >= 16 ? 0xffff : tw_v116_n > 0 ? (1u << tw_v116_n) - 1 : 0);
              float32x16 tw_v117;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v117) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_42)), "Yk"(tw_v116));
              long tw_n_45 = (tw_n_42 + tw_n1);
              __asm__("" : "+r"(tw_n_45));
              const long tw_n_46 = (5) < (tw_n_10 - tw_i);
              const long tw_n_47 = (tw_n_46) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v118_n = tw_n_47;
              const unsigned short tw_v118 = (unsigned short)(tw_v118_n >= 16 ? 0xffff : tw_v118_n > 0 ? (1u << tw_v118_n) - 1 : 0);
              float32x16 tw_v119;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v119) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_45)), "Yk"(tw_v118));
              long tw_n_48 = (tw_n_45 + tw_n1);
              __asm__("" : "+r"(tw_n_48));
              const long tw_n_49 = (6) < (tw_n_10 - tw_i);
              const long tw_n_50 = (tw_n_49) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v120_n = tw_n_50;
              const unsigned short tw_v120 = (unsigned short)(tw_v120_n >= 16 ? 0xffff : tw_v120_n > 0 ? (1u << tw_v120_n) - 1 : 0);
              float32x16 tw_v121;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v121) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_48)), "Yk"(tw_v120));
              long tw_n_51 = (tw_n_48 + tw_n1);
              __asm__("" : "+r"(tw_n_51));
              const long tw_n_52 = (7) < (tw_n_10 - tw_i);
              const long tw_n_53 = (tw_n_52) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v122_n = tw_n_53;
              const unsigned short tw_v122 = (unsigned short)(tw_v122_n >= 16 ? 0xffff : tw_v122_n > 0 ? (1u << tw_v122_n) - 1 : 0);
              float32x16 tw_v123;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v123) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_51)), "Yk"(tw_v122));
              long tw_n_54 = (tw_n_51 + tw_n1);
              __asm__("" : "+r"(tw_n_54));
              const long tw_n_55 = (8) < (tw_n_10 - tw_i);
              const long tw_n_56 = (tw_n_55) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v124_n = tw_n_56;
              const unsigned short tw_v124 = (unsigned short)(tw_v124_n >= 16 ? 0xffff : tw_v124_n > 0 ? (1u << tw_v124_n) - 1 : 0);
              float32x16 tw_v125;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v125) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_54)), "Yk"(tw_v124));
              long tw_n_57 = (tw_n_54 + tw_n1);
              __asm__("" : "+r"(tw_n_57));
              const long tw_n_58 = (9) < (tw_n_10 - tw_i);
              const long tw_n_59 = (tw_n_58) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v126_n = tw_n_59;
              const unsigned short tw_v126 = (unsigned short)(tw_v126_n >= 16 ? 0xffff : tw_v126_n > 0 ? (1u << tw_v126_n) - 1 : 0);
              float32x16 tw_v127;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v127) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_57)), "Yk"(tw_v126));
              long tw_n_60 = (tw_n_57 + tw_n1);
              __asm__("" : "+r"(tw_n_60));
              const long tw_n_61 = (10) < (tw_n_10 - tw_i);
              const long tw_n_62 = (tw_n_61) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v128_n = tw_n_62;
              const unsigned short tw_v128 = (unsigned short)(tw_v128_n >= 16 ? 0xffff : tw_v128_n > 0 ? (1u << tw_v128_n) - 1 : 0);
              float32x16 tw_v129;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v129) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_60)), "Yk"(tw_v128));
              long tw_n_63 = (tw_n_60 + tw_n1);
              __asm__("" : "+r"(tw_n_63));
              const long tw_n_64 = (11) < (tw_n_10 - tw_i);
              const long tw_n_65 = (tw_n_64) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v130_n = tw_n_65;
              const unsigned short tw_v130 = (unsigned short)(tw_v130_n >= 16 ? 0xffff : tw_v130_n > 0 ? (1u << tw_v130_n) - 1 : 0);
              float32x16 tw_v131;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v131) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_63)), "Yk"(tw_v130));
              long tw_n_66 = (tw_n_63 + tw_n1);
              __asm__("" : "+r"(tw_n_66));
              const long tw_n_67 = (12) < (tw_n_10 - tw_i);
              const long tw_n_68 = (tw_n_67) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v132_n = tw_n_68;
              const unsigned short tw_v132 = (unsigned short)(tw_v132_n >= 16 ? 0xffff : tw_v132_n > 0 ? (1u << tw_v132_n) - 1 : 0);
              float32x16 tw_v133;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v133) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_66)), "Yk"(tw_v132));
              long tw_n_69 = (tw_n_66 + tw_n1);
              __asm__("" : "+r"(tw_n_69));
              const long tw_n_70 = (13) < (tw_n_10 - tw_i);
              const long tw_n_71 = (tw_n_70) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v134_n = tw_n_71;
              const unsigned short tw_v134 = (unsigned short)(tw_v134_n >= 16 ? 0xffff : tw_v134_n > 0 ? (1u << tw_v134_n) - 1 : 0);
              float32x16 tw_v135;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v135) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_69)), "Yk"(tw_v134));
              long tw_n_72 = (tw_n_69 + tw_n1);
              __asm__("" : "+r"(tw_n_72));
              const long tw_n_73 = (14) < (tw_n_10 - tw_i);
              const long tw_n_74 = (tw_n_73) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v136_n = tw_n_74;
              const unsigned short tw_v136 = (unsigned short)(tw_v136_n >= 16 ? 0xffff : tw_v136_n > 0 ? (1u << tw_v136_n) - 1 : 0);
              float32x16 tw_v137;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v137) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_72)), "Yk"(tw_v136));
              long tw_n_75 = (tw_n_72 + tw_n1);
              __asm__("" : "+r"(tw_n_75));
              const long tw_n_76 = (tw_n_12) ? (-tw_p_5 + tw_n2) : (0);
              const long tw_v138_n = tw_n_76;
              const unsigned short tw_v138 = (unsigned short)(tw_v138_n >= 16 ? 0xffff : tw_v138_n > 0 ? (1u << tw_v138_n) - 1 : 0);
              float32x16 tw_v139;
              __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v139) : "m"(*(const float32x16_u *)(tw_p1 + tw_n_75)), "Yk"(tw_v138));
              const float32x16 tw_v140 = __builtin_shufflevector(tw_v109, tw_v113, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v141 = __builtin_shufflevector(tw_v109, tw_v113, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v142 = __builtin_shufflevector(tw_v111, tw_v115, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v143 = __builtin_shufflevector(tw_v111, tw_v115, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v144 = __builtin_shufflevector(tw_v140, tw_v142, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v145 = __builtin_shufflevector(tw_v140, tw_v142, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v146 = __builtin_shufflevector(tw_v141, tw_v143, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v147 = __builtin_shufflevector(tw_v141, tw_v143, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v148 = __builtin_shufflevector(tw_v117, tw_v121, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v149 = __builtin_shufflevector(tw_v117, tw_v121, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v150 = __builtin_shufflevector(tw_v119, tw_v123, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v151 = __builtin_shufflevector(tw_v119, tw_v123, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v152 = __builtin_shufflevector(tw_v148, tw_v150, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v153 = __builtin_shufflevector(tw_v148, tw_v150, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v154 = __builtin_shufflevector(tw_v149, tw_v151, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v155 = __builtin_shufflevector(tw_v149, tw_v151, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v156 = __builtin_shufflevector(tw_v125, tw_v129, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v157 = __builtin_shufflevector(tw_v125, tw_v129, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v158 = __builtin_shufflevector(tw_v127, tw_v131, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v159 = __builtin_shufflevector(tw_v127, tw_v131, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v160 = __builtin_shufflevector(tw_v156, tw_v158, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v161 = __builtin_shufflevector(tw_v156, tw_v158, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v162 = __builtin_shufflevector(tw_v157, tw_v159, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v163 = __builtin_shufflevector(tw_v157, tw_v159, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v164 = __builtin_shufflevector(tw_v133, tw_v137, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v165 = __builtin_shufflevector(tw_v133, tw_v137, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v166 = __builtin_shufflevector(tw_v135, tw_v139, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v167 = __builtin_shufflevector(tw_v135, tw_v139, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v168 = __builtin_shufflevector(tw_v164, tw_v166, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v169 = __builtin_shufflevector(tw_v164, tw_v166, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v170 = __builtin_shufflevector(tw_v165, tw_v167, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
              const float32x16 tw_v171 = __builtin_shufflevector(tw_v165, tw_v167, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
              const float32x16 tw_v172 = __builtin_shufflevector(tw_v144, tw_v152, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v173 = __builtin_shufflevector(tw_v160, tw_v168, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v174 = __builtin_shufflevector(tw_v172, tw_v173, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v175 = __builtin_shufflevector(tw_v172, tw_v173, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v176 = __builtin_shufflevector(tw_v144, tw_v152, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v177 = __builtin_shufflevector(tw_v160, tw_v168, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v178 = __builtin_shufflevector(tw_v176, tw_v177, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v179 = __builtin_shufflevector(tw_v176, tw_v177, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v180 = __builtin_shufflevector(tw_v145, tw_v153, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v181 = __builtin_shufflevector(tw_v161, tw_v169, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v182 = __builtin_shufflevector(tw_v180, tw_v181, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v183 = __builtin_shufflevector(tw_v180, tw_v181, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v184 = __builtin_shufflevector(tw_v145, tw_v153, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v185 = __builtin_shufflevector(tw_v161, tw_v169, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v186 = __builtin_shufflevector(tw_v184, tw_v185, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v187 = __builtin_shufflevector(tw_v184, tw_v185, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v188 = __builtin_shufflevector(tw_v146, tw_v154, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v189 = __builtin_shufflevector(tw_v162, tw_v170, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v190 = __builtin_shufflevector(tw_v188, tw_v189, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v191 = __builtin_shufflevector(tw_v188, tw_v189, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v192 = __builtin_shufflevector(tw_v146, tw_v154, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v193 = __builtin_shufflevector(tw_v162, tw_v170, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v194 = __builtin_shufflevector(tw_v192, tw_v193, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v195 = __builtin_shufflevector(tw_v192, tw_v193, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v196 = __builtin_shufflevector(tw_v147, tw_v155, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v197 = __builtin_shufflevector(tw_v163, tw_v171, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
              const float32x16 tw_v198 = __builtin_shufflevector(tw_v196, tw_v197, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v199 = __builtin_shufflevector(tw_v196, tw_v197, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const float32x16 tw_v200 = __builtin_shufflevector(tw_v147, tw_v155, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v201 = __builtin_shufflevector(tw_v163, tw_v171, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
              const float32x16 tw_v202 = __builtin_shufflevector(tw_v200, tw_v201, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
              const float32x16 tw_v203 = __builtin_shufflevector(tw_v200, tw_v201, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
              const long tw_n_77 = (0) < (-tw_p_5 + tw_n2);
              if (tw_n_77) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i) = tw_v174;
              }
              const long tw_n_78 = (1) < (-tw_p_5 + tw_n2);
              if (tw_n_78) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 64) = tw_v182;
              }
              const long tw_n_79 = (2) < (-tw_p_5 + tw_n2);
              if (tw_n_79) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 128) = tw_v190;
              }
              const long tw_n_80 = (3) < (-tw_p_5 + tw_n2);
              if (tw_n_80) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 192) = tw_v198;
              }
              const long tw_n_81 = (4) < (-tw_p_5 + tw_n2);
              if (tw_n_81) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 256) = tw_v175;
              }
              const long tw_n_82 = (5) < (-tw_p_5 + tw_n2);
              if (tw_n_82) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 320) = tw_v183;
              }
              const long tw_n_83 = (6) < (-tw_p_5 + tw_n2);
              if (tw_n_83) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 384) = tw_v191;
              }
              const long tw_n_84 = (7) < (-tw_p_5 + tw_n2);
              if (tw_n_84) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 448) = tw_v199;
              }
              const long tw_n_85 = (8) < (-tw_p_5 + tw_n2);
              if (tw_n_85) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 512) = tw_v178;
              }
              const long tw_n_86 = (9) < (-tw_p_5 + tw_n2);
              if (tw_n_86) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 576) = tw_v186;
              }
              const long tw_n_87 = (10) < (-tw_p_5 + tw_n2);
              if (tw_n_87) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 640) = tw_v194;
              }
              const long tw_n_88 = (11) < (-tw_p_5 + tw_n2);
              if (tw_n_88) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 704) = tw_v202;
              }
              const long tw_n_89 = (12) < (-tw_p_5 + tw_n2);
              if (tw_n_89) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 768) = tw_v179;
              }
              const long tw_n_90 = (13) < (-tw_p_5 + tw_n2);
              if (tw_n_90) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 832) = tw_v187;
              }
              const long tw_n_91 = (14) < (-tw_p_5 + tw_n2);
              if (tw_n_91) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 896) = tw_v195;
              }
              const long tw_n_92 = (15) < (-tw_p_5 + tw_n2);
              if (tw_n_92) {
                *(float32x16_u *)(tw_p0 + 64 * tw_p_5 + tw_n4 * tw_panel_1 + tw_i + 960) = tw_v203;
              }
            }
          }
        }
      } else {
        const long tw_n_93 = (tw_n3 + 63) / (64) - ((tw_n3 + 63) % (64) < 0);
        for (long tw_panel_2 = 0; tw_panel_2 < tw_n_93; tw_panel_2++) {
          const long tw_n_94 = (64) < (-64 * tw_panel_2 + tw_n3) ? (64) : (-64 * tw_panel_2 + tw_n3);
          const long tw_n_95 = (64) < (tw_n_94) ? (64) : (tw_n_94);
          for (long tw_g = 0; tw_g < tw_n2; tw_g++) {
            const long tw_n_96 = (tw_n_95) % (4) + ((tw_n_95) % (4) < 0 ? (4) : 0);
            for (long tw_j = 0; tw_j < -tw_n_96 + tw_n_95; tw_j += 4) {
              const float32x4 tw_v204 = (float32x4){tw_p1[64 * tw_n1 * tw_panel_2 + tw_j * tw_n1 + tw_g * tw_n0], tw_p1[64 * tw_n1 * tw_panel_2 + tw_n1 + tw_j * tw_n1 + tw_g * tw_n0], tw_p1[64 * tw_n1 * tw_panel_2 + 2 * tw_n1 + tw_j * tw_n1 + tw_g * tw_n0], tw_p1[64 * tw_n1 * tw_panel_2 + 3 * tw_n1 + tw_j * tw_n1 + tw_g * tw_n0]};
              *(float32x4_u *)(tw_p0 + tw_n4 * tw_panel_2 + tw_j + 64 * tw_g) = tw_v204;
            }
            for (long tw_j_1 = -tw_n_96 + tw_n_95; tw_j_1 < tw_n_95; tw_j_1++) {
              const float tw_v205 = tw_p1[64 * tw_n1 * tw_panel_2 + tw_j_1 * tw_n1 + tw_g * tw_n0];
              tw_p0[tw_n4 * tw_panel_2 + tw_j_1 + 64 * tw_g] = tw_v205;
            }
            const long tw_n_97 = (0) > (tw_n_95) ? (0) : (tw_n_95);
            for (long tw_j_2 = tw_n_97; tw_j_2 < 64; tw_j_2++) {
              tw_p0[tw_n4 * tw_panel_2 + tw_j_2 + 64 * tw_g] = 0x0p0f;
            }
          }
        }
      }
    }
  }
}

static void rows_fd01c2c8(float *const tensor_0, float *const tensor_1, const long size_d1, const long size_d2, const long stride_0) {
  {
    const long tw_n0 = size_d1;
    const long tw_n1 = size_d2;
    float *tw_p0 = tensor_0;
    const long tw_n2 = stride_0;
    float *tw_p1 = tensor_1;
    const float32x16 tw_c0 = in_16_lanes((-0x1.fffffep127f));
    const float32x16 tw_c1 = in_16_lanes(0x0p0f);
    float *tw_p0_4_n2 = tw_p0 + 4 * tw_n2;
    __asm__("" : "+r"(tw_p0_4_n2));
    const float32x16 tw_c2 = in_16_lanes(0x1.715476p0f);
    const float32x16 tw_c3 = in_16_lanes(0x1.e974f8p-10f);
    const float32x16 tw_c4 = in_16_lanes(0x1.277856p-7f);
    const float32x16 tw_c5 = in_16_lanes(0x1.c91ce2p-5f);
    const float32x16 tw_c6 = in_16_lanes(0x1.ebdb5cp-3f);
    const float32x16 tw_c7 = in_16_lanes(0x1.62e4bap-1f);
    const float32x16 tw_c8 = in_16_lanes(0x1p0f);
    for (long tw_i1 = 0; tw_i1 < tw_n0 - 3; tw_i1 += 4) {
      float32x16 tw_s0 = tw_c0;
      float32x16 tw_s1 = tw_c0;
      float32x16 tw_s2 = tw_c0;
      float32x16 tw_s3 = tw_c0;
      const long tw_n_2 = (tw_n1) % (16) + ((tw_n1) % (16) < 0 ? (16) : 0);
      for (long tw_i2 = 0; tw_i2 < -tw_n_2 + tw_n1; tw_i2 += 16) {
        const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n2);
        float32x16 tw_v1;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v1) : "v"(tw_s0), "v"(tw_v0));
        tw_s0 = tw_v1;
        const float32x16 tw_v2 = *(const float32x16_u *)(tw_p0 + tw_n2 + tw_i2 + tw_i1 * tw_n2);
        float32x16 tw_v3;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v3) : "v"(tw_s1), "v"(tw_v2));
        tw_s1 = tw_v3;
        const float32x16 tw_v4 = *(const float32x16_u *)(tw_p0 + 2 * tw_n2 + tw_i2 + tw_i1 * tw_n2);
        float32x16 tw_v5;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v5) : "v"(tw_s2), "v"(tw_v4));
        tw_s2 = tw_v5;
        const float32x16 tw_v6 = *(const float32x16_u *)(tw_p0 + 3 * tw_n2 + tw_i2 + tw_i1 * tw_n2);
        float32x16 tw_v7;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v7) : "v"(tw_s3), "v"(tw_v6));
        tw_s3 = tw_v7;
      }
      if (tw_n_2) {
        const long tw_v8_n = tw_n_2;
        const unsigned short tw_v8 = (unsigned short)(tw_v8_n >= 16 ? 0xffff : tw_v8_n > 0 ? (1u << tw_v8_n) - 1 : 0);
        float32x16 tw_v9;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v9) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v8));
        float32x16 tw_v10;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v10) : "v"(tw_v9), "v"(tw_c0), "Yk"(tw_v8));
        float32x16 tw_v11;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v11) : "v"(tw_s0), "v"(tw_v10));
        tw_s0 = tw_v11;
        float32x16 tw_v12;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v12) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v8));
        float32x16 tw_v13;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v13) : "v"(tw_v12), "v"(tw_c0), "Yk"(tw_v8));
        float32x16 tw_v14;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v14) : "v"(tw_s1), "v"(tw_v13));
        tw_s1 = tw_v14;
        float32x16 tw_v15;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v15) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v8));
        float32x16 tw_v16;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v16) : "v"(tw_v15), "v"(tw_c0), "Yk"(tw_v8));
        float32x16 tw_v17;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v17) : "v"(tw_s2), "v"(tw_v16));
        tw_s2 = tw_v17;
        float32x16 tw_v18;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v18) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v8));
        float32x16 tw_v19;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v19) : "v"(tw_v18), "v"(tw_c0), "Yk"(tw_v8));
        float32x16 tw_v20;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v20) : "v"(tw_s3), "v"(tw_v19));
        tw_s3 = tw_v20;
      }
      const float32x16 tw_v21 = __builtin_shufflevector(tw_s0, tw_s1, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v22 = __builtin_shufflevector(tw_s0, tw_s1, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      float32x16 tw_v23;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v23) : "v"(tw_v21), "v"(tw_v22));
      const float32x16 tw_v24 = __builtin_shufflevector(tw_s2, tw_s3, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v25 = __builtin_shufflevector(tw_s2, tw_s3, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      float32x16 tw_v26;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v26) : "v"(tw_v24), "v"(tw_v25));
      const float32x16 tw_v27 = __builtin_shufflevector(tw_v23, tw_v26, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      const float32x16 tw_v28 = __builtin_shufflevector(tw_v23, tw_v26, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
      float32x16 tw_v29;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v29) : "v"(tw_v27), "v"(tw_v28));
      const float32x16 tw_v30 = __builtin_shufflevector(tw_v29, tw_v29, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      float32x16 tw_v31;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v31) : "v"(tw_v29), "v"(tw_v30));
      const float32x16 tw_v32 = __builtin_shufflevector(tw_v31, tw_v31, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      float32x16 tw_v33;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v33) : "v"(tw_v31), "v"(tw_v32));
      const float32x16 tw_v34 = __builtin_shufflevector(tw_v33, tw_v33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const float32x16 tw_v35 = __builtin_shufflevector(tw_v33, tw_v33, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
      const float32x16 tw_v36 = __builtin_shufflevector(tw_v33, tw_v33, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
      const float32x16 tw_v37 = __builtin_shufflevector(tw_v33, tw_v33, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
      float32x16 tw_s4 = tw_c1;
      float32x16 tw_s5 = tw_c1;
      float32x16 tw_s6 = tw_c1;
      float32x16 tw_s7 = tw_c1;
      for (long tw_i2_1 = 0; tw_i2_1 < -tw_n_2 + tw_n1; tw_i2_1 += 16) {
        __builtin_prefetch(tw_p0_4_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v38 = *(const float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v39 = tw_v38 - tw_v34;
        const float32x16 tw_v40 = tw_v39 * tw_c2;
        float32x16 tw_v41;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v41) : "v"(tw_v40));
        const float32x16 tw_v42 = fma_float32x16(tw_c3, tw_v41, tw_c4);
        const float32x16 tw_v43 = fma_float32x16(tw_v42, tw_v41, tw_c5);
        const float32x16 tw_v44 = fma_float32x16(tw_v43, tw_v41, tw_c6);
        const float32x16 tw_v45 = fma_float32x16(tw_v44, tw_v41, tw_c7);
        const float32x16 tw_v46 = fma_float32x16(tw_v45, tw_v41, tw_c8);
        float32x16 tw_v47;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v47) : "v"(tw_v46), "v"(tw_v40));
        *(float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n2) = tw_v47;
        const float32x16 tw_v48 = tw_s4 + tw_v47;
        tw_s4 = tw_v48;
        __builtin_prefetch(tw_p0_4_n2 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v49 = *(const float32x16_u *)(tw_p0 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v50 = tw_v49 - tw_v35;
        const float32x16 tw_v51 = tw_v50 * tw_c2;
        float32x16 tw_v52;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v52) : "v"(tw_v51));
        const float32x16 tw_v53 = fma_float32x16(tw_c3, tw_v52, tw_c4);
        const float32x16 tw_v54 = fma_float32x16(tw_v53, tw_v52, tw_c5);
        const float32x16 tw_v55 = fma_float32x16(tw_v54, tw_v52, tw_c6);
        const float32x16 tw_v56 = fma_float32x16(tw_v55, tw_v52, tw_c7);
        const float32x16 tw_v57 = fma_float32x16(tw_v56, tw_v52, tw_c8);
        float32x16 tw_v58;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v58) : "v"(tw_v57), "v"(tw_v51));
        *(float32x16_u *)(tw_p0 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v58;
        const float32x16 tw_v59 = tw_s5 + tw_v58;
        tw_s5 = tw_v59;
        __builtin_prefetch(tw_p0_4_n2 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v60 = *(const float32x16_u *)(tw_p0 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v61 = tw_v60 - tw_v36;
        const float32x16 tw_v62 = tw_v61 * tw_c2;
        float32x16 tw_v63;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v63) : "v"(tw_v62));
        const float32x16 tw_v64 = fma_float32x16(tw_c3, tw_v63, tw_c4);
        const float32x16 tw_v65 = fma_float32x16(tw_v64, tw_v63, tw_c5);
        const float32x16 tw_v66 = fma_float32x16(tw_v65, tw_v63, tw_c6);
        const float32x16 tw_v67 = fma_float32x16(tw_v66, tw_v63, tw_c7);
        const float32x16 tw_v68 = fma_float32x16(tw_v67, tw_v63, tw_c8);
        float32x16 tw_v69;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v69) : "v"(tw_v68), "v"(tw_v62));
        *(float32x16_u *)(tw_p0 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v69;
        const float32x16 tw_v70 = tw_s6 + tw_v69;
        tw_s6 = tw_v70;
        __builtin_prefetch(tw_p0_4_n2 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v71 = *(const float32x16_u *)(tw_p0 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v72 = tw_v71 - tw_v37;
        const float32x16 tw_v73 = tw_v72 * tw_c2;
        float32x16 tw_v74;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v74) : "v"(tw_v73));
        const float32x16 tw_v75 = fma_float32x16(tw_c3, tw_v74, tw_c4);
        const float32x16 tw_v76 = fma_float32x16(tw_v75, tw_v74, tw_c5);
        const float32x16 tw_v77 = fma_float32x16(tw_v76, tw_v74, tw_c6);
        const float32x16 tw_v78 = fma_float32x16(tw_v77, tw_v74, tw_c7);
        const float32x16 tw_v79 = fma_float32x16(tw_v78, tw_v74, tw_c8);
        float32x16 tw_v80;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v80) : "v"(tw_v79), "v"(tw_v73));
        *(float32x16_u *)(tw_p0 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v80;
        const float32x16 tw_v81 = tw_s7 + tw_v80;
        tw_s7 = tw_v81;
      }
      if (tw_n_2) {
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2);
        const long tw_v82_n = tw_n_2;
        const unsigned short tw_v82 = (unsigned short)(tw_v82_n >= 16 ? 0xffff : tw_v82_n > 0 ? (1u << tw_v82_n) - 1 : 0);
        float32x16 tw_v83;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v83) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v82));
        const float32x16 tw_v84 = tw_v83 - tw_v34;
        const float32x16 tw_v85 = tw_v84 * tw_c2;
        float32x16 tw_v86;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v86) : "v"(tw_v85));
        const float32x16 tw_v87 = fma_float32x16(tw_c3, tw_v86, tw_c4);
        const float32x16 tw_v88 = fma_float32x16(tw_v87, tw_v86, tw_c5);
        const float32x16 tw_v89 = fma_float32x16(tw_v88, tw_v86, tw_c6);
        const float32x16 tw_v90 = fma_float32x16(tw_v89, tw_v86, tw_c7);
        const float32x16 tw_v91 = fma_float32x16(tw_v90, tw_v86, tw_c8);
        float32x16 tw_v92;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v92) : "v"(tw_v91), "v"(tw_v85));
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v92), "Yk"(tw_v82));
        float32x16 tw_v93;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v93) : "v"(tw_v92), "v"(tw_c1), "Yk"(tw_v82));
        const float32x16 tw_v94 = tw_s4 + tw_v93;
        tw_s4 = tw_v94;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v95;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v95) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v82));
        const float32x16 tw_v96 = tw_v95 - tw_v35;
        const float32x16 tw_v97 = tw_v96 * tw_c2;
        float32x16 tw_v98;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v98) : "v"(tw_v97));
        const float32x16 tw_v99 = fma_float32x16(tw_c3, tw_v98, tw_c4);
        const float32x16 tw_v100 = fma_float32x16(tw_v99, tw_v98, tw_c5);
        const float32x16 tw_v101 = fma_float32x16(tw_v100, tw_v98, tw_c6);
        const float32x16 tw_v102 = fma_float32x16(tw_v101, tw_v98, tw_c7);
        const float32x16 tw_v103 = fma_float32x16(tw_v102, tw_v98, tw_c8);
        float32x16 tw_v104;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v104) : "v"(tw_v103), "v"(tw_v97));
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v104), "Yk"(tw_v82));
        float32x16 tw_v105;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v105) : "v"(tw_v104), "v"(tw_c1), "Yk"(tw_v82));
        const float32x16 tw_v106 = tw_s5 + tw_v105;
        tw_s5 = tw_v106;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v107;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v107) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v82));
        const float32x16 tw_v108 = tw_v107 - tw_v36;
        const float32x16 tw_v109 = tw_v108 * tw_c2;
        float32x16 tw_v110;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v110) : "v"(tw_v109));
        const float32x16 tw_v111 = fma_float32x16(tw_c3, tw_v110, tw_c4);
        const float32x16 tw_v112 = fma_float32x16(tw_v111, tw_v110, tw_c5);
        const float32x16 tw_v113 = fma_float32x16(tw_v112, tw_v110, tw_c6);
        const float32x16 tw_v114 = fma_float32x16(tw_v113, tw_v110, tw_c7);
        const float32x16 tw_v115 = fma_float32x16(tw_v114, tw_v110, tw_c8);
        float32x16 tw_v116;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v116) : "v"(tw_v115), "v"(tw_v109));
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v116), "Yk"(tw_v82));
        float32x16 tw_v117;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v117) : "v"(tw_v116), "v"(tw_c1), "Yk"(tw_v82));
        const float32x16 tw_v118 = tw_s6 + tw_v117;
        tw_s6 = tw_v118;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v119;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v119) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v82));
        const float32x16 tw_v120 = tw_v119 - tw_v37;
        const float32x16 tw_v121 = tw_v120 * tw_c2;
        float32x16 tw_v122;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v122) : "v"(tw_v121));
        const float32x16 tw_v123 = fma_float32x16(tw_c3, tw_v122, tw_c4);
        const float32x16 tw_v124 = fma_float32x16(tw_v123, tw_v122, tw_c5);
        const float32x16 tw_v125 = fma_float32x16(tw_v124, tw_v122, tw_c6);
        const float32x16 tw_v126 = fma_float32x16(tw_v125, tw_v122, tw_c7);
        const float32x16 tw_v127 = fma_float32x16(tw_v126, tw_v122, tw_c8);
        float32x16 tw_v128;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v128) : "v"(tw_v127), "v"(tw_v121));
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v128), "Yk"(tw_v82));
        float32x16 tw_v129;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v129) : "v"(tw_v128), "v"(tw_c1), "Yk"(tw_v82));
        const float32x16 tw_v130 = tw_s7 + tw_v129;
        tw_s7 = tw_v130;
      }
      const float32x16 tw_v131 = __builtin_shufflevector(tw_s4, tw_s5, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v132 = __builtin_shufflevector(tw_s4, tw_s5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v133 = tw_v131 + tw_v132;
      const float32x16 tw_v134 = __builtin_shufflevector(tw_s6, tw_s7, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v135 = __builtin_shufflevector(tw_s6, tw_s7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v136 = tw_v134 + tw_v135;
      const float32x16 tw_v137 = __builtin_shufflevector(tw_v133, tw_v136, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      const float32x16 tw_v138 = __builtin_shufflevector(tw_v133, tw_v136, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
      const float32x16 tw_v139 = tw_v137 + tw_v138;
      const float32x16 tw_v140 = __builtin_shufflevector(tw_v139, tw_v139, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      const float32x16 tw_v141 = tw_v139 + tw_v140;
      const float32x16 tw_v142 = __builtin_shufflevector(tw_v141, tw_v141, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      const float32x16 tw_v143 = tw_v141 + tw_v142;
      const float32x16 tw_v144 = __builtin_shufflevector(tw_v143, tw_v143, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const float32x16 tw_v145 = __builtin_shufflevector(tw_v143, tw_v143, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
      const float32x16 tw_v146 = __builtin_shufflevector(tw_v143, tw_v143, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
      const float32x16 tw_v147 = __builtin_shufflevector(tw_v143, tw_v143, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
      const float32x16 tw_v148 = tw_c8 / tw_v144;
      const float32x16 tw_v149 = tw_c8 / tw_v145;
      const float32x16 tw_v150 = tw_c8 / tw_v146;
      const float32x16 tw_v151 = tw_c8 / tw_v147;
      const float tw_v152 = tw_v148[0];
      tw_p1[tw_i1] = tw_v152;
      const float tw_v153 = tw_v149[0];
      tw_p1[tw_i1 + 1] = tw_v153;
      const float tw_v154 = tw_v150[0];
      tw_p1[tw_i1 + 2] = tw_v154;
      const float tw_v155 = tw_v151[0];
      tw_p1[tw_i1 + 3] = tw_v155;
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
 *     pack operand 1 of scores into panels of 64 columns
 *     pack operand 1 of out into panels of 64 columns
 *     for m in blocks of 24
 *       scores
 *       weights
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
  float *const running_P_inverse = (float *)(scratch + 312832); /* inverse of the rows of weights */
  long last_b = -1;
  for (long block; (block = blocks->next(blocks)) >= 0;) {
    const long at_b = block / 22;
    if ((block / 22) != last_b) {
      last_b = block / 22;
      pack_f239e420(B + at_b * stride_B_0, packed_B, stride_B_1, stride_B_2, 64, 512, 4096);
      pack_f239e420(D + at_b * stride_D_0, packed_D, stride_D_1, stride_D_2, 512, 64, 32768);
    }
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    matmul_avx512_f32_6x64_tiles_8_24x512_n512_k64_bp4096_br64_cr528_a0(size_m, A + at_b * stride_A_0 + at_m * stride_A_1, stride_A_1, stride_A_2, packed_B, C);
    /* weights: softmax */
    rows_fd01c2c8(C, running_P_inverse, size_m, 512, 528);
    matmul_avx512_f32_6x64_multiply_9f76dc_tiles_8_24x64_n64_k512_ar528_ac1_bp32768_br64_a0_er1(size_m, C, packed_D, E + at_b * stride_E_0 + at_m * stride_E_1, stride_E_1, running_P_inverse);
  }
}

static void chain_run(const struct tw_context *context, void *const *tensors, const long *sizes) {
  struct tw_call call = {tensors, sizes};
  context->parallel_for(context->pool, chain_task, &call, 264, 312960, 0);
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
