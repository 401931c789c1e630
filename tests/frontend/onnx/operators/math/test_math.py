"""Functions of elements and products: integers, powers, bounds, and every form of an einsum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_operators import agree, lowered, operator
from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate


def test_bounds_that_are_attributes() -> None:
    x = np.linspace(-100, 100, 41, dtype=np.float32)
    agree("Clip", 6, x, min=-1.0, max=2.0)
    agree("Clip", 6, x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bounds_without_attributes_are_those_of_float32_from_opset_6_on(dtype: str) -> None:
    x = np.array([-np.inf, -1e300 if dtype == "float64" else -1, 1, np.inf, np.nan], dtype)
    largest = float(np.finfo(np.float32).max)
    assert np.array_equal(operator("Clip", 5).reference(x), x, equal_nan=True)
    with np.errstate(over="ignore"):
        bounded = np.clip(x.astype(np.float64), -largest, largest).astype(dtype)
    assert np.array_equal(operator("Clip", 6).reference(x), bounded, equal_nan=True)
    agree("Clip", 6, x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(("name", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1}), ("Mul", {}), ("Sub", {})])
def test_integers_divide_towards_0_and_wrap(dtype: str, name: str, attributes: dict[str, int]) -> None:
    limits = np.iinfo(dtype)
    x, y = np.meshgrid(np.array([limits.min, 3, 7, limits.max], dtype), np.array([2, 3, 100], dtype))
    agree(name, 28, x, y, **attributes)


def test_integer_quotients_are_those_of_python() -> None:
    x, y = np.array([-7, -7, 7, 7, 6]), np.array([2, -2, 2, -2, 3])
    assert operator("Div", 14).reference(x, y).tolist() == [int(a / b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 5), (5, 4)]),
        ("ii->i", [(4, 4)]),
        ("ii", [(4, 4)]),
        ("bijij->bj", [(2, 3, 4, 3, 4)]),
        ("ji,ij", [(3, 4), (4, 3)]),
        ("...ii,...i->...", [(2, 3, 4, 4), (2, 3, 4)]),
        ("ij,kl->ik", [(3, 5), (4, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("b...d,d->b...", [(2, 3, 4, 5), (5,)]),
        (" i j , j ", [(3, 5), (5,)]),
    ],
)
def test_einsum_of_any_form(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    agree("Einsum", 12, *(rng.standard_normal(shape, np.float32) for shape in shapes), equation=equation)


def test_powers_of_0_are_1() -> None:
    x = np.array([2.0, 0.0, np.inf, -np.inf, np.nan], np.float32)
    builder = Builder("f")
    result = operator("Pow", 13).lower(builder, builder.input("x", (5,), "float32"), builder.constant(np.float32(0)))
    np.testing.assert_array_equal(evaluate(builder.graph((result.name,)), {"x": x})[result.name], np.ones(5))


def test_powers_between_integers_and_numbers_are_not_lowered() -> None:
    with pytest.raises(UnsupportedOperation, match="Pow"):
        lowered("Pow", 15, np.arange(3), np.ones(3, np.float32))


def test_determinants_are_those_of_squares() -> None:
    with pytest.raises(ShapeError, match="equal"):
        operator("Det", 22).reference(np.zeros((2, 3)))
