// Figures of an operator's blocks over all tiles of its axes: those that are given, and the elements of its operands.

// The tile and the points along a dimension of an operator's tables at one of its places.
static void put_tile(const Problem *problem, const Tables *tables, int64_t d, int64_t place, int64_t *tiles, int64_t *sizes) {
  int64_t axis = tables->axes[d], behind = place - tables->tile_counts[d], tile = problem->sizes[axis];
  sizes[axis] = problem->sizes[axis];
  if (behind >= 0) {
    tile = tables->pairs[d][2 * behind];
    sizes[axis] = tables->pairs[d][2 * behind + 1];
  } else if (has(problem->batch, axis)) {
    tile = 1;
  } else if (problem->tile_counts[axis]) {
    tile = problem->tiles[axis][place];
  }
  tiles[axis] = least_count(tile, sizes[axis]);
}

// Counts the elements of an operand over the tiles of its own axes. 0 without memory.
static int count_elements(const Problem *problem, const Operand *operand, int64_t number, Tables *tables, Arena *arena) {
  int64_t tiles[64], sizes[64], at[MOST_TABLE_AXES] = {0}, dims[MOST_TABLE_AXES], ends[MOST_TABLE_AXES], count = 0, points = 1;
  for (int64_t a = 0; a < problem->axis_count; a++) tiles[a] = sizes[a] = problem->sizes[a];
  for (int64_t d = tables->dims - 1; d >= 0; d--) {
    tables->operand_strides[number][d] = 0;
    put_tile(problem, tables, d, 0, tiles, sizes);
    if (!has(operand->axes, tables->axes[d])) continue;
    tables->operand_strides[number][d] = points;
    dims[count] = d;
    ends[count] = tables->tile_counts[d] + tables->pair_counts[d];
    points *= ends[count++];
  }
  int64_t *of_tile = taken(arena, points * 8), *of_all = taken(arena, points * 8);
  if (!of_tile || !of_all) return 0;
  tables->tile_elements[number] = of_tile;
  tables->all_elements[number] = of_all;
  for (int64_t p = 0; p < points; p++) {
    of_tile[p] = elements(&operand->footprint, tiles);
    of_all[p] = swept_elements(&operand->footprint, tiles, sizes);
    for (int64_t i = 0; i < count; i++) {
      at[i] = at[i] + 1 < ends[i] ? at[i] + 1 : 0;
      put_tile(problem, tables, dims[i], at[i], tiles, sizes);
      if (at[i]) break;
    }
  }
  return 1;
}

static int read_all_tables(Reader *from, const double *figures, Problem *into, Arena *arena) {
  for (int64_t o = 0; o < into->operator_count; o++) {
    Operator *operator = &into->operators[o];
    read_tables(from, figures, &operator->tables);
    for (int64_t k = 0; k < operator->operand_count; k++) {
      if (!count_elements(into, &operator->operands[k], k, &operator->tables, arena)) return 0;
    }
  }
  return 1;
}

// Where figures of blocks of some tiles lie.
typedef struct {
  int64_t figures[FIGURES], elements[MOST_OPERANDS];
} Cell;

static void move_cell(const Operator *operator, int64_t d, int64_t steps, Cell *cell) {
  const Tables *tables = &operator->tables;
  for (int64_t f = 0; f < FIGURES; f++) cell->figures[f] += tables->strides[f][d] * steps;
  for (int64_t k = 0; k < operator->operand_count; k++) cell->elements[k] += tables->operand_strides[k][d] * steps;
}

static void start_cell(const Operator *operator, const int64_t *places, Cell *cell) {
  for (int64_t f = 0; f < FIGURES; f++) cell->figures[f] = 0;
  for (int64_t k = 0; k < operator->operand_count; k++) cell->elements[k] = 0;
  for (int64_t d = 0; d < operator->tables.dims; d++) {
    if (places[d]) move_cell(operator, d, places[d], cell);
  }
}

static inline double figure_at(const Operator *operator, int figure, const Cell *cell) {
  return operator->tables.figures[figure][cell->figures[figure]];
}

// What an operator's tiles of inputs and outputs take, but for what passes by once: `bounds.tile_bytes`.
static double tile_bytes(const Operator *operator, const Cell *cell, const int64_t *tiles, const int64_t *sizes) {
  int64_t total = 0;
  int has_all_rows = operator->read_once >= 0;
  for (uint64_t left = operator->rows_of_slices; left; left &= left - 1) {
    int axis = __builtin_ctzll(left);
    has_all_rows = has_all_rows && tiles[axis] >= sizes[axis];
  }
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    if (operand->is_intermediate || (has_all_rows && k == operator->read_once)) continue;
    total += operand->element_bytes * operator->tables.tile_elements[k][cell->elements[k]];
  }
  return (double)total;
}

// What is read and written of all inputs and outputs, once.
static double bytes_once(const Operator *operator, const Cell *cell) {
  int64_t total = 0;
  for (int64_t k = 0; k < operator->operand_count; k++) {
    const Operand *operand = &operator->operands[k];
    if (!operand->is_intermediate) total += operand->element_bytes * operator->tables.all_elements[k][cell->elements[k]];
  }
  return (double)total;
}

// The least that a right operand costs: `packing_cost.least_packing_seconds`.
static double least_packing_seconds(const Problem *problem, const Operator *operator, const Cell *cell, const View *view) {
  if (!operator->may_pack || operator->may_pack_ahead) return 0.0;
  double once = copied_points(&operator->operands[operator->right], view->sizes) * operator->pack_s_per_element;
  if (!operator->may_stay) return once;
  return least(once, in_place_seconds(problem, operator, view, figure_at(operator, CALLS, cell)));
}
