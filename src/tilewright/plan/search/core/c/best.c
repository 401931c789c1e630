// The best candidate of an order of outer loops.

static int find_residents(Pricing *pricing, Arena *arena) {
  const Problem *problem = pricing->problem;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    Choices *own = &pricing->choices[o];
    own->outside_bytes = taken(arena, pricing->points * (int64_t)sizeof(double));
    own->inside_bytes = taken(arena, pricing->points * (int64_t)sizeof(double));
    own->may_stay = 0;
    if (!own->outside_bytes || !own->inside_bytes) return 0;
    for (int64_t p = 0; p < pricing->points; p++) own->outside_bytes[p] = own->inside_bytes[p] = 0;
  }
  for (int64_t p = 0; problem->operator_count > 1 && p < pricing->points; p++) {
    move_point(problem, pricing->order, p, &pricing->point);
    for (int64_t o = 0; o < problem->operator_count; o++) {
      Choices *own = &pricing->choices[o];
      int64_t outside, inside;
      resident_bytes(problem, pricing->order, &pricing->point, o, &pricing->point.views[o], &outside, &inside);
      own->outside_bytes[p] = (double)outside;
      own->inside_bytes[p] = (double)inside;
      own->may_stay |= outside + inside > 0;
      pricing->resident_bytes[p] += (double)most_count(outside, inside);
    }
  }
  return 1;
}

static Choice best_tiles(const Problem *problem, const Option *option, int64_t number, int64_t point, double elsewhere, int rereads) {
  Choice best = {0, 0, number, 0};
  int is_none = 0;  // the first price that is not a number is the least, as it is of arrays
  for (int64_t t = 0; t < option->tiles && !is_none; t++) {
    int64_t at = point * option->tiles + t;
    double used = option->used[at] + elsewhere, price = with_spills(problem, option->seconds[at], used);
    if (rereads && !option->rereads[at]) price = INFINITE;
    is_none = price != price;
    if (!t || price < best.seconds || is_none) best = (Choice){price, used, number, t};
  }
  return best;
}

// The best inner loops if others leave so much memory; none at all if more of them gain too little.
static Choice best_inner(const Problem *problem, const Choices *own, int64_t point, double elsewhere, int rereads) {
  Choice none = best_tiles(problem, &own->options[0], 0, point, elsewhere, rereads), best = none;
  for (int64_t n = 1; n < own->orders.count; n++) {
    Choice other = best_tiles(problem, &own->options[n], n, point, elsewhere, rereads);
    if (n == 1 || other.seconds < best.seconds) best = other;
  }
  return own->orders.count > 1 && best.seconds * problem->least_gain < none.seconds ? best : none;
}

static double bytes_elsewhere(const Pricing *pricing, uint64_t rereading, int64_t operator, int64_t point) {
  const FusedGroup *group = group_of(pricing->order, operator);
  double every = 0, more = 0, own_outside = 0, own_inside = 0;
  for (int64_t o = 0; o < pricing->problem->operator_count; o++) {
    const Choices *choices = &pricing->choices[o];
    double outside = has(rereading, o) ? 0 : choices->outside_bytes[point];
    double inside = has(rereading, o) ? 0 : choices->inside_bytes[point];
    every += outside;
    if (group && has(group->members, o)) more += inside - outside;
    if (o == operator) own_outside = outside, own_inside = inside;
  }
  return !group ? every - own_outside : every + more - own_inside;
}

// Chooses inner loops at every point, into `trial`; whether anything stays of other operators anywhere.
static int choose(Pricing *pricing, uint64_t rereading, int is_unhindered) {
  const Problem *problem = pricing->problem;
  int any = 0;
  for (int64_t o = 0; o < problem->operator_count; o++) {
    for (int64_t p = 0; p < pricing->points; p++) {
      double elsewhere = is_unhindered ? 0 : bytes_elsewhere(pricing, rereading, o, p);
      any |= elsewhere > 0;
      pricing->trial[o * pricing->points + p] =
          best_inner(problem, &pricing->choices[o], p, pricing->live[p] + elsewhere, !is_unhindered && has(rereading, o));
    }
  }
  for (int64_t p = 0; p < pricing->points; p++) {
    double total = 0, used = 0;
    for (int64_t o = 0; o < problem->operator_count; o++) {
      const Choice *choice = &pricing->trial[o * pricing->points + p];
      total = total + choice->seconds;
      used = o ? most(used, choice->used) : choice->used;
    }
    pricing->seconds[p] = total;
    pricing->used[p] = used;
    pricing->cores_s[p] = on_cores(problem, total, pricing->blocks[p]);
  }
  return any;
}

static double volume_of(const Problem *problem, const Order *order, int64_t number) {
  double volume = 1;
  int64_t choices[MOST_DIMENSIONS];
  for (int64_t d = order->dim_count - 1; d >= 0; d--) {
    choices[d] = choice(order, d, number % order->picked[d]);
    number /= order->picked[d];
  }
  for (int64_t d = 0; d < order->dim_count; d++) {
    int64_t axis = order->dims[d];
    int64_t tile = tile_of(problem, axis, choices[d]);
    volume *= (double)least_count(tile, problem->sizes[axis]);
  }
  return volume;
}

// The point of the least price; of equal ones that with the largest tiles.
static int64_t best_point(const Pricing *pricing) {
  const Problem *problem = pricing->problem;
  int64_t best = -1;
  double lowest = 0, largest = 0;
  for (int64_t p = 0; p < pricing->points; p++) {
    double price = pricing->cores_s[p];
    lowest = p ? (price != price || lowest != lowest ? price + lowest : least(lowest, price)) : price;
  }
  for (int64_t p = 0; p < pricing->points; p++) {
    double price = pricing->cores_s[p];
    double volume = price <= lowest * problem->equal_within ? volume_of(problem, pricing->order, p) : -1;
    if (best < 0 || volume > largest) best = p, largest = volume;
  }
  return best;
}

static int same_figures(const double *left, const double *right, int64_t count) {
  if (left == right) return 1;
  for (int64_t i = 0; i < count; i++) {
    if (left[i] != right[i]) return 0;
  }
  return 1;
}

// Whether operators of a long chain count as of one kind where tiles are read again: all their figures are equal.
static int are_of_one_kind(const Pricing *pricing, int64_t first, int64_t second) {
  const Choices *one = &pricing->choices[first], *other = &pricing->choices[second];
  int64_t points = pricing->points;
  if (one->orders.count != other->orders.count || group_of(pricing->order, first) != group_of(pricing->order, second)) return 0;
  if (!same_figures(one->outside_bytes, other->outside_bytes, points)) return 0;
  if (!same_figures(one->inside_bytes, other->inside_bytes, points)) return 0;
  for (int64_t n = 0; n < one->orders.count; n++) {
    const Option *left = &one->options[n], *right = &other->options[n];
    if (left->tiles != right->tiles) return 0;
    int64_t count = points * left->tiles;
    if (!same_figures(left->seconds, right->seconds, count) || !same_figures(left->used, right->used, count)) return 0;
    for (int64_t i = 0; i < count; i++) {
      if (left->rereads[i] != right->rereads[i]) return 0;
    }
  }
  return 1;
}

// Which operators' tiles are read again, in the order of trials: none, then more and more of them. At most so many combinations.
static int64_t combinations(const Pricing *pricing, uint64_t *found, int64_t most_found) {
  int64_t able[64], count = 0, length = 0;
  for (int64_t o = 0; o < pricing->problem->operator_count; o++) {
    if (pricing->choices[o].may_stay) able[count++] = o;
  }
  if (count <= MOST_RESIDENT) {
    for (int64_t members = 0; members <= count; members++) {
      for (int64_t bits = 0; bits < 1 << count; bits++) {  // the first operator is the highest bit
        uint64_t chosen = 0;
        if (bit_count((uint64_t)bits) != members) continue;
        for (int64_t i = 0; i < count; i++) {
          if (bits >> (count - 1 - i) & 1) chosen |= 1ULL << able[i];
        }
        found[length++] = chosen;
      }
    }
    return length;
  }
  uint64_t all = 0;
  found[length++] = 0;
  for (int64_t i = 0; i < count && length < most_found - 1; i++) {
    int64_t like = 0;
    while (like < i && !are_of_one_kind(pricing, able[like], able[i])) like++;
    if (like == i) found[length++] = 1ULL << able[i];
    all |= 1ULL << able[i];
  }
  found[length++] = all;
  return length;
}

static void keep_candidate(Pricing *pricing, int64_t point, Candidate *into) {
  into->seconds = pricing->seconds[point];
  into->cores_s = pricing->cores_s[point];
  into->used_bytes = pricing->used[point];
  into->blocks = pricing->blocks[point];
  for (int64_t o = 0; o < pricing->problem->operator_count; o++) {
    into->orders[o] = pricing->trial[o * pricing->points + point].order;
    into->tiles[o] = pricing->trial[o * pricing->points + point].tile;
  }
  int64_t left = point;
  for (int64_t d = pricing->order->dim_count - 1; d >= 0; d--) {
    into->choices[d] = choice(pricing->order, d, left % pricing->order->picked[d]);
    left /= pricing->order->picked[d];
  }
}

// `known_live` is what intermediates take at every point, 0 for what they do under the loops of the order.
static int start_pricing(
    Pricing *pricing, const Problem *problem, const Order *order, const double *known_live, Counts *counts, Arena *arena) {
  int64_t points = point_count(order), operators = problem->operator_count;
  *pricing = (Pricing){.problem = problem, .order = order, .points = points, .counts = counts};
  pricing->around = taken(arena, points * (int64_t)sizeof(Around));
  double **figures[] = {&pricing->live, &pricing->seconds, &pricing->cores_s, &pricing->used, &pricing->resident_bytes};
  for (int i = 0; i < 5; i++) {
    *figures[i] = taken(arena, points * (int64_t)sizeof(double));
    if (!*figures[i]) return 0;
  }
  pricing->blocks = taken(arena, points * (int64_t)sizeof(int64_t));
  pricing->choices = taken(arena, operators * (int64_t)sizeof(Choices));
  pricing->trial = taken(arena, operators * points * (int64_t)sizeof(Choice));
  int64_t *by_tensor = taken(arena, problem->tensor_count * (int64_t)sizeof(int64_t));
  if (!pricing->around || !pricing->blocks || !pricing->choices || !pricing->trial || !by_tensor) return 0;
  if (!start_point(problem, order, &pricing->point, arena)) return 0;
  for (int64_t o = 0; o < operators; o++) pricing->choices[o].may_stay = 0;
  int64_t whole_bytes = 0;
  for (int64_t p = 0; p < points; p++) {
    move_point(problem, order, p, &pricing->point);
    double live = known_live ? known_live[p] : (double)live_bytes(problem, order, &pricing->point);
    pricing->around[p].live_bytes = live;
    pricing->live[p] = live;
    pricing->resident_bytes[p] = 0;
    pricing->blocks[p] = pricing->point.blocks;
    if (!p) whole_bytes = touched_bytes(problem, &pricing->point, 0, by_tensor);
    hold(problem, order, &pricing->point, whole_bytes, by_tensor, &pricing->around[p]);
  }
  return 1;
}

// 1 if the best candidate was found, 0 if memory ends, -1 if there are too many orders of inner loops.
static int best_of(const Problem *problem, const Order *order, Candidate *best, Counts *counts, Arena *arena) {
  Pricing *pricing = taken(arena, sizeof(Pricing));
  uint64_t tried[66];
  if (!pricing || !start_pricing(pricing, problem, order, 0, counts, arena)) return 0;
  if (!find_residents(pricing, arena)) return 0;
  int priced = price_options(pricing, arena);
  if (priced <= 0) return priced;
  int64_t count = combinations(pricing, tried, 66);
  double lowest = INFINITE;
  for (int64_t i = 0; i < count; i++) {
    int hinders = choose(pricing, tried[i], 0);
    int64_t point = best_point(pricing);
    if (!i || pricing->cores_s[point] < best->cores_s) keep_candidate(pricing, point, best);
    if (!hinders) break;
    if (lowest == INFINITE) {
      choose(pricing, 0, 1);
      lowest = pricing->cores_s[0];
      for (int64_t p = 1; p < pricing->points; p++) lowest = least(lowest, pricing->cores_s[p]);
    }
    if (best->cores_s <= lowest * problem->equal_within) break;
  }
  return 1;
}

// What the operators cost (seconds on the cores) at every point if intermediates took so much and nothing stayed of other
// operators. As `best_of`.
static int prices_at_best(
    const Problem *problem, const Order *order, const double *live, double **prices, Counts *counts, Arena *arena) {
  Pricing *pricing = taken(arena, sizeof(Pricing));
  if (!pricing || !start_pricing(pricing, problem, order, live, counts, arena)) return 0;
  int priced = price_options(pricing, arena);
  if (priced <= 0) return priced;
  choose(pricing, 0, 1);
  *prices = pricing->cores_s;
  return 1;
}
