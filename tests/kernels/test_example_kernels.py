"""Micro kernels of `examples/micro_kernels` register as a user's do, keep the contract, and are offered to no plan unasked."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_matmul_kernels import check_denormals, check_one_value_everywhere, check_products, check_special_values
from tests.support.guarded import in_child
from tests.support.kernel_build import COMPILERS, SANITIZER, command, load, outer_shapes
from tilewright.kernels import MicroKernel, registered, unregister
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "micro_kernels").glob("*.py"))


@pytest.fixture(params=EXAMPLES, ids=[path.stem for path in EXAMPLES])
def kernel(request: pytest.FixtureRequest) -> Iterator[MicroKernel]:
    """What an example registers, registered as long as a test runs."""
    added: MicroKernel = runpy.run_path(str(request.param))["KERNEL"]
    assert added in registered()
    yield added
    unregister(added.name)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_examples_keep_the_contract(kernel: MicroKernel, compiler: str) -> None:
    if command(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    call = load(kernel, compiler)
    for check in (check_products, check_special_values, check_denormals, check_one_value_everywhere):
        in_child(check, call, kernel)
    if compiler == "gcc":
        in_child(check_products, load(kernel, compiler, SANITIZER, outer_shapes), kernel, outer_shapes)


def test_kernels_of_nested_reduction_loops_are_not_offered_alone(kernel: MicroKernel) -> None:
    """Plans name them where a kernel says so (`MicroKernel.nested`)."""
    assert kernel.reduction_loops > 1
    assert kernel not in for_machine(Machine.named("x86-64-v2"))
