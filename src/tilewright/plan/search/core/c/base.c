// The search core: what its files use. They are read as one, in the order of `library.FILES`.
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
