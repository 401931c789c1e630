"""A micro kernel of your own, in C: register it, let the planner use it, and compare the result with NumPy.

docs/how-to/add-a-micro-kernel.md has the contract, other languages and element types, and the contract suite.
"""

import numpy as np

import tilewright as tw
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, register, registered, unregister

# One tile of C (m x n, at most 4 x 8) += A (m x k) times B (k x n); strides are counted in elements.
TEXT = """
void NAME(long k, const float *a, long a_row, long a_column, const float *b, long b_row,
          float *c, long c_row, long m, long n, long accumulate) {
  float sums[4][8] = {{0}};
  for (long p = 0; p < k; p++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < n; j++)
        sums[i][j] += a[i * a_row + p * a_column] * b[p * b_row + j];
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      c[i * c_row + j] = sums[i][j] + (accumulate ? c[i * c_row + j] : 0);
}
"""
KERNEL = MicroKernel(
    name="my_plain_4x8",
    operation="matmul",
    rows=4,
    columns=8,
    depth=1,
    element_types=("float32", "float32", "float32"),
    architecture="any",
    features=frozenset(),  # instructions that the text needs, named as in /proc/cpuinfo
    vector_bits=32,  # scalar code: lanes of one element
    peak_share=0.5,  # of the peak of such lanes, measured; the planner compares kernels by it
    emit=lambda name, variants: KernelSource(SourceKind.C, TEXT.replace("NAME", name)),
)

for other in registered():  # the planner takes the fastest: so that it takes this one, it is left alone
    unregister(other.name)
register(KERNEL)

random = np.random.default_rng(0)
a, b = random.standard_normal((13, 21), np.float32), random.standard_normal((21, 19), np.float32)
product = tw.jit(lambda a, b: a @ b)
print("kernel:", product.lower(a, b).plan.operators[0].micro_kernel)
print("equal to NumPy:", np.allclose(product(a, b), a @ b, atol=1e-4))
