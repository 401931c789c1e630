static void rows_9710c64e(float *const tensor_0, float *const tensor_1, float *const tensor_2, float *const tensor_3, const long size_d1, const long stride_0) {
  {
    const long tw_n0 = size_d1;
    float *tw_p0 = tensor_0;
    const long tw_n1 = stride_0;
    float *tw_p1 = tensor_1;
    float *tw_p2 = tensor_2;
    float *tw_p3 = tensor_3;
    const float32x16 tw_c0 = in_16_lanes((-0x1.fffffep127f));
    const float32x16 tw_c1 = in_16_lanes(0x0p0f);
    float *tw_p0_4_n1 = tw_p0 + 4 * tw_n1;
    __asm__("" : "+r"(tw_p0_4_n1));
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
      for (long tw_i2 = 0; tw_i2 < 64; tw_i2 += 16) {
        const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n1);
        float32x16 tw_v1;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v1) : "v"(tw_s0), "v"(tw_v0));
        tw_s0 = tw_v1;
        const float32x16 tw_v2 = *(const float32x16_u *)(tw_p0 + tw_n1 + tw_i2 + tw_i1 * tw_n1);
        float32x16 tw_v3;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v3) : "v"(tw_s1), "v"(tw_v2));
        tw_s1 = tw_v3;
        const float32x16 tw_v4 = *(const float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2 + tw_i1 * tw_n1);
        float32x16 tw_v5;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v5) : "v"(tw_s2), "v"(tw_v4));
        tw_s2 = tw_v5;
        const float32x16 tw_v6 = *(const float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2 + tw_i1 * tw_n1);
        float32x16 tw_v7;
        __asm__("vmaxps %2, %1, %0" : "=v"(tw_v7) : "v"(tw_s3), "v"(tw_v6));
        tw_s3 = tw_v7;
      }
      const float32x16 tw_v8 = __builtin_shufflevector(tw_s0, tw_s1, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v9 = __builtin_shufflevector(tw_s0, tw_s1, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      float32x16 tw_v10;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v10) : "v"(tw_v8), "v"(tw_v9));
      const float32x16 tw_v11 = __builtin_shufflevector(tw_s2, tw_s3, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v12 = __builtin_shufflevector(tw_s2, tw_s3, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      float32x16 tw_v13;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v13) : "v"(tw_v11), "v"(tw_v12));
      const float32x16 tw_v14 = __builtin_shufflevector(tw_v10, tw_v13, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      const float32x16 tw_v15 = __builtin_shufflevector(tw_v10, tw_v13, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
      float32x16 tw_v16;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v16) : "v"(tw_v14), "v"(tw_v15));
      const float32x16 tw_v17 = __builtin_shufflevector(tw_v16, tw_v16, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      float32x16 tw_v18;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v18) : "v"(tw_v16), "v"(tw_v17));
      const float32x16 tw_v19 = __builtin_shufflevector(tw_v18, tw_v18, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      float32x16 tw_v20;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v20) : "v"(tw_v18), "v"(tw_v19));
      const float32x16 tw_v21 = __builtin_shufflevector(tw_v20, tw_v20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const float32x16 tw_v22 = __builtin_shufflevector(tw_v20, tw_v20, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
      const float32x16 tw_v23 = __builtin_shufflevector(tw_v20, tw_v20, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
      const float32x16 tw_v24 = __builtin_shufflevector(tw_v20, tw_v20, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
      const float tw_v25_x = tw_p1[tw_i1];
      float32x16 tw_v25 = (float32x16)in_16_lanes(tw_v25_x);
      keep_v(tw_v25);
      float32x16 tw_v26;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v26) : "v"(tw_v25), "v"(tw_v21));
      const float tw_v27 = tw_v26[0];
      tw_p1[tw_i1] = tw_v27;
      const float tw_v28_x = tw_p1[tw_i1 + 1];
      float32x16 tw_v28 = (float32x16)in_16_lanes(tw_v28_x);
      keep_v(tw_v28);
      float32x16 tw_v29;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v29) : "v"(tw_v28), "v"(tw_v22));
      const float tw_v30 = tw_v29[0];
      tw_p1[tw_i1 + 1] = tw_v30;
      const float tw_v31_x = tw_p1[tw_i1 + 2];
      float32x16 tw_v31 = (float32x16)in_16_lanes(tw_v31_x);
      keep_v(tw_v31);
      float32x16 tw_v32;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v32) : "v"(tw_v31), "v"(tw_v23));
      const float tw_v33 = tw_v32[0];
      tw_p1[tw_i1 + 2] = tw_v33;
      const float tw_v34_x = tw_p1[tw_i1 + 3];
      float32x16 tw_v34 = (float32x16)in_16_lanes(tw_v34_x);
      keep_v(tw_v34);
      float32x16 tw_v35;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v35) : "v"(tw_v34), "v"(tw_v24));
      const float tw_v36 = tw_v35[0];
      tw_p1[tw_i1 + 3] = tw_v36;
      float32x16 tw_s4 = tw_c1;
      float32x16 tw_s5 = tw_c1;
      float32x16 tw_s6 = tw_c1;
      float32x16 tw_s7 = tw_c1;
      for (long tw_i2_1 = 0; tw_i2_1 < 64; tw_i2_1 += 16) {
        __builtin_prefetch(tw_p0_4_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v37 = *(const float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v38 = tw_v37 - tw_v26;
        const float32x16 tw_v39 = tw_v38 * tw_c2;
        float32x16 tw_v40;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v40) : "v"(tw_v39));
        const float32x16 tw_v41 = fma_float32x16(tw_c3, tw_v40, tw_c4);
        const float32x16 tw_v42 = fma_float32x16(tw_v41, tw_v40, tw_c5);
        const float32x16 tw_v43 = fma_float32x16(tw_v42, tw_v40, tw_c6);
        const float32x16 tw_v44 = fma_float32x16(tw_v43, tw_v40, tw_c7);
        const float32x16 tw_v45 = fma_float32x16(tw_v44, tw_v40, tw_c8);
        float32x16 tw_v46;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v46) : "v"(tw_v45), "v"(tw_v39));
        *(float32x16_u *)(tw_p0 + tw_i2_1 + tw_i1 * tw_n1) = tw_v46;
        const float32x16 tw_v47 = tw_s4 + tw_v46;
        tw_s4 = tw_v47;
        __builtin_prefetch(tw_p0_4_n1 + tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v48 = *(const float32x16_u *)(tw_p0 + tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v49 = tw_v48 - tw_v29;
        const float32x16 tw_v50 = tw_v49 * tw_c2;
        float32x16 tw_v51;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v51) : "v"(tw_v50));
        const float32x16 tw_v52 = fma_float32x16(tw_c3, tw_v51, tw_c4);
        const float32x16 tw_v53 = fma_float32x16(tw_v52, tw_v51, tw_c5);
        const float32x16 tw_v54 = fma_float32x16(tw_v53, tw_v51, tw_c6);
        const float32x16 tw_v55 = fma_float32x16(tw_v54, tw_v51, tw_c7);
        const float32x16 tw_v56 = fma_float32x16(tw_v55, tw_v51, tw_c8);
        float32x16 tw_v57;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v57) : "v"(tw_v56), "v"(tw_v50));
        *(float32x16_u *)(tw_p0 + tw_n1 + tw_i2_1 + tw_i1 * tw_n1) = tw_v57;
        const float32x16 tw_v58 = tw_s5 + tw_v57;
        tw_s5 = tw_v58;
        __builtin_prefetch(tw_p0_4_n1 + 2 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v59 = *(const float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v60 = tw_v59 - tw_v32;
        const float32x16 tw_v61 = tw_v60 * tw_c2;
        float32x16 tw_v62;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v62) : "v"(tw_v61));
        const float32x16 tw_v63 = fma_float32x16(tw_c3, tw_v62, tw_c4);
        const float32x16 tw_v64 = fma_float32x16(tw_v63, tw_v62, tw_c5);
        const float32x16 tw_v65 = fma_float32x16(tw_v64, tw_v62, tw_c6);
        const float32x16 tw_v66 = fma_float32x16(tw_v65, tw_v62, tw_c7);
        const float32x16 tw_v67 = fma_float32x16(tw_v66, tw_v62, tw_c8);
        float32x16 tw_v68;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v68) : "v"(tw_v67), "v"(tw_v61));
        *(float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1) = tw_v68;
        const float32x16 tw_v69 = tw_s6 + tw_v68;
        tw_s6 = tw_v69;
        __builtin_prefetch(tw_p0_4_n1 + 3 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v70 = *(const float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1);
        const float32x16 tw_v71 = tw_v70 - tw_v35;
        const float32x16 tw_v72 = tw_v71 * tw_c2;
        float32x16 tw_v73;
        __asm__("vreduceps $9, %1, %0" : "=v"(tw_v73) : "v"(tw_v72));
        const float32x16 tw_v74 = fma_float32x16(tw_c3, tw_v73, tw_c4);
        const float32x16 tw_v75 = fma_float32x16(tw_v74, tw_v73, tw_c5);
        const float32x16 tw_v76 = fma_float32x16(tw_v75, tw_v73, tw_c6);
        const float32x16 tw_v77 = fma_float32x16(tw_v76, tw_v73, tw_c7);
        const float32x16 tw_v78 = fma_float32x16(tw_v77, tw_v73, tw_c8);
        float32x16 tw_v79;
        __asm__("vscalefps %2, %1, %0" : "=v"(tw_v79) : "v"(tw_v78), "v"(tw_v72));
        *(float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2_1 + tw_i1 * tw_n1) = tw_v79;
        const float32x16 tw_v80 = tw_s7 + tw_v79;
        tw_s7 = tw_v80;
      }
      const float32x16 tw_v81 = __builtin_shufflevector(tw_s4, tw_s5, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v82 = __builtin_shufflevector(tw_s4, tw_s5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v83 = tw_v81 + tw_v82;
      const float32x16 tw_v84 = __builtin_shufflevector(tw_s6, tw_s7, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
      const float32x16 tw_v85 = __builtin_shufflevector(tw_s6, tw_s7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
      const float32x16 tw_v86 = tw_v84 + tw_v85;
      const float32x16 tw_v87 = __builtin_shufflevector(tw_v83, tw_v86, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      const float32x16 tw_v88 = __builtin_shufflevector(tw_v83, tw_v86, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
      const float32x16 tw_v89 = tw_v87 + tw_v88;
      const float32x16 tw_v90 = __builtin_shufflevector(tw_v89, tw_v89, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      const float32x16 tw_v91 = tw_v89 + tw_v90;
      const float32x16 tw_v92 = __builtin_shufflevector(tw_v91, tw_v91, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
      const float32x16 tw_v93 = tw_v91 + tw_v92;
      const float32x16 tw_v94 = __builtin_shufflevector(tw_v93, tw_v93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      const float32x16 tw_v95 = __builtin_shufflevector(tw_v93, tw_v93, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
      const float32x16 tw_v96 = __builtin_shufflevector(tw_v93, tw_v93, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
      const float32x16 tw_v97 = __builtin_shufflevector(tw_v93, tw_v93, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
      const float tw_v98_x = tw_p2[tw_i1];
      const float32x16 tw_v98 = (float32x16)in_16_lanes(tw_v98_x);
      const float32x16 tw_v99 = tw_v25 - tw_v26;
      float32x16 tw_v100;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v100) : "v"(tw_c9), "v"(tw_v99));
      float32x16 tw_v101;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v101) : "v"(tw_c10), "v"(tw_v100));
      const float32x16 tw_v102 = fma_float32x16(tw_v101, tw_c2, tw_c11);
      const float32x16 tw_v103 = tw_v102 - tw_c11;
      const int32x16 tw_v104 = (int32x16)tw_v102;
      const float32x16 tw_v105 = fma_float32x16(tw_v103, tw_c12, tw_v101);
      const float32x16 tw_v106 = fma_float32x16(tw_v103, tw_c13, tw_v105);
      const float32x16 tw_v107 = fma_float32x16(tw_c14, tw_v106, tw_c15);
      const float32x16 tw_v108 = fma_float32x16(tw_v107, tw_v106, tw_c16);
      const float32x16 tw_v109 = fma_float32x16(tw_v108, tw_v106, tw_c17);
      const float32x16 tw_v110 = fma_float32x16(tw_v109, tw_v106, tw_c18);
      const float32x16 tw_v111 = fma_float32x16(tw_v110, tw_v106, tw_c8);
      float32x16 tw_v112;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v112) : "v"(tw_v111), "v"(tw_v103));
      const float32x16 tw_v113 = tw_v98 * tw_v112;
      const float32x16 tw_v114 = tw_v113 + tw_v94;
      const float tw_v115 = tw_v114[0];
      tw_p2[tw_i1] = tw_v115;
      const float tw_v116 = tw_v112[0];
      tw_p3[tw_i1] = tw_v116;
      const float tw_v117_x = tw_p2[tw_i1 + 1];
      const float32x16 tw_v117 = (float32x16)in_16_lanes(tw_v117_x);
      const float32x16 tw_v118 = tw_v28 - tw_v29;
      float32x16 tw_v119;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v119) : "v"(tw_c9), "v"(tw_v118));
      float32x16 tw_v120;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v120) : "v"(tw_c10), "v"(tw_v119));
      const float32x16 tw_v121 = fma_float32x16(tw_v120, tw_c2, tw_c11);
      const float32x16 tw_v122 = tw_v121 - tw_c11;
      const int32x16 tw_v123 = (int32x16)tw_v121;
      const float32x16 tw_v124 = fma_float32x16(tw_v122, tw_c12, tw_v120);
      const float32x16 tw_v125 = fma_float32x16(tw_v122, tw_c13, tw_v124);
      const float32x16 tw_v126 = fma_float32x16(tw_c14, tw_v125, tw_c15);
      const float32x16 tw_v127 = fma_float32x16(tw_v126, tw_v125, tw_c16);
      const float32x16 tw_v128 = fma_float32x16(tw_v127, tw_v125, tw_c17);
      const float32x16 tw_v129 = fma_float32x16(tw_v128, tw_v125, tw_c18);
      const float32x16 tw_v130 = fma_float32x16(tw_v129, tw_v125, tw_c8);
      float32x16 tw_v131;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v131) : "v"(tw_v130), "v"(tw_v122));
      const float32x16 tw_v132 = tw_v117 * tw_v131;
      const float32x16 tw_v133 = tw_v132 + tw_v95;
      const float tw_v134 = tw_v133[0];
      tw_p2[tw_i1 + 1] = tw_v134;
      const float tw_v135 = tw_v131[0];
      tw_p3[tw_i1 + 1] = tw_v135;
      const float tw_v136_x = tw_p2[tw_i1 + 2];
      const float32x16 tw_v136 = (float32x16)in_16_lanes(tw_v136_x);
      const float32x16 tw_v137 = tw_v31 - tw_v32;
      float32x16 tw_v138;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v138) : "v"(tw_c9), "v"(tw_v137));
      float32x16 tw_v139;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v139) : "v"(tw_c10), "v"(tw_v138));
      const float32x16 tw_v140 = fma_float32x16(tw_v139, tw_c2, tw_c11);
      const float32x16 tw_v141 = tw_v140 - tw_c11;
      const int32x16 tw_v142 = (int32x16)tw_v140;
      const float32x16 tw_v143 = fma_float32x16(tw_v141, tw_c12, tw_v139);
      const float32x16 tw_v144 = fma_float32x16(tw_v141, tw_c13, tw_v143);
      const float32x16 tw_v145 = fma_float32x16(tw_c14, tw_v144, tw_c15);
      const float32x16 tw_v146 = fma_float32x16(tw_v145, tw_v144, tw_c16);
      const float32x16 tw_v147 = fma_float32x16(tw_v146, tw_v144, tw_c17);
      const float32x16 tw_v148 = fma_float32x16(tw_v147, tw_v144, tw_c18);
      const float32x16 tw_v149 = fma_float32x16(tw_v148, tw_v144, tw_c8);
      float32x16 tw_v150;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v150) : "v"(tw_v149), "v"(tw_v141));
      const float32x16 tw_v151 = tw_v136 * tw_v150;
      const float32x16 tw_v152 = tw_v151 + tw_v96;
      const float tw_v153 = tw_v152[0];
      tw_p2[tw_i1 + 2] = tw_v153;
      const float tw_v154 = tw_v150[0];
      tw_p3[tw_i1 + 2] = tw_v154;
      const float tw_v155_x = tw_p2[tw_i1 + 3];
      const float32x16 tw_v155 = (float32x16)in_16_lanes(tw_v155_x);
      const float32x16 tw_v156 = tw_v34 - tw_v35;
      float32x16 tw_v157;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v157) : "v"(tw_c9), "v"(tw_v156));
      float32x16 tw_v158;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v158) : "v"(tw_c10), "v"(tw_v157));
      const float32x16 tw_v159 = fma_float32x16(tw_v158, tw_c2, tw_c11);
      const float32x16 tw_v160 = tw_v159 - tw_c11;
      const int32x16 tw_v161 = (int32x16)tw_v159;
      const float32x16 tw_v162 = fma_float32x16(tw_v160, tw_c12, tw_v158);
      const float32x16 tw_v163 = fma_float32x16(tw_v160, tw_c13, tw_v162);
      const float32x16 tw_v164 = fma_float32x16(tw_c14, tw_v163, tw_c15);
      const float32x16 tw_v165 = fma_float32x16(tw_v164, tw_v163, tw_c16);
      const float32x16 tw_v166 = fma_float32x16(tw_v165, tw_v163, tw_c17);
      const float32x16 tw_v167 = fma_float32x16(tw_v166, tw_v163, tw_c18);
      const float32x16 tw_v168 = fma_float32x16(tw_v167, tw_v163, tw_c8);
      float32x16 tw_v169;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v169) : "v"(tw_v168), "v"(tw_v160));
      const float32x16 tw_v170 = tw_v155 * tw_v169;
      const float32x16 tw_v171 = tw_v170 + tw_v97;
      const float tw_v172 = tw_v171[0];
      tw_p2[tw_i1 + 3] = tw_v172;
      const float tw_v173 = tw_v169[0];
      tw_p3[tw_i1 + 3] = tw_v173;
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

static void rows_075ddf16(const float *const tensor_0, const float *const tensor_1, float *const tensor_2, const float *const tensor_3, const long stride_0) {
  {
    const float *tw_p0 = tensor_0;
    const long tw_n0 = stride_0;
    float *tw_p1 = tensor_2;
    const float32x16 tw_c0 = in_16_lanes((-0x1.fffffep127f));
    float32x16 tw_s0 = tw_c0;
    const unsigned short tw_v0 = (unsigned short)0xff;
    (void)tw_v0;
    float32x16 tw_v1;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v1) : "m"(*(const float32x16_u *)(tw_p0)), "Yk"(tw_v0));
    float32x16 tw_v2;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v2) : "v"(tw_s0), "v"(tw_v1));
    unsigned short tw_v3;
    __asm__("vcmpps $4, %2, %1, %0" : "=k"(tw_v3) : "v"(tw_s0), "v"(tw_s0));
    float32x16 tw_v4;
    __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v4) : "v"(tw_s0), "v"(tw_v2), "Yk"(tw_v3));
    tw_s0 = tw_v4;
    float32x16 tw_v5;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v5) : "m"(*(const float32x16_u *)(tw_p0 + tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v6;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v6) : "v"(tw_s0), "v"(tw_v5));
    unsigned short tw_v7;
    __asm__("vcmpps $4, %2, %1, %0" : "=k"(tw_v7) : "v"(tw_s0), "v"(tw_s0));
    float32x16 tw_v8;
    __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v8) : "v"(tw_s0), "v"(tw_v6), "Yk"(tw_v7));
    tw_s0 = tw_v8;
    float32x16 tw_v9;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v9) : "m"(*(const float32x16_u *)(tw_p0 + 2 * tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v10;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v10) : "v"(tw_s0), "v"(tw_v9));
    unsigned short tw_v11;
    __asm__("vcmpps $4, %2, %1, %0" : "=k"(tw_v11) : "v"(tw_s0), "v"(tw_s0));
    float32x16 tw_v12;
    __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v12) : "v"(tw_s0), "v"(tw_v10), "Yk"(tw_v11));
    tw_s0 = tw_v12;
    float32x16 tw_v13;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v13) : "m"(*(const float32x16_u *)(tw_p0 + 3 * tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v14;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v14) : "v"(tw_s0), "v"(tw_v13));
    unsigned short tw_v15;
    __asm__("vcmpps $4, %2, %1, %0" : "=k"(tw_v15) : "v"(tw_s0), "v"(tw_s0));
    float32x16 tw_v16;
    __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(tw_v16) : "v"(tw_s0), "v"(tw_v14), "Yk"(tw_v15));
    tw_s0 = tw_v16;
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p1)) : "v"(tw_s0), "Yk"(tw_v0));
  }
}

static void rows_8f171dbe(const float *const tensor_0, const float *const tensor_1, const float *const tensor_2, float *const tensor_3, const long stride_0) {
  {
    const float *tw_p0 = tensor_1;
    const long tw_n0 = stride_0;
    const float *tw_p1 = tensor_0;
    const float *tw_p2 = tensor_2;
    float *tw_p3 = tensor_3;
    const float32x16 tw_c0 = in_16_lanes(0x0p0f);
    const float32x16 tw_c1 = in_16_lanes((-0x1.ap6f));
    const float32x16 tw_c2 = in_16_lanes(0x1.64p6f);
    const float32x16 tw_c3 = in_16_lanes(0x1.715476p0f);
    const float32x16 tw_c4 = in_16_lanes(0x1.8p23f);
    const float32x16 tw_c5 = in_16_lanes((-0x1.62e4p-1f));
    const float32x16 tw_c6 = in_16_lanes((-0x1.7f7d1cp-20f));
    const float32x16 tw_c7 = in_16_lanes(0x1.0edad8p-7f);
    const float32x16 tw_c8 = in_16_lanes(0x1.57425ap-5f);
    const float32x16 tw_c9 = in_16_lanes(0x1.555d0ap-3f);
    const float32x16 tw_c10 = in_16_lanes(0x1.fffdacp-2f);
    const float32x16 tw_c11 = in_16_lanes(0x1.ffffeep-1f);
    const float32x16 tw_c12 = in_16_lanes(0x1p0f);
    float32x16 tw_s0 = tw_c0;
    const unsigned short tw_v0 = (unsigned short)0xff;
    (void)tw_v0;
    float32x16 tw_v1;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v1) : "m"(*(const float32x16_u *)(tw_p0)), "Yk"(tw_v0));
    float32x16 tw_v2;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v2) : "m"(*(const float32x16_u *)(tw_p1)), "Yk"(tw_v0));
    float32x16 tw_v3;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v3) : "m"(*(const float32x16_u *)(tw_p2)), "Yk"(tw_v0));
    const float32x16 tw_v4 = tw_v2 - tw_v3;
    float32x16 tw_v5;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v5) : "v"(tw_c1), "v"(tw_v4));
    float32x16 tw_v6;
    __asm__("vminps %2, %1, %0" : "=v"(tw_v6) : "v"(tw_c2), "v"(tw_v5));
    const float32x16 tw_v7 = fma_float32x16(tw_v6, tw_c3, tw_c4);
    const float32x16 tw_v8 = tw_v7 - tw_c4;
    const int32x16 tw_v9 = (int32x16)tw_v7;
    const float32x16 tw_v10 = fma_float32x16(tw_v8, tw_c5, tw_v6);
    const float32x16 tw_v11 = fma_float32x16(tw_v8, tw_c6, tw_v10);
    const float32x16 tw_v12 = fma_float32x16(tw_c7, tw_v11, tw_c8);
    const float32x16 tw_v13 = fma_float32x16(tw_v12, tw_v11, tw_c9);
    const float32x16 tw_v14 = fma_float32x16(tw_v13, tw_v11, tw_c10);
    const float32x16 tw_v15 = fma_float32x16(tw_v14, tw_v11, tw_c11);
    const float32x16 tw_v16 = fma_float32x16(tw_v15, tw_v11, tw_c12);
    float32x16 tw_v17;
    __asm__("vscalefps %2, %1, %0" : "=v"(tw_v17) : "v"(tw_v16), "v"(tw_v8));
    const float32x16 tw_v18 = fma_float32x16(tw_v1, tw_v17, tw_s0);
    tw_s0 = tw_v18;
    float32x16 tw_v19;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v19) : "m"(*(const float32x16_u *)(tw_p0 + tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v20;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v20) : "m"(*(const float32x16_u *)(tw_p1 + tw_n0)), "Yk"(tw_v0));
    const float32x16 tw_v21 = tw_v20 - tw_v3;
    float32x16 tw_v22;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v22) : "v"(tw_c1), "v"(tw_v21));
    float32x16 tw_v23;
    __asm__("vminps %2, %1, %0" : "=v"(tw_v23) : "v"(tw_c2), "v"(tw_v22));
    const float32x16 tw_v24 = fma_float32x16(tw_v23, tw_c3, tw_c4);
    const float32x16 tw_v25 = tw_v24 - tw_c4;
    const int32x16 tw_v26 = (int32x16)tw_v24;
    const float32x16 tw_v27 = fma_float32x16(tw_v25, tw_c5, tw_v23);
    const float32x16 tw_v28 = fma_float32x16(tw_v25, tw_c6, tw_v27);
    const float32x16 tw_v29 = fma_float32x16(tw_c7, tw_v28, tw_c8);
    const float32x16 tw_v30 = fma_float32x16(tw_v29, tw_v28, tw_c9);
    const float32x16 tw_v31 = fma_float32x16(tw_v30, tw_v28, tw_c10);
    const float32x16 tw_v32 = fma_float32x16(tw_v31, tw_v28, tw_c11);
    const float32x16 tw_v33 = fma_float32x16(tw_v32, tw_v28, tw_c12);
    float32x16 tw_v34;
    __asm__("vscalefps %2, %1, %0" : "=v"(tw_v34) : "v"(tw_v33), "v"(tw_v25));
    const float32x16 tw_v35 = fma_float32x16(tw_v19, tw_v34, tw_s0);
    tw_s0 = tw_v35;
    float32x16 tw_v36;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v36) : "m"(*(const float32x16_u *)(tw_p0 + 2 * tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v37;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v37) : "m"(*(const float32x16_u *)(tw_p1 + 2 * tw_n0)), "Yk"(tw_v0));
    const float32x16 tw_v38 = tw_v37 - tw_v3;
    float32x16 tw_v39;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v39) : "v"(tw_c1), "v"(tw_v38));
    float32x16 tw_v40;
    __asm__("vminps %2, %1, %0" : "=v"(tw_v40) : "v"(tw_c2), "v"(tw_v39));
    const float32x16 tw_v41 = fma_float32x16(tw_v40, tw_c3, tw_c4);
    const float32x16 tw_v42 = tw_v41 - tw_c4;
    const int32x16 tw_v43 = (int32x16)tw_v41;
    const float32x16 tw_v44 = fma_float32x16(tw_v42, tw_c5, tw_v40);
    const float32x16 tw_v45 = fma_float32x16(tw_v42, tw_c6, tw_v44);
    const float32x16 tw_v46 = fma_float32x16(tw_c7, tw_v45, tw_c8);
    const float32x16 tw_v47 = fma_float32x16(tw_v46, tw_v45, tw_c9);
    const float32x16 tw_v48 = fma_float32x16(tw_v47, tw_v45, tw_c10);
    const float32x16 tw_v49 = fma_float32x16(tw_v48, tw_v45, tw_c11);
    const float32x16 tw_v50 = fma_float32x16(tw_v49, tw_v45, tw_c12);
    float32x16 tw_v51;
    __asm__("vscalefps %2, %1, %0" : "=v"(tw_v51) : "v"(tw_v50), "v"(tw_v42));
    const float32x16 tw_v52 = fma_float32x16(tw_v36, tw_v51, tw_s0);
    tw_s0 = tw_v52;
    float32x16 tw_v53;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v53) : "m"(*(const float32x16_u *)(tw_p0 + 3 * tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v54;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v54) : "m"(*(const float32x16_u *)(tw_p1 + 3 * tw_n0)), "Yk"(tw_v0));
    const float32x16 tw_v55 = tw_v54 - tw_v3;
    float32x16 tw_v56;
    __asm__("vmaxps %2, %1, %0" : "=v"(tw_v56) : "v"(tw_c1), "v"(tw_v55));
    float32x16 tw_v57;
    __asm__("vminps %2, %1, %0" : "=v"(tw_v57) : "v"(tw_c2), "v"(tw_v56));
    const float32x16 tw_v58 = fma_float32x16(tw_v57, tw_c3, tw_c4);
    const float32x16 tw_v59 = tw_v58 - tw_c4;
    const int32x16 tw_v60 = (int32x16)tw_v58;
    const float32x16 tw_v61 = fma_float32x16(tw_v59, tw_c5, tw_v57);
    const float32x16 tw_v62 = fma_float32x16(tw_v59, tw_c6, tw_v61);
    const float32x16 tw_v63 = fma_float32x16(tw_c7, tw_v62, tw_c8);
    const float32x16 tw_v64 = fma_float32x16(tw_v63, tw_v62, tw_c9);
    const float32x16 tw_v65 = fma_float32x16(tw_v64, tw_v62, tw_c10);
    const float32x16 tw_v66 = fma_float32x16(tw_v65, tw_v62, tw_c11);
    const float32x16 tw_v67 = fma_float32x16(tw_v66, tw_v62, tw_c12);
    float32x16 tw_v68;
    __asm__("vscalefps %2, %1, %0" : "=v"(tw_v68) : "v"(tw_v67), "v"(tw_v59));
    const float32x16 tw_v69 = fma_float32x16(tw_v53, tw_v68, tw_s0);
    tw_s0 = tw_v69;
    __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p3)) : "v"(tw_s0), "Yk"(tw_v0));
  }
}

static void map_cf811aca(const float *const tensor_0, const float *const tensor_1, const float *const tensor_2, const float *const tensor_3, float *const tensor_4, const long stride_0) {
  {
    const float *tw_p0 = tensor_0;
    const long tw_n0 = stride_0;
    const float *tw_p1 = tensor_2;
    const float *tw_p2 = tensor_3;
    float *tw_p3 = tensor_4;
    float tw_tile0[256] __attribute__((aligned(64)));
    const float32x16 tw_c0 = in_16_lanes(0x0p0f);
    const float32x16 tw_c1 = in_16_lanes((-0x1.ap6f));
    const float32x16 tw_c2 = in_16_lanes(0x1.64p6f);
    const float32x16 tw_c3 = in_16_lanes(0x1.715476p0f);
    const float32x16 tw_c4 = in_16_lanes(0x1.8p23f);
    const float32x16 tw_c5 = in_16_lanes((-0x1.62e4p-1f));
    const float32x16 tw_c6 = in_16_lanes((-0x1.7f7d1cp-20f));
    const float32x16 tw_c7 = in_16_lanes(0x1.0edad8p-7f);
    const float32x16 tw_c8 = in_16_lanes(0x1.57425ap-5f);
    const float32x16 tw_c9 = in_16_lanes(0x1.555d0ap-3f);
    const float32x16 tw_c10 = in_16_lanes(0x1.fffdacp-2f);
    const float32x16 tw_c11 = in_16_lanes(0x1.ffffeep-1f);
    const float32x16 tw_c12 = in_16_lanes(0x1p0f);
    const unsigned short tw_v0 = (unsigned short)0xff;
    (void)tw_v0;
    float32x16 tw_v1;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v1) : "m"(*(const float32x16_u *)(tw_p0)), "Yk"(tw_v0));
    float32x16 tw_v2;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v2) : "m"(*(const float32x16_u *)(tw_p0 + tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v3;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v3) : "m"(*(const float32x16_u *)(tw_p0 + 2 * tw_n0)), "Yk"(tw_v0));
    float32x16 tw_v4;
    __asm__("vmovups %1, %0%{%2%}%{z%}" : "=v"(tw_v4) : "m"(*(const float32x16_u *)(tw_p0 + 3 * tw_n0)), "Yk"(tw_v0));
    const float32x16 tw_v5 = __builtin_shufflevector(tw_v1, tw_v3, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const float32x16 tw_v6 = __builtin_shufflevector(tw_v1, tw_v3, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    const float32x16 tw_v7 = __builtin_shufflevector(tw_v2, tw_v4, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const float32x16 tw_v8 = __builtin_shufflevector(tw_v2, tw_v4, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    const float32x16 tw_v9 = __builtin_shufflevector(tw_v5, tw_v7, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const float32x16 tw_v10 = __builtin_shufflevector(tw_v5, tw_v7, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    const float32x16 tw_v11 = __builtin_shufflevector(tw_v6, tw_v8, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    const float32x16 tw_v12 = __builtin_shufflevector(tw_v6, tw_v8, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    const float32x16 tw_v13 = __builtin_shufflevector(tw_v9, tw_c0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const float32x16 tw_v14 = __builtin_shufflevector(tw_v13, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v15 = __builtin_shufflevector(tw_v13, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v16 = __builtin_shufflevector(tw_v9, tw_c0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const float32x16 tw_v17 = __builtin_shufflevector(tw_v16, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v18 = __builtin_shufflevector(tw_v16, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v19 = __builtin_shufflevector(tw_v10, tw_c0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const float32x16 tw_v20 = __builtin_shufflevector(tw_v19, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v21 = __builtin_shufflevector(tw_v19, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v22 = __builtin_shufflevector(tw_v10, tw_c0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const float32x16 tw_v23 = __builtin_shufflevector(tw_v22, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v24 = __builtin_shufflevector(tw_v22, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v25 = __builtin_shufflevector(tw_v11, tw_c0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const float32x16 tw_v26 = __builtin_shufflevector(tw_v25, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v27 = __builtin_shufflevector(tw_v25, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v28 = __builtin_shufflevector(tw_v11, tw_c0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const float32x16 tw_v29 = __builtin_shufflevector(tw_v28, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v30 = __builtin_shufflevector(tw_v28, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v31 = __builtin_shufflevector(tw_v12, tw_c0, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const float32x16 tw_v32 = __builtin_shufflevector(tw_v31, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v33 = __builtin_shufflevector(tw_v31, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const float32x16 tw_v34 = __builtin_shufflevector(tw_v12, tw_c0, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const float32x16 tw_v35 = __builtin_shufflevector(tw_v34, tw_c0, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    const float32x16 tw_v36 = __builtin_shufflevector(tw_v34, tw_c0, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    *(float32x16_u *)(tw_tile0) = tw_v14;
    *(float32x16_u *)(tw_tile0 + 16) = tw_v20;
    *(float32x16_u *)(tw_tile0 + 32) = tw_v26;
    *(float32x16_u *)(tw_tile0 + 48) = tw_v32;
    *(float32x16_u *)(tw_tile0 + 64) = tw_v15;
    *(float32x16_u *)(tw_tile0 + 80) = tw_v21;
    *(float32x16_u *)(tw_tile0 + 96) = tw_v27;
    *(float32x16_u *)(tw_tile0 + 112) = tw_v33;
    for (long tw_row = 0; tw_row < 8; tw_row++) {
      const float32x16 tw_v37 = *(const float32x16_u *)(tw_tile0 + 16 * tw_row);
      const float tw_v38_x = tw_p1[tw_row];
      const float32x16 tw_v38 = (float32x16)in_16_lanes(tw_v38_x);
      const float32x16 tw_v39 = tw_v37 - tw_v38;
      float32x16 tw_v40;
      __asm__("vmaxps %2, %1, %0" : "=v"(tw_v40) : "v"(tw_c1), "v"(tw_v39));
      float32x16 tw_v41;
      __asm__("vminps %2, %1, %0" : "=v"(tw_v41) : "v"(tw_c2), "v"(tw_v40));
      const float32x16 tw_v42 = fma_float32x16(tw_v41, tw_c3, tw_c4);
      const float32x16 tw_v43 = tw_v42 - tw_c4;
      const int32x16 tw_v44 = (int32x16)tw_v42;
      const float32x16 tw_v45 = fma_float32x16(tw_v43, tw_c5, tw_v41);
      const float32x16 tw_v46 = fma_float32x16(tw_v43, tw_c6, tw_v45);
      const float32x16 tw_v47 = fma_float32x16(tw_c7, tw_v46, tw_c8);
      const float32x16 tw_v48 = fma_float32x16(tw_v47, tw_v46, tw_c9);
      const float32x16 tw_v49 = fma_float32x16(tw_v48, tw_v46, tw_c10);
      const float32x16 tw_v50 = fma_float32x16(tw_v49, tw_v46, tw_c11);
      const float32x16 tw_v51 = fma_float32x16(tw_v50, tw_v46, tw_c12);
      float32x16 tw_v52;
      __asm__("vscalefps %2, %1, %0" : "=v"(tw_v52) : "v"(tw_v51), "v"(tw_v43));
      const float tw_v53_x = tw_p2[tw_row];
      const float32x16 tw_v53 = (float32x16)in_16_lanes(tw_v53_x);
      const float32x16 tw_v54 = tw_v52 / tw_v53;
      const unsigned short tw_v55 = (unsigned short)0xf;
      (void)tw_v55;
      __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p3 + 4 * tw_row)) : "v"(tw_v54), "Yk"(tw_v55));
    }
  }
}

static void rows_20ff5345(const float *const tensor_0, const float *const tensor_1, float *const tensor_2, const long stride_0, const long stride_1, const long stride_2) {
  {
    const float *tw_p0 = tensor_0;
    const long tw_n0 = stride_0;
    const long tw_n1 = stride_1;
    const float *tw_p1 = tensor_1;
    float *tw_p2 = tensor_2;
    const long tw_n2 = stride_2;
    const float32x16 tw_c0 = in_16_lanes(0x0p0f);
    for (long tw_i1 = 0; tw_i1 < 8; tw_i1++) {
      for (long tw_i2 = 0; tw_i2 < 49; tw_i2 += 16) {
        float32x16 tw_s0 = tw_c0;
        const float32x16 tw_v0 = *(const float32x16_u *)(tw_p0 + tw_i2 + tw_i1 * tw_n0);
        const float tw_v1_x = tw_p1[4 * tw_i1];
        const float32x16 tw_v1 = (float32x16)in_16_lanes(tw_v1_x);
        const float32x16 tw_v2 = fma_float32x16(tw_v0, tw_v1, tw_s0);
        tw_s0 = tw_v2;
        const float32x16 tw_v3 = *(const float32x16_u *)(tw_p0 + tw_n1 + tw_i2 + tw_i1 * tw_n0);
        const float tw_v4_x = tw_p1[4 * tw_i1 + 1];
        const float32x16 tw_v4 = (float32x16)in_16_lanes(tw_v4_x);
        const float32x16 tw_v5 = fma_float32x16(tw_v3, tw_v4, tw_s0);
        tw_s0 = tw_v5;
        const float32x16 tw_v6 = *(const float32x16_u *)(tw_p0 + 2 * tw_n1 + tw_i2 + tw_i1 * tw_n0);
        const float tw_v7_x = tw_p1[4 * tw_i1 + 2];
        const float32x16 tw_v7 = (float32x16)in_16_lanes(tw_v7_x);
        const float32x16 tw_v8 = fma_float32x16(tw_v6, tw_v7, tw_s0);
        tw_s0 = tw_v8;
        const float32x16 tw_v9 = *(const float32x16_u *)(tw_p0 + 3 * tw_n1 + tw_i2 + tw_i1 * tw_n0);
        const float tw_v10_x = tw_p1[4 * tw_i1 + 3];
        const float32x16 tw_v10 = (float32x16)in_16_lanes(tw_v10_x);
        const float32x16 tw_v11 = fma_float32x16(tw_v9, tw_v10, tw_s0);
        tw_s0 = tw_v11;
        *(float32x16_u *)(tw_p2 + tw_i2 + tw_i1 * tw_n2) = tw_s0;
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
            (void)tw_v0;
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
            (void)tw_v0;
            __asm__("vmovups %1, %0%{%2%}" : "+m"(*(float32x16_u *)(tw_p0 + -tw_n_1 + tw_n0)) : "v"(tw_c0), "Yk"(tw_v0));
          }
        }
      }
      /* weights: softmax */
      rows_9710c64e(C, partial_P_row_max + (at_l / 128) * 6144 + at_b * 512 + at_m, partial_P_row_sum + (at_l / 128) * 6144 + at_b * 512 + at_m, running_P_factor, size_m, 80);
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
    rows_075ddf16(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, 6144);
    /* weights_row_sum: merge */
    rows_8f171dbe(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, 6144);
    /* weights_weights: merge */
    map_cf811aca(partial_P_row_max + at_b * 512 + at_m, partial_P_row_sum + at_b * 512 + at_m, running_P_row_max, running_P_row_sum, running_P_weights, 6144);
    /* out_merge: merge */
    rows_20ff5345(partial_E + at_b * 32768 + at_m * 64, running_P_weights, E + at_b * stride_E_0 + at_m * stride_E_1, 64, 393216, stride_E_1);
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
