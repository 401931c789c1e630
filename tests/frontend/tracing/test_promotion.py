"""Element types of traced functions: every function and every type, alone, in pairs and beside numbers, is NumPy's or refused."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.typed_functions import (
    ARITHMETIC_OF_TWO,
    BINARY,
    CONDITIONS,
    FLOATS,
    FLOATS_ALONE,
    MAPS_OF_ONE,
    NUMBERS,
    OF_FLOAT32,
    TOLERANCE,
    TYPES,
    UNARY,
    WITHOUT_NUMPY,
    Function,
    by_numpy,
    traced,
)
from tilewright.dtypes import dtype_named
from tilewright.errors import DTypeError
from tilewright.frontend.tracing.functions import FUNCTION_NAMES


def values(name: str, seed: int) -> np.ndarray[Any, Any]:
    """Numbers of both signs, and 0."""
    generator, dtype = np.random.default_rng(seed + len(name)), dtype_named(name)
    if dtype.kind in "bu":
        return generator.integers(0, 2 if name == "bool" else 100, (3, 3)).astype(dtype)
    if dtype.kind == "i":
        return generator.integers(-50, 50, (3, 3)).astype(dtype)
    return (generator.standard_normal((3, 3)) * 2).astype(dtype)


def difference(name: str, function: Function, types: Sequence[str], element_types: tuple[str, ...] | None) -> str:
    """What is wrong with an accepted result; "" if nothing is."""
    operands = [values(one, seed) for seed, one in enumerate(types)]
    found = traced(function, operands, element_types)
    if found is None or ("bfloat16" in types and name in WITHOUT_NUMPY):
        return ""
    wanted = by_numpy(function, operands)
    described = f"{name} of {' and '.join(types)}: "
    if wanted is None or found.dtype != wanted.dtype:
        return f"{described}{found.dtype} for {'nothing' if wanted is None else wanted.dtype}"
    tolerance = TOLERANCE.get(found.dtype.name, 0)
    with np.errstate(all="ignore"):
        close = found.shape == wanted.shape and np.allclose(
            found.astype(float), wanted.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
        )
    return "" if close else f"{described}{found.ravel()} for {wanted.ravel()}"


def beside(function: Function, number: Any) -> tuple[Function, Function]:
    return (lambda x: function(x, number)), (lambda x: function(number, x))


def of_two_operands() -> Iterator[tuple[str, Function, tuple[str, ...]]]:
    """Every function of every pair of types, and beside every number on either side."""
    for name, one in BINARY.items():
        yield from ((name, one, pair) for pair in itertools.product(TYPES, repeat=2))
        if name in ("matmul", "einsum"):
            continue
        for number in NUMBERS:
            for side, other in zip(("right", "left"), beside(one, number), strict=True):
                yield from ((f"{name} with {number!r} at the {side}", other, (t,)) for t in TYPES)


@pytest.mark.parametrize("element_types", [OF_FLOAT32, None], ids=["of float32", "of all"])
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.ci), pytest.param(2, marks=pytest.mark.ci)])
@pytest.mark.filterwarnings("ignore")
def test_what_is_accepted_has_the_type_and_the_value_of_numpy(element_types, part):
    """Every type alone; each pair of types with a third of the functions."""
    alone = [(name, one, (t,)) for name, one in UNARY.items() for t in TYPES] if part == 0 else []
    taken = itertools.chain(alone, itertools.islice(of_two_operands(), part, None, 3))
    assert [text for text in (difference(*one, element_types) for one in taken) if text] == []


@pytest.mark.parametrize("name", FLOATS_ALONE)
def test_functions_of_floating_point_numbers_keep_their_type_and_refuse_others(name):
    for t in TYPES:
        found = traced(FLOATS_ALONE[name], [values(t, 0)])
        assert (None if found is None else found.dtype.name) == (t if t in FLOATS else None)


@pytest.mark.parametrize("number", [2.5, 2, np.float64(2.5)])
def test_numbers_that_are_given_take_the_type_of_float16(number):
    x = np.linspace(0.5, 4, 8).astype(np.float16)
    half = np.float16(number)
    found = tw.jit(lambda x, s: (x * (s + 1), tw.maximum(s, x), x**s, x < s))(x, number, interpret=True)
    wanted = x * (half + np.float16(1)), np.maximum(x, half), (x.astype("f4") ** half).astype("f2"), x < half
    assert [one.dtype for one in found] == [one.dtype for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_function_is_in_the_table():
    told = {
        *MAPS_OF_ONE,
        *ARITHMETIC_OF_TWO,
        *CONDITIONS,
        *FLOATS_ALONE,
        "where",
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "pow",
        "clip",
        "einsum",
        "astype",
    }
    moves = {"reshape", "transpose", "permute_dims", "matrix_transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to"}
    assert set(FUNCTION_NAMES) - told - moves == {"relu", "index", "asarray", "arange"}


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda a: a + a, "use x | y, or convert the operands first"),
        (lambda a: a * a, "use x & y, or"),
        (lambda a: a - a, "use x != y, or"),
        (lambda a: -a, "use ~x, or"),
        (lambda a: a @ a, "for counts, convert"),
        (lambda a: a.max(), "convert the operands first"),
        (tw.relu, "convert the operands first"),
    ],
)
def test_truth_values_are_no_numbers(function, advice, compiled):
    a = np.array([[True, False], [True, True]])
    with pytest.raises(DTypeError) as caught:
        tw.jit(function)(a, interpret=not compiled)
    assert advice in caught.value.hint


@pytest.mark.needs("avx2", "fma")
def test_truth_values_are_chosen_and_counted_by_kernels():
    generator = np.random.default_rng(0)
    a, b, c = (generator.random((2, 5, 19)) < p for p in (0.5, 0.3, 0.6))
    a, b, c = a[0], b[0], c[0]

    def function(a: Any, b: Any, c: Any) -> Any:
        chosen = tw.where(a, b, c)
        return [tw.where(chosen, 1.0, 0.0), a.astype(np.float32) @ b.astype(np.float32).T, (a * 2 + b).astype(np.float32)]

    found = tw.jit(function, target="x86-64-v3", threads=1)(a, b, c)
    for one, other in zip(found, [np.where(a, b, c), a.astype(np.float32) @ b.T, a * 2 + b], strict=True):
        np.testing.assert_array_equal(one, other)


WHOLE = ("int8", "int32", "int64", "uint8", "uint64", "bool")
ARITHMETIC: tuple[Function, ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.lt,
    operator.eq,
    operator.ge,
    operator.floordiv,
    operator.mod,
    lambda x, y: x * 3 - y,
    lambda x, y: np.where(x > 0.5, 1, 0) + np.where(y, 2, 3),
    lambda x, y: np.where(x < y, x, y),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize(
    ("one", "other"), [*zip(WHOLE, WHOLE, strict=True), ("bool", "int8"), ("int64", "float32"), ("uint8", "int8")]
)
def test_kernels_compute_whole_numbers_as_numpy_does(one, other):
    """Extremes wrap, divisions by zero give what NumPy gives, comparisons are exact."""

    def extremes(name: str, shift: int) -> Any:
        if name in ("bool", "float32"):
            return np.roll(np.array([0, 1, 1, 0, 1, 0, 0, 1], name) * (1 if name == "bool" else 2**24 - 0.5), shift).astype(name)
        limits = np.iinfo(name)
        return np.roll(np.array([0, 1, limits.max, limits.min, limits.max - 1, limits.min // 2, 7, 100], name), shift)

    x, y = (np.concatenate([extremes(name, shift * place) for shift in range(8)]) for place, name in enumerate((one, other)))
    accepted = [f for f in ARITHMETIC if traced(lambda x, y, f=f: f(x, y).astype(np.float32), [x, y], OF_FLOAT32) is not None]
    assert len(accepted) > 3
    found = tw.jit(lambda x, y: [f(x, y).astype(np.float32) for f in accepted], target="x86-64-v3", threads=1)(x, y)
    for function, result in zip(accepted, found, strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(result, function(x, y).astype(np.float32))


@pytest.mark.needs("avx2", "fma")
def test_quotients_are_rounded_down_exactly():
    """1 // 0.1 is 9: the quotient of the nearest float32 numbers is below 10, and rounds to 10."""
    special = np.array([0, -0.0, 1, -1, 0.1, -0.1, 3, 7.5, -7.5, np.inf, -np.inf, np.nan, 1e30, 1e-30, 2**25], np.float32)
    x, y = (one.ravel().copy() for one in np.meshgrid(special, special))
    function = tw.jit(lambda x, y: (x // y, x % y, *divmod(x, y), 1.0 // y, 1.0 % y), target="x86-64-v3", threads=1)
    with np.errstate(all="ignore"):
        wanted = (x // y, x % y, *divmod(x, y), np.float32(1) // y, np.float32(1) % y)
    for found, other in zip(function(x, y), wanted, strict=True):
        np.testing.assert_array_equal(found, other)


def test_refusals_name_the_types_that_were_met():
    x, n = tw.spec((4,)), tw.spec((4,), "int32")
    with pytest.raises(DTypeError, match="matmul of float32 elements and int32 elements has float64 elements") as caught:
        tw.jit(lambda x, n: x @ n, target="a100").lower(x, n)
    assert "x.astype(numpy.float32)" in caught.value.hint
    with pytest.raises(DTypeError, match="add of uint8 elements and -1"):
        tw.jit(lambda n: n + -1).lower(tw.spec((4,), "uint8"))
    with pytest.raises(DTypeError, match="complex64"):
        tw.jit(lambda x: x)(np.ones(2, np.complex64), interpret=True)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    "choices", [(1.0, 2.0), (1, 2), (1, 2.5), (True, False), (np.float64(1), 2.0), (1.0, np.ones(3, np.float32))], ids=str
)
def test_known_conditions_choose_the_type_of_traced_conditions(choices: tuple[Any, Any], compiled: bool) -> None:
    """The array API asks for an array among the choices; of numbers alone the default type is float32, known or traced."""
    condition = np.array([True, False, True])

    def of_traced(c: Any) -> Any:
        chosen = tw.where(c, *choices)
        types.append(chosen.dtype)
        return chosen.astype(np.float32)

    def of_known(c: Any) -> Any:
        chosen = tw.where(condition, *choices)
        types.append(chosen.dtype)
        return tw.where(c, chosen, chosen).astype(np.float32)

    types: list[np.dtype[Any]] = []
    found = [tw.jit(function)(condition, interpret=not compiled) for function in (of_traced, of_known)]
    assert len(set(types)) == 1
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], np.where(condition, *choices).astype(np.float32))


def test_outside_of_traces_numpy_chooses() -> None:
    assert tw.where(np.array([True, False]), 1.0, 2.0).dtype == np.float64
