/* From Python objects to a kernel: reads the arrays, NumPy's own as they are and others through the buffer protocol, checks them
   against the signature, releases the GIL, and calls the entry point. Called by functions of Python that are made here, and
   through ctypes.PyDLL, so that the GIL is held on entry.

   Nothing is raised here: a refusal is a number, `reason + 256 * argument`, and Python, which has time then, finds the words.
   Of a position out of range it is the number of the lookup in the place of an argument's. */

#include "pool.h"
#include "python.h"

enum { WRITABLE = 1, FORMAT = 4, STRIDES = 24 }; /* PyBUF_* */
enum { ARRAY_WRITEABLE = 0x400 };                /* NPY_ARRAY_WRITEABLE */
enum { ONE_ARGUMENT = 8 };                       /* METH_O */

enum reason { OK, NO_BUFFER, DTYPE, RANK, SHAPE, RANGE, LAYOUT, OVERLAP, MEMORY, COUNT, POSITION, NOT_FINITE };

/* How the value of a formula is computed on a stack: a number follows INTEGER and SYMBOL. */
enum step { END, INTEGER, SYMBOL, ADD, MULTIPLY, DIVIDE, LEAST, GREATEST };
enum { MOST_STACKED = 64 };

struct symbol_rule {
  long low, high;
  const long *steps; /* of a formula; null for a dimension, whose value arrays give */
};

struct tensor_rule {
  long kind; /* f, i, u, c as NumPy's dtype.kind, ? for truth values; b for bits of a type that no buffer has */
  long itemsize, rank;
  long unit_stride_dim; /* -1: any strides */
  long joined;          /* a bit for every dimension whose elements and those of the next must lie in a row */
  const long *shape;    /* extents; the symbol of number s is written -1 - s */
  void *dtype;          /* NumPy's: arrays of it need no other look at their type */
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

/* An extent of the signature, where formulas are evaluated when they are first met; negative where it is not known yet. */
static long extent_of(const struct tw_record *record, long wanted, long *values) {
  if (wanted >= 0)
    return wanted;
  long symbol = -1 - wanted;
  if (values[symbol] < 0 && record->symbols[symbol].steps)
    values[symbol] = evaluated(record->symbols[symbol].steps, values);
  return values[symbol];
}

/* Compare an array's extents with the rule; dimensions take their value from the first that carries them. */
static enum reason check_shape(const struct tw_record *record, const struct tensor_rule *rule, const struct py_buffer *view,
                               long *values) {
  for (long d = 0; d < rule->rank; d++) {
    long extent = view->shape[d], wanted = extent_of(record, rule->shape[d], values), symbol = -1 - rule->shape[d];
    if (wanted < 0 && symbol >= 0 && !record->symbols[symbol].steps) {
      if (extent < record->symbols[symbol].low || extent > record->symbols[symbol].high)
        return RANGE;
      values[symbol] = wanted = extent;
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

/* What an array has, or an object exports as a buffer, whose element type is checked; perhaps integers stand for bits. */
static enum reason view_of(void *object, const struct tensor_rule *rule, int is_output, int takes_bits, struct py_buffer *view) {
  const struct py_array *array = object;
  if (tw_is_array(object) && array->dtype == rule->dtype) {
    *view = (struct py_buffer){array->data, 0, 1, rule->itemsize, 0, array->rank, 0, array->shape, array->strides, 0, 0};
    return is_output && !(array->flags & ARRAY_WRITEABLE) ? NO_BUFFER : OK;
  }
  view->obj = 0;
  if (tw_python.get_buffer(object, view, STRIDES | FORMAT | (is_output ? WRITABLE : 0))) {
    tw_python.clear_error();
    return NO_BUFFER;
  }
  long kind = rule->kind == 'b' && takes_bits ? 'u' : rule->kind;
  return view->itemsize != rule->itemsize || kind_of(view->format) != kind ? DTYPE : OK;
}

static enum reason check(const struct tw_record *record, long number, const struct py_buffer *view, long *values, long *strides) {
  const struct tensor_rule *rule = &record->tensors[number];
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

struct opened { /* the arrays of a call */
  struct py_buffer *views;
  struct span *spans;
  long *sizes, *strides; /* of the next array */
  long count;            /* that were opened */
  int takes_bits;        /* whether somebody has checked the types that no buffer has */
};

/* Open the next array and check it. */
static enum reason open_next(const struct tw_record *record, void *object, struct opened *arrays) {
  long number = arrays->count;
  int is_output = number >= record->input_count;
  struct py_buffer *view = &arrays->views[number];
  enum reason reason = view_of(object, &record->tensors[number], is_output, arrays->takes_bits, view);
  if (reason == NO_BUFFER)
    return reason;
  arrays->count++;
  if (reason || (reason = check(record, number, view, arrays->sizes, arrays->strides)))
    return reason;
  arrays->spans[number] = span_of(view);
  arrays->strides += record->tensors[number].rank;
  return is_output && overlaps(arrays->spans, number) ? OVERLAP : OK;
}

/* Open those of a tuple. */
static enum reason open_all(const struct tw_record *record, void *tuple, struct opened *arrays) {
  enum reason reason = OK;
  for (ssize i = 0, count = tw_python.tuple_size(tuple); i < count && !reason; i++)
    reason = open_next(record, tw_python.tuple_item(tuple, i), arrays);
  return reason;
}

/* Make the outputs, whose extents the inputs tell, and open them; where that fails, others than OK. */
static enum reason open_new(const struct tw_record *record, void *list, struct opened *arrays) {
  enum reason reason = OK;
  for (long i = record->input_count; i < record->tensor_count && !reason; i++) {
    const struct tensor_rule *rule = &record->tensors[i];
    long shape[rule->rank + 1];
    for (long d = 0; d < rule->rank; d++)
      if ((shape[d] = extent_of(record, rule->shape[d], arrays->sizes)) < 0)
        return SHAPE;
    void *array = tw_array(rule->dtype, rule->itemsize, rule->rank, shape);
    if (!array)
      return MEMORY;
    tw_python.set_item(list, i - record->input_count, array);
    reason = open_next(record, array, arrays);
  }
  return reason;
}

/* Run a call `count` times without the GIL. */
static enum reason run(const struct tw_record *record, const struct opened *arrays, long count, long *chains_ns,
                       struct fault *fault) {
  void *tensors[record->tensor_count + 1];
  enum reason reason = OK;
  for (long i = 0; i < record->tensor_count; i++)
    tensors[i] = arrays->views[i].buf;
  void *state = tw_python.save_thread();
  for (long i = 0; i < count && !reason; i++)
    reason = call(record, tensors, arrays->sizes, chains_ns, fault);
  tw_python.restore_thread(state);
  return reason;
}

static void close_all(const struct opened *arrays) {
  for (long i = 0; i < arrays->count; i++)
    if (arrays->views[i].obj)
      tw_python.release_buffer(&arrays->views[i]);
}

/* Open the arrays of `tuple`, inputs and outputs, or the inputs alone where `outputs`, a list, takes new outputs; run. */
static enum reason launched(const struct tw_record *record, void *tuple, void *outputs, int takes_bits, long count,
                            long *chains_ns, struct fault *fault, long *blamed) {
  struct py_buffer views[record->tensor_count + 1];
  struct span spans[record->tensor_count + 1];
  long sizes[record->size_count + 1];
  struct opened arrays = {views, spans, sizes, sizes + record->symbol_count, 0, takes_bits};
  for (long s = 0; s < record->symbol_count; s++)
    sizes[s] = -1;
  if (tw_python.tuple_size(tuple) != (outputs ? record->input_count : record->tensor_count))
    return COUNT;
  enum reason reason = open_all(record, tuple, &arrays);
  if (!reason && outputs)
    reason = open_new(record, outputs, &arrays);
  *blamed = reason == NO_BUFFER ? arrays.count : arrays.count - 1;
  if (!reason) {
    reason = run(record, &arrays, count, chains_ns, fault);
    *blamed = reason == POSITION ? fault->lookup : *blamed;
  }
  close_all(&arrays);
  return reason;
}

/* `arrays`: a tuple of the inputs, then the outputs. */
static long launch(const struct tw_record *record, void *arrays, int takes_bits, long count, long *chains_ns,
                   struct fault *fault) {
  long blamed = 0;
  enum reason reason = launched(record, arrays, 0, takes_bits, count, chains_ns, fault, &blamed);
  return reason ? reason + 256 * blamed : 0;
}

/* One call, bits for types that no buffer has; `fault` is told of a position out of range, and of memory that is missing. */
TW_EXPORT long tw_launch_with_care(const struct tw_record *record, void *arrays, struct fault *fault) {
  return launch(record, arrays, 1, 1, 0, fault);
}

/* The same call `count` times: for measurements, where the way from Python takes longer than the work. */
TW_EXPORT long tw_launch_repeatedly(const struct tw_record *record, void *arrays, long count) {
  struct fault fault;
  return launch(record, arrays, 0, count, 0, &fault);
}

/* One call; the nanoseconds of every chain are added to `chains_ns`. */
TW_EXPORT long tw_launch_timed(const struct tw_record *record, void *arrays, long *chains_ns) {
  struct fault fault;
  return launch(record, arrays, 0, 1, chains_ns, &fault);
}

/* Functions of Python: `self` is a capsule of the record. */

static void *py_launch(void *self, void *arrays) {
  struct fault fault;
  return tw_python.new_integer(launch(tw_python.address_in(self, 0), arrays, 0, 1, 0, &fault));
}

static void *py_compute(void *self, void *inputs) {
  const struct tw_record *record = tw_python.address_in(self, 0);
  struct fault fault;
  long blamed = 0;
  void *outputs = tw_python.new_list(record->tensor_count - record->input_count);
  enum reason reason = outputs ? launched(record, inputs, outputs, 0, 1, 0, &fault, &blamed) : MEMORY;
  if (!reason)
    return outputs;
  if (outputs)
    tw_python.release(outputs);
  tw_python.clear_error();
  return tw_python.new_integer(reason + 256 * blamed);
}

static struct py_method methods[] = {{"launch", py_launch, ONE_ARGUMENT, 0},
                                     {"compute", py_compute, ONE_ARGUMENT, 0},
                                     {"signature", tw_signature, ONE_ARGUMENT, 0}};

/* A function of Python. For a record: 0 takes a tuple of inputs and outputs, and gives 0 or a refusal; 1 takes a tuple of inputs,
   and gives a list of new outputs, or a refusal. 2 is `tw_signature`, of any address. */
TW_EXPORT void *tw_function(long number, void *address) {
  void *self = tw_python.new_capsule(address, 0, 0);
  void *function = self ? tw_python.new_function(&methods[number], self, 0) : 0;
  if (self)
    tw_python.release(self);
  return function;
}
