// [parts]
// Loads in part read their mask where they are: without FMA, a product takes the register that it would stay in.
static const int tw_parts[16] __attribute__((unused)) = {-1, -1, -1, -1, -1, -1, -1, -1};
TW_INLINE tw_vec tw_load_part(const float *p, long n) {
  const int *mask = tw_parts + 8 - n;
  TW_OPAQUE(mask);
  return __builtin_ia32_maskloadps256((const void *)p, *(const tw_int_unaligned *)mask);
}
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) { __builtin_ia32_maskstoreps256((void *)p, tw_prefix(n), v); }
