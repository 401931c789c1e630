static void rows_3f2fa6e6(float *const tensor_0, float *const tensor_1, const long size_d1, const long size_d2, const long stride_0) {
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
        (void)tw_v82;
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
      pack_2ecf31f4(B + at_b * stride_B_0, packed_B, stride_B_1, stride_B_2, 64, 512, 4096);
      pack_2ecf31f4(D + at_b * stride_D_0, packed_D, stride_D_1, stride_D_2, 512, 64, 32768);
    }
    const long at_m = (block % 22) * 24;
    const long size_m = tw_min(24, 512 - at_m);
    matmul_avx512_f32_6x64_tiles_8_24x512_n512_k64_bp4096_br64_cr528_a0(size_m, A + at_b * stride_A_0 + at_m * stride_A_1, stride_A_1, stride_A_2, packed_B, C);
    /* weights: softmax */
    rows_3f2fa6e6(C, running_P_inverse, size_m, 512, 528);
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
