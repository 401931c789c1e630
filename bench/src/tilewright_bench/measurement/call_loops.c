/* Loops around functions that multiply matrices, so that the time of a small product is not that of calling it from Python.

   All matrices are dense and row-major: c (m, n) = a (m, k) b (k, n). */

#define EXPORT __attribute__((visibility("default")))

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, PACKED = 151 }; /* of cblas.h and mkl_cblas.h */

/* cblas_sgemm and cblas_dgemm with 64-bit extents; then those of Fortran with 32-bit extents: column-major, so the transpose of c
   is computed from the transposes of b and a. */
#define LOOPS(REAL, NAME)                                                                                              \
  typedef void cblas_##NAME(int layout, int transpose_a, int transpose_b, long m, long n, long k, REAL alpha,          \
                            const REAL *a, long lda, const REAL *b, long ldb, REAL beta, REAL *c, long ldc);           \
                                                                                                                       \
  EXPORT long loop_cblas_##NAME##_64(long count, cblas_##NAME *f, long m, long n, long k, const REAL *a,               \
                                     const REAL *b, REAL *c) {                                                         \
    for (long i = 0; i < count; i++)                                                                                   \
      f(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, a, k, b, n, 0, c, n);                                       \
    return 0;                                                                                                          \
  }                                                                                                                    \
                                                                                                                       \
  typedef void fortran_##NAME(const char *transpose_a, const char *transpose_b, const int *m, const int *n,            \
                              const int *k, const REAL *alpha, const REAL *a, const int *lda, const REAL *b,           \
                              const int *ldb, const REAL *beta, REAL *c, const int *ldc);                              \
                                                                                                                       \
  EXPORT long loop_fortran_##NAME(long count, fortran_##NAME *f, long m, long n, long k, const REAL *a,                \
                                  const REAL *b, REAL *c) {                                                            \
    int rows = (int)m, columns = (int)n, depth = (int)k;                                                               \
    REAL one = 1, zero = 0;                                                                                            \
    for (long i = 0; i < count; i++)                                                                                   \
      f("N", "N", &columns, &rows, &depth, &one, b, &columns, a, &depth, &zero, c, &columns);                          \
    return 0;                                                                                                          \
  }

LOOPS(float, sgemm)
LOOPS(double, dgemm)

/* MKL's cblas_sgemm_compute with b packed ahead by cblas_sgemm_pack. */
typedef void mkl_compute(int layout, int transpose_a, int transpose_b, int m, int n, int k, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);

EXPORT long loop_mkl_compute(long count, mkl_compute *f, long m, long n, long k, const float *a, const float *b, float *c) {
  for (long i = 0; i < count; i++)
    f(ROW_MAJOR, NO_TRANSPOSE, PACKED, m, n, k, a, k, b, n, 0.0f, c, n);
  return 0;
}

/* MKL's integer products, c = (a + offset_a) b, and their packed forms, which differ in how b is given. Bytes and 16-bit numbers
   among the arguments are passed as 32-bit ones, whose low bits they are: so x86-64 passes them. */
typedef void mkl_integers(int layout, int transpose_a, int form_b, int offset_kind, int m, int n, int k, float alpha,
                          const void *a, int lda, int offset_a, const void *b, int ldb, int offset_b, float beta, int *c,
                          int ldc, const int *offset_c);

enum { FIXED_OFFSET = 173 };

EXPORT long loop_mkl_integers(long count, mkl_integers *f, int form_b, int m, int n, int k, const void *a, const void *b,
                              int *c, int offset_a) {
  int none = 0;
  for (long i = 0; i < count; i++)
    f(ROW_MAJOR, NO_TRANSPOSE, form_b, FIXED_OFFSET, m, n, k, 1.0f, a, k, offset_a, b, n, 0, 0.0f, c, n, &none);
  return 0;
}

/* oneDNN's sgemm. */
typedef int dnnl_sgemm(char transpose_a, char transpose_b, long m, long n, long k, float alpha, const float *a, long lda,
                       const float *b, long ldb, float beta, float *c, long ldc);

EXPORT long loop_dnnl_sgemm(long count, dnnl_sgemm *f, long m, long n, long k, const float *a, const float *b, float *c) {
  long failures = 0;
  for (long i = 0; i < count; i++)
    failures += f('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n) != 0;
  return failures;
}

/* A primitive of oneDNN on a stream of the CPU, which has finished when it returns. */
typedef int dnnl_execute(const void *primitive, void *stream, int argument_count, const void *arguments);

EXPORT long loop_dnnl_execute(long count, dnnl_execute *f, const void *primitive, void *stream, long argument_count,
                                 const void *arguments) {
  long failures = 0;
  for (long i = 0; i < count; i++)
    failures += f(primitive, stream, (int)argument_count, arguments) != 0;
  return failures;
}
