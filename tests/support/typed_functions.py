"""Functions of NumPy and ours, by name, for every element type: as graphs mean them, and as NumPy computes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import tilewright as tw
from tests.support.block_programs import interpreted
from tests.support.tile_leaves import by_tile_programs
from tilewright.dtypes import dtype_named
from tilewright.errors import TilewrightError
from tilewright.frontend.tracing.recorder import INTEGERS
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate

FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES = ("bool", *INTEGERS, *FLOATS)
OF_FLOAT32 = ("float32",)
"""What a device with the fewest types computes in."""
NUMBERS = (True, 2, -1, 300, 1.5, 3e38)
TOLERANCE = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 1e-5, "float64": 1e-9}
Function = Callable[..., Any]

ARCS = {f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")}
"""By their names here, and in the array API."""
MAPS_OF_ONE = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "abs", "negative", "positive", "sign"),
    *("floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite", "logical_not"),
)
ARITHMETIC_OF_TWO = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum", "matmul", "atan2"),
)
CONDITIONS = (
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"),
)
UNARY: dict[str, Function] = {
    **{name: ARCS.get(name) or getattr(np, name) for name in MAPS_OF_ONE},
    "invert": operator.invert,
    "sum": lambda x: x.sum(axis=1),
    "prod": lambda x: x.prod(axis=1),
    "max": lambda x: x.max(axis=1),
    "min": lambda x: x.min(axis=1),
    "mean": lambda x: x.mean(axis=1),
    "pow": lambda x: x**2,
    "to the 0": lambda x: x**0,
    "inverse": lambda x: x**-1,
    "root": lambda x: x**0.5,
    "clip": lambda x: np.clip(x, 0, 1),
    "clip between": lambda x: np.clip(x, 0.5, 1.5),
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape((-1,)),
    "part": lambda x: x[1:],
    "row sums": lambda x: np.einsum("ij->i", x),
    "reordered": lambda x: np.einsum("ij->ji", x),
    "numbers chosen": lambda x: np.where(x, 1, 0),
    "beside a number": lambda x: np.where(x > x, x, 2),
    "beside a half": lambda x: np.where(x > x, x, 1.5),
    **{f"as {name}": operator.methodcaller("astype", name) for name in TYPES if name != "bfloat16"},
}
BINARY: dict[str, Function] = {
    **{name: ARCS.get(name) or getattr(np, name) for name in (*ARITHMETIC_OF_TWO, *CONDITIONS)},
    "where": lambda x, y: np.where(np.eye(3) > 0, x, y),
    "einsum": lambda x, y: np.einsum("ij,jk->ik", x, y),
    "and": operator.and_,
    "or": operator.or_,
    "//": operator.floordiv,
    "%": operator.mod,
    "power": np.power,
}
WITHOUT_NUMPY = ("clip", "row sums", "reordered", "matmul", "einsum")
"""Functions that NumPy lacks for bfloat16, or computes in float32: it stays bfloat16."""
FLOATS_ALONE: dict[str, Function] = {
    name: getattr(tw, name)
    for name in ("erf", "erfc", "sigmoid", "silu", "gelu", "reciprocal", "softmax", "safe_softmax", "layer_norm")
}


def traced(function: Function, operands: Sequence[Any], element_types: tuple[str, ...] | None = None) -> Any:
    """What the graph of a function means, for a device that computes in these types (None: all); None where it is refused."""
    specs = [TensorSpec(x.shape, x.dtype.name, f"x{number}") for number, x in enumerate(operands)]
    try:
        graph = trace(function, specs, element_types=element_types)
    except TilewrightError:
        return None
    return np.asarray(evaluate(graph, {f"x{number}": x for number, x in enumerate(operands)})["out"])


def by_numpy(function: Function, operands: Sequence[Any]) -> Any:
    """The same by NumPy, None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))
    except (TypeError, ValueError, OverflowError):
        return None


OF_ONE: dict[str, Function] = {
    **UNARY,
    **FLOATS_ALONE,
    "rms_norm": lambda x: tw.rms_norm(x, x.shape[-1]),
    "column sums": lambda x: x.sum(axis=0, keepdims=True),
    "sum of all": lambda x: x.sum(),
    "mean of all": lambda x: x.mean(),
    "largest of columns": lambda x: x.max(axis=0),
    "sum in int8": lambda x: np.sum(x, axis=0, dtype="int8"),
    "product in float64": lambda x: x.prod(axis=1, dtype=np.float64),
    "mean in float32": lambda x: np.mean(x, dtype=np.float32, keepdims=True),
    "reduced in int32": lambda x: np.add.reduce(x, axis=1, dtype=np.int32),
    "compared": lambda x: x > 0.5,
    "strided": lambda x: x[::2, 1:5],
    "a chain": lambda x: (x * 2 + x)[:, ::-1],
    "with its transpose": lambda x: x @ x.T,
}
OF_TWO: dict[str, Function] = {
    **BINARY,
    "where": lambda x, y: np.where(x > y, x, y),
    "einsum": lambda x, y: np.einsum("ij,kj->ik", x, y),
}
ROUNDING = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "float64": 1e-13}
"""Errors of kernels, relative to the largest element: halves are not rounded between operators of one kernel."""


def values_of(name: str, shape: tuple[int, ...], seed: int) -> Any:
    """Small numbers of both signs; of integers half of them from the whole range."""
    generator, dtype = np.random.default_rng(seed), dtype_named(name)
    if dtype.kind not in "iu":
        return (
            generator.integers(0, 2, shape).astype(bool)
            if name == "bool"
            else (generator.standard_normal(shape) * 3).astype(dtype)
        )
    limits = np.iinfo(dtype)
    low = generator.integers(max(-50, limits.min), 50, shape).astype(dtype)
    return np.where(generator.random(shape) < 0.5, low, generator.integers(limits.min, limits.max, shape, dtype, endpoint=True))


def wrong_kernels(
    functions: Mapping[str, Function], operands: Sequence[Any], *, compiled: bool = False, **options: Any
) -> list[str]:
    """What a kernel of all functions that are accepted computes otherwise than their graphs say.

    Not compiled, its tile programs run in NumPy.
    """
    expected = {name: traced(function, operands) for name, function in functions.items()}
    accepted = [name for name in functions if expected[name] is not None]
    kernel = tw.jit(lambda *arrays: [functions[name](*arrays) for name in accepted], **{"threads": 1, **options}).lower(*operands)
    found = kernel.compile()(*operands) if compiled else _by_tile_programs(kernel, operands)
    types = " and ".join(operand.dtype.name for operand in operands)
    pairs = zip(accepted, found, strict=True)
    return [f"{name} of {types}: {result} for {expected[name]}" for name, result in pairs if not is_close(result, expected[name])]


def _by_tile_programs(kernel: tw.Lowered, operands: Sequence[Any]) -> list[Any]:
    plan = kernel.model_plan
    with by_tile_programs() as programs:
        results = interpreted(plan, dict(zip(plan.graph.inputs, operands, strict=True)))
    assert programs
    return list(results.values())


def is_close(found: Any, expected: Any) -> bool:
    """Whether types and shapes are equal, and values but for rounding."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if expected.dtype.kind in "biu":
        return bool(np.array_equal(found, expected))
    found, wanted, error = found.astype(float), expected.astype(float), ROUNDING[expected.dtype.name]
    largest = np.abs(wanted, where=np.isfinite(wanted), out=np.zeros_like(wanted)).max(initial=0)
    return bool(np.allclose(found, wanted, rtol=error, atol=error * largest, equal_nan=True))
