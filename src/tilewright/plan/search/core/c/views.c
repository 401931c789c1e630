// Operators inside their loops.

typedef struct {
  int64_t axis, node;
} Loop;

// An operator inside its loops, outermost first. Tiles and sizes are of all axes of the chain; sets of loops are bits by place.
typedef struct {
  int64_t tiles[64], sizes[64], loop_count, line_buffered;
  uint64_t region_axes;
  double computed, masked;
  Loop loops[MOST_LOOPS];
  int64_t trips[MOST_LOOPS];
  uint64_t cut, foreign;  // loops of more than one trip, and those along no axis of the operator
  uint64_t along[MOST_OPERANDS];  // loops along axes of each operand
} View;

// Takes what a view has of the axes of the chain, of its loops, and of the operands of its operator.
static void copy_view(const Problem *problem, const Operator *operator, const View *from, View *into) {
  for (int64_t a = 0; a < problem->axis_count; a++) into->tiles[a] = from->tiles[a], into->sizes[a] = from->sizes[a];
  for (int64_t i = 0; i < from->loop_count; i++) into->loops[i] = from->loops[i], into->trips[i] = from->trips[i];
  for (int64_t k = 0; k < operator->operand_count; k++) into->along[k] = from->along[k];
  into->loop_count = from->loop_count;
  into->line_buffered = from->line_buffered;
  into->region_axes = from->region_axes;
  into->computed = from->computed;
  into->masked = from->masked;
  into->cut = from->cut;
  into->foreign = from->foreign;
}

// The sets of loops that follow from the axes of the last ones, from `first` on.
static void mark_loops(const Operator *operator, View *view, int64_t first) {
  uint64_t before = (1ULL << first) - 1;
  view->foreign &= before;
  for (int64_t i = first; i < view->loop_count; i++) {
    view->foreign |= (uint64_t)!has(operator->axes, view->loops[i].axis) << i;
  }
  for (int64_t k = 0; k < operator->operand_count; k++) {
    view->along[k] &= before;
    for (int64_t i = first; i < view->loop_count; i++) {
      view->along[k] |= (uint64_t)has(operator->operands[k].axes, view->loops[i].axis) << i;
    }
  }
}

// The loops of more than one trip, from `first` on.
static void mark_cuts(View *view, int64_t first) {
  view->cut &= (1ULL << first) - 1;
  for (int64_t i = first; i < view->loop_count; i++) view->cut |= (uint64_t)(view->trips[i] > 1) << i;
}

static inline int64_t product(uint64_t loops, const int64_t *trips) {
  int64_t count = 1;
  for (; loops; loops &= loops - 1) count *= trips[__builtin_ctzll(loops)];
  return count;
}
