/* A hierarchy of caches: whole lines, exact LRU, write-allocate, write-back, non-inclusive.

   A touch is one word: bit 0 says whether it writes, the bits below `region_shift` are the line, those above are the region
   (the tensor) that it is counted for. A miss goes to the level behind; so does a dirty line that is evicted, which that
   level takes as a whole without fetching it. All memory is the caller's. */
typedef unsigned long word;

enum { ACCESSES, MISSES, WRITE_BACKS, COUNTERS };
#define EMPTY (~0ul)
#define INLINE static inline __attribute__((always_inline))

struct level {
  long sets;
  long ways;     /* lines per set; with one set, the LRU order is a linked list and `buckets` a hash table */
  word *entries; /* EMPTY, or the last touch of a line, with bit 0 for dirty; sets of `ways`, most recent first */
  long *counters;
  int *newer, *older; /* linked list over entries; entry number `ways` is both its ends */
  int *buckets, *chain;
  long bucket_mask;
  long used;
};

struct simulator {
  long count;
  long region_shift;
  struct level *levels;
};

INLINE word line_of(const struct simulator *simulator, word touch) {
  return (touch & ((1ul << simulator->region_shift) - 1)) >> 1;
}

INLINE int is_same_line(const struct simulator *simulator, word a, word b) {
  return ((a ^ b) & ((1ul << simulator->region_shift) - 2)) == 0;
}

/* Move to front: entries are shifted back until the line is found, or the last one falls out. */
INLINE int find_in_set(const struct simulator *simulator, struct level *level, word touch, word *evicted) {
  const word line = line_of(simulator, touch), sets = (word)level->sets;
  const word index = (sets & (sets - 1)) == 0 ? line & (sets - 1) : line % sets;
  word *set = level->entries + index * (word)level->ways;
  word moved = set[0];
  set[0] = touch;
  for (long way = 1;; way++) {
    if (is_same_line(simulator, moved, touch)) {
      set[0] |= moved & 1;
      return 1;
    }
    if (way == level->ways)
      break;
    const word next = set[way];
    set[way] = moved;
    moved = next;
  }
  *evicted = moved;
  return 0;
}

static void unlink_entry(struct level *level, int entry) {
  level->older[level->newer[entry]] = level->older[entry];
  level->newer[level->older[entry]] = level->newer[entry];
}

static void link_newest(struct level *level, int entry) {
  const int ends = (int)level->ways, second = level->older[ends];
  level->older[ends] = level->newer[second] = entry;
  level->newer[entry] = ends;
  level->older[entry] = second;
}

static int *bucket_of(const struct simulator *simulator, struct level *level, word touch) {
  return level->buckets + ((line_of(simulator, touch) * 0x9e3779b97f4a7c15ul >> 32) & (word)level->bucket_mask);
}

static void leave_bucket(const struct simulator *simulator, struct level *level, int entry) {
  int *place = bucket_of(simulator, level, level->entries[entry]);
  while (*place != entry)
    place = level->chain + *place;
  *place = level->chain[entry];
}

static int find_anywhere(const struct simulator *simulator, struct level *level, word touch, word *evicted) {
  int *bucket = bucket_of(simulator, level, touch);
  int entry = *bucket;
  while (entry >= 0 && !is_same_line(simulator, level->entries[entry], touch))
    entry = level->chain[entry];
  const int hit = entry >= 0;
  if (hit) {
    unlink_entry(level, entry);
    touch |= level->entries[entry] & 1;
  } else if (level->used < level->ways) {
    entry = (int)level->used++;
  } else {
    entry = level->newer[level->ways];
    *evicted = level->entries[entry];
    unlink_entry(level, entry);
    leave_bucket(simulator, level, entry);
  }
  level->entries[entry] = touch;
  link_newest(level, entry);
  if (!hit) {
    level->chain[entry] = *bucket;
    *bucket = entry;
  }
  return hit;
}

/* Whether the line is there; it is afterwards. `evicted` becomes the entry that had to go, EMPTY if none. */
INLINE int find(const struct simulator *simulator, struct level *level, word touch, word *evicted) {
  *evicted = EMPTY;
  return level->buckets ? find_anywhere(simulator, level, touch, evicted) : find_in_set(simulator, level, touch, evicted);
}

INLINE void count(const struct simulator *simulator, struct level *level, word touch, int counter) {
  level->counters[(touch >> simulator->region_shift) * COUNTERS + counter]++;
}

static void write_back(const struct simulator *simulator, long depth, word line);

INLINE void evict(const struct simulator *simulator, long depth, word evicted) {
  if (evicted == EMPTY || !(evicted & 1))
    return;
  count(simulator, simulator->levels + depth, evicted, WRITE_BACKS);
  write_back(simulator, depth + 1, evicted);
}

/* A dirty line arrives at a level from the one in front of it. */
static void write_back(const struct simulator *simulator, long depth, word line) {
  word evicted;
  if (depth < simulator->count && !find(simulator, simulator->levels + depth, line, &evicted))
    evict(simulator, depth, evicted);
}

static void fetch(const struct simulator *simulator, long depth, word touch) {
  if (depth == simulator->count)
    return;
  struct level *level = simulator->levels + depth;
  word evicted;
  count(simulator, level, touch, ACCESSES);
  if (find(simulator, level, touch, &evicted))
    return;
  count(simulator, level, touch, MISSES);
  fetch(simulator, depth + 1, touch & ~1ul);
  evict(simulator, depth, evicted);
}

__attribute__((visibility("default"))) void tw_simulate(const struct simulator *simulator, const word *touches, long length) {
  for (long i = 0; i < length; i++)
    fetch(simulator, 0, touches[i]);
}

/* Write every dirty line back, nearest level first. */
__attribute__((visibility("default"))) void tw_simulate_flush(const struct simulator *simulator) {
  for (long depth = 0; depth < simulator->count; depth++) {
    struct level *level = simulator->levels + depth;
    for (long i = 0; i < level->sets * level->ways; i++) {
      const word entry = level->entries[i];
      if (entry != EMPTY) {
        level->entries[i] = entry & ~1ul;
        evict(simulator, depth, entry);
      }
    }
  }
}
