// [tiles]
typedef struct {
  unsigned char palette, start, reserved[14];
  unsigned short row_bytes[16];
  unsigned char rows[16];
} tw_tiles;
/* Rows of A and columns of B in a first block and a second one, which may be empty, and groups of steps. A tile without rows has
   no columns either. */
static inline __attribute__((always_inline)) void tw_configure_tiles(long first_rows, long second_rows, long first_columns,
                                                                      long second_columns, long groups) {
  const long rows[8] = {first_rows, first_rows, second_rows, second_rows, first_rows, second_rows, groups, groups};
  const long columns[8] = {first_columns, second_columns, first_columns, second_columns, groups, groups, first_columns,
                           second_columns};
  tw_tiles tiles = {1, 0, {0}, {0}, {0}};
  for (int i = 0; i < 8; i++) {
    tiles.row_bytes[i] = (unsigned short)(rows[i] ? 4 * columns[i] : 0);
    tiles.rows[i] = (unsigned char)(columns[i] ? rows[i] : 0);
  }
  __asm__ volatile("ldtilecfg %0" : : "m"(tiles));
}
/* The first bytes of a row, up to 64, and zeros behind them; others are not touched. */
static inline __attribute__((always_inline)) void tw_tile_row(void *to, const void *from, long bytes) {
  typedef long row_of_bytes __attribute__((vector_size(64)));
  const unsigned long mask = bytes >= 64 ? ~0ul : bytes <= 0 ? 0 : (1ul << bytes) - 1;
  row_of_bytes row;
  __asm__("vmovdqu8 %1, %0%{%2%}%{z%}" : "=v"(row) : "m"(*(const char(*)[64])from), "Yk"(mask));
  *(row_of_bytes *)to = row;
}
#define TW_TILE_LOAD(tile, p, stride) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(p), "r"((long)(stride)) : "memory")
#define TW_TILE_STORE(tile, p, stride) \
  __asm__ volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(p), "r"((long)(stride)) : "memory")
#define TW_TILE_ZERO(tile) __asm__ volatile("tilezero %%tmm" #tile : :)

// [blocks]
// Rows by `rows` of them at a time. The statements in place of @LOADS@ and others are those for the tiles that there are.
static __attribute__((noinline)) void @NAME@(long k, const @TA@ *a, long a_row, long a_column, const @TB@ *b, long b_row, @TO@ *c,
                                             long c_row, long m, long n, long accumulate@PARAMETERS@, long rows) {
  enum { H = @H@, STEPS = @STEPS@, COLUMNS = 32 };
  const long groups = k < STEPS ? (k + H - 1) / H : STEPS / H;
  const long first_rows = rows < 16 ? rows : 16, first_columns = n < 16 ? n : 16;
  @TA@ left[32 * STEPS] __attribute__((aligned(64)));
  @TB@ right[STEPS * COLUMNS] __attribute__((aligned(64)));
  tw_configure_tiles(first_rows, rows - first_rows, first_columns, n - first_columns, groups);
  for (; m > 0; a += rows * a_row, c += rows * c_row@ADVANCE@, m -= rows) {
@START@
    for (long p = 0; p < k; p += STEPS) {
      const long steps = k - p < STEPS ? k - p : STEPS;
      const @TA@ *from = a + p * a_column;
      const @TB@ *panel = b + p / H * b_row;
      long from_row = a_row, panel_row = b_row;
      if (a_column != 1 || steps != groups * H) {
        for (long i = 0; i < rows; i++)
          if (a_column == 1)
            tw_tile_row(left + i * STEPS, from + i * a_row, steps * (long)sizeof *a);
          else
            for (long q = 0; q < STEPS; q++)
              left[i * STEPS + q] = q < steps ? from[i * a_row + q * a_column] : 0;
        from = left, from_row = STEPS;
      }
      if ((steps + H - 1) / H != groups) {
        for (long g = 0; g < groups; g++)
          for (long j = 0; j < n; j += 16)
            tw_tile_row(right + (g * COLUMNS + j) * H, panel + g * b_row + j * H, g * H < steps ? 4 * (n - j) : 0);
        panel = right, panel_row = COLUMNS * H;
      }
@STEP@
    }
@STORES@
  }
  __asm__ volatile("tilerelease" : :);
}

// [start]
// Where C holds sums.
    if (accumulate) {
@LOADS@
    } else {
@ZEROS@
    }

// [ending]
/* Rows of sums, finished and stored. */
static void @NAME@(const @TC@ *sums, long rows, @TO@ *c, long c_row@PARAMETERS@, long last) {
  (void)last;
@COLUMNS@
  for (long i = 0; i < rows; i++) {
@STORES@
  }
}

// [whole]
@ABI@ {
  const long whole = m / 32 * 32, rest = m - whole;
  const @TA@ *last = a + whole * a_row;
  @TO@ *last_c = c + whole * c_row;
  if (n > 16) {
    if (whole)
      @NAME@_2x2(k, a, a_row, a_column, b, b_row, c, c_row, whole, n, accumulate@ARGUMENTS@, 32);
    if (rest > 16)
      @NAME@_2x2(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
    else if (rest)
      @NAME@_1x2(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
  } else {
    if (whole)
      @NAME@_2x1(k, a, a_row, a_column, b, b_row, c, c_row, whole, n, accumulate@ARGUMENTS@, 32);
    if (rest > 16)
      @NAME@_2x1(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
    else if (rest)
      @NAME@_1x1(k, last, a_row, a_column, b, b_row, last_c, c_row, rest, n, accumulate@LAST_ARGUMENTS@, rest);
  }
}
