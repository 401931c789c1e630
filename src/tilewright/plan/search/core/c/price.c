// The price of one operator at one choice of tiles: the formulas of `plan/model`, in the order of their operations.

// What an operator's blocks are like whatever the order of the loops around them.
typedef struct {
  double arithmetic_s, functions_s, calls, used_bytes, tile[MOST_OPERANDS], swept[MOST_OPERANDS];
} Block;

// What the price of one operator needs of the rest of the chain.
typedef struct {
  double live_bytes;
  int64_t shared;  // loops that all operators have in common
  uint64_t held[MOST_LEVELS];  // by level: the loops inside of which it holds all that is touched
} Around;

typedef struct {
  double arithmetic_s, functions_s, packing_s, overhead_s, prefetch_s, line_buffer_s, traffic[MOST_LEVELS];
} Work;

typedef double Moved[MOST_LEVELS][MOST_OPERANDS];

// How often every tile of an access along some axes comes back: `traffic.tile_visits`.
// `along` are the loops along its axes, `cut` those of more than one trip. The outermost loops along axes of the access bring
// new tiles only; others bring tiles back if a loop inside them ends their reuse.
static inline int64_t visits(uint64_t along, uint64_t cut, const int64_t *trips) {
  uint64_t inside = cut & ~(along & ~(along + 1)), ending = inside & along;
  if (!ending) return 1;
  return product(inside & ~along & ((1ULL << (63 - __builtin_clzll(ending))) - 1), trips);
}

static inline double moved_bytes(const Operand *operand, double swept, uint64_t along, uint64_t cut, const int64_t *trips) {
  int64_t times = visits(along, cut, trips);
  return (double)operand->element_bytes * swept * (double)(operand->is_write ? 2 * times - 1 : times);
}

static inline int64_t along(const int64_t *tiles, int64_t axis) { return axis < 0 ? 1 : tiles[axis]; }

// The loops around the micro kernel inside a block; those of which the nearest level holds the inside have one trip.
static int64_t kernel_loops(
    const Problem *problem, const Operator *operator, const View *view, const Block *block, double conflict, int64_t *trips) {
  int64_t rows = along(view->tiles, operator->row), columns = along(view->tiles, operator->column);
  int64_t depth = along(view->tiles, operator->depth), count = 0;
  double panel = (double)(operator->packed_bytes * depth * operator->columns) * conflict, all = 0;
  for (int64_t k = 0; k < operator->operand_count; k++) all += (double)operator->operands[k].element_bytes * block->tile[k];
  int all_fits = all * conflict <= problem->nearest_bytes, panel_fits = panel <= problem->nearest_bytes;
  int rows_fit = (double)(operator->left_bytes * rows * depth) + panel <= problem->nearest_bytes;
  for (int64_t i = 0; i < operator->outer_count; i++) {
    trips[count++] = all_fits ? 1 : view->tiles[operator->outer[i]];
  }
  if (operator->column >= 0) trips[count++] = all_fits ? 1 : quotient_up(columns, operator->columns);
  if (operator->row >= 0) trips[count++] = rows_fit ? 1 : quotient_up(rows, operator->rows);
  if (operator->depth >= 0) trips[count++] = panel_fits ? 1 : depth;
  return count;
}

// An operator inside its loops, with those that cut its block for the nearest level and the block that these make, or the same
// twice. The conflict is 0 if the right operand is packed.
typedef struct {
  const Problem *problem;
  const Operator *operator;
  const Around *around;
  int64_t shared;
  const View *view, *inner;
  const Block *block, *nearest;
  double conflict;
} Pass;

// What a pass does whatever the order of its loops.
typedef struct {
  double calls, arithmetic_s, functions_s, overhead_s, line_buffer_s;
  int64_t touches;  // how often what is read is touched inside a block
  int stays;  // whether the nearest level holds intermediates
  int64_t kernel_loops, kernel_trips[MOST_LOOPS];
} Unordered;

static void into_nearest(const Pass *pass, const Unordered *unordered, double *moved) {
  const Operator *operator = pass->operator;
  int64_t trips[2 * MOST_LOOPS], outside = pass->inner->loop_count;
  uint64_t cut = pass->inner->cut;
  for (int64_t i = 0; i < outside; i++) trips[i] = pass->inner->trips[i];
  for (int64_t i = 0; i < unordered->kernel_loops; i++) {
    trips[outside + i] = unordered->kernel_trips[i];
    cut |= (uint64_t)(unordered->kernel_trips[i] > 1) << (outside + i);
  }
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    moved[k] = 0;
    if (operand->is_intermediate && unordered->stays) continue;
    uint64_t along = pass->inner->along[k] | operand->kernel_loops << outside;
    double touches = (double)(operand->is_write ? 1 : unordered->touches);
    moved[k] = moved_bytes(operand, pass->nearest->swept[k], along, cut, trips) * touches;
  }
}

// By the loops around a block, of which those of one trip do not count.
static void outer_bytes(const Operator *operator, const Block *block, const View *view, uint64_t cut, double *moved) {
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    moved[k] = operand->is_intermediate ? 0 : moved_bytes(operand, block->swept[k], view->along[k], cut, view->trips);
  }
}

// Bytes of every operand into each cache level: `traffic.bytes_into`, with what masks leave of it.
static void move(const Pass *pass, const Unordered *unordered, Moved moved) {
  const Problem *problem = pass->problem;
  const Operator *operator = pass->operator;
  const View *view = pass->view;
  const Block *block = pass->block;
  for (int64_t level = 0; level < problem->level_count; level++) {
    if (level == problem->fusion) {
      outer_bytes(operator, block, view, view->cut, moved[level]);
    } else if (level == 0) {
      into_nearest(pass, unordered, moved[level]);
    } else if (level < problem->fusion) {
      for (int64_t k = 0; k < operator->operand_count; k++) moved[level][k] = moved[0][k];
    } else {
      outer_bytes(operator, block, view, view->cut & ~pass->around->held[level], moved[level]);
    }
  }
  if (pass->conflict > 1) {
    int64_t right = operator->right, fusion = problem->fusion;
    double tile_bytes = (double)operator->operands[right].element_bytes * block->tile[right];
    if (tile_bytes * operator->fusion_conflict > (double)problem->capacity_bytes) {
      moved[fusion][right] = most(moved[fusion][right], moved[0][right]);
    }
  }
  if (!operator->guard) return;
  double share = operator->guard == 2 ? view->masked : view->computed;
  for (int64_t level = 0; level < problem->level_count; level++) {
    for (int64_t k = 0; k < operator->operand_count; k++) {
      if (operator->operands[k].has_guarded_axis) moved[level][k] *= share;
    }
  }
}

static inline int packs_ahead(const Operator *operator, const View *view) {
  return operator->may_pack_ahead && !has(view->region_axes, operator->column);
}

// Elements of a packed copy: of overlapping windows it has each once for every window.
static double copied_points(const Operand *right, const int64_t *extents) {
  double count = 1;
  for (uint64_t left = right->axes; left; left &= left - 1) count *= (double)extents[__builtin_ctzll(left)];
  return count;
}

// The time to pack a right operand at the best place: `packing_cost.packing_seconds`.
static double packing_seconds(
    const Problem *problem, const Operator *operator, int64_t shared, const View *view) {
  if (!operator->may_pack || packs_ahead(operator, view)) return 0.0;
  const Operand *right = &operator->operands[operator->right];
  int64_t box[64], first = 0, count = view->loop_count;
  double copied = copied_points(right, view->sizes);
  if (right->is_intermediate) first = shared;
  else while (first < count && has(right->axes, view->loops[first].axis)) first++;
  for (uint64_t left = right->axes; left; left &= left - 1) {
    int64_t axis = __builtin_ctzll(left);
    box[axis] = view->sizes[axis];
  }
  for (int64_t depth = 0; depth <= count; depth++) {
    if (depth) {
      int64_t axis = view->loops[depth - 1].axis;
      if (has(right->axes, axis)) box[axis] = view->tiles[axis];
      else copied *= (double)view->trips[depth - 1];
    }
    if (depth < first) continue;
    if ((double)operator->packed_bytes * copied_points(right, box) <= (double)problem->pack_limit_bytes) break;
  }
  return copied * operator->pack_s_per_element;
}

// How many tiles of rows meet one column panel before the next one: `packing_cost._calls_per_panel`.
static double calls_per_panel(const Operator *operator, const View *view) {
  if (operator->row < 0) return 1;
  int64_t size = view->sizes[operator->row], rows = view->tiles[operator->row], step = operator->rows;
  int64_t cuts = quotient_up(size, most_count(rows, 1)), tile = least_count(rows, size);
  int64_t blocks = size / most_count(tile, 1), last = size % most_count(tile, 1);
  int64_t number = blocks * (tile / step) + last / step;
  number += blocks * least_count(tile % step, 1) + least_count(last % step, 1);
  return (double)number / (double)cuts;
}

static double in_place_seconds(const Problem *problem, const Operator *operator, const View *nearest, double calls) {
  double pages = (double)along(nearest->tiles, operator->depth) * operator->page_share;
  double panels = calls / calls_per_panel(operator, nearest);
  double again = (pages + operator->pages_beside > problem->tlb_entries ? pages : 0) * (calls - panels);
  double lookup_cycles = pages > problem->second_tlb_entries ? problem->far_page_cycles : problem->lookup_cycles;
  return (pages * panels * operator->first_page_cycles + again * lookup_cycles) / problem->hz;
}

static double run_seconds(const Problem *problem, const Operator *operator, const View *view, const Block *block) {
  if (!operator->is_read_once_of_runs) return 0.0;
  int64_t columns = view->tiles[operator->column];
  double pages = block->swept[operator->right] / (double)most_count(columns, 1) * least(1.0, operator->right_apart);
  return (columns < operator->row_stride ? pages : 0) * problem->run_cycles / problem->hz;
}

static double pages_of(const Problem *problem, double apart, int64_t element, double size_bytes, int64_t run) {
  double run_bytes = (double)(element * run);
  return size_bytes / run_bytes * most(least(1.0, apart), run_bytes / problem->page_bytes);
}

static double left_page_seconds(const Problem *problem, const Operator *operator, const double *moved, const View *nearest) {
  if (!operator->pages_of_left) return 0.0;
  int64_t depth = along(nearest->tiles, operator->depth);
  double pages = pages_of(problem, operator->left_apart, operator->left_bytes, moved[operator->left], depth);
  return pages * problem->stream_cycles / problem->hz;
}

static double target_page_seconds(const Problem *problem, const Operator *operator, const double *moved, const View *nearest) {
  if (!operator->pages_of_target) return 0.0;
  int64_t rows = along(nearest->tiles, operator->row), columns = along(nearest->tiles, operator->column);
  int is_many = rows > most_count(operator->rows, (int64_t)problem->followed_rows);
  int64_t width = is_many ? least_count(columns, operator->columns) : columns, target = operator->operand_count - 1;
  double pages = pages_of(problem, operator->target_apart, operator->target_bytes, moved[target], width);
  return pages * problem->far_page_cycles / problem->hz;
}

// The price of an operator's prefetches less what they hide: `prefetch_gain.prefetch_seconds`.
static double prefetch_seconds(const Problem *problem, const Operator *operator, const View *view, const View *nearest,
                               Moved moved, double calls, int is_packed, double left_pages_s, double right_pages_s) {
  if (!operator->prefetched_count) return 0.0;
  int64_t depth = along(nearest->tiles, operator->depth);
  int follows = (is_packed && operator->may_pack && !packs_ahead(operator, view)) || operator->is_followed;
  double cycles = 0, hidden = 0, pages = 0;
  for (int64_t p = 0; p < operator->prefetched_count; p++) {
    const PrefetchedOperand *one = &operator->prefetched[p];
    int64_t rows = one->role == 1 ? depth : operator->rows, columns = one->role == 0 ? depth : operator->columns;
    double lines = (double)(rows * columns) * one->element_bytes / problem->line_bytes;
    cycles += lines * one->cycles_per_line;
    if (one->role == 1 && follows) continue;
    double moving = 0.0;
    for (int64_t level = one->first_level; level < problem->source; level++) {
      moving = moving + moved[level][one->place] / problem->bandwidths[level];
    }
    hidden += moving * (problem->visible * problem->prefetch_hides) * one->near;
    int in_memory = problem->source == problem->level_count;
    if (one->role == 0) pages += left_pages_s;
    else if (in_memory) pages += one->role == 1 ? right_pages_s : 0.0;
  }
  return calls * cycles / problem->hz - hidden - problem->prefetch_hides * pages;
}

static inline double points(const View *view, uint64_t axes) {
  int64_t count = 1;
  for (uint64_t left = axes; left; left &= left - 1) count *= view->sizes[__builtin_ctzll(left)];
  return (double)count;
}

// What shows of reading rows again, after the first pass: `cost.later_passes_seconds`.
static double later_passes_seconds(
    const Problem *problem, const Operator *operator, const View *view, int64_t blocks, int64_t passes_after) {
  double row = operator->later_element_bytes * points(view, operator->reduced) / (double)blocks;
  if (!(problem->row_unroll * row > problem->nearest_bytes)) return 0;
  double again = (double)passes_after * operator->later_element_bytes * points(view, operator->axes) / operator->later_bandwidth;
  return again * problem->visible_later;
}

// Functions and passes of an operator inside so many shared loops: `cost.vector_seconds`.
static double vector_seconds(
    const Problem *problem, const Operator *operator, int64_t shared, const View *view, const Block *block) {
  double functions_s = block->functions_s;
  if (operator->vector_mode == VECTOR_PLAIN || operator->vector_mode == VECTOR_STATES) return functions_s;
  int64_t blocks = 1;
  for (int64_t i = 0; i < shared; i++) {
    if (has(operator->reduced, view->loops[i].axis)) blocks *= view->trips[i];
  }
  if (operator->vector_mode == VECTOR_CORRECTED) {
    double corrected = block->swept[operator->operand_count - 1] * operator->correcting_s;
    return functions_s + corrected * (double)(blocks > 1 ? blocks : operator->undivided);
  }
  double rows = points(view, operator->row_axes), folding = operator->folding_s;
  if (operator->vector_mode == VECTOR_ROWS) {
    return functions_s + rows * folding + later_passes_seconds(problem, operator, view, 1, operator->states);
  }
  double shares_s = points(view, operator->axes) * operator->weights_s_per_point;
  if (blocks > 1) {
    double later = later_passes_seconds(problem, operator, view, blocks, operator->states - 1);
    return shares_s + rows * (double)blocks * (operator->taking_s + folding) + later;
  }
  double whole = (operator->divides_later ? shares_s : functions_s) + rows * folding;
  return whole + later_passes_seconds(problem, operator, view, 1, operator->states - operator->divides_later);
}

// The price of one operator's work: `cost.seconds`.
static double seconds(const Problem *problem, const Work *work, double visible) {
  double longest = work->arithmetic_s + work->functions_s, shown = 0, times[MOST_LEVELS];
  for (int64_t level = 0; level < problem->source && level < problem->level_count; level++) {
    times[level] = work->traffic[level] / problem->bandwidths[level];
    longest = most(longest, problem->overlapped * times[level]);
  }
  shown = problem->visible_nearest * times[0];
  for (int64_t level = 1; level < problem->source && level < problem->level_count; level++) {
    shown = shown + visible * times[level];
  }
  double beside = work->packing_s + work->overhead_s + work->prefetch_s + work->line_buffer_s;
  return longest + shown + beside;
}

static void start_pass(const Pass *pass, Unordered *into) {
  const Problem *problem = pass->problem;
  const Operator *operator = pass->operator;
  const View *view = pass->view, *inner = pass->inner;
  int64_t foreign = product(inner->cut & inner->foreign, inner->trips), runs = product(inner->cut, inner->trips), panel = 0;
  double repeats = (double)foreign * view->computed, calls = pass->nearest->calls * repeats;
  double functions = vector_seconds(problem, operator, pass->shared, view, pass->block);
  if (operator->guard == 2) functions = functions * (view->masked / view->computed);
  into->calls = calls;
  into->overhead_s = (calls * problem->tile_end_cycles + (double)runs * problem->block_cycles) / problem->hz;
  into->line_buffer_s = (double)view->line_buffered * problem->pass_cycles * operator->vectors_per_element / problem->hz;
  into->arithmetic_s = pass->nearest->arithmetic_s * repeats;
  into->functions_s = functions * repeats;
  into->kernel_loops = 0;
  into->touches = operator->passes;
  if (operator->has_kernel) {
    double conflict = pass->conflict == 0 ? 1.0 : pass->conflict;
    panel = operator->packed_bytes * along(inner->tiles, operator->depth) * operator->columns;
    into->touches = 1;
    into->kernel_loops = kernel_loops(problem, operator, inner, pass->nearest, conflict, into->kernel_trips);
  }
  into->stays = pass->around->live_bytes + (double)panel <= problem->nearest_bytes;
}

// What a pass costs with its loops in their order.
static void work_in_order(const Pass *pass, const Unordered *unordered, Work *work) {
  const Problem *problem = pass->problem;
  const Operator *operator = pass->operator;
  const View *view = pass->view, *inner = pass->inner;
  int is_packed = pass->conflict == 0;
  double packing;
  if (is_packed) packing = packing_seconds(problem, operator, pass->shared, view);
  else packing = in_place_seconds(problem, operator, inner, unordered->calls) + run_seconds(problem, operator, view, pass->block);
  Moved moved;
  move(pass, unordered, moved);
  const double *far = moved[problem->level_count - 1];
  double left_pages_s = left_page_seconds(problem, operator, far, inner), right_pages_s = is_packed ? 0.0 : packing;
  work->overhead_s = unordered->overhead_s;
  work->line_buffer_s = unordered->line_buffer_s;
  work->arithmetic_s = unordered->arithmetic_s;
  work->functions_s = unordered->functions_s;
  work->packing_s = packing + left_pages_s + target_page_seconds(problem, operator, far, inner);
  work->packing_s += operator->left_column_s ? moved[problem->fusion][operator->left] * operator->left_column_s : 0.0;
  work->prefetch_s =
      prefetch_seconds(problem, operator, view, inner, moved, unordered->calls, is_packed, left_pages_s, right_pages_s);
  for (int64_t level = 0; level < problem->level_count; level++) {
    work->traffic[level] = 0;
    for (int64_t k = 0; k < operator->operand_count; k++) work->traffic[level] += moved[level][k];
  }
}

static void work_of(const Pass *pass, Work *work) {
  Unordered unordered;
  start_pass(pass, &unordered);
  work_in_order(pass, &unordered, work);
}
