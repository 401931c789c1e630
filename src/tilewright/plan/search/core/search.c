// Lower bounds of orders of outer loops, and the search among them.

// Figures of an operator over the tiles of an order's outer loops, each the least over inner loops.
typedef struct Least {
  struct Least *next;
  uint64_t outer_axes, region_axes;
  int64_t points;
  double *figures[6];  // arithmetic, functions, packing, overhead, moved, used
} Least;

typedef struct {
  double *price, *used;  // by point: seconds on the cores, bytes of the fusion level; none until they are asked for
  double lowest;  // of the prices; until then no more than that
} Bound;

typedef struct {
  const Problem *problem;
  Least **known;  // by operator
  double shown;   // the share of waiting for pages of right operands that is not hidden
  Arena *arena;
} Bounds;

// The places of tiles along the dimensions of an operator's tables: those of a point, the last one, or all.
static int64_t dimension_of(const Order *order, int64_t axis) {
  for (int64_t d = 0; d < order->dim_count; d++) {
    if (order->dims[d] == axis) return d;
  }
  return -1;
}

// What blocks cost at least, whatever the loops around them: `cost.least_work`.
static void least_work(const Problem *problem, const Operator *operator, const Cell *cell, const View *view, double *into) {
  into[0] = figure_at(operator, ARITHMETIC, cell);
  into[1] = figure_at(operator, LEAST_FUNCTIONS, cell);
  into[2] = least_packing_seconds(problem, operator, cell, view);
  into[3] = figure_at(operator, CALLS, cell) * problem->tile_end_cycles / problem->hz;
  into[4] = bytes_once(operator, cell);
  into[5] = tile_bytes(operator, cell, view->tiles, view->sizes);
}

static void least_over_inner(const Problem *problem, const Order *order, const Operator *operator, uint64_t region_axes,
                             int has_inner, const int64_t *choices, View *view, double *into) {
  const Tables *tables = &operator->tables;
  int64_t first[MOST_TABLE_AXES], last[MOST_TABLE_AXES], at[MOST_TABLE_AXES];
  Cell cell;
  for (int64_t d = 0; d < tables->dims; d++) {
    int64_t axis = tables->axes[d], dim = dimension_of(order, axis), end = tables->tile_counts[d] - 1;
    first[d] = 0;
    last[d] = end;
    if (dim >= 0) first[d] = last[d] = choices[dim];
    else if (!has_inner && !has(region_axes, axis)) first[d] = end;
    at[d] = first[d];
    put_tile(problem, tables, d, at[d], view->tiles, view->sizes);
  }
  start_cell(operator, at, &cell);
  least_work(problem, operator, &cell, view, into);
  for (;;) {
    double figures[6];
    int64_t d = tables->dims - 1;
    for (; d >= 0 && at[d] == last[d]; d--) {
      move_cell(operator, d, first[d] - at[d], &cell);
      at[d] = first[d];
      put_tile(problem, tables, d, at[d], view->tiles, view->sizes);
    }
    if (d < 0) return;
    at[d]++;
    move_cell(operator, d, 1, &cell);
    put_tile(problem, tables, d, at[d], view->tiles, view->sizes);
    least_work(problem, operator, &cell, view, figures);
    for (int f = 0; f < 6; f++) into[f] = least(into[f], figures[f]);
  }
}

// Over the points of an order's own dimensions that an operator has.
static const Least *least_figures(Bounds *bounds, const Order *order, int64_t number) {
  const Problem *problem = bounds->problem;
  const Operator *operator = &problem->operators[number];
  const Member *member = &order->set->members[number];
  uint64_t outer = order->shared_axes & operator->axes;
  for (Least *one = bounds->known[number]; one && !order->fused; one = one->next) {
    if (one->outer_axes == outer && one->region_axes == member->region_axes) return one;
  }
  Least *found = taken(bounds->arena, sizeof(Least));
  if (!found) return 0;
  *found = (Least){.next = bounds->known[number], .outer_axes = outer, .region_axes = member->region_axes, .points = 1};
  for (int64_t d = 0; d < order->dim_count; d++) {
    if (has(outer, order->dims[d])) found->points *= order->counts[d];
  }
  for (int f = 0; f < 6; f++) {
    found->figures[f] = taken(bounds->arena, found->points * (int64_t)sizeof(double));
    if (!found->figures[f]) return 0;
  }
  View *view = taken(bounds->arena, sizeof(View));
  if (!view) return 0;
  for (int64_t a = 0; a < problem->axis_count; a++) view->tiles[a] = view->sizes[a] = problem->sizes[a];
  int has_inner = inner_axes(problem, operator, order->shared_axes | member->region_axes) != 0;
  int64_t choices[MOST_DIMENSIONS] = {0};
  for (int64_t p = 0; p < found->points; p++) {
    int64_t left = p;
    double figures[6];
    for (int64_t d = order->dim_count - 1; d >= 0; d--) {
      if (!has(outer, order->dims[d])) continue;
      choices[d] = left % order->counts[d];
      left /= order->counts[d];
    }
    least_over_inner(problem, order, operator, member->region_axes, has_inner, choices, view, figures);
    for (int f = 0; f < 6; f++) found->figures[f][p] = figures[f];
  }
  if (!order->fused) bounds->known[number] = found;
  return found;
}

static int64_t own_point(const Order *order, uint64_t outer_axes, const int64_t *choices) {
  int64_t place = 0;
  for (int64_t d = 0; d < order->dim_count; d++) {
    if (has(outer_axes, order->dims[d])) place = place * order->counts[d] + choices[d];
  }
  return place;
}

// Arithmetic and functions of all required regions together, given those of every point once: `Bounds._of_regions`.
static void of_regions(const Problem *problem, const Order *order, int64_t number, const Point *point, Work *work) {
  const Member *member = &order->set->members[number];
  const Operator *operator = &problem->operators[number];
  const View *view = &point->views[number];
  double repeated = 1.0;
  for (int64_t r = 0; r < member->region_count; r++) {
    int64_t axis = order->set->regions[member->regions[r]].axis;
    repeated = repeated * ((double)view->sizes[axis] / (double)problem->sizes[axis]);
  }
  if (!operator->has_kernel) {
    work->functions_s = work->functions_s * repeated;
  } else if (operator->column >= 0 && has(member->region_axes, operator->column)) {
    work->arithmetic_s = points(view, operator->axes) * operator->useful_s_per_point;
  } else if (operator->row >= 0 && has(member->region_axes, operator->row)) {
    Cell cell;
    start_block(problem, order, number, point, 0, &cell);
    work->arithmetic_s = figure_at(operator, ARITHMETIC, &cell);
  } else {
    work->arithmetic_s = work->arithmetic_s * repeated;
  }
}

static double bound_of(Bounds *bounds, const Order *order, int64_t number, const Least *figures, const Point *point, double *used) {
  const Problem *problem = bounds->problem;
  const Operator *operator = &problem->operators[number];
  const Member *member = &order->set->members[number];
  const View *view = &point->views[number];
  int64_t at = own_point(order, figures->outer_axes, point->choices), foreign = product(view->cut & view->foreign, view->trips);
  double *const *of = figures->figures, moved = of[4][at];
  Work work = {.arithmetic_s = of[0][at], .functions_s = of[1][at], .packing_s = of[2][at], .overhead_s = of[3][at]};
  if (member->region_count) {
    int is_whole = 1;
    of_regions(problem, order, number, point, &work);
    for (int64_t r = 0; r < member->region_count; r++) {
      int64_t axis = order->set->regions[member->regions[r]].axis;
      is_whole &= view->sizes[axis] >= problem->sizes[axis];
    }
    work.packing_s = work.packing_s * is_whole;
    work.overhead_s = work.overhead_s * is_whole;
    moved = moved * is_whole;
  }
  double repeats = (double)foreign * operator->least_computed, touches = operator->guard == 2 ? 0 : 1;
  for (int64_t level = 0; level < problem->level_count; level++) {
    work.traffic[level] = moved * operator->least_computed * touches;
  }
  work.arithmetic_s = work.arithmetic_s * repeats;
  work.functions_s = work.functions_s * touches * repeats;
  work.overhead_s = work.overhead_s * repeats;
  if (bounds->shown != 1.0) work.packing_s = work.packing_s * bounds->shown;
  *used = member->region_count ? 0 : of[5][at];
  return seconds(problem, &work, bounds->shown != 1.0 ? problem->visible * bounds->shown : problem->visible);
}

// What every operator costs and uses at least: the same for all orders of a set of loops.
static int bound_operators(Bounds *bounds, const Order *order, Point *point) {
  const Problem *problem = bounds->problem;
  LoopSet *set = order->set;
  int64_t count = point_count(order), operators = problem->operator_count;
  if (set->least_prices) return 1;
  const Least **figures = taken(bounds->arena, operators * (int64_t)sizeof(Least *));
  set->least_prices = taken(bounds->arena, operators * count * (int64_t)sizeof(double));
  set->least_uses = taken(bounds->arena, operators * count * (int64_t)sizeof(double));
  set->least_sums = taken(bounds->arena, count * (int64_t)sizeof(double));
  if (!figures || !set->least_prices || !set->least_uses || !set->least_sums) return 0;
  if (!start_point(problem, order, point, bounds->arena)) return 0;
  for (int64_t o = 0; o < operators; o++) {
    figures[o] = least_figures(bounds, order, o);
    if (!figures[o]) return 0;
  }
  for (int64_t p = 0; p < count; p++) {
    move_point(problem, order, p, point);
    for (int64_t o = 0; o < operators; o++) {
      int64_t at = p * operators + o;
      set->least_prices[at] = bound_of(bounds, order, o, figures[o], point, &set->least_uses[at]);
      set->least_sums[p] = o ? set->least_sums[p] + set->least_prices[at] : set->least_prices[at];
    }
    set->least_sum = p ? least(set->least_sum, set->least_sums[p]) : set->least_sums[p];
  }
  return 1;
}

static int64_t blocks_of(const Problem *problem, const Order *order, const int64_t *choices) {
  int64_t blocks = 1;
  for (int64_t i = 0; i < order->parallel_count; i++) {
    int64_t axis = order->outer[i], dim = dimension_of(order, axis);
    blocks *= quotient_up(problem->sizes[axis], tile_of(problem, axis, choice(order, dim, choices[dim])));
  }
  return blocks;
}

// The least price on the cores of an order whose operators cost the least sums less a gain, if nothing spills.
static double least_on_cores(const Problem *problem, const Order *order, double gain_s) {
  const double *sums = order->set->least_sums;
  int64_t choices[MOST_DIMENSIONS] = {0}, blocks = blocks_of(problem, order, choices);
  double lowest = on_cores(problem, sums[0] - gain_s, blocks);
  for (int64_t p = 1; p < point_count(order); p++) {
    int64_t d = order->dim_count - 1;
    while (choices[d] == order->picked[d] - 1) choices[d--] = 0;
    choices[d]++;
    if (d < order->last_parallel) blocks = blocks_of(problem, order, choices);
    lowest = least(lowest, on_cores(problem, sums[p] - gain_s, blocks));
  }
  return lowest;
}

// What an order costs at least on the cores if nothing spills: no more than any price of `bound_order`.
static int bound_without_spills(Bounds *bounds, const Order *order, Point *point, Bound *into) {
  if (!bound_operators(bounds, order, point)) return 0;
  double lowest = bounds->problem->cores == 1 ? order->set->least_sum : least_on_cores(bounds->problem, order, 0);
  *into = (Bound){0, 0, lowest};
  return 1;
}

// What the operators cost and use at least, for all tiles. `live` is what intermediates take, -1 for what they do without
// further loops.
static int bound_order(Bounds *bounds, const Order *order, Point *point, double live, Bound *into) {
  const Problem *problem = bounds->problem;
  int64_t count = point_count(order), operators = problem->operator_count;
  into->price = taken(bounds->arena, count * (int64_t)sizeof(double));
  into->used = taken(bounds->arena, count * (int64_t)sizeof(double));
  if (!into->price || !into->used || !bound_operators(bounds, order, point)) return 0;
  if (!start_point(problem, order, point, bounds->arena)) return 0;
  for (int64_t p = 0; p < count; p++) {
    move_point(problem, order, p, point);
    double total = 0, highest = 0;
    double held = live >= 0 ? live : (double)live_bytes(problem, order, point);
    for (int64_t o = 0; o < operators; o++) {
      double price = order->set->least_prices[p * operators + o], used = order->set->least_uses[p * operators + o] + held;
      total = total + with_spills(problem, price, used);
      highest = most(highest, used);
    }
    into->price[p] = on_cores(problem, total, point->blocks);
    into->used[p] = highest;
    into->lowest = p ? least(into->lowest, into->price[p]) : into->price[p];
  }
  return 1;
}

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
