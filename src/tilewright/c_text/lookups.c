// [out_of_range]
static __attribute__((noinline, cold)) long tw_out_of_range(const struct tw_context *caller, long lookup, long place,
                                                            long position, long extent) {
  if (caller->out_of_range)
    caller->out_of_range(caller->pool, lookup, place, position, extent);
  return 0;
}

// [place]
TW_INLINE long tw_place_@NAME@(const @TYPE@ *p, const @TYPE@ *first, long index, long extent,
                               const struct tw_context *caller, long lookup) {
  const long position = (long)*p;
  const unsigned long counted = (unsigned long)position + (position < 0 ? extent : 0) + index;
  if (__builtin_expect(counted < (unsigned long)extent, 1))
    return (long)counted;
  return tw_out_of_range(caller, lookup, p - first, position, extent);
}
