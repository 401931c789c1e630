static void rows_39e19b7c(float *const tensor_0, float *const tensor_1, float *const tensor_2, float *const tensor_3, const long size_d1, const long size_d2, const long stride_0) {
  {
    const long tw_n0 = size_d1;
    const long tw_n1 = size_d2;
    float *tw_p0 = tensor_0;
    const long tw_n2 = stride_0;
    float *tw_p1 = tensor_1;
    float *tw_p2 = tensor_2;
    float *tw_p3 = tensor_3;
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
    const float32x16 tw_c9 = in_16_lanes((-0x1.ap6f));
    const float32x16 tw_c10 = in_16_lanes(0x1.64p6f);
    const float32x16 tw_c11 = in_16_lanes(0x1.8p23f);
    const float32x16 tw_c12 = in_16_lanes((-0x1.62e4p-1f));
    const float32x16 tw_c13 = in_16_lanes((-0x1.7f7d1cp-20f));
    const float32x16 tw_c14 = in_16_lanes(0x1.0edad8p-7f);
    const float32x16 tw_c15 = in_16_lanes(0x1.57425ap-5f);
    const float32x16 tw_c16 = in_16_lanes(0x1.555d0ap-3f);
    const float32x16 tw_c17 = in_16_lanes(0x1.fffdacp-2f);
    const float32x16 tw_c18 = in_16_lanes(0x1.ffffeep-1f);
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
        (void)tw_v8;
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
      const float tw_v38_x = tw_p1[tw_i1];
      float32x16 tw_v38 = (float32x16)in_16_lanes(tw_v38_x);
      keep_v(tw_v38);
      float32x16 tw_v39;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v39) : "v"(tw_v38), "v"(tw_v34));
      const float tw_v40 = tw_v39[0];
      tw_p1[tw_i1] = tw_v40;
      const float tw_v41_x = tw_p1[tw_i1 + 1];
      float32x16 tw_v41 = (float32x16)in_16_lanes(tw_v41_x);
      keep_v(tw_v41);
      float32x16 tw_v42;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v42) : "v"(tw_v41), "v"(tw_v35));
      const float tw_v43 = tw_v42[0];
      tw_p1[tw_i1 + 1] = tw_v43;
      const float tw_v44_x = tw_p1[tw_i1 + 2];
      float32x16 tw_v44 = (float32x16)in_16_lanes(tw_v44_x);
      keep_v(tw_v44);
      float32x16 tw_v45;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v45) : "v"(tw_v44), "v"(tw_v36));
      const float tw_v46 = tw_v45[0];
      tw_p1[tw_i1 + 2] = tw_v46;
      const float tw_v47_x = tw_p1[tw_i1 + 3];
      float32x16 tw_v47 = (float32x16)in_16_lanes(tw_v47_x);
      keep_v(tw_v47);
      float32x16 tw_v48;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v48) : "v"(tw_v47), "v"(tw_v37));
      const float tw_v49 = tw_v48[0];
      tw_p1[tw_i1 + 3] = tw_v49;
      float32x16 tw_s4 = tw_c1;
      float32x16 tw_s5 = tw_c1;
      float32x16 tw_s6 = tw_c1;
      float32x16 tw_s7 = tw_c1;
      for (long tw_i2_1 = 0; tw_i2_1 < -tw_n_2 + tw_n1; tw_i2_1 += 16) {
        __builtin_prefetch(tw_p0_4_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v50 = *(const float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v51 = tw_v50 - tw_v39;
        const float32x16 tw_v52 = tw_v51 * tw_c2;
        float32x16 tw_v53;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v53) : "v"(tw_v52));
        const float32x16 tw_v54 = fma_float32x16(tw_c3, tw_v53, tw_c4);
        const float32x16 tw_v55 = fma_float32x16(tw_v54, tw_v53, tw_c5);
        const float32x16 tw_v56 = fma_float32x16(tw_v55, tw_v53, tw_c6);
        const float32x16 tw_v57 = fma_float32x16(tw_v56, tw_v53, tw_c7);
        const float32x16 tw_v58 = fma_float32x16(tw_v57, tw_v53, tw_c8);
        float32x16 tw_v59;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v59) : "v"(tw_v58), "v"(tw_v52));
        *(float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n2) = tw_v59;
        const float32x16 tw_v60 = tw_s4 + tw_v59;
        tw_s4 = tw_v60;
        __builtin_prefetch(tw_p0_4_n2 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v61 = *(const float32x16_u *)(tw_p0 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v62 = tw_v61 - tw_v42;
        const float32x16 tw_v63 = tw_v62 * tw_c2;
        float32x16 tw_v64;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v64) : "v"(tw_v63));
        const float32x16 tw_v65 = fma_float32x16(tw_c3, tw_v64, tw_c4);
        const float32x16 tw_v66 = fma_float32x16(tw_v65, tw_v64, tw_c5);
        const float32x16 tw_v67 = fma_float32x16(tw_v66, tw_v64, tw_c6);
        const float32x16 tw_v68 = fma_float32x16(tw_v67, tw_v64, tw_c7);
        const float32x16 tw_v69 = fma_float32x16(tw_v68, tw_v64, tw_c8);
        float32x16 tw_v70;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v70) : "v"(tw_v69), "v"(tw_v63));
        *(float32x16_u *)(tw_p0 + tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v70;
        const float32x16 tw_v71 = tw_s5 + tw_v70;
        tw_s5 = tw_v71;
        __builtin_prefetch(tw_p0_4_n2 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v72 = *(const float32x16_u *)(tw_p0 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v73 = tw_v72 - tw_v45;
        const float32x16 tw_v74 = tw_v73 * tw_c2;
        float32x16 tw_v75;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v75) : "v"(tw_v74));
        const float32x16 tw_v76 = fma_float32x16(tw_c3, tw_v75, tw_c4);
        const float32x16 tw_v77 = fma_float32x16(tw_v76, tw_v75, tw_c5);
        const float32x16 tw_v78 = fma_float32x16(tw_v77, tw_v75, tw_c6);
        const float32x16 tw_v79 = fma_float32x16(tw_v78, tw_v75, tw_c7);
        const float32x16 tw_v80 = fma_float32x16(tw_v79, tw_v75, tw_c8);
        float32x16 tw_v81;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v81) : "v"(tw_v80), "v"(tw_v74));
        *(float32x16_u *)(tw_p0 + 2 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v81;
        const float32x16 tw_v82 = tw_s6 + tw_v81;
        tw_s6 = tw_v82;
        __builtin_prefetch(tw_p0_4_n2 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v83 = *(const float32x16_u *)(tw_p0 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2);
        const float32x16 tw_v84 = tw_v83 - tw_v48;
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
        *(float32x16_u *)(tw_p0 + 3 * tw_n2 + tw_i2_1 + tw_i1 * tw_n2) = tw_v92;
        const float32x16 tw_v93 = tw_s7 + tw_v92;
        tw_s7 = tw_v93;
      }
      if (tw_n_2) {
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2);
        const long tw_v94_n = tw_n_2;
        const unsigned short tw_v94 = (unsigned short)(tw_v94_n >= 16 ? 0xffff : tw_v94_n > 0 ? (1u << tw_v94_n) - 1 : 0);
        (void)tw_v94;
        float32x16 tw_v95;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v95) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v94));
        const float32x16 tw_v96 = tw_v95 - tw_v39;
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
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v104), "Yk"(tw_v94));
        float32x16 tw_v105;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v105) : "v"(tw_v104), "v"(tw_c1), "Yk"(tw_v94));
        const float32x16 tw_v106 = tw_s4 + tw_v105;
        tw_s4 = tw_v106;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v107;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v107) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v94));
        const float32x16 tw_v108 = tw_v107 - tw_v42;
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
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v116), "Yk"(tw_v94));
        float32x16 tw_v117;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v117) : "v"(tw_v116), "v"(tw_c1), "Yk"(tw_v94));
        const float32x16 tw_v118 = tw_s5 + tw_v117;
        tw_s5 = tw_v118;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v119;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v119) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v94));
        const float32x16 tw_v120 = tw_v119 - tw_v45;
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
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + 2 * tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v128), "Yk"(tw_v94));
        float32x16 tw_v129;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v129) : "v"(tw_v128), "v"(tw_c1), "Yk"(tw_v94));
        const float32x16 tw_v130 = tw_s6 + tw_v129;
        tw_s6 = tw_v130;
        __builtin_prefetch(tw_p0_4_n2 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2);
        float32x16 tw_v131;
        __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v131) : "m"(*(const float32x16_u *)(tw_p0 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2)), "Yk"(tw_v94));
        const float32x16 tw_v132 = tw_v131 - tw_v48;
        const float32x16 tw_v133 = tw_v132 * tw_c2;
        float32x16 tw_v134;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v134) : "v"(tw_v133));
        const float32x16 tw_v135 = fma_float32x16(tw_c3, tw_v134, tw_c4);
        const float32x16 tw_v136 = fma_float32x16(tw_v135, tw_v134, tw_c5);
        const float32x16 tw_v137 = fma_float32x16(tw_v136, tw_v134, tw_c6);
        const float32x16 tw_v138 = fma_float32x16(tw_v137, tw_v134, tw_c7);
        const float32x16 tw_v139 = fma_float32x16(tw_v138, tw_v134, tw_c8);
        float32x16 tw_v140;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v140) : "v"(tw_v139), "v"(tw_v133));
        __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_2 + 3 * tw_n2 + tw_n1 + tw_i1 * tw_n2)) : "v"(tw_v140), "Yk"(tw_v94));
        float32x16 tw_v141;
        __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v141) : "v"(tw_v140), "v"(tw_c1), "Yk"(tw_v94));
        const float32x16 tw_v142 = tw_s7 + tw_v141;
        tw_s7 = tw_v142;
      }
      const float32x16 tw_v143 = __builtin_shufflevector(tw_s4, tw_s5, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v144 = __builtin_shufflevector(tw_s4, tw_s5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v145 = tw_v143 + tw_v144;
      const float32x16 tw_v146 = __builtin_shufflevector(tw_s6, tw_s7, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v147 = __builtin_shufflevector(tw_s6, tw_s7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v148 = tw_v146 + tw_v147;
      const float32x16 tw_v149 = __builtin_shufflevector(tw_v145, tw_v148, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      const float32x16 tw_v150 = __builtin_shufflevector(tw_v145, tw_v148, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
      const float32x16 tw_v151 = tw_v149 + tw_v150;
      const float32x16 tw_v152 = __builtin_shufflevector(tw_v151, tw_v151, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      const float32x16 tw_v153 = tw_v151 + tw_v152;
      const float32x16 tw_v154 = __builtin_shufflevector(tw_v153, tw_v153, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      const float32x16 tw_v155 = tw_v153 + tw_v154;
      const float32x16 tw_v156 = __builtin_shufflevector(tw_v155, tw_v155, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const float32x16 tw_v157 = __builtin_shufflevector(tw_v155, tw_v155, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
      const float32x16 tw_v158 = __builtin_shufflevector(tw_v155, tw_v155, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
      const float32x16 tw_v159 = __builtin_shufflevector(tw_v155, tw_v155, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
      const float tw_v160_x = tw_p2[tw_i1];
      const float32x16 tw_v160 = (float32x16)in_16_lanes(tw_v160_x);
      const float32x16 tw_v161 = tw_v38 - tw_v39;
      float32x16 tw_v162;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v162) : "v"(tw_c9), "v"(tw_v161));
      float32x16 tw_v163;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v163) : "v"(tw_c10), "v"(tw_v162));
      const float32x16 tw_v164 = fma_float32x16(tw_v163, tw_c2, tw_c11);
      const float32x16 tw_v165 = tw_v164 - tw_c11;
      const int32x16 tw_v166 = (int32x16)tw_v164;
      const float32x16 tw_v167 = fma_float32x16(tw_v165, tw_c12, tw_v163);
      const float32x16 tw_v168 = fma_float32x16(tw_v165, tw_c13, tw_v167);
      const float32x16 tw_v169 = fma_float32x16(tw_c14, tw_v168, tw_c15);
      const float32x16 tw_v170 = fma_float32x16(tw_v169, tw_v168, tw_c16);
      const float32x16 tw_v171 = fma_float32x16(tw_v170, tw_v168, tw_c17);
      const float32x16 tw_v172 = fma_float32x16(tw_v171, tw_v168, tw_c18);
      const float32x16 tw_v173 = fma_float32x16(tw_v172, tw_v168, tw_c8);
      float32x16 tw_v174;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v174) : "v"(tw_v173), "v"(tw_v165));
      const float32x16 tw_v175 = tw_v160 * tw_v174;
      const float32x16 tw_v176 = tw_v175 + tw_v156;
      const float tw_v177 = tw_v176[0];
      tw_p2[tw_i1] = tw_v177;
      const float tw_v178 = tw_v174[0];
      tw_p3[tw_i1] = tw_v178;
      const float tw_v179_x = tw_p2[tw_i1 + 1];
      const float32x16 tw_v179 = (float32x16)in_16_lanes(tw_v179_x);
      const float32x16 tw_v180 = tw_v41 - tw_v42;
      float32x16 tw_v181;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v181) : "v"(tw_c9), "v"(tw_v180));
      float32x16 tw_v182;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v182) : "v"(tw_c10), "v"(tw_v181));
      const float32x16 tw_v183 = fma_float32x16(tw_v182, tw_c2, tw_c11);
      const float32x16 tw_v184 = tw_v183 - tw_c11;
      const int32x16 tw_v185 = (int32x16)tw_v183;
      const float32x16 tw_v186 = fma_float32x16(tw_v184, tw_c12, tw_v182);
      const float32x16 tw_v187 = fma_float32x16(tw_v184, tw_c13, tw_v186);
      const float32x16 tw_v188 = fma_float32x16(tw_c14, tw_v187, tw_c15);
      const float32x16 tw_v189 = fma_float32x16(tw_v188, tw_v187, tw_c16);
      const float32x16 tw_v190 = fma_float32x16(tw_v189, tw_v187, tw_c17);
      const float32x16 tw_v191 = fma_float32x16(tw_v190, tw_v187, tw_c18);
      const float32x16 tw_v192 = fma_float32x16(tw_v191, tw_v187, tw_c8);
      float32x16 tw_v193;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v193) : "v"(tw_v192), "v"(tw_v184));
      const float32x16 tw_v194 = tw_v179 * tw_v193;
      const float32x16 tw_v195 = tw_v194 + tw_v157;
      const float tw_v196 = tw_v195[0];
      tw_p2[tw_i1 + 1] = tw_v196;
      const float tw_v197 = tw_v193[0];
      tw_p3[tw_i1 + 1] = tw_v197;
      const float tw_v198_x = tw_p2[tw_i1 + 2];
      const float32x16 tw_v198 = (float32x16)in_16_lanes(tw_v198_x);
      const float32x16 tw_v199 = tw_v44 - tw_v45;
      float32x16 tw_v200;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v200) : "v"(tw_c9), "v"(tw_v199));
      float32x16 tw_v201;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v201) : "v"(tw_c10), "v"(tw_v200));
      const float32x16 tw_v202 = fma_float32x16(tw_v201, tw_c2, tw_c11);
      const float32x16 tw_v203 = tw_v202 - tw_c11;
      const int32x16 tw_v204 = (int32x16)tw_v202;
      const float32x16 tw_v205 = fma_float32x16(tw_v203, tw_c12, tw_v201);
      const float32x16 tw_v206 = fma_float32x16(tw_v203, tw_c13, tw_v205);
      const float32x16 tw_v207 = fma_float32x16(tw_c14, tw_v206, tw_c15);
      const float32x16 tw_v208 = fma_float32x16(tw_v207, tw_v206, tw_c16);
      const float32x16 tw_v209 = fma_float32x16(tw_v208, tw_v206, tw_c17);
      const float32x16 tw_v210 = fma_float32x16(tw_v209, tw_v206, tw_c18);
      const float32x16 tw_v211 = fma_float32x16(tw_v210, tw_v206, tw_c8);
      float32x16 tw_v212;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v212) : "v"(tw_v211), "v"(tw_v203));
      const float32x16 tw_v213 = tw_v198 * tw_v212;
      const float32x16 tw_v214 = tw_v213 + tw_v158;
      const float tw_v215 = tw_v214[0];
      tw_p2[tw_i1 + 2] = tw_v215;
      const float tw_v216 = tw_v212[0];
      tw_p3[tw_i1 + 2] = tw_v216;
      const float tw_v217_x = tw_p2[tw_i1 + 3];
      const float32x16 tw_v217 = (float32x16)in_16_lanes(tw_v217_x);
      const float32x16 tw_v218 = tw_v47 - tw_v48;
      float32x16 tw_v219;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v219) : "v"(tw_c9), "v"(tw_v218));
      float32x16 tw_v220;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v220) : "v"(tw_c10), "v"(tw_v219));
      const float32x16 tw_v221 = fma_float32x16(tw_v220, tw_c2, tw_c11);
      const float32x16 tw_v222 = tw_v221 - tw_c11;
      const int32x16 tw_v223 = (int32x16)tw_v221;
      const float32x16 tw_v224 = fma_float32x16(tw_v222, tw_c12, tw_v220);
      const float32x16 tw_v225 = fma_float32x16(tw_v222, tw_c13, tw_v224);
      const float32x16 tw_v226 = fma_float32x16(tw_c14, tw_v225, tw_c15);
      const float32x16 tw_v227 = fma_float32x16(tw_v226, tw_v225, tw_c16);
      const float32x16 tw_v228 = fma_float32x16(tw_v227, tw_v225, tw_c17);
      const float32x16 tw_v229 = fma_float32x16(tw_v228, tw_v225, tw_c18);
      const float32x16 tw_v230 = fma_float32x16(tw_v229, tw_v225, tw_c8);
      float32x16 tw_v231;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v231) : "v"(tw_v230), "v"(tw_v222));
      const float32x16 tw_v232 = tw_v217 * tw_v231;
      const float32x16 tw_v233 = tw_v232 + tw_v159;
      const float tw_v234 = tw_v233[0];
      tw_p2[tw_i1 + 3] = tw_v234;
      const float tw_v235 = tw_v231[0];
      tw_p3[tw_i1 + 3] = tw_v235;
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

static void map_b30e2fdd(float *const tensor_0, const float *const tensor_1, const long size_d1, const long stride_0) {
  {
    const long tw_n0 = size_d1;
    float *tw_p0 = tensor_0;
    const long tw_n1 = stride_0;
    const float *tw_p1 = tensor_1;
    for (long tw_i1 = 0; tw_i1 < tw_n0; tw_i1++) {
      for (long tw_i2 = 0; tw_i2 < 49; tw_i2 += 16) {
        const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n1);
        const float tw_v1_x = tw_p1[tw_i1];
        const float32x16 tw_v1 = (float32x16)in_16_lanes(tw_v1_x);
        const float32x16 tw_v2 = tw_v0 / tw_v1;
        *(float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n1) = tw_v2;
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
          const long tw_n0 = size_m;
          float *tw_p0 = running_P_row_max;
          const float32x16 tw_c0 = in_16_lanes((-0x1.fffffep127f));
          for (long tw_i1 = 0; tw_i1 < tw_n0 - 15; tw_i1 += 16) {
            *(float32x16_u *)(tw_p0 + tw_i1) = tw_c0;
          }
          const long tw_n_1 = (tw_n0) % (16) + ((tw_n0) % (16) < 0 ? (16) : 0);
          if (tw_n_1) {
            const long tw_v0_n = tw_n_1;
            const unsigned short tw_v0 = (unsigned short)(tw_v0_n >= 16 ? 0xffff : tw_v0_n > 0 ? (1u << tw_v0_n) - 1 : 0);
            (void)tw_v0;
            __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_1 + tw_n0)) : "v"(tw_c0), "Yk"(tw_v0));
          }
        }
        /* weights_row_sum: start */
        {
          const long tw_n0 = size_m;
          float *tw_p0 = running_P_row_sum;
          const float32x16 tw_c0 = in_16_lanes(0x0p0f);
          for (long tw_i1 = 0; tw_i1 < tw_n0 - 15; tw_i1 += 16) {
            *(float32x16_u *)(tw_p0 + tw_i1) = tw_c0;
          }
          const long tw_n_1 = (tw_n0) % (16) + ((tw_n0) % (16) < 0 ? (16) : 0);
          if (tw_n_1) {
            const long tw_v0_n = tw_n_1;
            const unsigned short tw_v0 = (unsigned short)(tw_v0_n >= 16 ? 0xffff : tw_v0_n > 0 ? (1u << tw_v0_n) - 1 : 0);
            (void)tw_v0;
            __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_1 + tw_n0)) : "v"(tw_c0), "Yk"(tw_v0));
          }
        }
      }
      /* weights: softmax */
      rows_39e19b7c(C, running_P_row_max, running_P_row_sum, running_P_factor, size_m, 128, 144);
      if (at_l != 0) {
        /* out_multiply: correct */
        map_8bf59a1a(E + at_b * stride_E_0 + at_m * stride_E_1, running_P_factor, size_m, stride_E_1);
      }
      matmul_avx512_f32_6x64_tiles_8_24x64_n64_k128_ar144_ac1_bp64(size_m, C, D + at_b * stride_D_0 + at_l * stride_D_1, stride_D_1, E + at_b * stride_E_0 + at_m * stride_E_1, stride_E_1, at_l != 0);
      if ((at_l + 128) == 512) {
        /* out_divide: correct */
        map_b30e2fdd(E + at_b * stride_E_0 + at_m * stride_E_1, running_P_row_sum, size_m, stride_E_1);
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
