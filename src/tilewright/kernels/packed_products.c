// [vocabulary]
#ifndef TW_PACKED
#define TW_PACKED
typedef unsigned tw_packed_bits __attribute__((vector_size(4 * TW_LANES)));
typedef short tw_packed_shorts __attribute__((vector_size(4 * TW_LANES)));
typedef unsigned short tw_packed_short_bits __attribute__((vector_size(4 * TW_LANES)));
typedef int tw_packed_word __attribute__((aligned(1), may_alias));
typedef int tw_packed_words __attribute__((vector_size(4 * TW_LANES), aligned(1), may_alias));
TW_INLINE tw_int tw_packed_load(const unsigned char *p) { return *(const tw_packed_words *)p; }
TW_INLINE tw_int tw_packed_steps(const signed char *p) { return tw_splat_int(*(const tw_packed_word *)p); }
#instructions packed_sums
/* The sums of 16 bits with the four products of every lane. */
typedef tw_packed_shorts tw_packed_sums;
TW_INLINE tw_packed_sums tw_packed_add(tw_packed_sums sum, tw_int numbers, tw_int steps) {
  tw_packed_shorts pairs;
#instructions packed_pairs
  const tw_packed_shorts even = (tw_packed_shorts)((tw_packed_short_bits)steps << 8) >> 8, odd = (tw_packed_shorts)steps >> 8;
  pairs = (tw_packed_shorts)(numbers & 0x00ff00ff) * even + (tw_packed_shorts)((tw_packed_short_bits)numbers >> 8) * odd;
#end
  sum += pairs;
  TW_KEEP(sum); /* else GCC adds the products up in another order, and keeps them all until then */
  return sum;
}
TW_INLINE tw_int tw_packed_whole(tw_packed_sums sum) {
  tw_int whole;
#instructions packed_whole
  whole = ((tw_int)((tw_packed_bits)sum << 16) >> 16) + ((tw_int)sum >> 16);
#end
  return whole;
}
#end
#endif
