// What Python calls. All return 1, 0 if the memory that they are given is too small, -1 for what is beyond the core's limits.

typedef struct {
  const int64_t *integers;
  const double *reals, *figures;
} Data;

#define EXPORTED __attribute__((visibility("default")))

static int start_candidate(const Problem *problem, Candidate *one, Arena *arena) {
  one->orders = taken(arena, problem->operator_count * (int64_t)sizeof(int64_t));
  one->tiles = taken(arena, problem->operator_count * (int64_t)sizeof(int64_t));
  return one->orders && one->tiles;
}

// An order with fused groups below the order of a number, and the tiles of all its loops.
static int start_tree(Search *search, Reader *from, Order *into, Arena *arena) {
  const Order *above = &search->orders[integer(from)];
  FusedGroups *fused = read_groups(from, arena);
  if (!fused || !with_groups(search->problem, above, fused, into, arena)) return 0;
  for (int64_t d = 0; d < into->dim_count; d++) {
    into->picked[d] = integer(from);
    into->picks[d] = integers(from, into->picked[d]);
  }
  return 1;
}

// What all calls for one problem have in common: it stays at the start of their memory for the next one. The caller gives back
// what lies behind `KEPT_BYTES`, which `library.text` writes.
typedef struct {
  int64_t number;  // of the problem, its first integer; 0 for none
  Problem *problem;
  Order *orders;
  LoopSet *sets;
  bool_t has_tables;
  char *end;
} Kept;

static int keep_problem(Kept *kept, const Data *problem, const Data *orders, int64_t count, Arena *arena) {
  Reader reader = {problem->integers + 1, problem->reals}, of_orders = {orders->integers, orders->reals};
  kept->problem = taken(arena, sizeof(Problem));
  kept->orders = taken(arena, count * (int64_t)sizeof(Order));
  kept->sets = 0;
  kept->has_tables = 0;
  if (!kept->problem || !kept->orders || !read_problem(&reader, problem->figures, kept->problem, arena)) return 0;
  for (int64_t n = 0; n < count; n++) {
    int started = start_order(kept->problem, &of_orders, &kept->sets, &kept->orders[n], arena);
    if (started <= 0) return started;
  }
  return 1;
}

// The problem with its orders, and the figures of blocks where these are given.
static int open_problem(
    const Data *problem, const Data *orders, int64_t count, const Data *tables, char *memory, int64_t memory_bytes, Arena *arena) {
  *arena = (Arena){memory, memory + memory_bytes};
  Kept *kept = taken(arena, sizeof(Kept));
  if (!kept) return 0;
  int is_kept = kept->number == problem->integers[0], opened = 1;
  kept->number = 0;
  if (is_kept) arena->next = kept->end;
  else opened = keep_problem(kept, problem, orders, count, arena);
  if (opened <= 0) return opened;
  if (tables && !kept->has_tables) {
    Reader reader = {tables->integers, tables->reals};
    if (!read_all_tables(&reader, tables->figures, kept->problem, arena)) return 0;
    if (!number_pairs(kept->problem, kept->sets, 0)) return -1;
    kept->has_tables = 1;
  }
  kept->end = arena->next;
  if (kept->end - memory <= KEPT_BYTES) kept->number = problem->integers[0];
  for (LoopSet *set = kept->sets; set; set = set->next) set->least_prices = 0;
  return 1;
}

// A search among the orders of an open problem, and some that have fused groups below them.
static int start_search(Search *search, const Kept *kept, int64_t count, const Data *trees, int64_t tree_count, Arena *arena) {
  const Problem *problem = kept->problem;
  int64_t operators = problem->operator_count, all = count + tree_count;
  *search = (Search){.problem = problem, .count = all, .sets = kept->sets};
  search->orders = taken(arena, all * (int64_t)sizeof(Order));
  search->bounds = taken(arena, all * (int64_t)sizeof(Bound));
  search->found = taken(arena, all * (int64_t)sizeof(Candidate));
  search->is_found = taken(arena, all);
  search->bounding = (Bounds){problem, taken(arena, operators * (int64_t)sizeof(Least *)), 1.0, arena};
  if (!search->orders || !search->bounds || !search->found || !search->is_found || !search->bounding.known) return 0;
  for (int64_t o = 0; o < operators; o++) search->bounding.known[o] = 0;
  for (int64_t n = 0; n < all; n++) {
    search->is_found[n] = 0;
    if (n < count) search->orders[n] = kept->orders[n];
    if (!start_candidate(problem, &search->found[n], arena)) return 0;
  }
  Reader of_trees = {trees ? trees->integers : 0, 0};
  for (int64_t n = count; n < all; n++) {
    if (!start_tree(search, &of_trees, &search->orders[n], arena)) return 0;
  }
  return 1;
}

static int is_behind(const int64_t *left, const int64_t *right) {
  return left[0] > right[0] || (left[0] == right[0] && left[1] > right[1]);
}

// Sorts pairs and leaves out what is there twice; how many are left.
static int64_t sorted_pairs(int64_t *pairs, int64_t count) {
  int64_t kept = 0;
  for (int64_t gap = count / 2; gap; gap /= 2) {
    for (int64_t i = gap; i < count; i++) {
      int64_t pair[2] = {pairs[2 * i], pairs[2 * i + 1]}, at = i;
      for (; at >= gap && is_behind(&pairs[2 * (at - gap)], pair); at -= gap) {
        pairs[2 * at] = pairs[2 * (at - gap)];
        pairs[2 * at + 1] = pairs[2 * (at - gap) + 1];
      }
      pairs[2 * at] = pair[0];
      pairs[2 * at + 1] = pair[1];
    }
  }
  for (int64_t i = 0; i < count; i++) {
    if (i && !is_behind(&pairs[2 * i], &pairs[2 * (kept - 1)])) continue;
    pairs[2 * kept] = pairs[2 * i];
    pairs[2 * kept++ + 1] = pairs[2 * i + 1];
  }
  return kept;
}

// The extents of one operator's regions along one axis, of all orders, behind their number; 0 without memory.
static int collect_pairs(const LoopSet *sets, int64_t operator, int64_t axis, Arena *arena, int64_t *length) {
  int64_t count = 0, *pairs = (int64_t *)arena->next;
  for (const LoopSet *set = sets; set; set = set->next) {
    const Region *region = region_of(set, operator, axis);
    int64_t choices[MOST_DIMENSIONS] = {0}, place = 0;
    if (!region) continue;
    do {
      if ((char *)(pairs + 2 * count + 2) > arena->end) return 0;
      pairs[2 * count] = region->tile.values[place];
      pairs[2 * count++ + 1] = region->total.values[place];
    } while (next_choice(set, region->moving, choices, &place));
    count = sorted_pairs(pairs, count);
  }
  *length = count;
  return taken(arena, 16 * count) != 0 || !count;
}

// The extents of all required regions: operator, axis, number of pairs (tile, points of all blocks), pairs; `found` has the
// address of the first number, and how many there are.
EXPORTED int64_t tw_extents(const Data *problem_data, const Data *order_data, int64_t count, char *memory, int64_t memory_bytes,
                            int64_t *found) {
  Arena arena;
  int opened = open_problem(problem_data, order_data, count, 0, memory, memory_bytes, &arena);
  if (opened <= 0) return opened;
  const Kept *kept = (const Kept *)memory;
  const Problem *problem = kept->problem;
  int64_t most = 4 * problem->operator_count * MOST_READINGS, *heads = taken(&arena, most * 8), length = 0;
  if (!heads) return 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    for (int64_t r = 0; r < problem->operators[o].reading_count; r++) {
      int64_t axis = problem->operators[o].readings[r].axis, pairs, *first = (int64_t *)arena.next;
      if (!collect_pairs(kept->sets, o, axis, &arena, &pairs)) return 0;
      if (!pairs) continue;
      heads[length++] = o;
      heads[length++] = axis;
      heads[length++] = pairs;
      heads[length++] = (int64_t)first;
    }
  }
  found[0] = (int64_t)heads;
  found[1] = length;
  return 1;
}

// The point of an order's least bound among tiles that are no case of fewer loops, as a candidate.
static int keep_bound(Search *search, int64_t number) {
  const Problem *problem = search->problem;
  const Order *order = &search->orders[number];
  Bound *bound = &search->bounds[number];
  int64_t best = -1;
  double lowest = 0;
  if (!bound->price && !bound_order(&search->bounding, order, &search->point, -1, bound)) return 0;
  if (!start_point(problem, order, &search->point, search->bounding.arena)) return 0;
  for (int64_t p = 0; p < point_count(order); p++) {
    move_point(problem, order, p, &search->point);
    double price = is_cut(problem, order, &search->point) ? bound->price[p] : INFINITE;
    if (best < 0 || price < lowest) best = p, lowest = price;
  }
  move_point(problem, order, best, &search->point);
  Candidate *into = &search->found[number];
  into->cores_s = into->seconds = bound->price[best];
  into->used_bytes = bound->used[best];
  into->blocks = search->point.blocks;
  for (int64_t d = 0; d < order->dim_count; d++) into->choices[d] = search->point.choices[d];
  return 1;
}

static int64_t *write_candidate(const Search *search, int64_t number, int64_t *into) {
  const Problem *problem = search->problem;
  const Order *order = &search->orders[number];
  const Candidate *one = &search->found[number];
  *into++ = search->is_found[number];
  *into++ = one->blocks;
  for (int64_t d = 0; d < order->dim_count; d++) *into++ = one->choices[d];
  for (int64_t o = 0; search->is_found[number] && o < problem->operator_count; o++) {
    InnerOrders orders;
    uint64_t outside = order->shared_axes | order->set->members[o].region_axes;
    inner_orders(problem, &problem->operators[o], outside, &orders);
    int64_t length = orders.lengths[one->orders[o]];
    *into++ = one->tiles[o];
    *into++ = length;
    for (int64_t i = 0; i < length; i++) *into++ = orders.axes[one->orders[o]][i];
  }
  return into;
}

// What every order costs at least if nothing spills: bounds are computed when an order may still win by that.
static int bound_orders(Search *search) {
  for (int64_t n = 0; n < search->count; n++) {
    if (!bound_without_spills(&search->bounding, &search->orders[n], &search->point, &search->bounds[n])) return 0;
  }
  return 1;
}

// Searches the orders that keep all intermediates, or all of them.
static int search_some(Search *search, int only_keeping) {
  int64_t count = 0, *numbers = taken(search->bounding.arena, search->count * (int64_t)sizeof(int64_t));
  if (!numbers) return 0;
  for (int64_t n = 0; n < search->count; n++) {
    if (!only_keeping || (search->orders[n].keeps_all && !search->orders[n].fused)) numbers[count++] = n;
  }
  return search_orders(search, numbers, count);
}

// For every order that keeps all intermediates the tiles with which fused groups below it may matter: by order whether there are
// any, then their number and places along every dimension. `choices` has the choices of groups of each of these orders.
EXPORTED int64_t tw_above_trees(const Data *problem_data, const Data *order_data, int64_t count, char *memory,
                                int64_t memory_bytes, const Data *tables, const Data *choices, int64_t *found) {
  Arena arena;
  int result = open_problem(problem_data, order_data, count, tables, memory, memory_bytes, &arena);
  if (result <= 0) return result;
  Search *search = taken(&arena, sizeof(Search));
  if (!search || !start_search(search, (Kept *)memory, count, 0, 0, &arena)) return 0;
  result = bound_orders(search);
  if (result > 0) result = search_some(search, 1);
  if (result <= 0) return result;
  int64_t next = 0;
  for (int64_t n = 0; n < count; n++) next = search->is_found[n] ? n + 1 : next;
  double limit = price_to_beat(search, next ? next : 1, 0);
  for (int64_t n = 0; n < count; n++) {
    Reader of_order = {choices->integers + choices->integers[n], 0};
    Order order = search->orders[n];
    if (!order.keeps_all || !choices->integers[n]) {
      *found++ = 0;
      continue;
    }
    result = restrict_above_trees(search, &order, limit, &of_order);
    if (result <= 0) return result;
    *found++ = result == 1;
    for (int64_t d = 0; result == 1 && d < order.dim_count; d++) {
      *found++ = order.picked[d];
      for (int64_t i = 0; i < order.picked[d]; i++) *found++ = choice(&order, d, i);
    }
  }
  return 1;
}

// The best candidate of every order that can still win, and what the first few others cost at least: whether it was found,
// blocks, places of tiles; of what was found the place of every operator's inner tiles and the axes of its loops. Behind the
// orders of outer loops stand some with fused groups below them.
EXPORTED int64_t tw_search(const Data *problem_data, const Data *order_data, int64_t count, char *memory, int64_t memory_bytes,
                           const Data *tables, const Data *tree_data, int64_t trees, int64_t keeping_first, int64_t kept_bounds,
                           int64_t *integers_found, double *reals_found, Counts *counts) {
  Arena arena;
  int result = open_problem(problem_data, order_data, count, tables, memory, memory_bytes, &arena);
  if (result <= 0) return result;
  Search *search = taken(&arena, sizeof(Search));
  if (!search || !start_search(search, (Kept *)memory, count, tree_data, trees, &arena)) return 0;
  result = bound_orders(search);
  if (result > 0 && keeping_first) result = search_some(search, 1);
  if (result > 0) result = search_some(search, 0);
  if (result <= 0) return result;
  *counts = search->counts;
  for (int64_t n = 0; n < search->count; n++) {
    char *free_from = arena.next;
    if (!search->is_found[n] && kept_bounds-- <= 0) {
      *integers_found++ = -1;
      continue;
    }
    if (!search->is_found[n] && !keep_bound(search, n)) return 0;
    arena.next = free_from;
    integers_found = write_candidate(search, n, integers_found);
    *reals_found++ = search->found[n].seconds;
    *reals_found++ = search->found[n].cores_s;
    *reals_found++ = search->found[n].used_bytes;
  }
  return 1;
}

// The least times of any schedule (one thread, the cores); `found[2]` is 0 as soon as one may cost as little as the limit.
EXPORTED int64_t tw_least_times(const Data *problem_data, const Data *order_data, int64_t count, char *memory,
                                int64_t memory_bytes, const Data *tables, double shown, double gain_s, double call_s,
                                double limit_s, double *found) {
  Arena arena;
  int opened = open_problem(problem_data, order_data, count, tables, memory, memory_bytes, &arena);
  if (opened <= 0) return opened;
  Search *search = taken(&arena, sizeof(Search));
  if (!search || !start_search(search, (Kept *)memory, count, 0, 0, &arena)) return 0;
  const Problem *problem = search->problem;
  search->bounding.shown = shown;
  found[0] = found[1] = INFINITE;
  found[2] = 0;
  for (int64_t n = 0; n < count; n++) {
    const Order *order = &search->orders[n];
    if (!bound_operators(&search->bounding, order, &search->point)) return 0;
    double alone = order->set->least_sum - gain_s;
    double together = problem->is_split ? alone / (double)problem->cores : least_on_cores(problem, order, gain_s);
    found[0] = least(found[0], alone + call_s);
    found[1] = least(found[1], together + call_s);
    if (together + call_s <= limit_s) return 1;
  }
  found[2] = 1;
  return 1;
}
