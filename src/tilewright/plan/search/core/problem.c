// The search core: a planning problem as data. `plan/search/core/problem.py` writes it, in the order in which it is read here.
//
// Axes, tensors and operators are numbers; a set of axes is a mask of 64 bits. Counts are int64_t, times and shares double, with
// the operations of the Python formulas in their order, so that all bits are the same. No function of a library is called.

typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned char bool_t;

enum {
  MOST_LOOPS = 32,
  MOST_OPERANDS = 64,
  MOST_LEVELS = 8,
  MOST_DIMENSIONS = 12,
  MOST_BUFFERS = 16,
  MOST_PLACES = 16,
  MOST_REGIONS = 4,
  MOST_REGIONS_OF_CHAIN = 96,
  MOST_READINGS = 8,
  MOST_GROUPS = 4,
  MOST_TABLE_AXES = 8,
  MOST_RESIDENT = 4
};

static const double INFINITE = 1.0 / 0.0;

// Memory of one call, given by the caller.
typedef struct {
  char *next, *end;
} Arena;

static void *taken(Arena *arena, int64_t size_bytes) {
  size_bytes = (size_bytes + 63) & ~63LL;
  if (arena->end - arena->next < size_bytes) return 0;
  void *place = arena->next;
  arena->next += size_bytes;
  return place;
}

// What is read: integers and reals, one behind the other.
typedef struct {
  const int64_t *integers;
  const double *reals;
} Reader;

static inline int64_t integer(Reader *from) { return *from->integers++; }
static inline double real(Reader *from) { return *from->reals++; }

static const int64_t *integers(Reader *from, int64_t count) {
  const int64_t *first = from->integers;
  from->integers += count;
  return first;
}

// Compilers call these for structures.
void *memcpy(void *to, const void *from, unsigned long count) {
  unsigned long words = count / 8;
  for (unsigned long i = 0; i < words; i++) __builtin_memcpy((char *)to + 8 * i, (const char *)from + 8 * i, 8);
  for (unsigned long i = 8 * words; i < count; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int value, unsigned long count) {
  for (unsigned long i = 0; i < count; i++) ((char *)to)[i] = (char)value;
  return to;
}

static int64_t bit_count(uint64_t bits) {
  int64_t count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

static inline int has(uint64_t axes, int64_t axis) { return (int)(axes >> axis & 1); }
static inline int64_t least_count(int64_t left, int64_t right) { return left <= right ? left : right; }
static inline int64_t most_count(int64_t left, int64_t right) { return left >= right ? left : right; }
static inline int64_t quotient_up(int64_t left, int64_t right) { return (left + right - 1) / right; }
static inline double least(double left, double right) { return left <= right || left != left ? left : right; }
static inline double most(double left, double right) { return left >= right || left != left ? left : right; }

// A dimension of an access in which several axes move: a sum of factors and axes.
typedef struct {
  int64_t terms, factors[4], axes[4];
  const int64_t *values;  // of an index that is not affine, by the tile of its only axis
} Index;

typedef struct {
  int64_t count;
  Index indices[4];
  uint64_t axes;
} Window;

// Distinct elements of an access follow from the tiles of its axes: see `regions/footprint.py`.
typedef struct {
  int64_t plain_count, window_count;
  const int64_t *plain;
  Window windows[3];
} Footprint;

typedef struct {
  uint64_t axes;
  uint64_t kernel_loops;  // along its axes, of the loops around a micro kernel: bits by their places
  bool_t is_write, is_intermediate, has_guarded_axis;
  int64_t element_bytes, tensor;
  Footprint footprint;
} Operand;

// How prefetches of an operand of a micro kernel follow from its calls: see `operands/prefetch_gain.py`.
typedef struct {
  int64_t role;  // 0 left, 1 right, 2 target
  int64_t place, first_level;
  double near, element_bytes, cycles_per_line;
} PrefetchedOperand;

enum { ARITHMETIC, FUNCTIONS, CALLS, LEAST_FUNCTIONS, FIGURES };

// Figures over all tiles of an operator's own axes; along axes with required regions, over pairs (tile, points of all blocks
// together) behind these. Elements are those of a tile of each operand, and of all its tiles together.
typedef struct {
  int64_t dims, tile_counts[MOST_TABLE_AXES], pair_counts[MOST_TABLE_AXES], axes[MOST_TABLE_AXES];
  const int64_t *pairs[MOST_TABLE_AXES];
  const double *figures[FIGURES];
  int64_t strides[FIGURES][MOST_TABLE_AXES];
  int64_t *tile_elements[MOST_OPERANDS], *all_elements[MOST_OPERANDS], operand_strides[MOST_OPERANDS][MOST_TABLE_AXES];
} Tables;

// How a consumer reads a dimension of an operator's result: constant + the sum of factors and axes.
typedef struct {
  int64_t consumer, constant, terms;
  int64_t factors[4], axes[4];
} Way;

typedef struct {
  int64_t axis, count;
  const Way *ways;
} Reading;

enum { VECTOR_PLAIN, VECTOR_CORRECTED, VECTOR_ROWS, VECTOR_WEIGHTS, VECTOR_STATES };

typedef struct {
  uint64_t axes, uncut;
  int64_t axis_count;
  const int64_t *axis_list;  // its axes by place
  int64_t kind;  // equal for equal layers, -1 for others
  bool_t has_kernel, in_tiles, may_pack, may_pack_ahead, may_stay, is_read_once_of_runs, pages_of_left, pages_of_target;
  bool_t is_followed, prefetches_depth;
  int64_t guard;  // 0 no mask, 1 of an operator, 2 of a plain mask
  int64_t row, column, depth, outer_count;
  const int64_t *outer;
  int64_t read_once;  // the operand that passes by once in blocks of all rows, -1 for none
  bool_t has_few_rows;  // so that every block has all rows
  int64_t rows, columns, left, right, packed_bytes, left_bytes, right_bytes, row_stride, target_bytes, passes;
  int64_t operand_count;
  const Operand *operands;
  double vectors_per_element, useful_s_per_point, pack_s_per_element, page_share, pages_beside, first_page_cycles;
  double left_apart, target_apart, right_apart, conflict, fusion_conflict, least_computed;
  int64_t prefetched_count;
  PrefetchedOperand prefetched[3];
  int64_t vector_mode, undivided;  // see `vector_seconds`
  uint64_t reduced, row_axes;
  uint64_t parallel_axes;
  int64_t written, written_axis_count, reading_count;
  const int64_t *written_axes;
  Reading readings[MOST_READINGS];
  double correcting_s, folding_s, taking_s, weights_s_per_point, later_element_bytes, later_bandwidth;
  int64_t online_passes, whole_passes, divides_later, states;
  int64_t state_bytes;  // of the states and factors of a row, 0 unless it may run online
  Tables tables;
} Operator;

typedef struct {
  int64_t producer, axis_count;
  const int64_t *axes;
  uint64_t equal, consumers, consumer_axes;
} Tensor;

// Intermediates that work in place, one after the other.
typedef struct {
  int64_t tensor_count, held_bytes;
  const int64_t *tensors;
  uint64_t users, equal;
} Buffer;

// Buffers that lie in one place in turns.
typedef struct {
  int64_t count;
  Buffer buffers[MOST_BUFFERS];
} Place;

typedef struct {
  int64_t count;
  Place places[MOST_PLACES];
} Places;

// Shares of the pairs of a row and a key that masks leave: by tiles of the rows' axes, the last of which are whole.
typedef struct {
  int64_t axis, dims;
  const int64_t *row_axes, *counts, *tiles[MOST_TABLE_AXES];
  const double *computed, *masked;
} Guard;

typedef struct {
  int64_t axis_count, operator_count, tensor_count, level_count, fusion, source;
  int64_t capacity_bytes, pack_limit_bytes, cores, enough_blocks, is_split;
  int64_t level_bytes[MOST_LEVELS], sharing_cores[MOST_LEVELS];
  const int64_t *sizes, *is_symbolic;
  int64_t tile_counts[64], outer_counts[64];  // tiles of every axis, and how many of the first of them outer loops may have
  const int64_t *tiles[64];
  Places places;  // of all intermediates, without fused groups
  Guard guard;
  uint64_t batch;
  int64_t group_count;
  uint64_t group_axes[64];
  const int64_t *group_lists[64];
  int64_t group_lengths[64];
  double bandwidths[MOST_LEVELS];
  double nearest_bytes, overlapped, visible, visible_nearest, least_gain, equal_within, tile_end_cycles, block_cycles, hz;
  double pass_cycles, region_s, late_share, prefetch_hides, far_page_cycles, lookup_cycles, stream_cycles, run_cycles, page_bytes;
  double tlb_entries, second_tlb_entries, visible_later, row_unroll, line_bytes, followed_rows;
  Operator *operators;
  Tensor *tensors;
} Problem;

static void read_footprint(Reader *from, Footprint *into) {
  into->plain_count = integer(from);
  into->plain = integers(from, into->plain_count);
  into->window_count = integer(from);
  for (int64_t w = 0; w < into->window_count; w++) {
    Window *window = &into->windows[w];
    window->count = integer(from);
    window->axes = (uint64_t)integer(from);
    for (int64_t i = 0; i < window->count; i++) {
      Index *index = &window->indices[i];
      index->terms = integer(from);
      if (index->terms < 0) {
        index->axes[0] = integer(from);
        index->values = integers(from, integer(from));
      }
      for (int64_t t = 0; t < index->terms; t++) {
        index->factors[t] = integer(from);
        index->axes[t] = integer(from);
      }
    }
  }
}

static void read_tables(Reader *from, const double *figures, Tables *into) {
  into->dims = integer(from);
  for (int64_t d = 0; d < into->dims; d++) {
    into->axes[d] = integer(from);
    into->tile_counts[d] = integer(from);
    into->pair_counts[d] = integer(from);
    into->pairs[d] = integers(from, 2 * into->pair_counts[d]);
  }
  for (int64_t f = 0; f < FIGURES; f++) {
    into->figures[f] = figures + integer(from);
    for (int64_t d = 0; d < into->dims; d++) into->strides[f][d] = integer(from);
  }
}

static int read_readings(Reader *from, Operator *into, Arena *arena) {
  into->written = integer(from);
  into->written_axis_count = integer(from);
  into->written_axes = integers(from, into->written_axis_count);
  into->reading_count = integer(from);
  for (int64_t r = 0; r < into->reading_count; r++) {
    Reading *reading = &into->readings[r];
    reading->axis = integer(from);
    reading->count = integer(from);
    Way *ways = taken(arena, reading->count * (int64_t)sizeof(Way));
    if (!ways) return 0;
    reading->ways = ways;
    for (int64_t w = 0; w < reading->count; w++) {
      ways[w].consumer = integer(from);
      ways[w].constant = integer(from);
      ways[w].terms = integer(from);
      for (int64_t t = 0; t < ways[w].terms; t++) {
        ways[w].factors[t] = integer(from);
        ways[w].axes[t] = integer(from);
      }
    }
  }
  return 1;
}

static void read_places(Reader *from, Places *into) {
  into->count = integer(from);
  for (int64_t p = 0; p < into->count; p++) {
    Place *place = &into->places[p];
    place->count = integer(from);
    for (int64_t b = 0; b < place->count; b++) {
      Buffer *buffer = &place->buffers[b];
      buffer->tensor_count = integer(from);
      buffer->tensors = integers(from, buffer->tensor_count);
      buffer->held_bytes = integer(from);
      buffer->users = (uint64_t)integer(from);
      buffer->equal = (uint64_t)integer(from);
    }
  }
}

static void read_guard(Reader *from, const double *figures, Guard *into) {
  into->axis = integer(from);
  into->dims = integer(from);
  into->row_axes = integers(from, into->dims);
  into->counts = integers(from, into->dims);
  for (int64_t d = 0; d < into->dims; d++) into->tiles[d] = integers(from, into->counts[d]);
  into->computed = figures + integer(from);
  into->masked = figures + integer(from);
}

static void read_prefetches(Reader *from, Operator *into) {
  into->prefetched_count = integer(from);
  for (int64_t p = 0; p < into->prefetched_count; p++) {
    PrefetchedOperand *one = &into->prefetched[p];
    one->role = integer(from);
    one->place = integer(from);
    one->first_level = integer(from);
    one->near = real(from);
    one->element_bytes = real(from);
    one->cycles_per_line = real(from);
  }
}

// The loops around the micro kernel that are along axes of its operands: `kernel_loops` in price.c has them in this order.
static void mark_kernel_loops(const Operator *operator, Operand *operands) {
  int64_t axes[67], count = 0, last[3] = {operator->column, operator->row, operator->depth};
  for (int64_t i = 0; i < operator->outer_count; i++) axes[count++] = operator->outer[i];
  for (int i = 0; i < 3; i++) {
    if (last[i] >= 0) axes[count++] = last[i];
  }
  for (int64_t k = 0; k < operator->operand_count; k++) {
    for (int64_t i = 0; i < count; i++) operands[k].kernel_loops |= (uint64_t)has(operands[k].axes, axes[i]) << i;
  }
}

static int read_operator(Reader *from, Operator *into, Operand *operands, Arena *arena) {
  into->axes = (uint64_t)integer(from);
  into->axis_count = integer(from);
  into->axis_list = integers(from, into->axis_count);
  into->parallel_axes = (uint64_t)integer(from);
  into->kind = integer(from);
  into->in_tiles = (bool_t)integer(from);
  into->guard = integer(from);
  into->passes = integer(from);
  into->vectors_per_element = real(from);
  into->least_computed = real(from);
  into->operand_count = integer(from);
  into->operands = operands;
  for (int64_t k = 0; k < into->operand_count; k++) {
    Operand *operand = &operands[k];
    operand->axes = (uint64_t)integer(from);
    operand->kernel_loops = 0;
    operand->is_write = (bool_t)integer(from);
    operand->is_intermediate = (bool_t)integer(from);
    operand->has_guarded_axis = (bool_t)integer(from);
    operand->element_bytes = integer(from);
    operand->tensor = integer(from);
    read_footprint(from, &operand->footprint);
  }
  into->vector_mode = integer(from);
  if (into->vector_mode != VECTOR_PLAIN) {
    into->reduced = (uint64_t)integer(from);
    into->row_axes = (uint64_t)integer(from);
    into->undivided = integer(from);
    into->states = integer(from);
    into->divides_later = integer(from);
    into->state_bytes = integer(from);
    into->correcting_s = real(from);
    into->folding_s = real(from);
    into->taking_s = real(from);
    into->weights_s_per_point = real(from);
    into->later_element_bytes = real(from);
    into->later_bandwidth = real(from);
  }
  into->has_kernel = (bool_t)integer(from);
  into->read_once = -1;
  if (into->has_kernel) {
    into->uncut = (uint64_t)integer(from);
    into->read_once = integer(from);
    into->has_few_rows = (bool_t)integer(from);
    into->row = integer(from);
    into->column = integer(from);
    into->depth = integer(from);
    into->outer_count = integer(from);
    into->outer = integers(from, into->outer_count);
    into->rows = integer(from);
    into->columns = integer(from);
    into->left = integer(from);
    into->right = integer(from);
    into->packed_bytes = integer(from);
    into->left_bytes = integer(from);
    into->right_bytes = integer(from);
    into->target_bytes = integer(from);
    into->row_stride = integer(from);
    into->may_pack = (bool_t)integer(from);
    into->may_pack_ahead = (bool_t)integer(from);
    into->may_stay = (bool_t)integer(from);
    into->is_read_once_of_runs = (bool_t)integer(from);
    into->pages_of_left = (bool_t)integer(from);
    into->pages_of_target = (bool_t)integer(from);
    into->is_followed = (bool_t)integer(from);
    into->useful_s_per_point = real(from);
    into->pack_s_per_element = real(from);
    into->page_share = real(from);
    into->pages_beside = real(from);
    into->first_page_cycles = real(from);
    into->left_apart = real(from);
    into->target_apart = real(from);
    into->right_apart = real(from);
    into->conflict = real(from);
    into->fusion_conflict = real(from);
    read_prefetches(from, into);
    mark_kernel_loops(into, operands);
  }
  return read_readings(from, into, arena);
}

static int read_problem(Reader *from, const double *figures, Problem *into, Arena *arena) {
  into->axis_count = integer(from);
  into->operator_count = integer(from);
  into->tensor_count = integer(from);
  into->level_count = integer(from);
  into->fusion = integer(from);
  into->source = integer(from);
  into->capacity_bytes = integer(from);
  into->pack_limit_bytes = integer(from);
  into->cores = integer(from);
  into->enough_blocks = integer(from);
  into->is_split = integer(from);
  for (int64_t l = 0; l < into->level_count; l++) {
    into->level_bytes[l] = integer(from);
    into->sharing_cores[l] = integer(from);
    into->bandwidths[l] = real(from);
  }
  double *reals[] = {
      &into->nearest_bytes, &into->overlapped, &into->visible, &into->visible_nearest, &into->least_gain, &into->equal_within,
      &into->tile_end_cycles, &into->block_cycles, &into->hz, &into->pass_cycles, &into->region_s, &into->late_share, &into->prefetch_hides,
      &into->far_page_cycles, &into->lookup_cycles, &into->stream_cycles, &into->run_cycles, &into->page_bytes,
      &into->tlb_entries, &into->second_tlb_entries, &into->visible_later, &into->row_unroll,
      &into->line_bytes, &into->followed_rows};
  for (unsigned r = 0; r < sizeof reals / sizeof *reals; r++) *reals[r] = real(from);
  into->sizes = integers(from, into->axis_count);
  into->is_symbolic = integers(from, into->axis_count);
  into->batch = (uint64_t)integer(from);
  for (int64_t a = 0; a < into->axis_count; a++) {
    into->outer_counts[a] = integer(from);
    into->tile_counts[a] = integer(from);
    into->tiles[a] = integers(from, into->tile_counts[a]);
  }
  into->group_count = integer(from);
  for (int64_t g = 0; g < into->group_count; g++) {
    into->group_lengths[g] = integer(from);
    into->group_lists[g] = integers(from, into->group_lengths[g]);
    into->group_axes[g] = 0;
    for (int64_t i = 0; i < into->group_lengths[g]; i++) into->group_axes[g] |= 1ULL << into->group_lists[g][i];
  }
  into->tensors = taken(arena, into->tensor_count * (int64_t)sizeof(Tensor));
  into->operators = taken(arena, into->operator_count * (int64_t)sizeof(Operator));
  if (!into->tensors || !into->operators) return 0;
  for (int64_t t = 0; t < into->tensor_count; t++) {
    Tensor *tensor = &into->tensors[t];
    tensor->producer = integer(from);
    tensor->axis_count = integer(from);
    tensor->axes = integers(from, tensor->axis_count);
    tensor->equal = (uint64_t)integer(from);
    tensor->consumers = (uint64_t)integer(from);
    tensor->consumer_axes = (uint64_t)integer(from);
  }
  for (int64_t o = 0; o < into->operator_count; o++) {
    int64_t operand_count = from->integers[0];  // in front of every operator, so that its operands find a place
    from->integers++;
    Operand *operands = taken(arena, operand_count * (int64_t)sizeof(Operand));
    Operator *operator = &into->operators[o];
    if (!operands) return 0;
    for (char *byte = (char *)operator; byte < (char *)(operator + 1); byte++) *byte = 0;
    if (!read_operator(from, operator, operands, arena)) return 0;
  }
  read_places(from, &into->places);
  if (integer(from)) read_guard(from, figures, &into->guard);
  return 1;
}

