"""Micro kernels in scalar C for float32 on any machine, from outside of the package."""

from __future__ import annotations

from tilewright.kernels import KernelSource, MicroKernel, SourceKind

TEXT = """
void NAME(long k, const float *a, long a_row, long a_column, const float *b, long b_row,
          float *c, long c_row, long m, long n, long accumulate) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      float sum = 0;
      for (long p = 0; p < k; p++)
        sum += a[i * a_row + p * a_column] * b[p * b_row + j];
      c[i * c_row + j] = accumulate ? c[i * c_row + j] + sum : sum;
    }
}
"""


def scalar_kernel(name: str, rows: int, columns: int, text: str = TEXT) -> MicroKernel:
    """A kernel of rows x columns whose C defines NAME; vectors of one lane, so that (rows, vectors) is (rows, columns)."""
    return MicroKernel(
        name=name,
        operation="matmul",
        rows=rows,
        columns=columns,
        depth=1,
        element_types=("float32", "float32", "float32"),
        architecture="any",
        features=frozenset(),
        vector_bits=32,
        peak_share=0.5,
        emit=lambda name, variants: KernelSource(SourceKind.C, text.replace("NAME", name)),
    )
