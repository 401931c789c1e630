/* What leaves touch, line by line: elements one after the other, and the tiles of a product. A touch is one word: bit 0 for a write,
   then the line, and the buffer above, as in the addresses. A touch of the line that was touched last is left out if it is no first
   write to it: this changes no cache. */
typedef unsigned long word;
typedef void sink_function(void *state, const word *touches, long count);
#define EXPORT __attribute__((visibility("default")))

enum { MOST = 4096, MOST_ROWS = 256 };
static word touches[MOST], last;
static long count;
static int shift;
static sink_function *sink;
static void *sink_state;

static void drain(void) {
  sink(sink_state, touches, count);
  count = 0;
}

static void touch_line(word line, word writes) {
  const word touch = line << 1 | writes;
  if (touch == last || (touch | 1) == last)
    return;
  last = touches[count++] = touch;
  if (count == MOST)
    drain();
}

static void touch(word address, long bytes, word writes) {
  for (word line = address >> shift; line <= (address + bytes - 1) >> shift; line++)
    touch_line(line, writes);
}

EXPORT void tw_begin(sink_function *to, void *state, long line_shift) {
  sink = to, sink_state = state, shift = (int)line_shift;
  last = 0;
}

EXPORT void tw_end(void) { drain(); }

/* Elements of some bytes; `forms` has twice the bytes, and 1 more for a write. */
EXPORT void tw_elements(const word *addresses, const unsigned char *forms, long length) {
  for (long i = 0; i < length; i++)
    touch(addresses[i], forms[i] >> 1, forms[i] & 1);
}

struct loop {
  long steps, a_step, b_step;
};
struct operand {
  word start;
  long row, column, bytes;
};
struct product {
  long rows, columns, depth, panel_columns, lanes, interleave, by_columns, accumulate, stays, slice;
  word a;
  long a_row, a_column;
  word b;
  long b_panel, b_row;
  word c;
  long c_row, a_bytes, b_bytes, c_bytes, loops, operands;
};

/* For every step of the depth the lines of a row of B, then an element of A row by row: while it stays in its line, once. */
static void steps(const struct product *p, long k, word a, word b, long m, long n) {
  word seen[MOST_ROWS] = {0};
  const long group = p->interleave;
  for (long s = 0; s < k; s++, a += p->a_column) {
    const word at = b + (p->by_columns ? s * p->b_bytes : s / group * p->b_row);
    if (p->by_columns)
      for (long j = 0; j < n; j++)
        touch(at + j * p->b_row, p->b_bytes, 0);
    else
      touch(at, n * group * p->b_bytes, 0);
    for (long i = 0; i < m; i++) {
      const word line = (a + i * p->a_row) >> shift;
      if (p->stays && line == seen[i])
        continue;
      seen[i] = line;
      touch_line(line, 0);
    }
  }
}

static void summed(const struct product *p, const struct loop *loops, long left, long k, word a, word b, word c, long m, long n,
                   long *accumulate) {
  if (left > 0) {
    for (long q = 0; q < loops[left - 1].steps; q++)
      summed(p, loops, left - 1, k, a + q * loops[left - 1].a_step, b + q * loops[left - 1].b_step, c, m, n, accumulate);
    return;
  }
  steps(p, k, a, b, m, n);
  for (int writes = *accumulate ? 0 : 1; writes < 2; writes++)
    for (long i = 0; i < m; i++)
      touch(c + i * p->c_row, n * p->c_bytes, writes);
  *accumulate = 1;
}

static void tile(const struct product *p, const struct loop *loops, const struct operand *operands, long i, long j, long s, long k,
                 word b, long m, long n) {
  long accumulate = p->accumulate || s;
  const word c = p->c + i * p->c_row + j * p->c_bytes;
  const int ends = s + k == p->depth;
  if (p->loops || !ends || !p->operands) {
    summed(p, loops, p->loops, k, p->a + i * p->a_row + s * p->a_column, b + s * p->b_row, c, m, n, &accumulate);
  } else {
    steps(p, k, p->a + i * p->a_row + s * p->a_column, b + s * p->b_row, m, n);
    for (long row = 0; row < m && accumulate; row++)
      touch(c + row * p->c_row, n * p->c_bytes, 0);
  }
  for (long e = 0; e < p->operands && ends; e++)
    for (long row = 0; row < m; row++)
      touch(operands[e].start + (i + row) * operands[e].row + j * operands[e].column,
            (operands[e].column ? n : 1) * operands[e].bytes, 0);
  if (!p->loops && ends && p->operands)
    for (long row = 0; row < m; row++)
      touch(c + row * p->c_row, n * p->c_bytes, 1);
}

/* Column panels outside, of each its slices, then rows; `heights` are those of tiles by their vectors of columns. */
EXPORT void tw_product(const struct product *p, const long *heights, const struct loop *loops, const struct operand *operands) {
  for (long j = 0; j < p->columns; j += p->panel_columns) {
    const long n = p->columns - j < p->panel_columns ? p->columns - j : p->panel_columns;
    const long height = heights[(n + p->lanes - 1) / p->lanes - 1];
    const word b = p->b + j / p->panel_columns * p->b_panel;
    for (long s = 0; s < p->depth || !s; s += p->slice) {
      const long k = p->depth - s < p->slice ? p->depth - s : p->slice;
      for (long i = 0; i < p->rows; i += height)
        tile(p, loops, operands, i, j, s, k, b, p->rows - i < height ? p->rows - i : height, n);
      if (!p->slice)
        break;
    }
  }
}
