// Refinement of a candidate: what `search/inner_loops.py` decides for every operator.

// An operator's right operand packed or in place, what its price cannot get below, and whether loops inside its block may gain.
typedef struct {
  double seconds, floor_s, conflict;  // the conflict is 0 if the operand is packed
  int may_gain;
} Decision;

static double seconds_without_nearest(const Problem *problem, Work work) {
  work.traffic[0] = 0;
  return seconds(problem, &work, problem->visible);
}

static Decision decide(
    const Problem *problem, const Operator *operator, const Around *around, int64_t shared, const View *view, const Block *block) {
  Decision best = {0};
  if (operator->in_tiles) return best;
  Work work, unpacked;
  Pass pass = {problem, operator, around, shared, view, view, block, block, 0};
  work_of(&pass, &work);
  best.seconds = seconds(problem, &work, problem->visible);
  unpacked = work;
  unpacked.packing_s = 0;
  best.floor_s = seconds_without_nearest(problem, unpacked);
  if (operator->may_stay && best.seconds > (best.seconds - work.packing_s) * problem->least_gain) {
    pass.conflict = operator->conflict;
    work_of(&pass, &unpacked);
    double in_place_s = seconds(problem, &unpacked, problem->visible);
    if (in_place_s * problem->least_gain < best.seconds) {
      work = unpacked;
      best.seconds = in_place_s;
      best.conflict = operator->conflict;
    }
  }
  best.may_gain = operator->has_kernel && seconds_without_nearest(problem, work) * problem->least_gain < best.seconds;
  return best;
}

// Tiles that cut an operator's block for the nearest level, and the figures of the blocks that they make.
typedef struct {
  int64_t dims, tiles, axes[3], counts[3];
  const int64_t *every[3];
  int64_t offsets[2 * MOST_OPERANDS + 2], strides[2 * MOST_OPERANDS + 2][3];
  const double *figures;
} InnerTiles;

static void read_inner_tiles(Reader *from, const double *figures, const Operator *operator, InnerTiles *into) {
  into->figures = figures;
  into->dims = integer(from);
  into->tiles = 1;
  for (int64_t d = 0; d < into->dims; d++) {
    into->axes[d] = integer(from);
    into->counts[d] = integer(from);
    into->every[d] = integers(from, into->counts[d]);
    into->tiles *= into->counts[d];
  }
  for (int64_t f = 0; f < 2 + 2 * operator->operand_count; f++) {
    into->offsets[f] = integer(from);
    for (int64_t d = 0; d < into->dims; d++) into->strides[f][d] = integer(from);
  }
}

// Goes to one of the tiles, by its number: their product.
static double cut_block(const InnerTiles *inner, const Operator *operator, int64_t number, const int64_t *order,
                        const View *view, View *cut, Block *nearest) {
  int64_t places[3], trips[3];
  double volume = 1;
  for (int64_t d = inner->dims - 1; d >= 0; d--) {
    places[d] = number % inner->counts[d];
    number /= inner->counts[d];
    int64_t axis = inner->axes[d], tile = inner->every[d][places[d]];
    trips[d] = quotient_up(view->tiles[axis], tile);
    cut->tiles[axis] = tile;
    volume *= (double)tile;
  }
  for (int64_t i = 0; i < inner->dims; i++) {
    cut->loops[view->loop_count + i] = (Loop){inner->axes[order[i]], -2 - i};
    cut->trips[view->loop_count + i] = trips[order[i]];
  }
  mark_loops(operator, cut, view->loop_count);
  mark_cuts(cut, view->loop_count);
  for (int64_t f = 0; f < 2 + 2 * operator->operand_count; f++) {
    int64_t at = inner->offsets[f];
    for (int64_t d = 0; d < inner->dims; d++) at += inner->strides[f][d] * places[d];
    double *into = f == 0 ? &nearest->arithmetic_s : &nearest->calls;
    if (f >= 2) into = f % 2 ? &nearest->swept[f / 2 - 1] : &nearest->tile[f / 2 - 1];
    *into = inner->figures[at];
  }
  return volume;
}

// An operator with its decisions: its loops for the nearest level, and the blocks that these make.
typedef struct {
  const Operator *operator;
  const Around *around;
  int64_t shared;
  const View *view;
  const Block *block;
  View cut;
  Block nearest;
  double conflict;
} Decided;

// What shows of a right operand's traffic that is not prefetched: `prefetch_gain.stream_seconds`.
static double stream_seconds(const Problem *problem, const Decided *one, int has_many_rows, double visible, double near) {
  const Operator *operator = one->operator;
  int is_packed = one->conflict == 0;
  if (has_many_rows && (!is_packed || !packs_ahead(operator, one->view))) return 0.0;
  Moved moved;
  Unordered unordered;
  double moving = 0.0;
  Pass pass = {problem, operator, one->around, one->shared, one->view, &one->cut, one->block, &one->nearest, one->conflict};
  start_pass(&pass, &unordered);
  move(&pass, &unordered, moved);
  for (int64_t level = most_count(problem->fusion, 1); level < problem->source; level++) {
    moving = moving + moved[level][operator->right] / problem->bandwidths[level];
  }
  return moving * visible * near;
}

static double *write_work(const Problem *problem, const Decided *one, const Operator *with, double streamed_s, double *into) {
  Work work = {0};
  if (!with->in_tiles) {
    Pass pass = {problem, with, one->around, one->shared, one->view, &one->cut, one->block, &one->nearest, one->conflict};
    work_of(&pass, &work);
  }
  double figures[] = {work.arithmetic_s, work.functions_s, work.packing_s, work.overhead_s, work.prefetch_s, streamed_s,
                      work.line_buffer_s};
  for (unsigned f = 0; f < sizeof figures / sizeof *figures; f++) *into++ = figures[f];
  for (int64_t level = 0; level < problem->level_count; level++) *into++ = work.traffic[level];
  return into;
}

// The work of an operator with each of some micro kernels that differ in what they prefetch; 0 kernels for one without any.
static double *write_works(const Problem *problem, Reader *kernels, const Decided *one, Operator *with, double *into) {
  int64_t count = integer(kernels);
  *with = *one->operator;
  if (!count) return write_work(problem, one, with, 0.0, into);
  for (int64_t n = 0; n < count; n++) {
    int has_many_rows = (int)integer(kernels), streams = (int)integer(kernels);
    double visible = real(kernels), near = real(kernels);
    with->is_followed = (bool_t)integer(kernels);
    read_prefetches(kernels, with);
    double streamed_s = streams ? stream_seconds(problem, one, has_many_rows, visible, near) : 0.0;
    into = write_work(problem, one, with, streamed_s, into);
  }
  return into;
}

static const int64_t ORDERS[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static int is_order(const int64_t *order, int64_t dims) {
  for (int64_t i = dims; i < 3; i++) {
    if (order[i] != i) return 0;
  }
  return 1;
}

// The best loops inside an operator's block: the number of their order and of their tiles, -1 where none gain enough.
static int find_loops(
    const Problem *problem, Decided *one, const InnerTiles *inner, Decision *best, int64_t *found, Arena *arena) {
  double *prices = taken(arena, inner->tiles * 8), *volumes = taken(arena, inner->tiles * 8);
  if (!prices || !volumes) return 0;
  const Operator *operator = one->operator;
  const int64_t *best_order = 0;
  Pass pass = {problem, operator, one->around, one->shared, one->view, &one->cut, one->block, &one->nearest, best->conflict};
  one->cut.loop_count += inner->dims;
  int64_t number = 0;
  int is_cut = 0;
  found[0] = found[1] = -1;
  for (int64_t o = 0; o < 6; o++) {
    if (!is_order(ORDERS[o], inner->dims)) continue;
    double lowest = 0, largest = 0;
    int64_t chosen = -1;
    for (int64_t t = 0; t < inner->tiles; t++) {
      Work work;
      volumes[t] = cut_block(inner, operator, t, ORDERS[o], one->view, &one->cut, &one->nearest);
      work_of(&pass, &work);
      double price = prices[t] = seconds(problem, &work, problem->visible);
      lowest = t ? (price != price || lowest != lowest ? price + lowest : least(lowest, price)) : price;
    }
    for (int64_t t = 0; t < inner->tiles; t++) {
      double volume = prices[t] <= lowest * problem->equal_within ? volumes[t] : -1;
      if (chosen < 0 || volume > largest) chosen = t, largest = volume;
    }
    if (prices[chosen] * (is_cut ? 1.0 : problem->least_gain) < best->seconds) {
      best->seconds = prices[chosen];
      best_order = ORDERS[o];
      found[0] = number;
      found[1] = chosen;
      is_cut = volumes[chosen] < volumes[inner->tiles - 1];  // the last tiles are those of the block
    }
    number++;
  }
  if (best_order) cut_block(inner, operator, found[1], best_order, one->view, &one->cut, &one->nearest);
  else one->cut = *one->view, one->nearest = *one->block;
  return 1;
}

// The order of a candidate, and where it has fused groups the same with them.
static int start_candidates(Search *search, const Kept *kept, const Data *candidate, int64_t trees, Arena *arena) {
  Reader reader = {candidate->integers, candidate->reals};
  *search = (Search){.problem = kept->problem, .count = 1 + trees, .sets = kept->sets};
  search->orders = taken(arena, search->count * (int64_t)sizeof(Order));
  if (!search->orders) return 0;
  int started = start_order(kept->problem, &reader, &search->sets, search->orders, arena);
  if (started <= 0) return started;
  if (!number_pairs(kept->problem, search->sets, kept->sets)) return -1;
  return trees ? start_tree(search, &reader, &search->orders[1], arena) : 1;
}

// The order of a candidate with its tiles alone, and its operators inside them; `choices` are places of tiles.
static int start_refined(Search *search, int64_t trees, const int64_t **choices, Order *order, Around *around, Arena *arena) {
  const Problem *problem = search->problem;
  *order = search->orders[search->count - 1];
  for (int64_t d = 0; !trees && d < order->dim_count; d++) {
    order->picked[d] = 1;
    order->picks[d] = (*choices)++;
  }
  int64_t *by_tensor = taken(arena, problem->tensor_count * 8);
  if (!by_tensor || !start_point(problem, order, &search->point, arena)) return 0;
  move_point(problem, order, 0, &search->point);
  around->live_bytes = (double)live_bytes(problem, order, &search->point);
  hold(problem, order, &search->point, touched_bytes(problem, &search->point, 0, by_tensor), by_tensor, around);
  return 1;
}

// An operator inside its own loops, which are written as their number, their axes and the places of their tiles.
static void start_member(
    const Search *search, const Order *order, int64_t number, const int64_t **choices, Option *option, Sweep *sweep) {
  const Problem *problem = search->problem;
  const int64_t *from = *choices, length = from[0];
  int64_t tile = 0;
  *option = (Option){.length = length, .order = from + 1};
  mark_option(problem, &problem->operators[number], option);
  for (int64_t d = 0; d < option->dim_count; d++) {
    for (int64_t i = 0; i < length; i++) {
      if (option->places[i] == d) tile = tile * option->extents[d] + from[1 + length + i];
    }
  }
  start_sweep(sweep, problem, order, &search->point, number, option);
  sweep_to(sweep, tile);
  *choices += 1 + 2 * length;
}

// The bytes of all tiles of inputs and outputs together, and of intermediates: no operator works on more.
static double most_bytes(const Operator *operator, const Block *block) {
  double total = 0;
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    if (!operand->is_intermediate) total += (double)operand->element_bytes * block->tile[k];
  }
  return total;
}

// Of a candidate: whether it has required regions; bytes of intermediates, and the most that it works on at a time. Of every
// operator: seconds, what they cannot get below, the conflict of a right operand in place; whether loops
// inside its block may gain, tile and size of each of its axes. Where figures of smaller blocks are given (by number of the
// operator, in order, ended by -1) also their best loops: the numbers of order and tiles. Then its work with each micro kernel.
EXPORTED int64_t tw_refine(const Data *problem_data, const Data *order_data, int64_t count, char *memory, int64_t memory_bytes,
                           const Data *tables, const Data *candidate, int64_t trees, const int64_t *choices, const Data *smaller,
                           const Data *kernels, int64_t *integers_found, double *reals_found) {
  Arena arena;
  int result = open_problem(problem_data, order_data, count, tables, memory, memory_bytes, &arena);
  if (result <= 0) return result;
  Search *search = taken(&arena, sizeof(Search));
  if (!search) return 0;
  result = start_candidates(search, (Kept *)memory, candidate, trees, &arena);
  if (result <= 0) return result;
  const Problem *problem = search->problem;
  Reader reader = {smaller->integers, smaller->reals}, of_kernels = {kernels->integers, kernels->reals};
  Order *order = taken(&arena, sizeof(Order));
  Around *around = taken(&arena, sizeof(Around));
  Sweep *sweep = taken(&arena, sizeof(Sweep));
  Option *option = taken(&arena, sizeof(Option));
  InnerTiles *inner = taken(&arena, sizeof(InnerTiles));
  Decided *one = taken(&arena, sizeof(Decided));
  Operator *with = taken(&arena, sizeof(Operator));
  if (!order || !around || !sweep || !option || !inner || !one || !with) return 0;
  if (!start_refined(search, trees, &choices, order, around, &arena)) return 0;
  int64_t *has_regions = integers_found++;
  *reals_found++ = around->live_bytes;
  double *used_bytes = reals_found++;
  *has_regions = 0;
  *used_bytes = around->live_bytes;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    const Operator *operator = &problem->operators[o];
    int64_t shared = shared_loops(order, o), loops[2] = {-1, -1};
    start_member(search, order, o, &choices, option, sweep);
    Decision best = decide(problem, operator, around, shared, &sweep->view, &sweep->block);
    int may_gain = best.may_gain;
    *one = (Decided){operator, around, shared, &sweep->view, &sweep->block, sweep->view, sweep->block, best.conflict};
    *has_regions |= sweep->view.region_axes != 0;
    *used_bytes += most_bytes(operator, &sweep->block);
    if (*reader.integers == o) {
      char *free_from = arena.next;
      integer(&reader);
      read_inner_tiles(&reader, smaller->figures, operator, inner);
      if (!find_loops(problem, one, inner, &best, loops, &arena)) return 0;
      arena.next = free_from;
    }
    *reals_found++ = best.seconds;
    *reals_found++ = best.floor_s;
    *reals_found++ = best.conflict;
    reals_found = write_works(problem, &of_kernels, one, with, reals_found);
    *integers_found++ = may_gain;
    *integers_found++ = loops[0];
    *integers_found++ = loops[1];
    for (int64_t i = 0; i < operator->axis_count; i++) {
      *integers_found++ = sweep->view.tiles[operator->axis_list[i]];
      *integers_found++ = sweep->view.sizes[operator->axis_list[i]];
    }
  }
  return 1;
}
