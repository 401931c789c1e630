// [rows]
typedef unsigned char tw_bytes __attribute__((vector_size(16)));
TW_INLINE tw_vec tw_rows(const float *p, long stride, long n) {
  return (tw_vec){p[0], p[n > 1 ? stride : 0], p[n > 2 ? 2 * stride : 0], p[n > 3 ? 3 * stride : 0]};
}
