// The search among orders of outer loops.

// Whether tiles are no case of fewer outer loops: `schedule_space.are_cut`.
static int is_cut(const Problem *problem, const Order *order, const Point *point) {
  for (int64_t g = 0; g <= problem->group_count; g++) {
    uint64_t axes = g < problem->group_count ? problem->group_axes[g] : 0, outer = 0;
    for (int64_t i = 0; i < order->outer_count; i++) outer |= 1ULL << order->outer[i];
    if (g < problem->group_count) {
      axes &= outer;
      if (bit_count(axes) < 2) continue;
    } else {
      if (!order->has_line_buffer || !order->outer_count) continue;
      axes = 1ULL << order->outer[order->outer_count - 1];
    }
    int cuts = 0, is_known = 1;
    for (uint64_t left = axes; left; left &= left - 1) {
      int64_t axis = __builtin_ctzll(left);
      is_known &= !problem->is_symbolic[axis];
      cuts |= point->trips[axis] > 1;
    }
    if (is_known && !cuts) return 0;
  }
  return 1;
}

typedef struct {
  const Problem *problem;
  int64_t count;
  Order *orders;
  Bound *bounds;
  Candidate *found;
  bool_t *is_found;
  LoopSet *sets;
  Bounds bounding;
  Point point;
  Counts counts;
} Search;

// The price above which an order of outer loops cannot win after those that were found: `_Search._bound`.
static double price_to_beat(const Search *search, int64_t number, int with_spilled) {
  const Problem *problem = search->problem;
  double lowest = INFINITE, before = INFINITE;
  for (int64_t n = 0; n < search->count; n++) {
    const Candidate *one = &search->found[n];
    if (!search->is_found[n] || (!with_spilled && one->used_bytes > (double)problem->capacity_bytes)) continue;
    lowest = least(lowest, one->cores_s);
    if (n < number) before = least(before, one->cores_s / problem->least_gain);
  }
  return lowest == INFINITE ? INFINITE : least(lowest * problem->least_gain * problem->equal_within, before);
}

// Keeps those tiles of an order's axes that are part of any able point; 0 if there are none, -1 without memory.
static int restrict_order(Order *order, const bool_t *able, Arena *arena) {
  int64_t *picks[MOST_DIMENSIONS], lengths[MOST_DIMENSIONS], count = point_count(order);
  int any = 0, all = 1;
  for (int64_t p = 0; p < count; p++) any |= able[p], all &= able[p];
  if (!any) return 0;
  if (all) return 1;
  for (int64_t d = 0; d < order->dim_count; d++) {
    picks[d] = taken(arena, order->picked[d] * (int64_t)sizeof(int64_t));
    if (!picks[d]) return -1;
    int64_t inside = 1, length = 0;
    for (int64_t e = d + 1; e < order->dim_count; e++) inside *= order->picked[e];
    for (int64_t n = 0; n < order->picked[d]; n++) {
      int is_part = 0;
      for (int64_t p = 0; p < count && !is_part; p++) is_part = able[p] && p / inside % order->picked[d] == n;
      if (is_part) picks[d][length++] = choice(order, d, n);
    }
    lengths[d] = length;
  }
  for (int64_t d = 0; d < order->dim_count; d++) {
    order->picks[d] = picks[d];
    order->picked[d] = lengths[d];
  }
  return 1;
}

// Keeps the tiles of points that cost no more than a limit and are no case of fewer loops; as `restrict_order`.
static int restrict_to(Search *search, Order *order, const double *prices, const double *uses, double limit, double of_spills) {
  const Problem *problem = search->problem;
  int64_t count = point_count(order);
  bool_t *able = taken(search->bounding.arena, count);
  if (!able || !start_point(problem, order, &search->point, search->bounding.arena)) return -1;
  for (int64_t p = 0; p < count; p++) {
    int fits = !uses || uses[p] <= (double)problem->capacity_bytes || prices[p] <= of_spills;
    able[p] = prices[p] <= limit && fits;
    if (!able[p]) continue;
    move_point(problem, order, p, &search->point);
    able[p] = (bool_t)is_cut(problem, order, &search->point);
  }
  return restrict_order(order, able, search->bounding.arena);
}

// Searches one order of outer loops among the tiles that can still win. As `best_of`; 2 if none can.
static int search_order(Search *search, int64_t number) {
  Order order = search->orders[number];
  const Bound *bound = &search->bounds[number];
  double limit = price_to_beat(search, number, 0), of_spills = price_to_beat(search, number, 1);
  int restricted = restrict_to(search, &order, bound->price, bound->used, limit, of_spills);
  if (restricted < 0) return 0;
  if (!restricted) return 2;
  search->counts.orders_priced++;
  return best_of(search->problem, &order, &search->found[number], &search->counts, search->bounding.arena);
}

// Whether an order can still win by what it costs at least if nothing spills; then its bound is computed. -1 without memory.
static int may_win(Search *search, int64_t number) {
  Bound *bound = &search->bounds[number];
  if (bound->lowest > price_to_beat(search, number, 0)) return 0;
  return bound_order(&search->bounding, &search->orders[number], &search->point, -1, bound) ? 1 : -1;
}

// Searches those of some orders that can still win, in the order of their bounds; those with line buffers last.
static int search_orders(Search *search, const int64_t *numbers, int64_t count) {
  bool_t *is_done = taken(search->bounding.arena, search->count);
  if (!is_done) return 0;
  for (int64_t n = 0; n < search->count; n++) is_done[n] = 1;
  for (int64_t i = 0; i < count; i++) is_done[numbers[i]] = search->is_found[numbers[i]];
  for (;;) {
    int64_t next = -1;
    for (int64_t n = 0; n < search->count; n++) {
      if (is_done[n]) continue;
      if (next >= 0) {
        int64_t buffered = search->orders[n].has_line_buffer, of_next = search->orders[next].has_line_buffer;
        if (buffered > of_next || (buffered == of_next && !(search->bounds[n].lowest < search->bounds[next].lowest))) continue;
      }
      next = n;
    }
    if (next < 0) return 1;
    if (!search->bounds[next].price) {
      int may = may_win(search, next);
      if (may < 0) return 0;
      is_done[next] = !may;
      continue;
    }
    is_done[next] = 1;
    Arena *arena = search->bounding.arena;
    char *free_from = arena->next;
    int found = search_order(search, next);
    arena->next = free_from;
    if (found <= 0) return found;
    search->is_found[next] = found == 1;
  }
}

// The least that intermediates take if one of some choices of fused groups shares loops below an order, at every point.
static double *least_live(Search *search, const Order *order, Reader *choices) {
  const Problem *problem = search->problem;
  Arena *arena = search->bounding.arena;
  int64_t count = point_count(order), choice_count = integer(choices);
  double *live = taken(arena, count * (int64_t)sizeof(double));
  if (!live || !start_point(problem, order, &search->point, arena)) return 0;
  for (int64_t p = 0; p < count; p++) {
    move_point(problem, order, p, &search->point);
    live[p] = (double)live_bytes(problem, order, &search->point);
  }
  for (int64_t c = 0; c < choice_count; c++) {
    Order inside;
    FusedGroups *fused = read_groups(choices, arena);
    if (!fused || !with_groups(problem, order, fused, &inside, arena)) return 0;
    for (int64_t d = 0; d < inside.dim_count; d++) {
      int64_t above = dimension_of(order, inside.dims[d]);
      inside.picked[d] = above < 0 ? 1 : order->picked[above];  // the smallest tile of loops below
      inside.picks[d] = above < 0 ? 0 : order->picks[above];
    }
    if (!start_point(problem, &inside, &search->point, arena)) return 0;
    for (int64_t p = 0; p < count; p++) {
      move_point(problem, &inside, p, &search->point);
      double size_bytes = (double)(live_bytes(problem, &inside, &search->point) - states_bytes(problem, &search->point));
      live[p] = least(live[p], size_bytes);
    }
  }
  return live;
}

// The tiles of an order with which fused groups below it may matter: `_Search.trees`. As `search_order`.
static int restrict_above_trees(Search *search, Order *order, double limit, Reader *choices) {
  Bound bound;
  double *prices, *live;
  if (!bound_order(&search->bounding, order, &search->point, 0, &bound)) return 0;
  int restricted = restrict_to(search, order, bound.price, 0, limit, 0);
  if (restricted < 0) return 0;
  if (!restricted) return 2;
  live = least_live(search, order, choices);
  if (!live) return 0;
  int priced = prices_at_best(search->problem, order, live, &prices, &search->counts, search->bounding.arena);
  if (priced <= 0) return priced;
  restricted = restrict_to(search, order, prices, 0, limit, 0);
  return restricted < 0 ? 0 : restricted ? 1 : 2;
}
