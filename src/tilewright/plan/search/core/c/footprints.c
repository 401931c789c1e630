// Distinct elements that the tile of an access touches: `regions/footprint.py`, `distinct_sums.py`.

static int64_t greatest_common_divisor(int64_t left, int64_t right) {
  while (right) {
    int64_t rest = left % right;
    left = right;
    right = rest;
  }
  return left;
}

// The distinct values of terms that reach over each other: their bits, shifted and united.
static int64_t overlapping_sums(const int64_t *factors, const int64_t *counts, int64_t terms) {
  enum { MOST_BITS = 1 << 16 };
  uint64_t values[MOST_BITS / 64 + 1];
  int64_t common = 0, span = 1, product = 1, found = 0;
  for (int64_t t = 0; t < terms; t++) common = greatest_common_divisor(common, factors[t]);
  common = terms ? common : 1;
  for (int64_t t = 0; t < terms; t++) {
    span += factors[t] / common * (counts[t] - 1);
    product *= counts[t];
  }
  if (terms < 2 || span > MOST_BITS) return least_count(product, span);
  int64_t words = span / 64 + 1;
  for (int64_t w = 0; w < words; w++) values[w] = 0;
  values[0] = 1;
  for (int64_t t = 0; t < terms; t++) {
    for (int64_t reached = 1, step; reached < counts[t]; reached += step) {
      step = least_count(reached, counts[t] - reached);
      int64_t shift = factors[t] / common * step, far = shift / 64, near = shift % 64;
      for (int64_t w = words - 1; w >= far; w--) {
        uint64_t moved = values[w - far] << near;
        if (near && w > far) moved |= values[w - far - 1] >> (64 - near);
        values[w] |= moved;
      }
    }
  }
  for (int64_t w = 0; w < words; w++) found += bit_count(values[w]);
  return found;
}

// The distinct values of three or more terms: `distinct_sums`.
static int64_t distinct_sums(const Index *index, const int64_t *tiles) {
  int64_t factors[4], counts[4], terms = 0, first = 0, size = 1, reach = 0;
  for (int64_t t = 0; t < index->terms; t++) {
    int64_t factor = index->factors[t], count = tiles[index->axes[t]], at = terms;
    if (count <= 1) continue;
    for (; at && (factors[at - 1] > factor || (factors[at - 1] == factor && counts[at - 1] > count)); at--) {
      factors[at] = factors[at - 1];
      counts[at] = counts[at - 1];
    }
    factors[at] = factor;
    counts[at] = count;
    terms++;
  }
  for (int64_t t = 0; t < terms; t++) {
    int64_t common = 0;
    for (int64_t larger = t; larger < terms; larger++) common = greatest_common_divisor(common, factors[larger]);
    if (t > first && common > reach) {
      size *= overlapping_sums(factors + first, counts + first, t - first);
      first = t;
      reach = 0;
    }
    reach += factors[t] * (counts[t] - 1);
  }
  return size * overlapping_sums(factors + first, counts + first, terms - first);
}

static int64_t distinct_values(const Index *index, const int64_t *tiles) {
  if (index->terms == 0) return 1;
  int64_t first = tiles[index->axes[0]];
  if (index->terms < 0) return index->values[first];
  if (index->terms == 1) return first;
  if (index->terms > 2) return distinct_sums(index, tiles);
  int64_t second = tiles[index->axes[1]], common = greatest_common_divisor(index->factors[0], index->factors[1]);
  int64_t p = index->factors[0] / common, q = index->factors[1] / common;
  return first * second - most_count(first - q, 0) * most_count(second - p, 0);
}

static int64_t window_elements(const Window *window, const int64_t *tiles) {
  int64_t count = 1, points = 1;
  for (int64_t i = 0; i < window->count; i++) count *= distinct_values(&window->indices[i], tiles);
  if (window->count < 2) return count;
  for (uint64_t left = window->axes; left; left &= left - 1) points *= tiles[__builtin_ctzll(left)];
  return least_count(count, points);
}

static int64_t elements(const Footprint *footprint, const int64_t *tiles) {
  int64_t count = 1;
  for (int64_t i = 0; i < footprint->plain_count; i++) count *= tiles[footprint->plain[i]];
  for (int64_t w = 0; w < footprint->window_count; w++) count *= window_elements(&footprint->windows[w], tiles);
  return count;
}

// Distinct elements of all tiles together: `Window.swept`. Every axis is cut into whole tiles and a shorter last one.
static int64_t swept_window(const Window *window, uint64_t left, const int64_t *tiles, const int64_t *sizes, int64_t *cut) {
  if (!left) return window_elements(window, cut);
  int64_t axis = __builtin_ctzll(left), found = 0, whole = sizes[axis] / tiles[axis], rest = sizes[axis] % tiles[axis];
  if (whole) {
    cut[axis] = tiles[axis];
    found = whole * swept_window(window, left & (left - 1), tiles, sizes, cut);
  }
  if (rest) {
    cut[axis] = rest;
    found += swept_window(window, left & (left - 1), tiles, sizes, cut);
  }
  return found;
}

static int64_t swept_elements(const Footprint *footprint, const int64_t *tiles, const int64_t *sizes) {
  int64_t count = 1, cut[64];
  for (int64_t i = 0; i < footprint->plain_count; i++) count *= sizes[footprint->plain[i]];
  for (int64_t w = 0; w < footprint->window_count; w++) {
    count *= swept_window(&footprint->windows[w], footprint->windows[w].axes, tiles, sizes, cut);
  }
  return count;
}
