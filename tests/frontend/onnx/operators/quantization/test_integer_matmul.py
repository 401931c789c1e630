"""MatMulInteger through a session: a micro kernel of bytes for all signs, with zero points of tensors, rows and columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.replay.onnx_text import model
from tests.support.onnx_operators import operator
from tests.support.targets import cpu_flags
from tilewright.machine import Machine
from tilewright.onnx import InferenceSession

ROWS, STEPS, COLUMNS = 37, 130, 48
ZEROS = {"none": (), "numbers": ((), ()), "rows and columns": ((ROWS,), (COLUMNS,)), "one number": ((),)}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("is_constant", [False, True], ids=["inputs", "constants"])
@pytest.mark.parametrize("zeros", list(ZEROS))
@pytest.mark.parametrize(("left", "right"), list(product(("uint8", "int8"), repeat=2)))
def test_sums_are_exact_and_computed_by_a_micro_kernel(left: str, right: str, zeros: str, is_constant: bool) -> None:
    rng = np.random.default_rng(5)
    values = {"a": drawn(rng, (ROWS, STEPS), left), "b": drawn(rng, (STEPS, COLUMNS), right)}
    values |= {
        name: drawn(rng, shape, dtype) for name, shape, dtype in zip(("za", "zb"), ZEROS[zeros], (left, right), strict=False)
    }
    constants = {name: value for name, value in values.items() if is_constant and name != "a"}
    inputs = {name: (value.shape, value.dtype.name) for name, value in values.items() if name not in constants}
    session = InferenceSession(model(f"y = MatMulInteger ({', '.join(values)})", inputs, constants, output_type="int32"))
    (found,) = session.run(None, {name: values[name] for name in inputs})
    np.testing.assert_array_equal(found, operator("MatMulInteger", 10).reference(*values.values()))
    assert "u8s8" in session.explain() or (left, right) == ("int8", "uint8")


def test_a_zero_point_that_is_known_as_0_costs_nothing() -> None:
    text = InferenceSession(
        model(
            "y = MatMulInteger (a, b, za, zb)",
            {"a": ((ROWS, STEPS), "uint8"), "b": ((STEPS, COLUMNS), "int8")},
            {"za": np.zeros((), np.uint8), "zb": np.zeros((1,), np.int8)},
            output_type="int32",
        )
    ).explain()
    assert "u8s8" in text
    assert "zero_points" not in text


MACHINES = {
    "u8s8_": ("x86-64-v3", frozenset[str]()),
    "u8s8avxvnni_": ("x86-64-v3", frozenset({"avx_vnni"})),
    "u8s8vnni_": ("x86-64-v4", frozenset({"avx512_vnni"})),
}
"""By the arithmetic of the kernel that they are given: the machine, and what it has besides."""


def ends(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """The smallest and the largest numbers of a type, nothing else."""
    limits = np.iinfo(dtype)
    return rng.choice(np.array([limits.min, limits.max], dtype), shape)


def machine_with(name: str, features: frozenset[str]) -> Machine:
    """A machine with these features besides, whose products of bytes take four steps of a lane at once."""
    plain = Machine.named(name)
    if not features:
        return plain
    peaks = (*plain.peak_flops_per_s, ("int8", 4 * plain.peak("float32")))
    return replace(plain, features=plain.features | features, peak_flops_per_s=peaks)


@pytest.mark.parametrize("rows", [1, 4, 17])
@pytest.mark.parametrize("kernel", list(MACHINES))
def test_sums_of_the_largest_products_are_exact_by_every_kernel(kernel: str, rows: int) -> None:
    """All signs, all bytes and zero points at the ends of their ranges, groups of steps and columns in part."""
    machine = machine_with(*MACHINES[kernel])
    if not machine.features <= cpu_flags():
        pytest.skip(f"{', '.join(sorted(machine.features - cpu_flags()))} missing")
    rng, steps, columns = np.random.default_rng(6), 4 * 33 + 3, 67
    for left, right in product(("uint8", "int8"), repeat=2):
        values = {"a": ends(rng, (rows, steps), left), "b": ends(rng, (steps, columns), right)}
        values |= {"za": ends(rng, (), left), "zb": ends(rng, (columns,), right)}
        values["a"][0], values["b"][:, 0] = np.iinfo(left).max, np.iinfo(right).min
        inputs = {"a": (values["a"].shape, left)}
        constants = {name: value for name, value in values.items() if name != "a"}
        session = InferenceSession(
            model("y = MatMulInteger (a, b, za, zb)", inputs, constants, output_type="int32"), target=machine
        )
        (found,) = session.run(None, {"a": values["a"]})
        np.testing.assert_array_equal(found, operator("MatMulInteger", 10).reference(*values.values()))
        chosen = kernel.replace("u8s8", "s8u8") if (left, right) == ("int8", "uint8") else kernel
        assert f"_{chosen}" in session.explain()
