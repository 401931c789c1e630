// [vocabulary]
// Vectors of 32 * TW_LANES bits whose lanes are elements of C; elements of A and B become such lanes where they are loaded.
typedef @SUM@ @PREFIX@_vec __attribute__((vector_size(4 * TW_LANES)));
@OPERANDS@
@ADD@

// [same_size]
TW_INLINE @PREFIX@_vec @PREFIX@_load(const @TYPE@ *p) { return (@PREFIX@_vec)tw_load_words(p); }
TW_INLINE @PREFIX@_vec @PREFIX@_load_part(const @TYPE@ *p, long n) {
  return (@PREFIX@_vec)tw_load_words_part(p, n * (long)sizeof(*p) / 4);
}
TW_INLINE @PREFIX@_vec @PREFIX@_splat(const @TYPE@ *p) { return (@SUM@)*p - (@PREFIX@_vec){0}; }

// [halves]
TW_INLINE tw_vec @PREFIX@_load(const unsigned short *p) {
#instructions load_float16
  return tw_widen_float16(tw_load_whole_uint16(p));
#end
}
TW_INLINE tw_vec @PREFIX@_load_part(const unsigned short *p, long n) {
#instructions load_part_float16
  return tw_widen_float16(tw_load_whole_part_uint16(p, n));
#end
}
TW_INLINE tw_vec @PREFIX@_splat(const unsigned short *p) {
#instructions splat_float16
  return tw_widen_float16(tw_splat_int(*p));
#end
}

// [add]
TW_INLINE @PREFIX@_vec @PREFIX@_add(@PREFIX@_vec sum, @PREFIX@_vec a, @PREFIX@_vec b) { return sum + a * b; }

// [add_floats]
TW_INLINE tw_vec @PREFIX@_add(tw_vec sum, tw_vec a, tw_vec b) { return tw_multiply_add(a, b, sum); }

// [add_doubles]
// What epilogues are made of stands here, too.
typedef long @PREFIX@_mask __attribute__((vector_size(4 * TW_LANES)));
TW_INLINE @PREFIX@_vec @PREFIX@_every(double x) { return x - (@PREFIX@_vec){0}; }
TW_INLINE @PREFIX@_vec @PREFIX@_where(@PREFIX@_mask mask, @PREFIX@_vec a, @PREFIX@_vec b) {
  return (@PREFIX@_vec)((mask & (@PREFIX@_mask)a) | (~mask & (@PREFIX@_mask)b));
}
TW_INLINE @PREFIX@_vec @PREFIX@_maximum(@PREFIX@_vec a, @PREFIX@_vec b) { return @PREFIX@_where((a > b) | (a != a), a, b); }
TW_INLINE @PREFIX@_vec @PREFIX@_minimum(@PREFIX@_vec a, @PREFIX@_vec b) { return @PREFIX@_where((a < b) | (a != a), a, b); }
TW_INLINE @PREFIX@_vec @PREFIX@_abs(@PREFIX@_vec v) { return (@PREFIX@_vec)((@PREFIX@_mask)v & 0x7fffffffffffffffL); }
TW_INLINE @PREFIX@_vec @PREFIX@_add(@PREFIX@_vec sum, @PREFIX@_vec a, @PREFIX@_vec b) {
#instructions multiply_add_doubles
  return sum + a * b;
#end
}
