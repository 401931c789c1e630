/* Arrays of NumPy, read and made without a call of Python.

   Large results lie in memory that is lent to them, and lent again when nobody holds an array in it any more: new memory is
   zeroed by the system page by page, which takes longer than many kernels (29 ms for 132 MB, 12.6 ms for 33 MB: Intel Xeon in a
   virtual machine, huge pages). NumPy's memory begins 16 bytes behind a cache line, too, so that every vector of a result would be stored
   to two lines. A block belongs to the capsule that is the array's base, whose end gives it back. The GIL is held throughout. */

#include "pool.h"
#include "python.h"

typedef unsigned long size;

int posix_memalign(void **memory, size alignment, size bytes);
void *malloc(size bytes);
void free(void *memory);
void *mmap(void *wanted, size bytes, int protection, int flags, int file, long offset);
int munmap(void *memory, size bytes);
int madvise(void *memory, size bytes, int advice);

enum {
  LEAST_LENT_BYTES = 4096, /* smaller memory costs NumPy less than a block */
  LINE_BYTES = 64,
  LEAST_MAPPED_BYTES = 65536,
  HUGE_PAGE_BYTES = 1 << 21,
  HUGE_PAGES = 14,   /* MADV_HUGEPAGE */
  READ_WRITE = 3,    /* PROT_* */
  PRIVATE = 0x22,    /* MAP_PRIVATE | MAP_ANONYMOUS */
  STEPS = 8,         /* sizes from one power of two to the next: results whose lengths vary a little share memory */
  SIZES = 64 * STEPS,
  CARRAY = 0x501,    /* NPY_ARRAY_CARRAY */
  MOST_TYPES = 64,
  MOST_RANKS = 256,
  MOST_WORDS = 128   /* of a signature */
};

struct block {
  struct block *next;
  void *memory, *mapped; /* not mapped: null */
  long bytes, mapped_bytes, number;
};

struct tw_python tw_python;
struct tw_numpy tw_numpy;

static struct block *idle[SIZES];
static long idle_bytes;
TW_EXPORT long tw_most_idle_bytes = 1L << 30;

static void *types[MOST_TYPES];
static long type_count;

static long number_of(const void *dtype) {
  for (long i = 0; i < type_count; i++)
    if (types[i] == dtype)
      return i;
  return -1;
}

TW_EXPORT void tw_python_init(void *const *functions) {
  void **to = (void **)&tw_python;
  for (size i = 0; i < sizeof tw_python / sizeof *to; i++)
    to[i] = functions[i];
}

/* Whether arrays begin as `struct py_array`, by one of which all is known; only then they are read and made here. */
TW_EXPORT long tw_arrays_init(void *const *functions, const void *probe, const void *dtype, const void *data, long rank,
                              const long *shape, const long *strides) {
  const struct py_array *array = probe;
  if (array->type != functions[0] || array->data != data || array->rank != rank || array->dtype != dtype)
    return 0;
  for (long d = 0; d < rank; d++)
    if (array->shape[d] != shape[d] || array->strides[d] != strides[d])
      return 0;
  tw_numpy = (struct tw_numpy){functions[0], functions[1], functions[2]};
  return 1;
}

/* The block's size, with few significant bits, and the number of its list. */
static long rounded(long bytes, long *number) {
  long bits = 64 - __builtin_clzl(bytes - 1), step = (1L << bits) / (2 * STEPS), steps = (bytes + step - 1) / step;
  *number = bits * STEPS + steps - STEPS - 1;
  return steps * step;
}

/* Memory on a page; on huge ones as far as it fills any. Whether there was some. */
static int map(struct block *block) {
  int is_huge = block->bytes >= HUGE_PAGE_BYTES;
  block->mapped_bytes = block->bytes + (is_huge ? HUGE_PAGE_BYTES : 0);
  block->mapped = mmap(0, block->mapped_bytes, READ_WRITE, PRIVATE, -1, 0);
  if (block->mapped == (void *)-1)
    return 0;
  size start = (size)block->mapped;
  block->memory = (void *)(is_huge ? (start + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES : start);
  if (is_huge)
    madvise(block->memory, block->bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, HUGE_PAGES);
  return 1;
}

static struct block *new_block(long bytes, long number) {
  struct block *block = malloc(sizeof *block);
  if (!block)
    return 0;
  *block = (struct block){0, 0, 0, bytes, 0, number};
  if (bytes >= LEAST_MAPPED_BYTES ? map(block) : !posix_memalign(&block->memory, LINE_BYTES, bytes))
    return block;
  free(block);
  return 0;
}

static struct block *taken(long bytes) {
  long number;
  bytes = rounded(bytes, &number);
  struct block *block = idle[number];
  if (!block)
    return new_block(bytes, number);
  idle[number] = block->next;
  idle_bytes -= block->bytes;
  return block;
}

static void free_block(struct block *block) {
  if (block->mapped)
    munmap(block->mapped, block->mapped_bytes);
  else
    free(block->memory);
  free(block);
}

static void give(struct block *block) {
  if (idle_bytes + block->bytes > tw_most_idle_bytes) {
    free_block(block);
    return;
  }
  block->next = idle[block->number];
  idle[block->number] = block;
  idle_bytes += block->bytes;
}

static void give_back(void *capsule) { give(tw_python.address_in(capsule, 0)); }

/* What waits for results. */
TW_EXPORT long tw_idle_bytes(void) { return idle_bytes; }

/* Give what waits for results back to the system. */
TW_EXPORT void tw_trim_results(void) {
  for (long number = 0; number < SIZES; number++)
    for (struct block *block; (block = idle[number]);) {
      idle[number] = block->next;
      idle_bytes -= block->bytes;
      free_block(block);
    }
}

static void *lent(void *dtype, long rank, const long *shape, long bytes) {
  struct block *block = taken(bytes);
  void *owner = block ? tw_python.new_capsule(block, 0, give_back) : 0;
  if (!owner) {
    if (block)
      give(block);
    return 0;
  }
  tw_python.keep(dtype);
  void *array = tw_numpy.new_array(tw_numpy.array_type, dtype, rank, shape, 0, block->memory, CARRAY, 0);
  if (!array)
    tw_python.release(owner);
  else if (tw_numpy.set_base(array, owner)) { /* which has taken the owner in any case */
    tw_python.release(array);
    return 0;
  }
  return array;
}

/* A new array with any values; null, without an error, where there is no memory. */
void *tw_array(void *dtype, long itemsize, long rank, const long *shape) {
  long bytes = itemsize;
  int is_too_large = 0;
  for (long d = 0; d < rank; d++)
    is_too_large |= __builtin_mul_overflow(bytes, shape[d], &bytes);
  if (is_too_large || !tw_numpy.array_type)
    return 0;
  void *array;
  if (bytes >= LEAST_LENT_BYTES)
    array = lent(dtype, rank, shape, bytes);
  else {
    tw_python.keep(dtype);
    array = tw_numpy.new_array(tw_numpy.array_type, dtype, rank, shape, 0, 0, 0, 0);
  }
  if (!array)
    tw_python.clear_error();
  return array;
}

/* The same for Python: None in the place of null. */
TW_EXPORT void *tw_new_result(void *dtype, long itemsize, long rank, const long *shape) {
  void *array = tw_array(dtype, itemsize, rank, shape);
  return array ? array : tw_none();
}

/* Let arrays of a type have signatures; somebody keeps the type for ever. */
TW_EXPORT void tw_know_type(void *dtype) {
  if (number_of(dtype) < 0 && type_count < MOST_TYPES)
    types[type_count++] = dtype;
}

/* Bytes of Python that tell the types and shapes of a tuple of arrays; None where one is no array of a known type. */
void *tw_signature(void *self, void *arrays) {
  long words[MOST_WORDS], count = 0, number;
  (void)self;
  for (ssize i = 0, arguments = tw_python.tuple_size(arrays); i < arguments; i++) {
    const struct py_array *array = tw_python.tuple_item(arrays, i);
    if (!tw_is_array(array) || (number = number_of(array->dtype)) < 0 || count + 1 + array->rank > MOST_WORDS)
      return tw_none();
    words[count++] = number * MOST_RANKS + array->rank;
    for (int d = 0; d < array->rank; d++)
      words[count++] = array->shape[d];
  }
  return tw_python.new_bytes((const char *)words, count * sizeof *words);
}
