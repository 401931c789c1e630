"""Every micro kernel of the package is chosen for some product on some CPU: what is chosen nowhere belongs into examples.

Of kernels that prefetch, and of those of several reduction loops, whole plans decide: they are left out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tilewright.errors import TilewrightError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Chain
from tilewright.kernels import registered
from tilewright.machine import Machine, targets
from tilewright.plan.decisions.micro_kernel import chain_context
from tilewright.plan.whole_model.division import options_for

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 31, 32, 48, 64, 96, 100, 128, 256, 500, 768, 1024, 3136, 4096)
TYPES = (
    ("float32", "float32", "float32"),
    ("bfloat16", "bfloat16", "float32"),
    ("uint8", "int8", "int32"),
    ("int8", "uint8", "int32"),
    ("int8", "int8", "int32"),
    ("int16", "int16", "int32"),
)
FEW_ROWS = (1, 2, 4, 7, 10, 12, 13, 14)
"""Of which some are the rows of a tile, and others fill most of one."""
PRODUCTS = ("mk,kn->mn", "km,kn->mn", "mk,nk->mn", "bmk,bnk->bmn")
PER_TYPE = 300
"""Random products of each type; some of them choose each kernel several times."""


def machines() -> Iterator[Machine]:
    """Every named target, and CPUs between them: with AVX but not AVX2, and with VNNI but not AVX-512."""
    yield from map(Machine.named, targets.names())
    old, small = Machine.named("x86-64-v2"), Machine.named("x86-64-v3")
    yield replace(old, features=old.features | {"avx"}, vector_bits=256)
    yield replace(small, features=small.features | {"avx_vnni"})


def random_product(random: np.random.Generator, types: tuple[str, str, str]) -> Chain:
    """A product of any layout; constants may be large enough to saturate pairs of bytes, or too small to."""
    left, right = str(subscripts := random.choice(PRODUCTS)).split("->")[0].split(",")
    size = {"b": 6, **{axis: int(random.choice(SIZES)) for axis in "mnk"}}
    special: tuple[dict[str, int], ...] = ({}, {"n": 1}, {"m": int(random.choice(FEW_ROWS))})
    size |= special[random.integers(len(special))]
    builder = Builder("product")
    a, shape = builder.input("a", tuple(size[axis] for axis in left), types[0]), tuple(size[axis] for axis in right)
    largest = float(random.choice((0, 60, 127)))
    element = np.dtype(getattr(ml_dtypes, types[1], types[1]))
    is_constant = largest and "b" not in right
    b = builder.constant(np.full(shape, largest).astype(element)) if is_constant else builder.input("b", shape, types[1])
    graph = builder.graph((builder.einsum(str(subscripts), a, b, dtype=types[2]).name,))
    return Chain("product", graph.tensors, graph.operators, tuple(name for name, _ in graph.constants))


def chosen_on(machine: Machine) -> set[str]:
    """The kernels that single products take, with and without denormal numbers."""
    random, found = np.random.default_rng(1), set()
    for types in TYPES:
        for _ in range(PER_TYPE):
            chain = random_product(random, types)
            for flushing in (False, True):
                options = options_for(machine, None, flushing=flushing)
                try:
                    context, _ = chain_context(chain, machine, options.kernels, options.coefficients)
                except TilewrightError:
                    continue
                found |= {kernel.name for kernel in context.kernels.values()}
    return found


@pytest.mark.sweep
def test_every_kernel_is_chosen_somewhere() -> None:
    plain = {kernel.name for kernel in registered() if not kernel.prefetch and kernel.reduction_loops == 1}
    assert plain - set().union(*map(chosen_on, machines())) == set()
