// [words]
// Vectors of 32-bit lanes, whatever they hold and wherever they lie; in part: 1 lane to all. Masked loads know no alignment;
// dialects without them have 4 lanes.
#ifndef TW_WORDS
#define TW_WORDS
typedef int tw_word __attribute__((aligned(1), may_alias));
typedef int tw_words_anywhere __attribute__((vector_size(4 * TW_LANES), aligned(1), may_alias));
TW_INLINE tw_int tw_load_words(const void *p) { return *(const tw_words_anywhere *)p; }
TW_INLINE void tw_store_words(void *p, tw_int v) { *(tw_words_anywhere *)p = v; }
#instructions words_in_part
TW_INLINE tw_int tw_load_words_part(const void *p, long n) {
  const tw_word *words = p;
  switch (n) {
  case 1:
    return (tw_int){words[0]};
  case 2:
    return (tw_int){words[0], words[1]};
  case 3:
    return (tw_int){words[0], words[1], words[2]};
  default:
    return tw_load_words(p);
  }
}
TW_INLINE void tw_store_words_part(void *p, tw_int v, long n) {
  for (long i = 0; i < n; i++)
    ((tw_word *)p)[i] = v[i];
}
#end
#endif
