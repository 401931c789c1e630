"""Kernels of every function in every element type and pair of types, of random shapes, on each target that this machine runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from tests.support.sweeps import seeds
from tests.support.typed_functions import NUMBERS, OF_ONE, OF_TWO, TYPES, Function, values_of, wrong_kernels

NEEDED = {"x86-64-v2": ("ssse3", "sse4_1"), "x86-64-v3": ("avx2", "fma"), "x86-64-v4": ("avx512f", "avx512bw")}
TARGETS = [pytest.param(target, marks=pytest.mark.needs(*names)) for target, names in NEEDED.items()]
EXTENTS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130)
PRODUCTS = ("matmul", "einsum")
pytestmark = [pytest.mark.sweep, pytest.mark.filterwarnings("ignore")]


def shape_of(seed: int) -> tuple[int, int]:
    rows, columns = np.random.default_rng(seed).choice(EXTENTS, 2)
    return int(rows), int(columns)


def beside_numbers() -> Iterator[tuple[str, Function]]:
    """Functions of an array and a number, on either side."""
    for (name, function), number in itertools.product(OF_TWO.items(), NUMBERS):
        if name not in PRODUCTS and name != "where":
            yield f"{name} with {number}", lambda x, f=function, n=number: f(x, n)
            yield f"{number} with {name}", lambda x, f=function, n=number: f(n, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TYPES)
def test_functions_of_one_array(name: str, target: str) -> None:
    for seed in seeds(4):
        assert wrong_kernels(OF_ONE, [values_of(name, shape_of(seed), seed)], compiled=True, target=target) == []


@pytest.mark.parametrize("name", TYPES)
def test_functions_of_an_array_and_a_number(name: str) -> None:
    assert wrong_kernels(dict(beside_numbers()), [values_of(name, (5, 33), 0)], compiled=True) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("names", list(itertools.product(TYPES, repeat=2)), ids=" and ".join)
def test_functions_of_two_arrays(names: tuple[str, str], target: str) -> None:
    for seed in seeds(1):
        rows, columns = shape_of(seed)
        operands = [values_of(name, shape, seed) for name, shape in zip(names, ((rows, columns), (columns,)), strict=True)]
        maps = {name: function for name, function in OF_TWO.items() if name not in PRODUCTS}
        assert wrong_kernels(maps, operands, compiled=True, target=target) == []
        factors = [operands[0], values_of(names[1], (columns, 19), seed)]
        assert wrong_kernels({"matmul": OF_TWO["matmul"]}, factors, compiled=True, target=target) == []
