// Required regions under the loops of an order: `regions/required_regions.py`. They follow from the set of loops, from what has a
// circular line buffer, and then from the last loop; orders that differ in nothing of that have them in common.

// An integer for every choice of tiles of the loops that move it.
typedef struct {
  int64_t *values, strides[MOST_DIMENSIONS];
} Figure;

// An axis along which an operator computes required regions of its consumers.
typedef struct {
  int64_t operator, axis, low_of_hull, end_of_hull;
  const Reading *reading;
  uint64_t moving, loops;  // loops whose steps move the region; axes of the loops that cut what it follows from
  int64_t slopes[64];
  bool_t is_line_buffered, has_overlap;
  Figure low, first, high, held, tile, largest, total, pair;
} Region;

typedef struct {
  int64_t region_count, regions[MOST_REGIONS];
  uint64_t region_axes;
  int64_t loop_axes[64];  // by axis of a loop: the axis of the operator that it moves along
  int64_t *line_buffered;  // by point
} Member;

typedef struct LoopSet {
  struct LoopSet *next;
  uint64_t axes, line_buffers, kept;
  int64_t last, dim_count, dims[MOST_DIMENSIONS], counts[MOST_DIMENSIONS], region_count;
  Region *regions;
  Member *members;
  double *least_prices, *least_uses;  // by operator and point, once they were asked for: see `bound_order`
  double *least_sums, least_sum;  // of the prices, by point and of all
} LoopSet;

static inline int64_t tile_of(const Problem *problem, int64_t axis, int64_t choice) {
  return has(problem->batch, axis) ? 1 : problem->tiles[axis][choice];
}

static inline int64_t value_at(const Figure *figure, int64_t dims, const int64_t *choices) {
  int64_t place = 0;
  for (int64_t d = 0; d < dims; d++) place += figure->strides[d] * choices[d];
  return figure->values[place];
}

static const Region *region_of(const LoopSet *set, int64_t operator, int64_t axis) {
  for (int64_t r = 0; r < set->region_count; r++) {
    if (set->regions[r].operator == operator && set->regions[r].axis == axis) return &set->regions[r];
  }
  return 0;
}

// How far the position of a read moves for a step along every loop's axis: `required_regions._slopes`.
static uint64_t slopes_of(const LoopSet *set, const Way *way, int64_t *slopes) {
  uint64_t moving = 0;
  for (int64_t t = 0; t < way->terms; t++) {
    const Region *before = region_of(set, way->consumer, way->axes[t]);
    uint64_t moved = before ? before->moving : set->axes & 1ULL << way->axes[t];
    for (uint64_t left = moved; left; left &= left - 1) {
      int64_t axis = __builtin_ctzll(left), step = before ? before->slopes[axis] : 1;
      int64_t known = has(moving, axis) ? slopes[axis] : 0;
      slopes[axis] = way->factors[t] > 0 ? known + way->factors[t] * step : -1;
      moving |= 1ULL << axis;
    }
  }
  return moving;
}

static int is_region(const LoopSet *set, const Reading *reading, Region *into) {
  int is_itself = 1, is_one_way = 1;
  int64_t slopes[64];
  for (int64_t w = 0; w < reading->count; w++) {
    const Way *way = &reading->ways[w];
    uint64_t moving = slopes_of(set, way, w ? slopes : into->slopes);
    if (!w) into->moving = moving;
    is_one_way &= moving == into->moving;
    for (uint64_t left = into->moving & moving; left; left &= left - 1) {
      int64_t axis = __builtin_ctzll(left);
      is_one_way &= into->slopes[axis] > 0 && (!w || slopes[axis] == into->slopes[axis]);
    }
    is_itself &= way->terms == 1 && way->factors[0] == 1 && way->constant == 0 && way->axes[0] == reading->axis &&
                 !region_of(set, way->consumer, reading->axis);
  }
  return reading->count && into->moving && is_one_way && !is_itself;
}

// The axes with required regions, those of the last operators first. 0 if there is no room for them.
static int find_regions(const Problem *problem, LoopSet *set) {
  for (int64_t o = problem->operator_count - 2; o >= 0; o--) {
    const Operator *operator = &problem->operators[o];
    if (has(set->kept, operator->written)) continue;
    for (int64_t r = 0; r < operator->reading_count; r++) {
      Region found = {.operator = o, .axis = operator->readings[r].axis, .reading = &operator->readings[r]};
      if (!is_region(set, found.reading, &found)) continue;
      if (set->region_count == MOST_REGIONS_OF_CHAIN) return 0;
      set->regions[set->region_count++] = found;
    }
  }
  return 1;
}

// A block along one axis, and the hull of all: positions for the first blocks of all loops, without clamping.
typedef struct {
  int64_t low, first, high, held, hull_low, hull_end;
  uint64_t loops;
} Extent;

static Extent consumer_extent(const Problem *problem, const LoopSet *set, int64_t operator, int64_t axis, const int64_t *choices) {
  const Region *known = region_of(set, operator, axis);
  int64_t size = problem->sizes[axis], block = size, dims = set->dim_count;
  if (known) {
    return (Extent){value_at(&known->low, dims, choices), value_at(&known->first, dims, choices),
                    value_at(&known->high, dims, choices), 0, known->low_of_hull, known->end_of_hull, known->loops};
  }
  for (int64_t d = 0; d < dims; d++) {
    if (set->dims[d] == axis && has(set->axes, axis)) block = least_count(tile_of(problem, axis, choices[d]), size);
  }
  return (Extent){0, 0, block, 0, 0, size, set->axes & 1ULL << axis};
}

static Extent read_extent(const Problem *problem, const LoopSet *set, const Way *way, const int64_t *choices) {
  Extent found = {way->constant, way->constant, way->constant + 1, 0, way->constant, way->constant + 1, 0};
  for (int64_t t = 0; t < way->terms; t++) {
    Extent of = consumer_extent(problem, set, way->consumer, way->axes[t], choices);
    int64_t factor = way->factors[t], is_forward = factor > 0;
    found.low += factor * (is_forward ? of.low : of.high - 1);
    found.first += factor * (is_forward ? of.first : of.high - 1);
    found.high += factor * (is_forward ? of.high - 1 : of.low);
    found.hull_low += factor * (is_forward ? of.hull_low : of.hull_end - 1);
    found.hull_end += factor * (is_forward ? of.hull_end - 1 : of.hull_low);
    found.loops |= of.loops;
  }
  return found;
}

static Extent covering(const Problem *problem, const LoopSet *set, const Reading *reading, const int64_t *choices) {
  Extent found = {0};
  for (int64_t w = 0; w < reading->count; w++) {
    Extent one = read_extent(problem, set, &reading->ways[w], choices);
    if (!w) {
      found = one;
      continue;
    }
    found.low = least_count(found.low, one.low);
    found.first = least_count(found.first, one.first);
    found.high = most_count(found.high, one.high);
    found.hull_low = least_count(found.hull_low, one.hull_low);
    found.hull_end = most_count(found.hull_end, one.hull_end);
  }
  found.held = found.low;
  found.hull_low = most_count(found.hull_low, 0);
  found.hull_end = most_count(found.hull_low, least_count(found.hull_end, problem->sizes[reading->axis]));
  return found;
}

// How one end of a block moves with the trips of a loop, and by how much it falls short of that at the last one.
typedef struct {
  int64_t step, trips, shortfall;
} Steps;

static int64_t quotient_down(int64_t left, int64_t right) {
  return left / right - (left % right != 0 && (left < 0) != (right < 0));
}

// The sum of all positions above 0 that a block's end takes; the loop with the most trips in closed form.
static int64_t sum_above(int64_t start, const Steps *moves, int64_t count) {
  if (!count) return most_count(start, 0);
  int64_t inner = 0, total = 0;
  for (int64_t i = 1; i < count; i++) inner = moves[i].trips > moves[inner].trips ? i : inner;
  const Steps *longest = &moves[inner];
  if (count == 1) {
    int64_t full = longest->trips - 1;
    int64_t below = least_count(most_count(-quotient_down(start, longest->step), 0), full), above = full - below;
    int64_t last = start + longest->step * full - longest->shortfall, inside = above * (below + full - 1) / 2;
    return above * start + longest->step * inside + most_count(last, 0);
  }
  Steps others[MOST_LOOPS];
  int64_t outer = inner ? 0 : 1, length = 0;
  for (int64_t i = 0; i < count; i++) {
    if (i != outer) others[length++] = moves[i];
  }
  for (int64_t trip = 0; trip < moves[outer].trips; trip++) {
    int64_t is_last = trip == moves[outer].trips - 1;
    total += sum_above(start + moves[outer].step * trip - moves[outer].shortfall * is_last, others, length);
  }
  return total;
}

static int64_t inside_hull(int64_t end, const Region *region, const Steps *moves, int64_t count) {
  return sum_above(end - region->low_of_hull, moves, count) - sum_above(end - region->end_of_hull, moves, count);
}

// The points inside the hull of all blocks together: `required_regions._points`.
static int64_t points_of(const Problem *problem, const LoopSet *set, const Region *region, const int64_t *outer, int64_t outer_count,
                         int has_equal_lows, const int64_t *choices) {
  Steps highs[MOST_LOOPS] = {0}, starts[MOST_LOOPS] = {0}, mixed[MOST_LOOPS];
  int64_t count = 0, dims = set->dim_count;
  for (int64_t i = 0; i < outer_count; i++) {
    int64_t axis = outer[i], dim = 0, size = problem->sizes[axis];
    if (!has(region->moving, axis)) continue;
    while (set->dims[dim] != axis) dim++;
    int64_t tile = tile_of(problem, axis, choices[dim]), trips = quotient_up(size, tile), slope = region->slopes[axis];
    int64_t shortfall = (trips - 1) * tile + least_count(tile, size) - size;
    highs[count] = (Steps){slope * tile, trips, slope * shortfall};
    starts[count++] = (Steps){slope * tile, trips, 0};
  }
  int64_t low = value_at(&region->low, dims, choices), first = value_at(&region->first, dims, choices);
  int64_t high = value_at(&region->high, dims, choices), total = inside_hull(high, region, highs, count);
  if (has_equal_lows) return most_count(total - inside_hull(low, region, starts, count), 1);
  int64_t before = count - (outer_count && has(region->moving, outer[outer_count - 1]));
  for (int64_t i = 0; i < count; i++) mixed[i] = i < before ? highs[i] : starts[i];
  total -= inside_hull(low, region, mixed, count);
  total += inside_hull(low, region, highs, before) - inside_hull(first, region, starts, before);
  return most_count(total, 1);
}

static int start_figure(const LoopSet *set, uint64_t moving, Figure *figure, Arena *arena) {
  int64_t count = 1;
  for (int64_t d = set->dim_count - 1; d >= 0; d--) {
    figure->strides[d] = has(moving, set->dims[d]) ? count : 0;
    if (has(moving, set->dims[d])) count *= set->counts[d];
  }
  figure->values = taken(arena, count * (int64_t)sizeof(int64_t));
  return figure->values != 0;
}

// Moves on to the next choice of tiles along some dimensions; 0 behind the last one.
static int next_choice(const LoopSet *set, uint64_t moving, int64_t *choices, int64_t *place) {
  for (int64_t d = set->dim_count - 1; d >= 0; d--) {
    if (!has(moving, set->dims[d])) continue;
    if (++choices[d] < set->counts[d]) {
      ++*place;
      return 1;
    }
    choices[d] = 0;
  }
  return 0;
}

static int fill_region(const Problem *problem, const LoopSet *set, Region *region, const int64_t *outer, int64_t outer_count,
                       Arena *arena) {
  Figure *figures[] = {&region->low, &region->first, &region->high, &region->held,
                       &region->tile, &region->largest, &region->total, &region->pair};
  int64_t choices[MOST_DIMENSIONS] = {0}, place = 0, last = outer_count ? outer[outer_count - 1] : -1;
  int has_equal_lows = 1;
  for (int f = 0; f < 8; f++) {
    if (!start_figure(set, region->moving, figures[f], arena)) return 0;
  }
  do {
    Extent found = covering(problem, set, region->reading, choices);
    region->low_of_hull = found.hull_low;
    region->end_of_hull = found.hull_end;
    region->loops = found.loops;
    if (region->is_line_buffered) {
      int64_t dim = 0;
      while (set->dims[dim] != last) dim++;
      int64_t tile = tile_of(problem, last, choices[dim]), trips = quotient_up(problem->sizes[last], tile);
      int64_t added = most_count(found.low, found.high - region->slopes[last] * tile);
      found.low += (added - found.low) * least_count(trips - 1, 1);
    }
    int64_t hull = found.hull_end - found.hull_low, largest = most_count(least_count(found.high - found.first, hull), 1);
    region->low.values[place] = found.low;
    region->first.values[place] = found.first;
    region->high.values[place] = found.high;
    region->held.values[place] = found.held;
    region->tile.values[place] = most_count(least_count(found.high - found.low, hull), 1);
    region->largest.values[place] = largest;
    region->has_overlap |= least_count(found.low - found.held, largest) > 0;
    has_equal_lows &= found.low == found.first;
  } while (next_choice(set, region->moving, choices, &place));
  place = 0;
  do {
    region->total.values[place] = points_of(problem, set, region, outer, outer_count, has_equal_lows, choices);
  } while (next_choice(set, region->moving, choices, &place));
  return 1;
}

// The axis of an operator that a loop moves along: its own, else the first with a required region that the loop moves.
static void place_loops(const Problem *problem, const LoopSet *set, int64_t number, Member *member) {
  for (uint64_t left = set->axes; left; left &= left - 1) {
    int64_t axis = __builtin_ctzll(left), found = axis;
    for (int64_t r = member->region_count - 1; r >= 0 && !has(problem->operators[number].axes, axis); r--) {
      const Region *region = &set->regions[member->regions[r]];
      if (has(region->loops, axis)) found = region->axis;
    }
    member->loop_axes[axis] = found;
  }
}

// Elements of an operator's line-buffered result that are moved for the next block, in all, at a choice of tiles.
static int64_t carried_elements(const Problem *problem, const LoopSet *set, int64_t number, const int64_t *outer,
                                int64_t outer_count, const int64_t *choices) {
  const Operator *operator = &problem->operators[number];
  int64_t every = 1, first = 1, has_any = 0, count;
  for (int64_t i = 0; i < outer_count; i++) {
    int64_t dim = 0;
    while (set->dims[dim] != outer[i]) dim++;
    if (i == outer_count - 1) first = every;
    every *= quotient_up(problem->sizes[outer[i]], tile_of(problem, outer[i], choices[dim]));
  }
  count = every - first;
  for (int64_t i = 0; i < operator->written_axis_count; i++) {
    int64_t axis = operator->written_axes[i], held = problem->sizes[axis];
    const Region *region = region_of(set, number, axis);
    for (int64_t d = 0; d < set->dim_count; d++) {
      if (set->dims[d] == axis) held = least_count(tile_of(problem, axis, choices[d]), held);
    }
    if (region) held = value_at(&region->largest, set->dim_count, choices);
    if (region && region->has_overlap) {
      int64_t low = value_at(&region->low, set->dim_count, choices), from = value_at(&region->held, set->dim_count, choices);
      held = least_count(low - from, held);
    }
    count *= held;
  }
  for (int64_t r = 0; r < set->region_count; r++) {
    has_any |= set->regions[r].operator == number && set->regions[r].has_overlap;
  }
  return has_any ? count : 0;
}

static int fill_member(const Problem *problem, const LoopSet *set, int64_t number, const int64_t *outer, int64_t outer_count,
                       Member *member, Arena *arena) {
  int64_t choices[MOST_DIMENSIONS] = {0}, place = 0, count = 1, buffered = 0;
  for (int64_t r = 0; r < set->region_count; r++) {
    if (set->regions[r].operator != number) continue;
    if (member->region_count == MOST_REGIONS) return -1;
    member->regions[member->region_count++] = r;
    member->region_axes |= 1ULL << set->regions[r].axis;
    buffered |= set->regions[r].has_overlap;
  }
  place_loops(problem, set, number, member);
  if (!buffered) return 1;
  for (int64_t d = 0; d < set->dim_count; d++) count *= set->counts[d];
  member->line_buffered = taken(arena, count * (int64_t)sizeof(int64_t));
  if (!member->line_buffered) return 0;
  do {
    member->line_buffered[place] = carried_elements(problem, set, number, outer, outer_count, choices);
  } while (next_choice(set, set->axes, choices, &place));
  return 1;
}

// A set of loops with the tiles that they may have; `inner` are axes of loops of fused groups.
static LoopSet *new_set(const Problem *problem, uint64_t axes, uint64_t inner, Arena *arena) {
  LoopSet *set = taken(arena, sizeof(LoopSet));
  if (!set) return 0;
  *set = (LoopSet){.axes = axes};
  for (int64_t t = 0; t < problem->tensor_count; t++) {
    if (problem->tensors[t].producer < 0 || !(axes & ~problem->tensors[t].equal)) set->kept |= 1ULL << t;
  }
  for (uint64_t left = axes | inner; left; left &= left - 1) {
    int64_t axis = __builtin_ctzll(left);
    if (set->dim_count == MOST_DIMENSIONS) return 0;
    set->counts[set->dim_count] = has(inner, axis) ? problem->tile_counts[axis] : problem->outer_counts[axis];
    set->dims[set->dim_count++] = axis;
  }
  set->regions = taken(arena, MOST_REGIONS_OF_CHAIN * (int64_t)sizeof(Region));
  set->members = taken(arena, problem->operator_count * (int64_t)sizeof(Member));
  return set->regions && set->members ? set : 0;
}

// Fills the regions of a set. 1 if all went well, 0 without memory, -1 if they are beyond the core's limits.
static int fill_set(const Problem *problem, LoopSet *set, const int64_t *outer, int64_t outer_count, Arena *arena) {
  if (!find_regions(problem, set)) return -1;
  for (int64_t r = 0; r < set->region_count; r++) {
    Region *region = &set->regions[r];
    int is_buffered = has(set->line_buffers, problem->operators[region->operator].written);
    region->is_line_buffered = is_buffered && outer_count && has(region->moving, outer[outer_count - 1]);
    if (!fill_region(problem, set, region, outer, outer_count, arena)) return 0;
  }
  for (int64_t o = 0; o < problem->operator_count; o++) {
    set->members[o] = (Member){0};
    int filled = fill_member(problem, set, o, outer, outer_count, &set->members[o], arena);
    if (filled <= 0) return filled;
  }
  return 1;
}

// The set of an order's loops, which orders have in common. As `fill_set`.
static int loop_set(const Problem *problem, LoopSet **known, const int64_t *outer, int64_t outer_count, uint64_t line_buffers,
                    LoopSet **found, Arena *arena) {
  uint64_t axes = 0;
  int64_t last = line_buffers ? outer[outer_count - 1] : -1;
  for (int64_t i = 0; i < outer_count; i++) axes |= 1ULL << outer[i];
  for (LoopSet *set = *known; set; set = set->next) {
    if (set->axes == axes && set->line_buffers == line_buffers && set->last == last) {
      *found = set;
      return 1;
    }
  }
  LoopSet *set = *found = new_set(problem, axes, 0, arena);
  if (!set) return 0;
  set->next = *known;
  set->line_buffers = line_buffers;
  set->last = last;
  *known = set;
  return fill_set(problem, set, outer, outer_count, arena);
}

// The number of a region's extents among those that tables were made for: `Tables.pairs`, sorted; -1 if they are not there.
static int64_t pair_number(const Tables *tables, int64_t axis, int64_t tile, int64_t total) {
  for (int64_t d = 0; d < tables->dims; d++) {
    if (tables->axes[d] != axis) continue;
    int64_t low = 0, end = tables->pair_counts[d];
    const int64_t *pairs = tables->pairs[d];
    while (low < end) {
      int64_t middle = (low + end) / 2;
      int is_below = pairs[2 * middle] < tile || (pairs[2 * middle] == tile && pairs[2 * middle + 1] < total);
      if (is_below) low = middle + 1;
      else end = middle;
    }
    if (low < tables->pair_counts[d] && pairs[2 * low] == tile && pairs[2 * low + 1] == total) return low;
  }
  return -1;
}

// Finds the places of the extents of regions in the tables, of the sets in front of some. 0 if one is missing.
static int number_pairs(const Problem *problem, LoopSet *sets, const LoopSet *end) {
  for (LoopSet *set = sets; set != end; set = set->next) {
    for (int64_t r = 0; r < set->region_count; r++) {
      Region *region = &set->regions[r];
      const Tables *tables = &problem->operators[region->operator].tables;
      int64_t choices[MOST_DIMENSIONS] = {0}, place = 0;
      do {
        int64_t tile = region->tile.values[place], total = region->total.values[place];
        region->pair.values[place] = pair_number(tables, region->axis, tile, total);
        if (region->pair.values[place] < 0) return 0;
      } while (next_choice(set, region->moving, choices, &place));
    }
  }
  return 1;
}
