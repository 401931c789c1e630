// A problem read from data, in the order in which `problem.py` writes it.

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
  into->read_once = integer(from);
  into->rows_of_slices = (uint64_t)integer(from);
  into->has_kernel = (bool_t)integer(from);
  into->row = -1;
  if (into->has_kernel) {
    into->uncut = (uint64_t)integer(from);
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
    into->left_column_s = real(from);
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
