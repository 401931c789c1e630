// [elements]
@WORDS_OF_ROWS@
/* Column panels of `width`, in groups of H steps: target[j / width * panel_stride + (p / H * width + j % width) * H + p % H] =
   source[p * row + j * column]. Steps that the last group lacks, and columns that the last panel lacks, are zero. Some groups of
   all panels are filled before the next ones, so that rows of the source are read in long runs. */
static __attribute__((unused)) void @PANELS@(@TYPE@ *target, long panel_stride, long width, const @TYPE@ *source, long row,
                                             long column, long rows, long columns) {
  enum { H = @H@, BLOCK = 4 * H };
  for (long block = 0; block < rows; block += BLOCK)
    for (long first = 0; first < columns; first += width)
      for (long p = block; p < rows && p < block + BLOCK; p += H) {
        const long some = tw_min(width, columns - first), steps = tw_min(H, rows - p);
        const @TYPE@ *from = source + p * row + first * column;
        @TYPE@ *to = target + first / width * panel_stride + p * width;
        long j = 0;
@WORDS@
        for (; j < width; j++)
          for (long q = 0; q < H; q++)
            to[j * H + q] = j < some && q < steps ? from[q * row + j * column] : 0;
      }
}
/* Rows one after the other: target[p * target_row + j] = source[p * row + j * column]. */
static __attribute__((unused)) void @ROWS@(@TYPE@ *target, long target_row, const @TYPE@ *source, long row, long column,
                                           long rows, long columns) {
  for (long p = 0; p < rows; p++)
    for (long j = 0; j < columns; j++)
      target[p * target_row + j] = source[p * row + j * column];
}

// [words]
        if (column == 1)
          for (; j + TW_LANES <= some; j += TW_LANES)
            @PANELS@_words(to + j * H, from + j, row, steps);
        else if (column == 2) /* a vector ends with an element that nobody asked for, in front of one that is there */
          for (; j + TW_LANES < some; j += TW_LANES)
            @PANELS@_words_apart(to + j * H, from + 2 * j, row, steps);
        if (steps == H)
          for (; j < some; j++)
            for (long q = 0; q < H; q++)
              to[j * H + q] = from[j * column + q * row];

// [words_of_rows]
typedef unsigned @PANELS@_groups __attribute__((vector_size(TW_LANES * sizeof(int)), aligned(1), may_alias));
/* A vector of columns: each lane of 32 bits takes its element of every step, and 0 for those that the last group lacks. */
TW_INLINE void @PANELS@_words(@TYPE@ *to, const @TYPE@ *from, long row, long steps) {
  @PANELS@_groups groups = {0};
  for (int q = 0; q < @H@ && q < steps; q++)
    groups |= (@PANELS@_groups)tw_load_whole_@LANE@((const void *)(from + q * row)) << (8 * (int)sizeof(*to) * q);
  *(@PANELS@_groups *)to = groups;
}
/* The same of every other column: the first of each pair. */
TW_INLINE void @PANELS@_words_apart(@TYPE@ *to, const @TYPE@ *from, long row, long steps) {
  enum { BITS = 8 * (int)sizeof(*to) };
  @PANELS@_groups groups = {0};
  for (int q = 0; q < @H@ && q < steps; q++)
    groups |= ((@PANELS@_groups)tw_load_whole_@PAIR@((const void *)(from + q * row)) & ((1u << BITS) - 1)) << (BITS * q);
  *(@PANELS@_groups *)to = groups;
}

// [whole_words]
// Elements are so many words: where these lie side by side they are copied as floats are, whose functions know no other type than
// that, so that nothing else may be moved past them.
/* Column panels of `width`: target[j / width * panel_stride + p * width + j % width] = source[p * row + j * column]; the columns
   that the last panel lacks are zero. Of columns that lie apart, a line of each is read at a time. */
static __attribute__((unused)) void @PANELS@(@TYPE@ *target, long panel_stride, long width, const @TYPE@ *source, long row,
                                             long column, long rows, long columns) {
  enum { WORDS = sizeof(*target) / sizeof(float), LINE = 64 / sizeof(*target) };
  if (column == 1 || WORDS == 1) {
    __asm__ volatile("" ::: "memory");
    tw_pack_panels((float *)target, WORDS * panel_stride, WORDS * width, (const float *)source, WORDS * row, column, rows,
                   WORDS * columns);
    __asm__ volatile("" ::: "memory");
    return;
  }
  for (long first = 0; first < columns; first += width, target += panel_stride)
    for (long start = 0; start < rows; start += LINE) {
      const long end = tw_min(start + LINE, rows), some = tw_min(width, columns - first);
      for (long j = 0; j < some; j++)
        for (long p = start; p < end; p++)
          target[p * width + j] = source[p * row + (first + j) * column];
      for (long p = start; p < end; p++)
        for (long j = some; j < width; j++)
          target[p * width + j] = 0;
    }
}
/* Rows one after the other: target[p * target_row + j] = source[p * row + j * column]. */
static __attribute__((unused)) void @ROWS@(@TYPE@ *target, long target_row, const @TYPE@ *source, long row, long column,
                                           long rows, long columns) {
  enum { WORDS = sizeof(*target) / sizeof(float), LINE = 64 / sizeof(*target) };
  if (column == 1 || WORDS == 1) {
    __asm__ volatile("" ::: "memory");
    tw_pack_rows((float *)target, WORDS * target_row, (const float *)source, WORDS * row, column, rows, WORDS * columns);
    __asm__ volatile("" ::: "memory");
    return;
  }
  for (long start = 0; start < rows; start += LINE)
    for (long j = 0; j < columns; j++)
      for (long p = start; p < rows && p < start + LINE; p++)
        target[p * target_row + j] = source[p * row + j * column];
}

// [floats]
/* Columns that lie apart, of rows that lie side by side: tiles of TW_LANES columns and rows are transposed in registers, while
   the next columns are asked for. Lanes up to `width` that have no column are zero. */
static __attribute__((noinline, unused)) void tw_pack_transposed(float *target, long target_row, long width, const float *source,
                                                                 long column, long rows, long columns) {
  for (long i = 0; i < width; i += TW_LANES) {
    const long lanes = tw_min(columns - i, TW_LANES);
    for (long p = 0; p < rows; p += TW_LANES) {
      const long depth = tw_min(rows - p, TW_LANES);
      const float *from = source + p + i * column;
      float *to = target + p * target_row + i;
      tw_vec v[TW_LANES];
      if (lanes == TW_LANES && depth == TW_LANES) {
        TW_EACH_LANE(tw_prefetch(from + (TW_LANES + lane) * column); v[lane] = tw_load(from + lane * column);)
        tw_transpose(v);
        TW_EACH_LANE(tw_store(to + lane * target_row, v[lane]);)
      } else {
        TW_EACH_LANE(v[lane] = lane < lanes ? tw_load_part(from + lane * column, depth) : tw_splat(0.0f);)
        tw_transpose(v);
        TW_EACH_LANE(if (lane < depth) tw_store_part(to + lane * target_row, v[lane], tw_min(width - i, TW_LANES));)
      }
    }
  }
}
/* One vector of a row of `width` columns, from column i on: nothing is written behind the row, whatever the width. */
TW_INLINE void tw_store_in_row(float *row, long i, long width, tw_vec v) {
  if (width % TW_LANES == 0 || width - i >= TW_LANES)
    tw_store(row + i, v);
  else
    tw_store_part(row + i, v, width - i);
}
/* Column panels of `width`: target[j / width * panel_stride + p * width + j % width] = source[p * row + j * column]; the columns
   that the last panel lacks are zero. Whole panels are copied a few rows at a time, while the next few rows are asked for: rows
   of one panel alone are too short, and too far apart, for the hardware to foresee. */
TW_INLINE void tw_pack_part(float *target, long width, const float *source, long row, long column, long rows, long columns) {
  for (long p = 0; p < rows; p++)
    for (long i = 0; i < width; i += TW_LANES) {
      const long lanes = tw_min(tw_min(columns, width) - i, TW_LANES);
      const float *from = source + p * row + i * column;
      if (lanes <= 0)
        tw_store_in_row(target + p * width, i, width, tw_splat(0.0f));
      else if (column != 1)
        tw_store_in_row(target + p * width, i, width, tw_load_strided(from, column, lanes));
      else
        tw_store_in_row(target + p * width, i, width, lanes == TW_LANES ? tw_load(from) : tw_load_part(from, lanes));
    }
}
TW_INLINE void tw_pack_panels(float *target, long panel_stride, long width, const float *source, long row, long column, long rows,
                              long columns) {
  if (row == 1 && column != 1) {
    for (long j = 0; j < columns; j += width)
      tw_pack_transposed(target + j / width * panel_stride, width, width, source + j * column, column, rows,
                         tw_min(width, columns - j));
    return;
  }
  const long whole = column == 1 ? columns / width : 0;
  for (long start = 0; whole && start < rows; start += 8)
    for (long panel = 0; panel < whole; panel++) {
      const float *from = source + start * row + panel * width;
      float *to = target + panel * panel_stride + start * width;
      for (long p = tw_min(8, rows - start); p > 0; p--, from += row, to += width)
        for (long i = 0; i < width; i += TW_LANES) {
          __builtin_prefetch(from + 8 * row + i);
          const int is_whole = width % TW_LANES == 0 || width - i >= TW_LANES;
          tw_store_in_row(to, i, width, is_whole ? tw_load(from + i) : tw_load_part(from + i, width - i));
        }
    }
  for (long j = whole * width; j < columns; j += width)
    tw_pack_part(target + j / width * panel_stride, width, source + j * column, row, column, rows, columns - j);
}
/* Rows one after the other: target[p * target_row + j] = source[p * row + j * column]. */
static __attribute__((unused)) void tw_pack_rows(float *target, long target_row, const float *source, long row, long column,
                                                 long rows, long columns) {
  if (row == 1 && column != 1) {
    tw_pack_transposed(target, target_row, columns, source, column, rows, columns);
    return;
  }
  for (long p = 0; p < rows; p++)
    for (long j = 0; j < columns; j += TW_LANES) {
      const long lanes = tw_min(columns - j, TW_LANES);
      const float *from = source + p * row + j * column;
      tw_vec values = column == 1 ? (lanes == TW_LANES ? tw_load(from) : tw_load_part(from, lanes))
                                  : tw_load_strided(from, column, lanes);
      tw_store_part(target + p * target_row + j, values, lanes);
    }
}
