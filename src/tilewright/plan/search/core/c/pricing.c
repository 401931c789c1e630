// The prices of an order of outer loops: of every operator at all tiles, with each order of its inner loops.

typedef struct {
  double seconds, used;
  int64_t order, tile;
} Choice;

typedef struct {
  double seconds, cores_s, used_bytes;
  int64_t blocks, choices[MOST_DIMENSIONS];
  int64_t *orders, *tiles;  // by operator: number of the order of inner loops, place of its tiles
} Candidate;

static inline double on_cores(const Problem *problem, double seconds, int64_t blocks) {
  if (problem->cores == 1) return seconds;
  double few = (double)(blocks > 1 && blocks < problem->enough_blocks);
  double late = problem->late_share * (1 - (double)blocks / (double)problem->enough_blocks) * few;
  double rounds = (double)quotient_up(blocks, problem->cores) + late;
  return seconds * (rounds / (double)blocks) + problem->region_s * (double)(blocks > 1);
}

static inline double with_spills(const Problem *problem, double price, double used) {
  double excess = used / (double)problem->capacity_bytes;
  return excess > 1 ? price * (4.0 + excess) : price;
}

// What a search did: see `plan/counts.py`.
typedef struct {
  int64_t orders_priced, candidates, pricings, elements;
} Counts;

typedef struct {
  const Problem *problem;
  const Order *order;
  int64_t points;
  Around *around;
  Point point;
  double *live, *seconds, *cores_s, *used;
  double *resident_bytes;  // the most that stays of all operators
  int64_t *blocks;
  Choices *choices;
  Choice *trial;  // by operator and point
  Counts *counts;
} Pricing;

// Goes on to a point and inner tiles of options that differ in the order of their loops: the tiles from the last one on.
static void go_to(Pricing *pricing, int64_t number, const Option *options, int64_t at, Sweep *sweep) {
  if ((at + 1) % options->tiles) {
    sweep_back(sweep);
  } else {
    move_point(pricing->problem, pricing->order, at / options->tiles, &pricing->point);
    start_sweep(sweep, pricing->problem, pricing->order, &pricing->point, number, options);
  }
  put_loops(sweep, options);
}

// Prices an option at the point and tiles of a sweep, with right operands packed; whether it may cost less in place.
static int price_option(Pricing *pricing, const Pass *pass, const Unordered *unordered, Sweep *sweep, Option *option, int64_t at) {
  const Problem *problem = pricing->problem;
  int64_t outside, inside;
  Work work;
  put_loops(sweep, option);
  work.packing_s = option->seconds[at] = 0;
  if (!pass->operator->in_tiles) {
    work_in_order(pass, unordered, &work);
    option->seconds[at] = seconds(problem, &work, problem->visible);
  }
  option->used[at] = sweep->block.used_bytes;
  resident_bytes(problem, pricing->order, &pricing->point, sweep->number, &sweep->view, &outside, &inside);
  option->rereads[at] = outside + inside == 0;
  return !((option->seconds[at] - work.packing_s) * problem->least_gain >= option->seconds[at]);
}

// Whether a price of an operator counts as it is whatever stays of others: nothing spills, and tiles may be read again.
static int is_sure(const Pricing *pricing, int64_t number, const Option *option, int64_t at) {
  const Choices *own = &pricing->choices[number];
  int64_t p = at / option->tiles;
  if (own->may_stay && !option->rereads[at]) return 0;
  return option->used[at] + pricing->live[p] + pricing->resident_bytes[p] <= (double)pricing->problem->capacity_bytes;
}

// Prices by which loops of an operator at a point lose: that of others which count, and that without any.
typedef struct {
  double best, none;
} ToBeat;

static ToBeat start_point_to_beat(const Pricing *pricing, int64_t number, const Option *options, int64_t p) {
  const Option *none = pricing->choices[number].options;
  int is_known = options != none && is_sure(pricing, number, none, p);
  return (ToBeat){INFINITE, is_known ? none->seconds[p] : INFINITE};
}

// Whether no order of the loops of a pass can be chosen: without traffic and packing it costs more than what is to be beaten.
// Prefetches hide no more than is shown.
static int must_lose(const Problem *problem, const Unordered *unordered, const ToBeat *limit) {
  double least_s = (unordered->arithmetic_s + unordered->functions_s + unordered->overhead_s) * (1 - 1e-9);
  return least_s > limit->best || least_s * problem->least_gain > limit->none;
}

// Loops of more than one trip in their order: options with the same ones move the same, and cost the same unless they pack.
static uint64_t cut_loops(const Sweep *sweep, const Option *option) {
  uint64_t found = 0;
  for (int64_t i = 0; i < option->length; i++) {
    int64_t place = option->places[i];
    if (sweep->trips[place] > 1) found = found << 4 | (uint64_t)(place + 1);
  }
  return found;
}

// Prices options of an operator that have the same loops in different orders, with right operands packed; whether they may cost
// less in place. Those that cannot be chosen get no price, unless they may be in place.
static void price_packed(Pricing *pricing, int64_t number, Option *options, int64_t count, bool_t *may_gain, Sweep *sweep) {
  const Problem *problem = pricing->problem;
  const Operator *operator = &problem->operators[number];
  int64_t shared = shared_loops(pricing->order, number), tiles = options->tiles;
  Pass pass = {problem, operator, 0, shared, &sweep->view, &sweep->view, &sweep->block, &sweep->block, 0};
  int prunes = !operator->may_stay && !operator->in_tiles && problem->prefetch_hides <= 1;
  ToBeat limit = {INFINITE, INFINITE};
  for (int64_t n = 0; n < count; n++) may_gain[n] = 0;
  for (int64_t at = pricing->points * tiles - 1; at >= 0; at--) {
    uint64_t cut[MOST_INNER_ORDERS];
    bool_t gains[MOST_INNER_ORDERS];
    Unordered unordered;
    go_to(pricing, number, options, at, sweep);
    pass.around = &pricing->around[at / tiles];
    if (!operator->in_tiles) start_pass(&pass, &unordered);
    if (prunes && (at + 1) % tiles == 0) limit = start_point_to_beat(pricing, number, options, at / tiles);
    if (prunes && must_lose(problem, &unordered, &limit)) {
      for (int64_t n = 0; n < count; n++) {
        options[n].seconds[at] = INFINITE;
        options[n].used[at] = sweep->block.used_bytes;
        options[n].rereads[at] = 0;
      }
      continue;
    }
    int packs = operator->may_pack && !packs_ahead(operator, &sweep->view);
    for (int64_t n = 0; n < count; n++) {
      int64_t like = packs ? n : 0;
      cut[n] = cut_loops(sweep, &options[n]);
      while (like < n && cut[like] != cut[n]) like++;
      if (like == n) {
        gains[n] = (bool_t)price_option(pricing, &pass, &unordered, sweep, &options[n], at);
      } else {
        options[n].seconds[at] = options[like].seconds[at];
        options[n].used[at] = options[like].used[at];
        options[n].rereads[at] = options[like].rereads[at];
        gains[n] = gains[like];
      }
      may_gain[n] |= gains[n];
      if (is_sure(pricing, number, &options[n], at)) limit.best = least(limit.best, options[n].seconds[at]);
    }
  }
}

// Prices with right operands in place what may cost less so.
static void price_in_place(Pricing *pricing, int64_t number, Option *options, int64_t count, const bool_t *may_gain, Sweep *sweep) {
  const Problem *problem = pricing->problem;
  const Operator *operator = &problem->operators[number];
  int64_t shared = shared_loops(pricing->order, number), tiles = options->tiles;
  Pass pass = {problem, operator, 0, shared, &sweep->view, &sweep->view, &sweep->block, &sweep->block, operator->conflict};
  for (int64_t at = pricing->points * tiles - 1; at >= 0; at--) {
    Unordered unordered;
    go_to(pricing, number, options, at, sweep);
    pass.around = &pricing->around[at / tiles];
    start_pass(&pass, &unordered);
    for (int64_t n = 0; n < count; n++) {
      Work work;
      if (!may_gain[n]) continue;
      if (n) put_loops(sweep, &options[n]);
      work_in_order(&pass, &unordered, &work);
      double in_place = seconds(problem, &work, problem->visible);
      if (in_place * problem->least_gain < options[n].seconds[at]) options[n].seconds[at] = in_place;
    }
  }
}

static void price_orders(Pricing *pricing, int64_t number, Option *options, int64_t count, Sweep *sweep) {
  const Operator *operator = &pricing->problem->operators[number];
  bool_t may_gain[MOST_INNER_ORDERS], any = 0;
  price_packed(pricing, number, options, count, may_gain, sweep);
  for (int64_t n = 0; n < count; n++) {
    int times = 1 + (operator->may_stay && may_gain[n] && !operator->in_tiles);
    pricing->counts->candidates += pricing->points * options->tiles;
    pricing->counts->elements += times * pricing->points * options->tiles;
    pricing->counts->pricings += times;
    any |= times > 1;
  }
  if (any) price_in_place(pricing, number, options, count, may_gain, sweep);
}

static int price_options(Pricing *pricing, Arena *arena) {
  const Problem *problem = pricing->problem;
  const Order *order = pricing->order;
  Sweep *sweep = taken(arena, sizeof(Sweep));
  if (!sweep) return 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    Choices *own = &pricing->choices[o];
    uint64_t outside = order->set->members[o].region_axes;
    for (int64_t d = 0; d < order->dim_count; d++) outside |= 1ULL << order->dims[d];
    if (!inner_orders(problem, &problem->operators[o], outside, &own->orders)) return -1;
    int64_t like = 0;
    while (like < o && !are_alike(problem, order, like, o, pricing->choices)) like++;
    own->options = taken(arena, own->orders.count * (int64_t)sizeof(Option));
    if (!own->options) return 0;
    for (int64_t n = 0; n < own->orders.count; n++) {
      Option *option = &own->options[n];
      char *place = arena->next;
      *option = (Option){0};
      if (!start_option(problem, &problem->operators[o], pricing->points, &own->orders, n, option, arena)) return 0;
      if (like < o) {
        const Option *known = &pricing->choices[like].options[n];
        arena->next = place;
        option->seconds = known->seconds;
        option->used = known->used;
        option->rereads = known->rereads;
      }
    }
    if (like < o) continue;
    price_orders(pricing, o, own->options, 1, sweep);
    if (own->orders.count > 1) price_orders(pricing, o, own->options + 1, own->orders.count - 1, sweep);
  }
  return 1;
}
