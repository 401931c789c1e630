"""Functions in tile operations: by the interpreter, with and without fused multiply-adds, against long double and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.studies.parts.function_references import LIMITS, OF_TWO, REFERENCES, SLOW, Long, errors, limit
from tilewright.graph.expressions.scalar_functions import FUNCTIONS, OF_BITS, REPORT_NOT_FINITE
from tilewright.tile.builder import Builder
from tilewright.tile.functions.registry import FLOATS, INTEGERS, apply
from tilewright.tile.interpreter import interpret
from tilewright.tile.program import TileProgram, Value
from tilewright.tile.types import vector
from tilewright.tile.verifier import verify

TYPES = ("float32", "float64")
SPECIAL = (0.0, 1.0, 0.5, 2.0, 3.0, 1e-45, 1e-40, 5e-324, 2.2e-308, 88.7, 103.9, 710.0, 745.0, 1e30, 3.4e38, np.inf, np.nan)
LANES = 16


def specials(dtype: str) -> Any:
    """Of both signs."""
    with np.errstate(over="ignore"):
        return np.array([sign * one for one in SPECIAL for sign in (1, -1)], dtype)


def samples(dtype: str, count: int) -> Any:
    """Any bits, numbers of any size, and numbers next to 0 and 1."""
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    drawn = rng.integers(0, 2**info.bits, count, dtype=np.uint64).astype(f"uint{info.bits}").view(dtype)
    sized = np.exp(rng.uniform(-15, 12, count)) * rng.choice([-1, 1], count)
    near = np.concatenate([rng.normal(size=count), 1 + rng.uniform(-0.1, 0.1, count), rng.uniform(-110, 110, count)])
    return np.concatenate([specials(dtype), drawn, sized.astype(dtype), near.astype(dtype)])


def program(function: Callable[..., Value], dtype: str, size: int, operands: int = 1, result: str = "") -> TileProgram:
    """A function of arrays of whole vectors."""
    b, given_type = Builder(), vector(dtype, LANES)
    given = [b.buffer(f"x{i}", dtype) for i in range(operands)]
    written = b.buffer("y", result or dtype, is_written=True)
    with b.loop("i", 0, size, LANES) as i:
        value = function(b, *[b.load(one, i, given_type) for one in given])
        b.store(written, i, b.select(value, b.constant(1, given_type.integer), 0) if value.type.is_mask else value)
    made = b.program("function", None)
    verify(made)
    return made


def run(function: Callable[..., Value], *operands: Any, fuses: bool = True, result: str = "") -> Any:
    """Of arrays of any size."""
    dtype, size = operands[0].dtype.name, operands[0].size
    whole = -(-size // LANES) * LANES
    padded = [np.concatenate([one, np.zeros(whole - size, dtype)]) for one in operands]
    out = np.zeros(whole, result or dtype)
    interpret(program(function, dtype, whole, len(operands), result), *padded, out, fuses=fuses)
    return out[:size]


def operands_of(name: str, dtype: str, count: int) -> Sequence[Any]:
    """Enough for a function of one or two operands, of which all pairs of special values are some."""
    x = samples(dtype, count)
    if name not in OF_TWO:
        return (x,)
    first, second = (one.ravel() for one in np.meshgrid(specials(dtype), specials(dtype)))
    other = np.random.default_rng(2).permutation(x)
    with np.errstate(invalid="ignore"):
        return np.concatenate([first, np.abs(x), x]), np.concatenate([second, other, np.rint(other)])


@pytest.mark.parametrize("fuses", [True, False], ids=["fused", "not_fused"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", REFERENCES)
def test_errors(name: str, dtype: str, fuses: bool) -> None:
    operands = operands_of(name, dtype, 20 if name in SLOW else 200)
    with np.errstate(all="ignore"):
        found = run(FLOATS[name], *operands, fuses=fuses)
        exact = REFERENCES[name](*(one.astype(Long) for one in operands))
    units, right = errors(name, found, exact, operands[0])
    assert right.all(), [(one[~right][:4], found[~right][:4]) for one in operands]
    assert units.max() <= limit(name) * (1 if fuses else 1.5), [one[np.argmax(units)] for one in operands]
    is_zero = (found == 0) & (exact == 0)
    assert (np.signbit(found) == np.signbit(exact))[is_zero].all(), [one[is_zero] for one in operands]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["fmod", "mod", "floor_divide"])
def test_remainders_are_those_of_numpy(name: str, dtype: str) -> None:
    first, second = operands_of("pow", dtype, 300)
    with np.errstate(all="ignore"):
        found, wanted = run(FLOATS[name], first, second), getattr(np, name)(first, second)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "name", ["square", "reciprocal", "abs", "negative", "sign", "floor", "ceil", "round", "trunc", "as_float16", "as_bfloat16"]
)
def test_operations_are_those_of_numpy(name: str, dtype: str) -> None:
    x = samples(dtype, 100)
    with np.errstate(all="ignore"):
        found, wanted = run(FLOATS[name], x), FUNCTIONS[name].numpy(x)
    assert np.array_equal(found, wanted, equal_nan=True)
    zeros = wanted == 0
    assert name == "sign" or (np.signbit(found) == np.signbit(wanted))[zeros].all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["maximum", "minimum", "add", "subtract", "multiply", "divide"])
def test_operations_of_two_are_those_of_numpy(name: str, dtype: str) -> None:
    first, second = operands_of("pow", dtype, 50)
    with np.errstate(all="ignore"):
        assert np.array_equal(run(FLOATS[name], first, second), FUNCTIONS[name].numpy(first, second), equal_nan=True)


@pytest.mark.parametrize("dtype", [*TYPES, "int8", "uint64"])
@pytest.mark.parametrize("name", sorted(name for name, one in FUNCTIONS.items() if one.is_condition))
def test_conditions_are_those_of_numpy(name: str, dtype: str) -> None:
    first, second = operands_of("pow", dtype, 50) if dtype in TYPES else integers(dtype)
    operands = (first, second)[: FUNCTIONS[name].arity]
    found = run(lambda b, *values: apply(b, name, *values), *operands, result=f"int{operands[0].itemsize * 8}")
    with np.errstate(invalid="ignore"):
        assert np.array_equal(found != 0, FUNCTIONS[name].numpy(*operands))


def integers(dtype: str) -> Sequence[Any]:
    """Of any bits, small ones, and the ends of the type, in all pairs of those."""
    info, rng = np.iinfo(dtype), np.random.default_rng(3)
    ends = [value for value in (0, 1, 2, 3, -1, -2, 7, 8, 31, 63, 64, info.min, info.max) if info.min <= value <= info.max]
    first, second = (one.ravel() for one in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype)))
    drawn = rng.integers(info.min, info.max, 100, dtype, endpoint=True)
    return np.concatenate([first, drawn]), np.concatenate([second, rng.permutation(drawn) // 3])


@pytest.mark.parametrize("dtype", [f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)])
@pytest.mark.parametrize(
    "name", ["mod", "fmod", "floor_divide", "pow", "divide", "sign", "abs", "maximum", "minimum", *sorted(OF_BITS)]
)
def test_integers_are_those_of_numpy(name: str, dtype: str) -> None:
    first, second = integers(dtype)
    operands = (first, second)[: FUNCTIONS[name].arity]
    with np.errstate(all="ignore"):
        found = run(INTEGERS[name], *operands)
        if name == "divide":
            quotient = [
                0 if not y else abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1)
                for x, y in zip(*operands, strict=True)
            ]
            wanted = np.array([one & 2 ** (8 * first.itemsize) - 1 for one in quotient], np.uint64).astype(dtype)
        else:
            wanted = FUNCTIONS[name].numpy(*operands)
    assert np.array_equal(found, wanted)


def test_every_function_is_there() -> None:
    assert set(FUNCTIONS) - {REPORT_NOT_FINITE, *OF_BITS} <= set(FLOATS)
    assert {*OF_BITS, "where", "mod", "pow", "less"} <= set(INTEGERS)
    assert set(LIMITS) <= set(REFERENCES) <= set(FLOATS)
