// A planning problem: `problem.py` and `operators.py` write it, reading.c reads it.

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
  uint64_t rows_of_slices;  // their axes
  int64_t rows, columns, left, right, packed_bytes, left_bytes, right_bytes, row_stride, target_bytes, passes;
  int64_t operand_count;
  const Operand *operands;
  double vectors_per_element, useful_s_per_point, pack_s_per_element, page_share, pages_beside, first_page_cycles;
  double left_apart, target_apart, right_apart, left_column_s, conflict, fusion_conflict, least_computed;
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
