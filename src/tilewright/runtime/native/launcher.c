/* From Python objects to a kernel: reads the arrays through the buffer protocol, checks them against the signature, releases the
   GIL, and calls the entry point. Called through ctypes.PyDLL, so that the GIL is held on entry.

   Nothing is raised here: a refusal is a number, `reason + 256 * argument`, and Python, which has time then, finds the words.
   Of a position out of range it is the number of the lookup in the place of an argument's. */

#include "pool.h"

typedef long ssize;

struct py_buffer { /* Py_buffer of the stable ABI (Python 3.11) */
  void *buf, *obj;
  ssize len, itemsize;
  int readonly, ndim;
  char *format;
  ssize *shape, *strides, *suboffsets;
  void *internal;
};

struct python { /* functions of the stable ABI, found by ctypes in the interpreter that is running */
  int (*get_buffer)(void *object, struct py_buffer *view, int flags);
  void (*release_buffer)(struct py_buffer *view);
  ssize (*tuple_size)(void *tuple);
  void *(*tuple_item)(void *tuple, ssize index);
  void *(*save_thread)(void);
  void (*restore_thread)(void *state);
  void (*clear_error)(void);
};

enum { WRITABLE = 1, FORMAT = 4, STRIDES = 24 }; /* PyBUF_* */

enum reason { OK, NO_BUFFER, DTYPE, RANK, SHAPE, RANGE, LAYOUT, OVERLAP, MEMORY, COUNT, POSITION, NOT_FINITE };

/* How the value of a formula is computed on a stack: a number follows INTEGER and SYMBOL. */
enum step { END, INTEGER, SYMBOL, ADD, MULTIPLY, DIVIDE, LEAST, GREATEST };
enum { MOST_STACKED = 64 };

struct symbol_rule {
  long low, high;
  const long *steps; /* of a formula; null for a dimension, whose value arrays give */
};

struct tensor_rule {
  long kind; /* f, i, u, c as NumPy's dtype.kind, ? for truth values */
  long itemsize, rank;
  long unit_stride_dim; /* -1: any strides */
  long joined;          /* a bit for every dimension whose elements and those of the next must lie in a row */
  const long *shape;    /* extents; the symbol of number s is written -1 - s */
};

struct tw_record {
  void (*entry)(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace);
  long (*workspace_bytes)(const long *sizes);
  struct tw_pool *pool;
  long symbol_count, input_count, tensor_count, size_count;
  const struct symbol_rule *symbols;
  const struct tensor_rule *tensors;
  const char *const *constants; /* packed when the kernel was loaded */
};

static struct python python;

TW_EXPORT void tw_launcher_init(void *const *functions) {
  python.get_buffer = functions[0];
  python.release_buffer = functions[1];
  python.tuple_size = functions[2];
  python.tuple_item = functions[3];
  python.save_thread = functions[4];
  python.restore_thread = functions[5];
  python.clear_error = functions[6];
}

/* The NumPy kind of a struct-module format; 0 for records and for the other byte order. */
static long kind_of(const char *format) {
  static const char kinds[][2] = {
      {'e', 'f'}, {'f', 'f'}, {'d', 'f'}, {'g', 'f'}, {'b', 'i'}, {'h', 'i'}, {'i', 'i'}, {'l', 'i'}, {'q', 'i'},
      {'n', 'i'}, {'B', 'u'}, {'H', 'u'}, {'I', 'u'}, {'L', 'u'}, {'Q', 'u'}, {'N', 'u'}, {'?', '?'},
  };
  if (!format)
    return 'u';
  if (*format == '@' || *format == '=' || *format == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>'))
    format++;
  if (format[0] == 'Z' && (format[1] == 'f' || format[1] == 'd') && !format[2])
    return 'c';
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (kinds[i][0] == format[0])
      return format[1] ? 0 : kinds[i][1];
  return 0;
}

static long floor_divide(long dividend, long divisor) {
  long quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

/* The value of a formula of symbols; -1 where a symbol has none yet. Divisors are at least 1. */
static long evaluated(const long *step, const long *values) {
  long stack[MOST_STACKED], *top = stack - 1;
  for (;; step++)
    switch (*step) {
    case INTEGER:
      *++top = *++step;
      break;
    case SYMBOL:
      if (values[*++step] < 0)
        return -1;
      *++top = values[*step];
      break;
    case END:
      return *top;
    default: {
      long right = *top--, left = *top;
      *top = *step == ADD        ? left + right
             : *step == MULTIPLY ? left * right
             : *step == DIVIDE   ? floor_divide(left, right)
             : *step == LEAST    ? (left < right ? left : right)
                                 : (left > right ? left : right);
    }
    }
}

/* Compare an array's extents with the rule; symbols take their value from the first dimension that carries them, or from their
   formula. */
static enum reason check_shape(const struct tw_record *record, const struct tensor_rule *rule, const struct py_buffer *view,
                               long *values) {
  for (long d = 0; d < rule->rank; d++) {
    long wanted = rule->shape[d], extent = view->shape[d];
    if (wanted < 0) {
      long symbol = -1 - wanted;
      if (values[symbol] < 0 && record->symbols[symbol].steps)
        values[symbol] = evaluated(record->symbols[symbol].steps, values);
      else if (values[symbol] < 0) {
        if (extent < record->symbols[symbol].low || extent > record->symbols[symbol].high)
          return RANGE;
        values[symbol] = extent;
      }
      wanted = values[symbol];
    }
    if (extent != wanted)
      return SHAPE;
  }
  return OK;
}

/* Write the strides in elements. Dimensions of at most one element have any stride: the one that is wanted. */
static enum reason check_layout(const struct tensor_rule *rule, const struct py_buffer *view, int is_output, long *strides) {
  if ((unsigned long)view->buf % rule->itemsize)
    return LAYOUT;
  for (long d = 0; d < rule->rank; d++) {
    int is_unit = d == rule->unit_stride_dim;
    long stride = view->strides[d];
    strides[d] = stride / rule->itemsize;
    if (view->shape[d] <= 1)
      strides[d] = is_unit;
    else if (stride % rule->itemsize || (is_unit && strides[d] != 1))
      return LAYOUT;
    else if (is_output && stride == 0 && view->len > 0)
      return OVERLAP;
  }
  for (long d = 0; rule->joined >> d; d++)
    if ((rule->joined >> d & 1) && strides[d] != strides[d + 1] * view->shape[d + 1])
      return LAYOUT;
  return OK;
}

static enum reason check(const struct tw_record *record, long number, const struct py_buffer *view, long *values, long *strides) {
  const struct tensor_rule *rule = &record->tensors[number];
  if (view->itemsize != rule->itemsize || kind_of(view->format) != rule->kind)
    return DTYPE;
  if (view->ndim != rule->rank)
    return RANK;
  enum reason reason = check_shape(record, rule, view, values);
  return reason ? reason : check_layout(rule, view, number >= record->input_count, strides);
}

/* The addresses [low, high) that an array touches; empty for an array without elements. */
struct span {
  char *low, *high;
};

static struct span span_of(const struct py_buffer *view) {
  struct span span = {view->buf, (char *)view->buf + view->itemsize};
  for (int d = 0; d < view->ndim; d++) {
    if (view->shape[d] == 0)
      return (struct span){0, 0};
    long reach = view->strides[d] * (view->shape[d] - 1);
    *(reach < 0 ? &span.low : &span.high) += reach;
  }
  return span;
}

/* Whether output `number` may share memory with an input or with an earlier output. */
static int overlaps(const struct span *spans, long number) {
  for (long other = 0; other < number; other++)
    if (spans[number].low < spans[other].high && spans[other].low < spans[number].high)
      return 1;
  return 0;
}

struct fault { /* the first position out of range, in the order of lookups and of places: no matter how many threads */
  long lookup, place, position, extent;
  long missing_bytes; /* for which there is no memory */
};

struct open_call { /* the call's handle, and what is known of it so far */
  struct tw_call call;
  long last_ns;    /* when the last chain ended */
  long *chains_ns; /* what every chain took is added there; null: nobody asks */
  char fault_lock, has_fault;
  char is_not_finite; /* whether a thread met a NaN or an infinity that may be wrong */
  struct fault fault;
};

static void chain_done(void *pool, long chain) {
  struct open_call *state = pool;
  long now = tw_now_ns();
  state->chains_ns[chain] += now - state->last_ns;
  state->last_ns = now;
}

static void out_of_range(void *pool, long lookup, long place, long position, long extent) {
  struct open_call *state = pool;
  struct fault *first = &state->fault;
  while (__atomic_test_and_set(&state->fault_lock, __ATOMIC_ACQUIRE))
    ;
  if (!state->has_fault || lookup < first->lookup || (lookup == first->lookup && place < first->place))
    *first = (struct fault){lookup, place, position, extent, 0};
  state->has_fault = 1;
  __atomic_clear(&state->fault_lock, __ATOMIC_RELEASE);
}

static void not_finite(void *pool) {
  struct open_call *state = pool;
  __atomic_store_n(&state->is_not_finite, 1, __ATOMIC_RELAXED);
}

static enum reason call(const struct tw_record *record, void *const *tensors, const long *sizes, long *chains_ns,
                        struct fault *fault) {
  struct open_call state = {{record->pool, 0}, chains_ns ? tw_now_ns() : 0, chains_ns, 0, 0, 0, {0, 0, 0, 0, 0}};
  struct tw_context context = {&state, tw_parallel_for, record->constants, chains_ns ? chain_done : 0, out_of_range, not_finite};
  tw_pool_enter(record->pool);
  struct tw_block *workspace = 0;
  long bytes = record->workspace_bytes(sizes);
  if (bytes > 0 && !(workspace = tw_pool_take(record->pool, bytes))) {
    fault->missing_bytes = bytes;
    return MEMORY;
  }
  record->entry(&context, tensors, sizes, (char *)(workspace + 1));
  if (workspace)
    tw_pool_give(record->pool, workspace);
  *fault = state.fault;
  fault->missing_bytes = state.call.missing_bytes;
  return fault->missing_bytes ? MEMORY : state.has_fault ? POSITION : state.is_not_finite ? NOT_FINITE : OK;
}

/* Open the buffers and check them; `acquired` counts those to release, whatever the outcome. */
static enum reason acquire_all(const struct tw_record *record, void *arrays, struct py_buffer *views, long *acquired,
                               long *sizes) {
  long *strides = sizes + record->symbol_count;
  struct span spans[record->tensor_count + 1];
  for (long s = 0; s < record->symbol_count; s++)
    sizes[s] = -1;
  for (long i = 0; i < record->tensor_count; i++) {
    int is_output = i >= record->input_count;
    if (python.get_buffer(python.tuple_item(arrays, i), &views[i], STRIDES | FORMAT | (is_output ? WRITABLE : 0))) {
      python.clear_error();
      return NO_BUFFER;
    }
    *acquired = i + 1;
    enum reason reason = check(record, i, &views[i], sizes, strides);
    if (reason)
      return reason;
    spans[i] = span_of(&views[i]);
    if (is_output && overlaps(spans, i))
      return OVERLAP;
    strides += record->tensors[i].rank;
  }
  return OK;
}

static long launch(const struct tw_record *record, void *arrays, long count, long *chains_ns, struct fault *fault) {
  struct py_buffer views[record->tensor_count + 1];
  long sizes[record->size_count + 1], acquired = 0, blamed;
  if (python.tuple_size(arrays) != record->tensor_count)
    return COUNT;
  enum reason reason = acquire_all(record, arrays, views, &acquired, sizes);
  blamed = reason == NO_BUFFER ? acquired : acquired - 1;
  if (!reason) {
    void *tensors[record->tensor_count + 1];
    for (long i = 0; i < record->tensor_count; i++)
      tensors[i] = views[i].buf;
    void *state = python.save_thread();
    for (long i = 0; i < count && !reason; i++)
      reason = call(record, tensors, sizes, chains_ns, fault);
    python.restore_thread(state);
    blamed = reason == POSITION ? fault->lookup : blamed;
  }
  for (long i = 0; i < acquired; i++)
    python.release_buffer(&views[i]);
  return reason ? reason + 256 * blamed : 0;
}

/* `arrays`: a tuple of the inputs, then the outputs. */
TW_EXPORT long tw_launch(const struct tw_record *record, void *arrays) {
  struct fault fault;
  return launch(record, arrays, 1, 0, &fault);
}

/* The same; `fault` is told of a position out of range, and of memory that is missing. */
TW_EXPORT long tw_launch_with_care(const struct tw_record *record, void *arrays, struct fault *fault) {
  return launch(record, arrays, 1, 0, fault);
}

/* The same call `count` times: for measurements, where the way from Python takes longer than the work. */
TW_EXPORT long tw_launch_repeatedly(const struct tw_record *record, void *arrays, long count) {
  struct fault fault;
  return launch(record, arrays, count, 0, &fault);
}

/* One call; the nanoseconds of every chain are added to `chains_ns`. */
TW_EXPORT long tw_launch_timed(const struct tw_record *record, void *arrays, long *chains_ns) {
  struct fault fault;
  return launch(record, arrays, 1, chains_ns, &fault);
}
