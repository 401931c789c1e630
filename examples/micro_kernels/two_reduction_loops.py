"""A micro kernel that sums over two nested loops while its tile stays in registers: windows that overlap in A, taps and channels.

No plan chooses it: plans of nested sums call kernels of three loops. Check it, once it is registered, with the contract suite:

    PYTHONPATH=examples/micro_kernels pytest tests/contract -p two_reduction_loops -k nest2
"""

from tilewright.kernels import register
from tilewright.kernels.dialects.portable import DIALECT
from tilewright.kernels.f32.outer_product import outer_product_kernel

# 6 rows, 2 vectors (8 columns) of any GCC or Clang target; peak_share is measured, see docs/kernels.md.
KERNEL = outer_product_kernel(DIALECT, 6, 2, peak_share=0.69, unroll=1, reduction_loops=2)

register(KERNEL)
print(f"registered {KERNEL.name}: {KERNEL.signature('product')}")
