"""Special values of every function, what NumPy makes of them, and the exceptions that docs/special-values.md lists."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special
import torch

import tilewright as tw

PAGE = Path(__file__).parents[2] / "docs" / "special-values.md"
LIMITS = np.finfo(np.float32)
INF, NAN = float("inf"), float("nan")


def both_signs(*values: float) -> Any:
    """These values and their negatives."""
    return np.concatenate([np.array(values, np.float32), -np.array(values, np.float32)])


VALUES = both_signs(
    *(NAN, INF, 0.0, 1e-45, LIMITS.tiny / 4, LIMITS.tiny, 1e-20, 0.25, 0.49999997, 0.5, 0.75, 0.99999994, 1, 1.0000001, 1.5, 2),
    *(2.5, 3, 3.5, 9.02, 14.4, 16, 17, 87.3, 88.72283, 88.73, 89, 103.9, 105, 112, 127, 150, 1000, 8388607.5, 8388608),
    *(16777217, 2.0**31, 2.0**63, 1e10, 1e13, 1.8446744e19, 1e26, 1e38, LIMITS.max),
)
"""NaN of both signs, infinities, zeros, denormals, halves, thresholds of exp and of rounding, the largest numbers."""
PAIRED = both_signs(NAN, INF, 0.0, 1e-45, LIMITS.tiny, 0.5, 1, 2, 2.5, 3, 16777216, 1e19, 1e38, LIMITS.max)
BOUNDS = np.array([NAN, INF, -INF, -2, 0.0, 0.5, 3], np.float32)
TAIL = 17
"""Lanes of a row: whole vectors of every width, and one more."""


def rows_of(*values: Any) -> tuple[Any, ...]:
    """Every value as a row of a wider array, so that it is in whole vectors and behind them."""
    return tuple(np.repeat(one.ravel()[:, None], TAIL + 3, axis=1)[:, :TAIL] for one in values)


def combinations(*values: Any) -> tuple[Any, ...]:
    """All combinations, as rows."""
    return rows_of(*np.meshgrid(*values, indexing="ij"))


@dataclass(frozen=True)
class Case:
    """A function of arrays: as it is traced, as NumPy has it (in any precision), and in torch if the table speaks of it."""

    name: str
    traced: Callable[..., Any]
    numpy: Callable[..., Any]
    torch: Callable[..., Any] | None = None

    def expected(self, *operands: Any) -> Any:
        """NumPy's results in float64, rounded to float32."""
        with np.errstate(all="ignore"):
            return np.asarray(self.numpy(*(one.astype(np.float64) for one in operands))).astype(np.float32)


def number(condition: Any) -> Any:
    """Truth values as numbers."""
    return tw.where(condition, 1.0, 0.0)


def _named(*names: str) -> tuple[Case, ...]:
    return tuple(Case(name, getattr(tw, name), getattr(np, name), getattr(torch, name, None)) for name in names)


def _conditions(*names: str) -> tuple[Case, ...]:
    def of(name: str) -> Case:
        return Case(name, lambda *operands: number(getattr(tw, name)(*operands)), getattr(np, name))

    return tuple(map(of, names))


def _gelu_tanh(x: Any) -> Any:
    return x * scipy.special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


POWERS = (-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.5, 2.0, 2.5, 3.0, 4.0)
OF_ONE = (
    *_named("exp", "log", "tanh", "sqrt", "abs", "negative", "positive", "square", "reciprocal", "floor"),
    *_named("exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "ceil", "trunc", "round", "sign"),
    *(Case(f"a{name}", getattr(tw, f"a{name}"), getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan")),
    *(Case(f"a{name}", getattr(tw, f"a{name}"), getattr(np, f"arc{name}")) for name in ("sinh", "cosh", "tanh")),
    Case("erfc", tw.erfc, scipy.special.erfc),
    *_conditions("logical_not", "isnan", "isinf", "isfinite"),
    Case("erf", tw.erf, scipy.special.erf),
    Case("relu", tw.relu, lambda x: np.maximum(x, 0), torch.relu),
    Case("sigmoid", tw.sigmoid, scipy.special.expit),
    Case("silu", tw.silu, lambda x: x * scipy.special.expit(x)),
    Case("gelu", tw.gelu, lambda x: x * scipy.special.ndtr(x), torch.nn.functional.gelu),
    Case(
        "gelu, tanh",
        lambda x: tw.gelu(x, approximate="tanh"),
        _gelu_tanh,
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    ),
    *(Case(f"x ** {e}", lambda x, e=e: x**e, lambda x, e=e: np.power(x, e), lambda x, e=e: torch.pow(x, e)) for e in POWERS),
    *(
        Case(
            f"{name}(x, {c})",
            lambda x, name=name, c=c: getattr(tw, name)(x, c),
            lambda x, name=name, c=c: getattr(np, name)(x, c),
        )
        for name in ("maximum", "minimum")
        for c in (NAN, INF, -INF, 0.0, 2.5)
    ),
    *(
        Case(f"clip(x, {low}, {high})", lambda x, b=(low, high): tw.clip(x, *b), lambda x, b=(low, high): np.clip(x, *b))
        for low, high in ((NAN, 1.0), (-1.0, NAN), (-INF, INF), (-1.0, 2.5), (2.5, -1.0), (INF, -INF), (NAN, NAN))
    ),
)
OF_TWO = (
    *_named("add", "subtract", "multiply", "divide", "maximum", "minimum"),
    *_conditions("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or"),
    *_conditions("logical_xor"),
    Case("atan2", tw.atan2, np.arctan2),
    *_named("floor_divide", "remainder", "fmod"),
    Case("where(x > y, x, y)", lambda x, y: tw.where(x > y, x, y), lambda x, y: np.where(x > y, x, y)),
)
OF_THREE = (
    Case("clip(x, y, z)", tw.clip, np.clip),
    Case("where(x, y, z)", tw.where, np.where),
)
ELEMENTWISE: Mapping[str, tuple[tuple[Case, ...], tuple[Any, ...]]] = {
    "one operand": (OF_ONE, rows_of(VALUES)),
    "two operands": (OF_TWO, combinations(PAIRED, PAIRED)),
    "three operands": (OF_THREE, combinations(BOUNDS, BOUNDS, BOUNDS)),
}


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _safe_softmax(x: Any) -> Any:
    return np.where((x == -INF).all(axis=-1, keepdims=True), 0.0, _softmax(x))


def _normed(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def _reducing(name: str) -> Case:
    return Case(
        name, lambda x: getattr(tw, name)(x, axis=-1, keepdims=True), lambda x: getattr(np, name)(x, axis=-1, keepdims=True)
    )


ROW_FUNCTIONS = (
    *map(_reducing, ("sum", "mean", "prod", "max", "min")),
    Case("softmax", tw.softmax, _softmax),
    Case("safe_softmax", tw.safe_softmax, _safe_softmax),
    Case("softmax of silu", lambda x: tw.softmax(tw.silu(x)), lambda x: _softmax(x * scipy.special.expit(x))),
    Case("layer_norm", lambda x: tw.layer_norm(x, x.shape[-1:]), _normed),
)
SPOILS = (
    (NAN,),
    (INF,),
    (-INF,),
    (INF, -INF),
    (NAN, INF),
    (NAN, -INF),
    (INF, INF),
    (0.0,),
    (1e-45, -1e-45),
    (88.0, 89.0),
    (-1e3, 1e3),
)


def special_rows(length: int) -> Any:
    """Rows of that length: small numbers with special ones at the front, in the middle and at the end, and rows of one value."""
    rows = [np.full(length, value, np.float32) for value in (NAN, INF, -INF, 0.0, 1.0, 1e-45, 200, -200)]
    for spoils in SPOILS:
        for at in (0, length // 2, length - 1):
            row = np.resize(np.array([1, -2, 0.5, 3, -0.25], np.float32), length).copy()
            for offset, value in enumerate(spoils):
                row[(at + offset) % length] = value
            rows.append(row)
    return np.stack(rows)


def differs(found: Any, expected: Any, tolerance: float = 2e-6) -> Any:
    """Where two results are not the same: NaN, infinities, signs of zeros, numbers to a tolerance, denormal ones a spacing."""
    with np.errstate(all="ignore"):
        wide = np.asarray(expected, np.float64)
        near = np.abs(found - wide) <= tolerance * np.abs(wide) + float(LIMITS.smallest_subnormal)
    same = (found == expected) | (np.isfinite(found) & np.isfinite(expected) & near)
    return ~(same & (np.signbit(found) == np.signbit(expected)) | (np.isnan(found) & np.isnan(expected)))


# The table


@dataclass(frozen=True)
class Exemption:
    """A row of the table: what a function gives where a condition on its operands holds (one of these), and what others do."""

    functions: tuple[str, ...]
    where: str
    here: tuple[str, ...]
    others: Mapping[str, str]
    reason: str

    def holds(self, operands: Sequence[Any], numpy: Any) -> Any:
        """Where the condition holds."""
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluated(self.where, operands, numpy=numpy), numpy.shape)

    def value(self, text: str, operands: Sequence[Any], numpy: Any) -> Any:
        """What is given there, by an expression of the operands and of what NumPy gives."""
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(evaluated(text, operands, numpy=numpy), np.float32), numpy.shape)


def evaluated(text: str, operands: Sequence[Any], **others: Any) -> Any:
    """An expression of the table, where x, y and z are the operands."""
    names = {name: getattr(np, name) for name in ("abs", "max", "fmax", "fmin", "inf", "isinf", "isnan", "nan", "signbit")}
    return eval(text, {"__builtins__": {}}, {**names, **others, **dict(zip("xyz", operands, strict=False))})


@functools.cache
def exemptions() -> tuple[Exemption, ...]:
    """The rows of the table."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return tuple(_exemption([cell.strip() for cell in line.strip("|").replace("\\|", "¦").split("|")]) for line in lines)


def _exemption(cells: Sequence[str]) -> Exemption:
    functions, where, here, others, reason = (cell.replace("¦", "|") for cell in cells)
    pairs = (one.strip().split(" ", 1) for one in others.split(";"))
    quoted = tuple(one.strip("` ") for one in functions.split("`,"))
    given = tuple(one.strip("` ") for one in here.split(" or "))
    return Exemption(quoted, where.strip("`"), given, {peer: value.strip("`") for peer, value in pairs}, reason)


def of_function(name: str) -> tuple[Exemption, ...]:
    """The rows about a function."""
    return tuple(one for one in exemptions() if name in one.functions)


def disagreements(case: Case, operands: Sequence[Any], found: Any, tolerance: float = 2e-6) -> list[str]:
    """The points where a result is neither NumPy's nor what the table says."""
    expected = case.expected(*operands)
    points = np.argwhere(is_wrong(case.name, operands, found, expected, tolerance))
    return [_described(case.name, operands, found, expected, tuple(point)) for point in points[:3]]


def told(case: Case, operands: Sequence[Any]) -> Any:
    """What NumPy gives, or the table says (the first of what it allows)."""
    expected = case.expected(*operands)
    for row in of_function(case.name):
        expected = np.where(row.holds(operands, expected), row.value(row.here[0], operands, expected), expected)
    return expected


def is_wrong(name: str, operands: Sequence[Any], found: Any, expected: Any, tolerance: float) -> Any:
    """Where a result is neither what is expected nor what the table says."""
    wrong = differs(found, expected, tolerance)
    for row in of_function(name):
        allowed = [row.value(text, operands, expected) for text in row.here]
        differs_from_all = np.logical_and.reduce([differs(found, one, tolerance) for one in allowed])
        wrong = np.where(row.holds(operands, expected), differs_from_all, wrong)
    return wrong


def _described(name: str, operands: Sequence[Any], found: Any, expected: Any, at: tuple[int, ...]) -> str:
    given = ", ".join(str(one[at]) for one in operands if one.shape == found.shape)
    return f"{name} of {given or operands[0][at[0]]}: {found[at]}, not {expected[at]}, at {at} of {found.shape}"
