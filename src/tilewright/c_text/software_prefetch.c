// [cursors]
/* What a later block reads: `rows` rows of `bytes` bytes, of which every micro tile asks for `lines` cache lines. */
struct tw_fetch {
  const char *row;
  long stride, bytes, rows, at, lines;
};
/* Rows whose elements do not lie side by side are left alone; those without gaps are one. */
TW_INLINE void tw_start(struct tw_fetch *fetch, const float *row, long rows, long stride, long columns, long column, long lines) {
  const long bytes = columns * (long)sizeof(float), apart = stride * (long)sizeof(float);
  const struct tw_fetch dense = {(const char *)row, 0, rows * bytes, 1, 0, lines};
  const struct tw_fetch sparse = {(const char *)row, apart, bytes, column == 1 || columns == 1 ? rows : 0, 0, lines};
  *fetch = apart == bytes && column == 1 ? dense : sparse;
}
TW_INLINE void tw_advance(struct tw_fetch *fetches, long count) {
  for (struct tw_fetch *fetch = fetches; fetch < fetches + count; fetch++)
    for (long line = 0; line < fetch->lines && fetch->rows > 0; line++) {
      __builtin_prefetch(fetch->row + fetch->at, 0, 2);
      fetch->at += 64;
      if (fetch->at >= fetch->bytes) {
        fetch->at = 0;
        fetch->row += fetch->stride;
        fetch->rows--;
      }
    }
}

// [start]
// The same for elements of another type.
TW_INLINE void tw_start_@NAME@(struct tw_fetch *fetch, const @TYPE@ *row, long rows, long stride, long columns, long column,
                               long lines) {
  const long bytes = columns * (long)sizeof(@TYPE@), apart = stride * (long)sizeof(@TYPE@);
  const struct tw_fetch dense = {(const char *)row, 0, rows * bytes, 1, 0, lines};
  const struct tw_fetch sparse = {(const char *)row, apart, bytes, column == 1 || columns == 1 ? rows : 0, 0, lines};
  *fetch = apart == bytes && column == 1 ? dense : sparse;
}
