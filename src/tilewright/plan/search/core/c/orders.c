// Orders of outer loops: what `plan/search/core/orders.py` writes of each, and what operators are like at a choice of tiles.

// Operators that share loops inside the outer ones.
typedef struct {
  uint64_t members;
  int64_t length;
  const int64_t *axes;
} FusedGroup;

typedef struct {
  int64_t count;
  FusedGroup groups[MOST_GROUPS];
  uint64_t axes;
  Places places;  // of intermediates
} FusedGroups;

typedef struct {
  int64_t outer_count, dim_count, parallel_count, has_line_buffer, keeps_all;
  const int64_t *outer, *dims, *counts;
  uint64_t shared_axes, line_buffers;
  const FusedGroups *fused;  // 0 for none
  const Places *places;
  LoopSet *set;
  int64_t last_parallel;  // behind the last dimension along which blocks are told apart
  int64_t picked[MOST_DIMENSIONS];  // how many tiles of every dimension are looked at, and which
  const int64_t *picks[MOST_DIMENSIONS];
} Order;

static FusedGroups *read_groups(Reader *from, Arena *arena) {
  FusedGroups *found = taken(arena, sizeof(FusedGroups));
  if (!found) return 0;
  found->count = integer(from);
  found->axes = 0;
  for (int64_t g = 0; g < found->count; g++) {
    FusedGroup *group = &found->groups[g];
    group->members = (uint64_t)integer(from);
    group->length = integer(from);
    group->axes = integers(from, group->length);
    for (int64_t i = 0; i < group->length; i++) found->axes |= 1ULL << group->axes[i];
  }
  read_places(from, &found->places);
  return found;
}

// Whether the blocks along an axis are independent: `loop_views.is_parallel`.
static int is_parallel(const Problem *problem, const LoopSet *set, int64_t axis) {
  for (int64_t o = 0; o < problem->operator_count; o++) {
    int moves = has(problem->operators[o].parallel_axes, axis);
    for (int64_t r = 0; r < set->region_count; r++) {
      moves |= set->regions[r].operator == o && has(set->regions[r].moving, axis);
    }
    if (!moves) return 0;
  }
  return 1;
}

static void take_set(const Problem *problem, LoopSet *set, Order *into) {
  into->set = set;
  into->dim_count = set->dim_count;
  into->dims = set->dims;
  into->counts = set->counts;
  into->shared_axes = 0;
  into->places = into->fused ? &into->fused->places : &problem->places;
  for (int64_t d = 0; d < set->dim_count; d++) {
    into->shared_axes |= 1ULL << set->dims[d];
    into->picked[d] = set->counts[d];
    into->picks[d] = 0;
  }
  int buffers = 0;  // a line buffer has its loop in order
  into->keeps_all = 1;
  for (int64_t o = 0; o + 1 < problem->operator_count; o++) {
    int64_t written = problem->operators[o].written;
    into->keeps_all &= has(set->kept, written);
    buffers |= has(set->line_buffers, written) && !has(set->kept, written);
  }
  int64_t free = into->outer_count - (into->outer_count && buffers), count = 0;
  while (count < free && is_parallel(problem, set, into->outer[count])) count++;
  into->parallel_count = count;
  into->last_parallel = 0;
  for (int64_t d = 0; d < into->dim_count; d++) {
    for (int64_t i = 0; i < count; i++) into->last_parallel = into->dims[d] == into->outer[i] ? d + 1 : into->last_parallel;
  }
}

// An order of outer loops. 1 if all went well, 0 without memory, -1 if it is beyond the core's limits.
static int start_order(const Problem *problem, Reader *from, LoopSet **sets, Order *into, Arena *arena) {
  LoopSet *set;
  into->outer_count = integer(from);
  into->outer = integers(from, into->outer_count);
  into->line_buffers = (uint64_t)integer(from);
  into->has_line_buffer = into->line_buffers != 0;
  into->fused = 0;
  int found = loop_set(problem, sets, into->outer, into->outer_count, into->line_buffers, &set, arena);
  if (found > 0) take_set(problem, set, into);
  return found;
}

// An order with fused groups below it, all of whose intermediates are kept.
static int with_groups(const Problem *problem, const Order *above, const FusedGroups *fused, Order *into, Arena *arena) {
  *into = *above;
  into->fused = fused;
  LoopSet *set = new_set(problem, above->set->axes, fused->axes, arena);
  if (!set || fill_set(problem, set, above->outer, above->outer_count, arena) <= 0) return 0;
  take_set(problem, set, into);
  return 1;
}

static inline int64_t choice(const Order *order, int64_t dim, int64_t number) {
  return order->picks[dim] ? order->picks[dim][number] : number;
}

// A point of an order: its tiles, and every operator inside its loops.
typedef struct {
  int64_t choices[MOST_DIMENSIONS], tiles[64], trips[64];
  int64_t blocks, number;  // its number among all points, whatever is picked
  View *views;
  bool_t is_started;
} Point;

static int64_t point_count(const Order *order) {
  int64_t count = 1;
  for (int64_t d = 0; d < order->dim_count; d++) count *= order->picked[d];
  return count;
}

static inline const FusedGroup *group_of(const Order *order, int64_t operator) {
  for (int64_t g = 0; order->fused && g < order->fused->count; g++) {
    if (has(order->fused->groups[g].members, operator)) return &order->fused->groups[g];
  }
  return 0;
}

// In how many of an operator's outermost loops another one stands as well.
static int64_t shared_loops(const Order *order, int64_t operator) {
  const FusedGroup *group = group_of(order, operator);
  return order->outer_count + (group ? group->length : 0);
}

static int start_point(const Problem *problem, const Order *order, Point *point, Arena *arena) {
  point->views = taken(arena, problem->operator_count * (int64_t)sizeof(View));
  if (!point->views) return 0;
  point->is_started = 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    View *view = &point->views[o];
    const Member *member = &order->set->members[o];
    const FusedGroup *group = group_of(order, o);
    int64_t below = group ? group->length : 0, node = order->outer_count;
    for (int64_t a = 0; a < problem->axis_count; a++) view->tiles[a] = view->sizes[a] = problem->sizes[a];
    for (int64_t g = 0; group && group != &order->fused->groups[g]; g++) node += order->fused->groups[g].length;
    for (int64_t i = 0; i < order->outer_count; i++) {
      view->loops[i].axis = member->loop_axes[order->outer[i]];
      view->loops[i].node = i;
    }
    for (int64_t i = 0; i < below; i++) {
      view->loops[order->outer_count + i].axis = group->axes[i];
      view->loops[order->outer_count + i].node = node + i;
    }
    view->loop_count = order->outer_count + below;
    view->region_axes = member->region_axes;
    view->line_buffered = 0;
    view->computed = view->masked = 1.0;
    mark_loops(&problem->operators[o], view, 0);
  }
  return 1;
}

// What masks leave of an operator's pairs inside so many shared loops: `needed_work.guarded_work`.
static void guard(const Problem *problem, const Guard *by, int64_t shared, View *view) {
  int64_t tiles[64], place = 0;
  int is_cut = 0;
  for (int64_t d = 0; d < by->dims; d++) tiles[by->row_axes[d]] = problem->sizes[by->row_axes[d]];
  for (int64_t i = 0; i < shared; i++) {
    int64_t axis = view->loops[i].axis;
    if (axis == by->axis) is_cut |= view->trips[i] > 1;
    for (int64_t d = 0; d < by->dims; d++) {
      if (by->row_axes[d] == axis && axis != by->axis && !is_cut) tiles[axis] = view->tiles[axis];
    }
  }
  for (int64_t d = 0; d < by->dims; d++) {
    int64_t at = 0;
    while (at < by->counts[d] - 1 && by->tiles[d][at] != tiles[by->row_axes[d]]) at++;
    place = place * by->counts[d] + at;
  }
  view->computed = by->computed[place];
  view->masked = by->masked[place];
}

static void move_view(const Problem *problem, const Order *order, int64_t number, uint64_t moved, Point *point) {
  View *view = &point->views[number];
  const Member *member = &order->set->members[number];
  const FusedGroup *group = group_of(order, number);
  for (int64_t i = 0; i < view->loop_count; i++) {
    int64_t axis = i < order->outer_count ? order->outer[i] : group->axes[i - order->outer_count];
    if (!has(moved, axis)) continue;
    view->trips[i] = point->trips[axis];
    view->tiles[axis] = point->tiles[axis];
  }
  mark_cuts(view, 0);
  for (int64_t r = 0; r < member->region_count; r++) {
    const Region *region = &order->set->regions[member->regions[r]];
    if (!(region->moving & moved) && !has(moved, region->axis)) continue;
    view->tiles[region->axis] = value_at(&region->tile, order->dim_count, point->choices);
    view->sizes[region->axis] = value_at(&region->total, order->dim_count, point->choices);
  }
  if (member->line_buffered) view->line_buffered = member->line_buffered[point->number];
  if (problem->operators[number].guard) guard(problem, &problem->guard, shared_loops(order, number), view);
}

// Goes to a point by its number among those that are picked; what stays as it was is not computed again.
static void move_point(const Problem *problem, const Order *order, int64_t number, Point *point) {
  int64_t inside = 1;
  uint64_t moved = 0;
  point->number = 0;
  for (int64_t d = order->dim_count - 1; d >= 0; d--) {
    int64_t at = choice(order, d, number % order->picked[d]), axis = order->dims[d];
    number /= order->picked[d];
    point->number += at * inside;
    inside *= order->counts[d];
    if (point->is_started && point->choices[d] == at) continue;
    int64_t tile = tile_of(problem, axis, at);
    moved |= 1ULL << axis;
    point->choices[d] = at;
    point->trips[axis] = quotient_up(problem->sizes[axis], tile);
    point->tiles[axis] = least_count(tile, problem->sizes[axis]);
  }
  if (point->is_started && !moved) return;
  point->is_started = 1;
  point->blocks = 1;
  for (int64_t i = 0; i < order->parallel_count; i++) point->blocks *= point->trips[order->outer[i]];
  for (int64_t o = 0; o < problem->operator_count; o++) move_view(problem, order, o, moved, point);
}

// Live intermediates: `working_set.live_bytes`.

static int runs_alike(const Order *order, const Tensor *tensor, int64_t loops) {
  if (loops <= order->outer_count) return 1;
  uint64_t members = tensor->consumers | 1ULL << tensor->producer;
  const FusedGroup *group = group_of(order, tensor->producer);
  return group && (members & ~group->members) == 0;
}

static void held_sizes(const Problem *problem, const Order *order, int64_t number, const Point *point, int64_t *held) {
  const Tensor *tensor = &problem->tensors[number];
  const View *producer = &point->views[tensor->producer];
  const Member *member = &order->set->members[tensor->producer];
  for (int64_t i = 0; i < tensor->axis_count; i++) held[tensor->axes[i]] = problem->sizes[tensor->axes[i]];
  int behind_barrier = 0;
  for (int64_t i = 0; i < producer->loop_count && runs_alike(order, tensor, i + 1); i++) {
    int64_t axis = producer->loops[i].axis;
    if (has(member->region_axes, axis)) continue;
    if (has(tensor->equal, axis)) {
      if (!behind_barrier) held[axis] = least_count(producer->tiles[axis], problem->sizes[axis]);
    } else {
      int is_barrier = has(problem->operators[tensor->producer].axes, axis);
      if (!is_barrier && has(tensor->consumer_axes, axis)) is_barrier = has(order->set->kept, number);
      if (is_barrier) behind_barrier |= producer->trips[i] > 1;
    }
  }
  for (int64_t r = 0; r < member->region_count; r++) {
    const Region *region = &order->set->regions[member->regions[r]];
    held[region->axis] = value_at(&region->largest, order->dim_count, point->choices);
  }
}

static int64_t buffer_bytes(const Problem *problem, const Order *order, const Buffer *buffer, const Point *point) {
  int64_t largest[64], held[64], count = 1;
  const Tensor *first = &problem->tensors[buffer->tensors[0]];
  uint64_t axes = order->set->members[first->producer].region_axes;
  for (int64_t i = 0; i < first->axis_count; i++) axes |= 1ULL << first->axes[i];
  for (int64_t t = 0; t < buffer->tensor_count; t++) {
    held_sizes(problem, order, buffer->tensors[t], point, held);
    for (uint64_t left = axes; left; left &= left - 1) {
      int64_t axis = __builtin_ctzll(left);
      largest[axis] = t ? most_count(largest[axis], held[axis]) : held[axis];
    }
  }
  for (uint64_t left = axes; left; left &= left - 1) count *= largest[__builtin_ctzll(left)];
  return count * buffer->held_bytes;
}

// Whether a buffer is alive from one block of the shared loops to the next: `live_ranges.is_lasting`.
static int lasts(const Problem *problem, const Order *order, const Place *place, const Buffer *buffer, const Point *point) {
  if (place->count < 2) return 0;
  for (uint64_t left = buffer->users; left; left &= left - 1) {
    if (order->set->members[__builtin_ctzll(left)].region_count) return 1;
  }
  for (int64_t i = 0; i < order->outer_count; i++) {
    int64_t axis = order->outer[i];
    if (!has(buffer->equal, axis) && (point->trips[axis] > 1 || problem->is_symbolic[axis])) return 1;
  }
  return 0;
}

static int64_t state_bytes(const Operator *operator, const View *view, const Problem *problem) {
  int64_t held[64], count = operator->state_bytes;
  int is_cut = 0;
  for (uint64_t left = operator->row_axes; left; left &= left - 1) {
    held[__builtin_ctzll(left)] = problem->sizes[__builtin_ctzll(left)];
  }
  for (int64_t i = 0; i < view->loop_count; i++) {
    int64_t axis = view->loops[i].axis;
    if (has(operator->reduced, axis)) is_cut |= view->trips[i] > 1;
    else if (has(operator->row_axes, axis) && !is_cut) held[axis] = view->tiles[axis];
  }
  for (uint64_t left = operator->row_axes; left; left &= left - 1) count *= held[__builtin_ctzll(left)];
  return is_cut ? count : 0;
}

static int64_t states_bytes(const Problem *problem, const Point *point) {
  int64_t total = 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    const Operator *operator = &problem->operators[o];
    if (operator->state_bytes) total += state_bytes(operator, &point->views[o], problem);
  }
  return total;
}

static int64_t live_bytes(const Problem *problem, const Order *order, const Point *point) {
  int64_t total = 0;
  for (int64_t p = 0; p < order->places->count; p++) {
    const Place *place = &order->places->places[p];
    int64_t reused = 0;
    for (int64_t b = 0; b < place->count; b++) {
      int64_t size = buffer_bytes(problem, order, &place->buffers[b], point);
      if (lasts(problem, order, place, &place->buffers[b], point)) total += size;
      else reused = most_count(reused, size);
    }
    total += reused;
  }
  return total + states_bytes(problem, point);
}

// What caches behind the fusion level hold: `traffic.chain_figures`.

static int64_t touched_bytes(const Problem *problem, const Point *point, int64_t depth, int64_t *by_tensor) {
  int64_t total = 0, box[64];
  for (int64_t t = 0; t < problem->tensor_count; t++) by_tensor[t] = 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    const Operator *operator = &problem->operators[o];
    const View *view = &point->views[o];
    for (int64_t a = 0; a < problem->axis_count; a++) box[a] = problem->sizes[a];
    for (int64_t i = 0; i < depth; i++) box[view->loops[i].axis] = view->tiles[view->loops[i].axis];
    for (int64_t k = 0; k < operator->operand_count; k++) {
      const Operand *operand = &operator->operands[k];
      if (operand->is_intermediate) continue;
      int64_t size_bytes = operand->element_bytes * elements(&operand->footprint, box);
      by_tensor[operand->tensor] = most_count(by_tensor[operand->tensor], size_bytes);
    }
  }
  for (int64_t t = 0; t < problem->tensor_count; t++) total += by_tensor[t];
  return total;
}

// `whole_bytes` are touched outside of all loops.
static void hold(
    const Problem *problem, const Order *order, const Point *point, int64_t whole_bytes, int64_t *by_tensor, Around *around) {
  int64_t touched[MOST_LOOPS], counted = 1;
  around->shared = order->outer_count;
  for (int64_t level = problem->fusion + 1; level < problem->level_count; level++) {
    int64_t share = problem->level_bytes[level] / least_count(problem->sharing_cores[level], point->blocks);
    int is_held = whole_bytes <= problem->level_bytes[level];
    around->held[level] = is_held ? ~0ULL : 0;
    for (int64_t depth = 1; depth <= around->shared && !is_held; depth++) {
      if (depth == counted) touched[counted++] = touched_bytes(problem, point, depth, by_tensor);
      is_held = touched[depth] <= share;
      around->held[level] = is_held ? ~0ULL << depth : 0;
    }
  }
}

// Elements that stay of an access while another operator runs inside the first `common` of its loops too. `along` are the loops
// along its axes: it stays for a common loop along none of them, inside of which no loop brings other tiles.
static int64_t resident_elements(const Problem *problem, const Order *order, const Point *point, const Member *member,
                                 const View *view, const Operand *operand, uint64_t along, int64_t common) {
  int64_t box[64];
  uint64_t inside = view->cut & ~(along & ~(along + 1)), ending = inside & along;
  uint64_t behind = ending ? ~0ULL << (63 - __builtin_clzll(ending)) : ~0ULL;
  if (!(inside & ~along & behind & ((1ULL << common) - 1))) return 0;
  for (uint64_t left = operand->axes; left; left &= left - 1) {
    int64_t axis = __builtin_ctzll(left);
    box[axis] = least_count(view->tiles[axis], problem->sizes[axis]);
  }
  for (int64_t r = 0; r < member->region_count; r++) {
    const Region *region = &order->set->regions[member->regions[r]];
    int64_t axis = region->axis, largest = value_at(&region->largest, order->dim_count, point->choices);
    box[axis] = least_count(largest, problem->sizes[axis]);
  }
  return elements(&operand->footprint, box);
}
