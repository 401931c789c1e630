/* Loops whose speed is a CPU's: multiply-adds in registers, reads of a working set, empty parallel regions. Timed from Python.

   The macros that a compiler defines for its target flags decide the vector width and which element types are there. */

#include "pool.h"

/* Everywhere else products are fused with sums by name only: here the compiler makes what the CPU has of any type's. */
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#if defined(__AVX512F__) /* a vector register, as an operand of inline assembly */
#define REGISTER "v"
#elif defined(__x86_64__)
#define REGISTER "x"
#elif defined(__powerpc64__)
#define REGISTER "wa"
#else
#define REGISTER "w"
#endif

#define EACH_8(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define EACH_12(DO) EACH_8(DO) DO(8) DO(9) DO(10) DO(11)
#define EACH_14(DO) EACH_12(DO) DO(12) DO(13)
#define EACH_24(DO) EACH_14(DO) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)

/* Independent accumulators: latency times issue width (4 x 2 to 4 x 4, and 6 x 2 where a product and a sum are two instructions)
   must be covered, and two registers left for x and y. */
#if defined(__x86_64__) && !defined(__FMA__)
#define EACH EACH_14
#define ACCUMULATORS 14
#elif defined(__x86_64__) && !defined(__AVX512F__)
#define EACH EACH_12
#define ACCUMULATORS 12
#else
#define EACH EACH_24
#define ACCUMULATORS 24
#endif

#define ADD_UP(i) total += a##i;

/* a = a*x + y with run-time x and y; returns the operations done, a multiply and an add each counting as one. */
#define STEP(i) a##i = a##i * x + y;
#define START(i) vector a##i = y + (scalar)i;
#define PEAK(TYPE, NAME)                                                                                               \
  TW_EXPORT long peak_##NAME(long trips, const float *factors, void *sink) {                                           \
    typedef TYPE scalar;                                                                                               \
    typedef scalar vector __attribute__((vector_size(VECTOR_BYTES)));                                                  \
    vector zero = {0}, x = zero + (scalar)factors[0], y = zero + (scalar)factors[1], total = zero;                     \
    EACH(START)                                                                                                        \
    for (long trip = 0; trip < trips; trip++) {                                                                        \
      EACH(STEP)                                                                                                       \
    }                                                                                                                  \
    EACH(ADD_UP)                                                                                                       \
    *(vector *)sink = total;                                                                                           \
    return trips * ACCUMULATORS * (VECTOR_BYTES / (long)sizeof(scalar)) * 2;                                           \
  }

PEAK(float, float32)
PEAK(double, float64)
PEAK(unsigned, int32)
#if defined(__AVX512FP16__) || defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
PEAK(_Float16, float16)
#endif

/* Dot products have an instruction but no C: each 32-bit lane of a gains PER_LANE products of x and y. */
#define DOT_STEP(i) __asm__(DOT_TEXT : "+" REGISTER (a##i) : REGISTER (x), REGISTER (y));
#define DOT_START(i) vector a##i = x + i;
#define DOT_PEAK(NAME, PER_LANE)                                                                                       \
  TW_EXPORT long peak_##NAME(long trips, const float *factors, void *sink) {                                           \
    typedef int vector __attribute__((vector_size(VECTOR_BYTES)));                                                     \
    vector zero = {0}, x = zero + (int)factors[0], y = zero + (int)factors[1], total = zero;                           \
    EACH(DOT_START)                                                                                                    \
    for (long trip = 0; trip < trips; trip++) {                                                                        \
      EACH(DOT_STEP)                                                                                                   \
    }                                                                                                                  \
    EACH(ADD_UP)                                                                                                       \
    *(vector *)sink = total;                                                                                           \
    return trips * ACCUMULATORS * (VECTOR_BYTES / 4) * PER_LANE * 2;                                                   \
  }

#if defined(__AVX512BF16__)
#define DOT_TEXT "vdpbf16ps %2, %1, %0"
DOT_PEAK(bfloat16, 2)
#undef DOT_TEXT
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define DOT_TEXT "bfdot %0.4s, %1.8h, %2.8h"
DOT_PEAK(bfloat16, 2)
#undef DOT_TEXT
#endif

#if defined(__AVX512VNNI__)
#define DOT_TEXT "vpdpwssd %2, %1, %0"
DOT_PEAK(int16, 2)
#undef DOT_TEXT
#elif defined(__AVXVNNI__)
#define DOT_TEXT "%{vex%} vpdpwssd %2, %1, %0"
DOT_PEAK(int16, 2)
#undef DOT_TEXT
#elif defined(__AVX512BW__) || (defined(__AVX2__) && !defined(__AVX512F__))
/* Without dot products: neighbouring products, and the addition. */
#undef DOT_STEP
#define DOT_STEP(i)                                                                                                    \
  {                                                                                                                    \
    vector pairs;                                                                                                      \
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+" REGISTER(a##i), "=&" REGISTER(pairs)                      \
            : REGISTER(x), REGISTER(y));                                                                               \
  }
DOT_PEAK(int16, 2)
#endif

#if defined(__AVX512VNNI__)
#define DOT_TEXT "vpdpbusd %2, %1, %0"
DOT_PEAK(int8, 4)
#elif defined(__AVXVNNI__)
#define DOT_TEXT "%{vex%} vpdpbusd %2, %1, %0"
DOT_PEAK(int8, 4)
#elif defined(__ARM_FEATURE_DOTPROD)
#define DOT_TEXT "sdot %0.4s, %1.16b, %2.16b"
DOT_PEAK(int8, 4)
#elif defined(__AVX512BW__) || (defined(__AVX2__) && !defined(__AVX512F__))
/* Without dot products: neighbouring products, neighbouring sums of these, and the addition. */
#undef DOT_STEP
#define DOT_STEP(i)                                                                                                    \
  {                                                                                                                    \
    vector pairs;                                                                                                      \
    __asm__("vpmaddubsw %3, %2, %1\n\tvpmaddwd %4, %1, %1\n\tvpaddd %1, %0, %0"                                        \
            : "+" REGISTER(a##i), "=&" REGISTER(pairs)                                                                 \
            : REGISTER(x), REGISTER(y), REGISTER(y));                                                                  \
  }
DOT_PEAK(int8, 4)
#endif

/* Loads `bytes` (a multiple of eight vectors, from a 64-byte aligned address) `passes` times. Combining the vectors would measure
   the combining: on some CPUs two loads start per cycle, but fewer operations. The empty asm keeps every load. */
#define LOAD(i)                                                                                                        \
  {                                                                                                                    \
    vector loaded = p[i];                                                                                              \
    __asm__ volatile("" ::REGISTER (loaded) : "memory");                                                                \
  }
TW_EXPORT void read_bytes(const char *begin, long bytes, long passes) {
  typedef long vector __attribute__((vector_size(VECTOR_BYTES)));
  for (long pass = 0; pass < passes; pass++)
    for (const vector *p = (const vector *)begin, *end = (const vector *)(begin + bytes); p < end; p += 8) {
      EACH_8(LOAD)
    }
}

/* Write the lines back and drop them from every cache, so that the next read comes from memory however large the caches are.
   On processors without such an instruction nothing happens. */
TW_EXPORT void flush_bytes(const char *begin, long bytes, long line_bytes) {
  for (const char *p = begin; p < begin + bytes; p += line_bytes) {
#if defined(__x86_64__)
    __asm__ volatile(".byte 0x66; clflush %0" ::"m"(*p) : "memory"); /* clflushopt, or plain clflush where that is unknown */
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" ::"r"(p) : "memory");
#elif defined(__powerpc64__)
    __asm__ volatile("dcbf 0, %0" ::"r"(p) : "memory");
#endif
  }
  __sync_synchronize();
}

enum { LONG_NS = 1000000000 }; /* worth waking anybody for */

static void do_nothing(void *argument, struct tw_blocks *blocks, char *scratch) {
  (void)argument, (void)scratch;
  while (blocks->next(blocks) >= 0)
    ;
}

TW_EXPORT void run_regions(void (*parallel_for)(void *, tw_task, void *, long, long, long), struct tw_pool *pool,
                           long threads, long regions) {
  struct tw_call call = {pool, 0};
  for (long region = 0; region < regions; region++)
    parallel_for(&call, do_nothing, (void *)0, threads, 0, LONG_NS);
}
