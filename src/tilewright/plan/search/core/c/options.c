// The inner loops of every operator under an order of outer loops: each order of them, priced for all tiles.

enum { MOST_INNER = 6, MOST_INNER_ORDERS = 130 };

typedef struct {
  int64_t count, axes[MOST_INNER_ORDERS][8], lengths[MOST_INNER_ORDERS];
} InnerOrders;

// Whether an operator has no orders of inner loops but none at all.
static uint64_t inner_axes(const Problem *problem, const Operator *operator, uint64_t outside) {
  if (!operator->has_kernel || problem->operator_count == 1) return 0;
  uint64_t free_axes = 0;
  for (int64_t g = 0; g < problem->group_count; g++) free_axes |= problem->group_axes[g];
  return free_axes & operator->axes & ~outside & ~operator->uncut;
}

typedef struct {
  int64_t length, axes[8];
} Group;

// The groups of axes whose orders count: `Space._together` joins those that the operator's accesses do not tell apart.
static int64_t inner_groups(const Problem *problem, const Operator *operator, uint64_t inner, Group *groups) {
  int64_t count = 0, joined = 0;
  uint64_t signatures[MOST_INNER];
  for (int64_t g = 0; g < problem->group_count; g++) {
    Group group = {0};
    for (int64_t i = 0; i < problem->group_lengths[g]; i++) {
      if (has(inner, problem->group_lists[g][i])) {
        if (group.length == 8) return -1;
        group.axes[group.length++] = problem->group_lists[g][i];
      }
    }
    if (!group.length) continue;
    if (count == MOST_INNER) return -1;
    groups[count++] = group;
  }
  if (inner & ~operator->operands[operator->right].axes) return count;
  for (int64_t g = 0; g < count; g++) {
    uint64_t signature = 0;
    for (int64_t k = 0; k < operator->operand_count; k++) {
      if (has(operator->operands[k].axes, groups[g].axes[0])) signature |= 1ULL << k;
    }
    int64_t same = 0;
    while (same < joined && signatures[same] != signature) same++;
    if (same == joined) {
      signatures[joined] = signature;
      groups[joined++] = groups[g];
      continue;
    }
    for (int64_t i = 0; i < groups[g].length; i++) {
      if (groups[same].length == 8) return -1;
      groups[same].axes[groups[same].length++] = groups[g].axes[i];
    }
  }
  return joined;
}

static int add_orders(const Group *groups, int64_t count, uint64_t used, int64_t *axes, int64_t length, InnerOrders *into) {
  if (used == (1ULL << count) - 1) {
    if (into->count == MOST_INNER_ORDERS) return 0;
    for (int64_t i = 0; i < length; i++) into->axes[into->count][i] = axes[i];
    into->lengths[into->count++] = length;
    return 1;
  }
  for (int64_t g = 0; g < count; g++) {
    if (has(used, g)) continue;
    if (length + groups[g].length > 8) return 0;
    for (int64_t i = 0; i < groups[g].length; i++) axes[length + i] = groups[g].axes[i];
    if (!add_orders(groups, count, used | 1ULL << g, axes, length + groups[g].length, into)) return 0;
  }
  return 1;
}

// No loops at first, then every order of the groups that are left.
static int inner_orders(const Problem *problem, const Operator *operator, uint64_t outside, InnerOrders *into) {
  uint64_t inner = inner_axes(problem, operator, outside);
  into->count = 1;
  into->lengths[0] = 0;
  if (!inner) return 1;
  Group groups[MOST_INNER];
  int64_t axes[8], count = inner_groups(problem, operator, inner, groups);
  return count >= 0 && add_orders(groups, count, 0, axes, 0, into);
}

// One order of inner loops: figures for all points of the outer loops and, behind them, inner tiles.
typedef struct {
  int64_t length, dim_count, tiles;
  const int64_t *order;
  int64_t dims[8], extents[8], places[8];  // axes in order of their numbers with their tiles; where the axis of a loop is there
  unsigned char along[MOST_OPERANDS];  // its loops along axes of each operand
  double *seconds, *used;
  bool_t *rereads;
} Option;

typedef struct {
  InnerOrders orders;
  Option *options;
  double *outside_bytes, *inside_bytes;  // that stay on chip while others run: outside of its fused group, inside of it
  bool_t may_stay;
} Choices;

// The figures of an operator's blocks at the tiles of a point, whole along all other axes but those of some inner loops.
static void start_block(const Problem *problem, const Order *order, int64_t number, const Point *point, uint64_t inner,
                        Cell *cell) {
  const Operator *operator = &problem->operators[number];
  const Member *member = &order->set->members[number];
  const Tables *tables = &operator->tables;
  int64_t places[MOST_TABLE_AXES];
  for (int64_t d = 0; d < tables->dims; d++) {
    int64_t axis = tables->axes[d];
    places[d] = has(inner, axis) ? 0 : tables->tile_counts[d] - 1;
    for (int64_t o = 0; o < order->dim_count; o++) {
      if (order->dims[o] == axis) places[d] = point->choices[o];
    }
    for (int64_t r = 0; r < member->region_count; r++) {
      const Region *region = &order->set->regions[member->regions[r]];
      if (region->axis == axis) places[d] = tables->tile_counts[d] + value_at(&region->pair, order->dim_count, point->choices);
    }
  }
  start_cell(operator, places, cell);
}

// The bytes of an operator's tiles that stay while another runs: outside of its fused group, and inside of it.
static void resident_bytes(const Problem *problem, const Order *order, const Point *point, int64_t number, const View *view,
                           int64_t *outside, int64_t *inside) {
  const Operator *operator = &problem->operators[number];
  const FusedGroup *group = group_of(order, number);
  uint64_t every = problem->operator_count == 64 ? ~0ULL : (1ULL << problem->operator_count) - 1;
  uint64_t mates = group ? group->members : 0;
  int has_others = (every & ~mates & ~(1ULL << number)) != 0, has_mates = (mates & ~(1ULL << number)) != 0;
  *outside = *inside = 0;
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    const Member *member = &order->set->members[number];
    if (operand->is_intermediate) continue;
    int64_t outer = order->outer_count, common = outer + (group ? group->length : 0);
    uint64_t along = view->along[k];
    if (has_others) {
      *outside += operand->element_bytes * resident_elements(problem, order, point, member, view, operand, along, outer);
    }
    if (has_mates) {
      *inside += operand->element_bytes * resident_elements(problem, order, point, member, view, operand, along, common);
    }
  }
}

// The loops of an option, whose axes are given outermost first.
static void mark_option(const Problem *problem, const Operator *operator, Option *option) {
  option->dim_count = 0;
  option->tiles = 1;
  for (int64_t a = 0; a < problem->axis_count; a++) {
    for (int64_t i = 0; i < option->length; i++) {
      if (option->order[i] != a) continue;
      option->places[i] = option->dim_count;
      option->dims[option->dim_count] = a;
      option->extents[option->dim_count++] = problem->tile_counts[a];
      option->tiles *= problem->tile_counts[a];
    }
  }
  for (int64_t k = 0; k < operator->operand_count; k++) {
    option->along[k] = 0;
    for (int64_t i = 0; i < option->length; i++) {
      option->along[k] |= (unsigned char)(has(operator->operands[k].axes, option->order[i]) << i);
    }
  }
}

// The view and block of some orders of inner loops at a point, inner tile by inner tile.
typedef struct {
  const Problem *problem;
  const Order *order;
  const View *outside;  // without inner loops
  const Option *option;
  int64_t number, inner[8], trips[8], table_dims[8];  // by dimension: the place of its tile, its trips, its table dimension
  Cell cell;
  View view;
  Block block;
} Sweep;

// Where the block's figures lie, and the trips along a dimension, at one of its tiles.
static void set_inner(Sweep *sweep, int64_t d, int64_t at) {
  const Problem *problem = sweep->problem;
  const Operator *operator = &problem->operators[sweep->number];
  int64_t axis = sweep->option->dims[d], dim = sweep->table_dims[d], steps = at - sweep->inner[d];
  int64_t tile = problem->tiles[axis][at];
  if (steps) move_cell(operator, dim, steps, &sweep->cell);
  sweep->inner[d] = at;
  sweep->trips[d] = quotient_up(problem->sizes[axis], tile);
  sweep->view.tiles[axis] = least_count(tile, problem->sizes[axis]);
}

static void read_block(Sweep *sweep) {
  const Operator *operator = &sweep->problem->operators[sweep->number];
  const Cell *cell = &sweep->cell;
  Block *block = &sweep->block;
  block->arithmetic_s = figure_at(operator, ARITHMETIC, cell);
  block->functions_s = figure_at(operator, FUNCTIONS, cell);
  block->calls = figure_at(operator, CALLS, cell);
  block->used_bytes = tile_bytes(operator, cell, sweep->view.tiles, sweep->view.sizes);
  for (int64_t k = 0; k < operator->operand_count; k++) {
    block->tile[k] = (double)operator->tables.tile_elements[k][cell->elements[k]];
    block->swept[k] = (double)operator->tables.all_elements[k][cell->elements[k]];
  }
}

// Puts the inner loops into the order of an option.
static void put_loops(Sweep *sweep, const Option *option) {
  const Operator *operator = &sweep->problem->operators[sweep->number];
  const View *outside = sweep->outside;
  View *view = &sweep->view;
  int64_t outer = outside->loop_count;
  view->cut = outside->cut;
  for (int64_t i = 0; i < option->length; i++) {
    int64_t trips = sweep->trips[option->places[i]];
    view->loops[outer + i].axis = option->order[i];
    view->trips[outer + i] = trips;
    view->cut |= (uint64_t)(trips > 1) << (outer + i);
  }
  for (int64_t k = 0; k < operator->operand_count; k++) view->along[k] = outside->along[k] | (uint64_t)option->along[k] << outer;
}

// Starts at the last inner tiles. All loops are in their order once `put_loops` was called.
static void start_sweep(Sweep *sweep, const Problem *problem, const Order *order, const Point *point, int64_t number,
                        const Option *option) {
  const Tables *tables = &problem->operators[number].tables;
  const View *outside = &point->views[number];
  uint64_t inner = 0;
  sweep->problem = problem;
  sweep->order = order;
  sweep->outside = outside;
  sweep->option = option;
  sweep->number = number;
  copy_view(problem, &problem->operators[number], outside, &sweep->view);
  sweep->view.loop_count += option->length;
  for (int64_t i = 0; i < option->length; i++) sweep->view.loops[outside->loop_count + i].node = order->outer_count + 8 + i;
  for (int64_t d = 0; d < option->dim_count; d++) inner |= 1ULL << option->dims[d];
  start_block(problem, order, number, point, inner, &sweep->cell);
  for (int64_t d = 0; d < option->dim_count; d++) {
    for (int64_t t = 0; t < tables->dims; t++) {
      if (tables->axes[t] == option->dims[d]) sweep->table_dims[d] = t;
    }
    sweep->inner[d] = 0;
    set_inner(sweep, d, option->extents[d] - 1);
  }
  read_block(sweep);
}

// Goes back to the inner tiles before, those of the last dimension first.
static void sweep_back(Sweep *sweep) {
  const Option *option = sweep->option;
  int64_t d = option->dim_count - 1;
  for (; d && sweep->inner[d] == 0; d--) set_inner(sweep, d, option->extents[d] - 1);
  set_inner(sweep, d, sweep->inner[d] - 1);
  read_block(sweep);
}

static void sweep_to(Sweep *sweep, int64_t tile) {
  const Option *option = sweep->option;
  for (int64_t d = option->dim_count - 1; d >= 0; d--) {
    set_inner(sweep, d, tile % option->extents[d]);
    tile /= option->extents[d];
  }
  read_block(sweep);
  put_loops(sweep, option);
}

static int start_option(const Problem *problem, const Operator *operator, int64_t points, const InnerOrders *orders, int64_t number,
                        Option *option, Arena *arena) {
  option->order = orders->axes[number];
  option->length = orders->lengths[number];
  mark_option(problem, operator, option);
  option->seconds = taken(arena, points * option->tiles * (int64_t)sizeof(double));
  option->used = taken(arena, points * option->tiles * (int64_t)sizeof(double));
  option->rereads = taken(arena, points * option->tiles);
  return option->seconds && option->used && option->rereads;
}

// Operators whose options are equal have the same ones: `cost_context.likeness`, with orders by the places of axes.
static int64_t place_of(const Operator *operator, int64_t axis) {
  for (int64_t place = 0; place < operator->axis_count; place++) {
    if (operator->axis_list[place] == axis) return place;
  }
  return -1 - axis;
}

static int same_tiles(const Problem *problem, int64_t left, int64_t right) {
  if (left == right) return 1;
  if (problem->tile_counts[left] != problem->tile_counts[right] || problem->sizes[left] != problem->sizes[right]) return 0;
  for (int64_t i = 0; i < problem->tile_counts[left]; i++) {
    if (problem->tiles[left][i] != problem->tiles[right][i]) return 0;
  }
  return 1;
}

static int are_alike(const Problem *problem, const Order *order, int64_t first, int64_t second, const Choices *choices) {
  const Operator *one = &problem->operators[first], *other = &problem->operators[second];
  if (one->kind < 0 || one->kind != other->kind || order->set->members[first].region_count) return 0;
  if (group_of(order, first) || group_of(order, second)) return 0;
  const InnerOrders *mine = &choices[first].orders, *others = &choices[second].orders;
  if (mine->count != others->count) return 0;
  for (int64_t place = 0; place < one->axis_count; place++) {
    int64_t left = one->axis_list[place], right = other->axis_list[place];
    int is_outer = has(order->shared_axes, left);
    if (is_outer != has(order->shared_axes, right) || (is_outer && left != right)) return 0;
    if (!same_tiles(problem, left, right)) return 0;
  }
  for (int64_t i = 0; i < order->outer_count; i++) {
    int64_t axis = order->outer[i];
    if (place_of(one, axis) != place_of(other, axis)) return 0;
  }
  for (int64_t n = 0; n < mine->count; n++) {
    if (mine->lengths[n] != others->lengths[n]) return 0;
    for (int64_t i = 0; i < mine->lengths[n]; i++) {
      int64_t left = place_of(one, mine->axes[n][i]);
      if (left != place_of(other, others->axes[n][i])) return 0;
    }
  }
  return 1;
}
