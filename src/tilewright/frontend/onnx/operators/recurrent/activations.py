"""Activation functions of recurrent layers, by name, with their parameters alpha and beta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.special_functions import sigmoid

Function: TypeAlias = Callable[[Any], Any]

_FUNCTIONS: dict[str, tuple[Callable[[Any, float, float], Any], float | None, float | None]] = {
    "relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "tanh": (lambda x, a, b: np.tanh(x), None, None),
    "sigmoid": (lambda x, a, b: sigmoid(x), None, None),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), None, None),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: np.where(x < a, 0, x), 1.0, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), 1.0, None),
}
"""By name in lower case: the function of x, alpha and beta, and the defaults of these two (None: it has none)."""


def activation_functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], defaults: Sequence[str], directions: int
) -> list[tuple[Function, ...]]:
    """The functions of each direction; those with an alpha or a beta take the next given number, or their default.

    Raises `UnsupportedOperation` for names that are unknown, or too few.
    """
    left = iter(alphas), iter(betas)
    chosen = activation_names(names, defaults, directions)
    return [tuple([_function(name, *left) for name in of_one]) for of_one in chosen]


def activation_names(names: Sequence[str], defaults: Sequence[str], directions: int) -> list[tuple[str, ...]]:
    """The names of each direction's functions in lower case. Raises `UnsupportedOperation` as `activation_functions` does."""
    wanted = len(defaults) * directions
    chosen = [name.lower() for name in names or [*defaults] * directions][:wanted]
    if len(chosen) != wanted or not _FUNCTIONS.keys() >= {*chosen}:
        raise UnsupportedOperation(f"activations {list(names)}", why=f"{wanted} of {', '.join(_FUNCTIONS)} are wanted")
    return [tuple(chosen[start : start + len(defaults)]) for start in range(0, wanted, len(defaults))]


def _function(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Function:
    function, alpha, beta = _FUNCTIONS[name]
    alpha = None if alpha is None else next(alphas, alpha)
    beta = None if beta is None else next(betas, beta)
    return lambda x: function(x, alpha or 0.0, beta or 0.0)
