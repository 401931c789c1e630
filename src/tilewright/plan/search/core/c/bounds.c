// Lower bounds of orders of outer loops.

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

// The dimension of an order along an axis, -1 for none.
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

// The least of every figure over the tiles of inner loops: along the dimensions of an operator's tables those of a point, the last
// one, or all.
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
