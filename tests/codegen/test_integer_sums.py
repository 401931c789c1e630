"""Sums of integers over rows, in vectors: exactly those of NumPy, which wrap, whatever is left at the end of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.chains import artifact_of, chain, program_of
from tests.support.operators import operator
from tilewright.block.statements import Leaf
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import SUM, Access, Chain
from tilewright.leaves.registry import lowered
from tilewright.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load
from tilewright.tile.operations import Operation
from tilewright.tile.program import Instruction, statements

TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512bw", "avx512dq")),
]
TYPES = ("uint8", "int8", "int16", "uint16", "int32")
FORMS = ("mk:m", "mkl:m", "mkl:mk", "km:m", "k:")
SQUARED = apply("multiply", Load(0), apply("subtract", Load(0), Literal(3.0)))


def drawn(random: np.random.Generator, dtype: str, shape: Any) -> Any:
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return np.where(random.integers(0, 2, shape) == 0, np.asarray(limits.max, dtype), values)


def built(number: int, form: str, dtype: str, extents: dict[str, int], *, squares: bool) -> Chain:
    read, written = form.split(":")
    access = Access(f"x{number}", tuple(axis(letter) for letter in read))
    write = Access(f"y{number}", tuple(axis(letter) for letter in written))
    body = SQUARED if squares else Load(0)
    summed = replace(operator(f"f{number}", "reduce", (access,), write, body, extents, SUM), accumulator="int32")
    one = chain(f"chain_{number}", [summed])
    return replace(
        one, tensors=tuple(replace(tensor, dtype=dtype if tensor.name[0] == "x" else "int32") for tensor in one.tensors)
    )


def loaded_lanes(plans: Sequence[Plan]) -> set[int]:
    """How many elements the loads of all leaves read together."""
    leaves = [one for region in program_of(plans).regions for one in region.nodes() if isinstance(one, Leaf)]
    parts = [part for leaf in leaves for part in statements(lowered(leaf).program.body)]
    return {one.type.lanes for one in parts if isinstance(one, Instruction) and one.operation == Operation.LOAD}


@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_every_type_and_length(target: str) -> None:
    random = np.random.default_rng(0)
    lengths = (1, 3, 15, 16, 17, 31, 64, 70)
    cases = [
        (form, dtype, {"m": 5, "k": lengths[number % 8], "l": lengths[(number * 3 + 1) % 8]}, number % 2 == 1)
        for number, (form, dtype) in enumerate(product(FORMS, TYPES))
    ]
    chains = [built(i, form, dtype, extents, squares=squares) for i, (form, dtype, extents, squares) in enumerate(cases)]
    plans = [plan_chain(one, Machine.named(target)) for one in chains]
    assert min(loaded_lanes(plans)) > 1
    artifact = artifact_of(plans)
    executable = load(artifact, threads=1)
    shapes = [one.tensor(one.inputs[0]).shape for one in chains]
    arrays = [drawn(random, case[1], shape) for case, shape in zip(cases, shapes, strict=True)]
    values = {one.inputs[0]: array for one, array in zip(chains, arrays, strict=True)}
    inputs = [values[slot.name] for slot in executable.signature.inputs]
    outputs = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    for one, (form, _, _, squares), got in zip(chains, cases, outputs, strict=True):
        x = values[one.inputs[0]].astype(np.int64)
        read, written = form.split(":")
        summed = tuple(place for place, letter in enumerate(read) if letter not in written)
        expected = (x * (x - 3) if squares else x).sum(axis=summed).astype(np.int32)
        np.testing.assert_array_equal(got, expected, form)
