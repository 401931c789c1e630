"""Positions in types that have no negative numbers, conversions before comparisons, and roundings that nothing may leave out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.random.exact.judging import by_reference, compiled, interpreted
from tests.support.random.exact.meaning import DTYPES, FUNCTIONS, HALVES, INTEGERS, ONNX_NUMBERS, TYPES, can_cast, cast
from tests.support.random.exact.program import Array, Program, Step
from tests.support.sweeps import EQUAL
from tilewright.graph.builders.elementwise import arange
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph

JUDGES = [by_reference, interpreted, compiled("x86-64-v2")]


class Written:
    """A program that is written step by step."""

    def __init__(self, name: str) -> None:
        self.name, self.values, self.steps, self.constants = name, dict[str, Array](), list[Step](), set[str]()

    def given(self, value: Any, dtype: str, constant: bool = False) -> str:
        """A new input or constant."""
        name = f"x{len(self.values)}"
        self.values[name] = np.array(value, DTYPES[dtype])
        self.constants |= {name} if constant else set()
        return name

    def add(self, op_type: str, *operands: str, right: Any = None, **attributes: Any) -> str:
        """A new step, whose result is right."""
        name = f"y{len(self.values)}"
        with np.errstate(all="ignore"):
            self.values[name] = FUNCTIONS[op_type](*(self.values[one] for one in operands)) if right is None else right
        self.steps.append(Step(op_type, tuple(attributes.items()), operands, name))
        return name

    def cast(self, x: str, to: str) -> str:
        """A conversion."""
        with np.errstate(all="ignore"):
            return self.add("Cast", x, right=cast(self.values[x], to), to=ONNX_NUMBERS[to])

    def program(self) -> Program:
        """What is written."""
        return Program(self.name, self.values, tuple(self.steps), frozenset(self.constants))


def test_triangles_and_diagonals_of_every_type() -> None:
    programs = []
    for dtype in TYPES:
        one = Written(f"positions of {dtype}")
        x = one.given(np.arange(1, 13).reshape(3, 4) % 7 + 1, dtype)
        for upper, k in ((1, 0), (1, 1), (1, -1), (0, 0), (0, 1), (0, -1)):
            kept = (np.triu if upper else np.tril)(np.ones((3, 4), bool), k)
            right = np.where(kept, one.values[x], np.zeros((), DTYPES[dtype]))
            one.add("Trilu", x, one.given(k, "int64", constant=True), right=right, upper=upper)
        for k in (0, 1, -1, -(2**33), 2**33):
            right = np.eye(3, 4, max(-9, min(k, 9))).astype(DTYPES[dtype])
            one.add("EyeLike", x, right=right, dtype=ONNX_NUMBERS[dtype], k=k)
        mask = one.given(np.tril(np.ones((3, 4), bool), -1), "bool", constant=True)
        one.add("Where", mask, x, one.given(0, dtype))
        programs.append(one.program())
    check(programs)


def test_one_hot_rows_of_indices_that_the_values_cannot_be() -> None:
    one = Written("indices")
    for ids, values, numbers in (
        ("int64", "uint64", [0, -1, -4]),
        ("int32", "uint32", [0, -1, -4]),
        ("int64", "int32", [0, 2**32 + 1, -1]),
        ("int64", "uint8", [0, 2**32 + 1, 256]),
        ("int64", "int8", [0, 2**32 + 1, -1]),
        ("int64", "float32", [0, 2**32 + 1, -1]),
        ("uint64", "int64", [0, 2**63 + 1, 2**64 - 1]),
        ("int8", "bool", [0, -1, 127]),
        ("float64", "float16", [0, -1, 1.5]),
    ):
        right = np.zeros((3, 4), DTYPES[values])
        for row, number in enumerate(numbers):
            if -4 <= number < 4 and number == int(number):
                right[row, int(number)] = 1
        depth, pair = one.given(4, "int64", constant=True), one.given([0, 1], values)
        one.add("OneHot", one.given(numbers, ids), depth, pair, right=right)
    check([one.program()])


def test_conversions_that_change_values_stay_before_comparisons() -> None:
    one = Written("conversions")
    for source, to, numbers, short in (
        ("int32", "uint32", [-1, 5], "uint8"),
        ("int64", "uint64", [-1, 5], "uint8"),
        ("int64", "int32", [2**32 + 1, 5], "int8"),
        ("int64", "uint32", [2**32 + 1, -1], "uint8"),
        ("uint64", "int64", [2**63, 5], "int8"),
        ("int8", "uint32", [-1, 5], "uint8"),
    ):
        converted = one.cast(one.given(numbers, source), to)
        less = one.add("Less", converted, one.cast(one.given([100, 100], short), to))
        one.add("Not", less)
        one.add("Where", one.add("Not", less), one.given([1, 2], "float32"), one.given([3, 4], "float32"))
    short = one.given([200, 3], "uint8")
    ahead = one.add("Sub", one.cast(short, "uint32"), one.given([201, 1], "uint32"))
    one.add("Not", one.add("Less", ahead, one.given([9, 9], "uint32", constant=True)))
    check([one.program()])


def test_roundings_to_halves_are_not_left_out() -> None:
    one = Written("roundings")
    twice = one.given([1 + 2.0**-11 + 2.0**-30, 2049.0000001], "float64")
    one.cast(one.cast(twice, "float32"), "float16")
    one.cast(twice, "bfloat16")
    one.cast(one.cast(one.cast(one.given([2**25 + 2**17 + 1], "int32"), "float32"), "bfloat16"), "float32")
    sums = one.add("Add", one.cast(one.given([1, 3], "float32"), "float64"), one.given([2.0**-30, 2.0**-12], "float64"))
    one.cast(sums, "float16")
    for dtype in HALVES:
        x = one.given([300, 2, 1e-5 if dtype == "float16" else 1e-30], dtype)
        large = one.given([3e38, 1, 0.1], dtype) if dtype == "bfloat16" else x
        square = one.add("Mul", large, large)
        one.cast(square, "float32")
        one.add("Add", square, x)
        one.add("Greater", square, one.cast(one.given([7e4, 3.99, 0], "float32"), dtype))
        if dtype == "float16":
            one.cast(one.add("IsInf", square), "float32")
            one.cast(one.add("IsNaN", one.add("Sub", square, square)), "float32")
        one.add("Floor", one.add("Div", square, x))
    check([one.program()])


def test_all_types_become_all_others_at_their_extremes() -> None:
    """Doubles of at most 2^-150 became NaN."""
    one = Written("extremes")
    small = [2.0**power * factor for power in (-14, -24, -25, -126, -133, -134, -149, -150, -1074) for factor in (1, 1.25)]
    large = [65504, 65519.99, 65520, 3.3895e38, 3.396e38, 3.4028235e38, 3.4028236e38, 1e300, float("inf")]
    ties = [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-24, 0.0, 1e-46, 7.1e-46]
    floats = np.array([sign * number for number in (*small, *large, *ties) for sign in (1, -1)] + [np.nan])
    for source in TYPES:
        with np.errstate(all="ignore"):
            values = floats.astype(np.float64 if source in ("float64", "float16") else np.float32).astype(DTYPES[source])
        if source in INTEGERS:
            around = [2**power + step for power in (0, 7, 8, 15, 16, 24, 31, 32, 53, 62, 63) for step in (-1, 0, 1)]
            around += [2**power + 2 ** (power - 8) + step for power in (24, 30, 54, 62) for step in (-1, 0, 1)]
            limits = np.iinfo(source)
            numbers = [sign * number for number in around for sign in (1, -1)]
            values = np.array([number for number in numbers if limits.min <= number <= limits.max], source)
        elif source == "bool":
            values = np.array([False, True])
        for to in TYPES:
            able = np.array([can_cast(values[n : n + 1], to) for n in range(len(values))])
            if source != to:
                one.cast(one.given(values[able], source), to)
    check([one.program()])


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int64", "float16"])
def test_numbers_fall_in_every_type(dtype: str) -> None:
    operator, tensor = arange(5, 9, -2, dtype, name="f", result="y")
    (found,) = evaluate(Graph("test", (tensor,), (operator,), (), ("y",)), {}).values()
    assert found.tolist() == [9, 7, 5, 3, 1]
    assert all(node.value >= 0 for node in operator.body.operands if hasattr(node, "value"))  # type: ignore[union-attr]


def check(programs: list[Program]) -> None:
    for judge in JUDGES:
        found = judge(programs)
        assert found.kind == EQUAL, found.reason
