"""The contract suite is itself checked: kernels with one fault each are caught by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.contract.test_matmul_kernels import check_denormals, check_extremes, check_one_value_everywhere, check_products
from tests.support.guarded import in_child
from tests.support.kernel_build import COMPILERS, command, load
from tests.support.scalar_kernels import TEXT, scalar_kernel
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, registered

INTEGERS = """
void NAME(long k, long k_1, const unsigned char *a, long a_row, long a_column, long a_step_1,
          const signed char *b, long b_row, long b_step_1, int *c, long c_row, long m, long n, long accumulate) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++) {
      unsigned sum = accumulate ? c[i * c_row + j] : 0;
      for (long q = 0; q < k_1; q++)
        for (long p = 0; p < k; p++)
          sum += (unsigned)(a[i * a_row + q * a_step_1 + p * a_column] * b[q * b_step_1 + p / 4 * b_row + j * 4 + p % 4]);
      c[i * c_row + j] = (int)sum;
    }
}
"""
FAULTS_OF_INTEGERS = {
    "saturates": ("(int)sum;", "sum > 0x7fffffff && sum < 0xc0000000 ? 0x7fffffff : (int)sum;", check_extremes),
    "reads A as signed": ("(unsigned)(a[", "(unsigned)((signed char)a[", check_extremes),
    "leaves the last group out": ("p < k;", "p < k - k % 4;", check_products),
    "ignores the interleave": ("p / 4 * b_row + j * 4 + p % 4", "p * b_row + j", check_products),
    "takes the outer loop once": ("q < k_1", "q < (k_1 > 0)", check_products),
    "mixes up outer strides": ("q * a_step_1 + p * a_column", "q * a_column + p * a_step_1", check_products),
    "reads a group of A beyond its row": (
        "unsigned sum =",
        "const long last = i * a_row + (k_1 - 1) * a_step_1 + (k | 3) * a_column;\n"
        "(void)(k % 4 ? ((volatile const unsigned char *)a)[last] : 0);\n unsigned sum =",
        check_products,
    ),
}
FAULTS = {
    "reads B beyond its end": (
        "b[p * b_row + j];",
        "b[p * b_row + j] + 0 * ((volatile const float *)b)[p * b_row + n];",
        "killed|above the bound",
    ),
    "reads A before its start": ("float sum = 0;", "float sum = 0; (void)((volatile const float *)a)[-1];", "killed"),
    "writes between rows of C": (
        "j < n; j++) {",
        "j < n; j++) {\n c[i * c_row + n - (i == m - 1)] = 0;",
        "between the rows|above",
    ),
    "forgets a step": ("p < k", "p < k - (k == 67)", "above the bound"),
    "ignores accumulate": ("accumulate ?", "0 && accumulate ?", "above the bound"),
    "mixes up strides": ("i * a_row + p * a_column", "p * a_row + i * a_column", "killed|above the bound"),
}


def kernel(old: str = "", new: str = "") -> MicroKernel:
    return scalar_kernel("faulty", 3, 4, TEXT.replace(old, new) if old else TEXT)


def integers(old: str = "", new: str = "") -> MicroKernel:
    """The same of bytes, in groups of four steps, around a second reduction loop."""
    text = INTEGERS.replace(old, new) if old else INTEGERS
    emit = lambda name, variants: KernelSource(SourceKind.C, text.replace("NAME", name))  # noqa: E731
    types = ("uint8", "int8", "int32")
    return replace(kernel(), name="bytes", element_types=types, interleave=4, reduction_loops=2, emit=emit)


def available() -> str:
    return next(filter(command, COMPILERS))


def test_the_kernel_without_a_fault_passes() -> None:
    for check in (check_products, check_one_value_everywhere, check_denormals):
        in_child(check, load(kernel(), available()), kernel())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    old, new, message = FAULTS[fault]
    faulty = kernel(old, new)
    with pytest.raises(AssertionError, match=message):
        in_child(check_products, load(faulty, available()), faulty)


def test_an_order_of_summation_that_depends_on_the_shape_is_found() -> None:
    faulty = kernel("for (long p = 0; p < k; p++)", "for (long q = 0, p = m % 2 ? 0 : k - 1; q < k; q++, p += m % 2 ? 1 : -1)")
    with pytest.raises(AssertionError, match="different results"):
        in_child(check_one_value_everywhere, load(faulty, available()), faulty)


def test_the_kernel_of_integers_without_a_fault_passes() -> None:
    for check in (check_products, check_one_value_everywhere, check_extremes):
        in_child(check, load(integers(), available()), integers())


@pytest.mark.parametrize("fault", FAULTS_OF_INTEGERS)
def test_a_fault_of_integers_is_found(fault: str) -> None:
    old, new, check = FAULTS_OF_INTEGERS[fault]
    faulty = integers(old, new)
    with pytest.raises(AssertionError, match=r"Arrays are not equal|killed|Mismatched"):
        in_child(check, load(faulty, available()), faulty)


def pairs(bounded_beyond: int = 0) -> MicroKernel:
    """A kernel whose sums of two products saturate, which allows so much more than it can hold."""
    found = next(kernel for kernel in registered() if kernel.name == "matmul_avx2_u8s8pairs_3x24")
    assert found.saturation is not None
    return replace(found, saturation=replace(found.saturation, limit=found.saturation.limit + bounded_beyond))


@pytest.mark.needs("avx2")
def test_a_kernel_that_saturates_passes_with_weights_at_the_bound_that_it_declares() -> None:
    for check in (check_products, check_extremes):
        in_child(check, load(pairs(), "gcc"), pairs())


@pytest.mark.needs("avx2")
def test_a_declaration_that_allows_two_weights_one_more_is_found() -> None:
    with pytest.raises(AssertionError, match=r"Arrays are not equal|Mismatched"):
        in_child(check_extremes, load(pairs(256), "gcc"), pairs(256))
