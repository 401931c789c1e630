"""Programs under construction: every line is computed in float64, and beside it with other roundings, and kept if it is tame.

Tame: finite, not too large, well conditioned; no comparison and no whole number that another rounding decides differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.random.jit.program import Line, Program, Value, evaluate

MOST_ELEMENTS = 30_000
LARGEST = 1e3
MOST_SPREAD = 2e-4
"""Of a value's twins, relative to its largest element."""
NOISY_TWINS = 3
"""A single twin may come close by chance where terms cancel."""
TYPES = ("float64", "float32", *["float32"] * NOISY_TWINS)
"""Of the exact values and of their twins; the inputs and all results of the noisy twins have noise."""
ROUNDING_NOISE = 3e-7
"""Relative: functions of many steps promise 1e-6."""


class Unfit(Exception):
    """A line that is no part of a program."""


class Growing:
    """Names with values, and a random generator that chooses among them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.noise = np.random.default_rng((seed, 1))
        self.seed = seed
        self.values: dict[str, Value] = {}
        self.lines: list[Line] = []
        self.layouts: dict[str, str] = {}
        self.constants: set[str] = set()

    def given(self, array: np.ndarray, *, layout: str = "", is_constant: bool = False) -> str:
        """A new argument or constant of float32 numbers, truth values or integers."""
        name = f"{'c' if is_constant else 'x'}{len(self.values)}"
        if array.dtype.kind == "f":
            exact = array.astype(np.float32).astype(np.float64)
            noisy = (exact * self._noise(array.shape) for _ in range(NOISY_TWINS))
            self.values[name] = Value(exact, tuple(twin.astype(np.float32) for twin in (exact, *noisy)))
        else:
            self.values[name] = Value(array, (array,) * (1 + NOISY_TWINS))
        if is_constant:
            self.constants.add(name)
        elif layout:
            self.layouts[name] = layout
        return name

    def add(self, text: str, *reads: str) -> str:
        """A new line; raises `Unfit` where its value is not tame."""
        instances = []
        for number, dtype in enumerate(TYPES):
            names = {name: _instance(self.values[name], number) for name in reads}
            try:
                result = evaluate(text, names)
            except (ValueError, IndexError, TypeError) as problem:
                raise Unfit(str(problem)) from problem
            if result.dtype.kind == "f":
                is_noisy = number >= len(TYPES) - NOISY_TWINS
                result = (result * self._noise(result.shape) if is_noisy else result).astype(dtype)
            instances.append(result)
        value = Value(instances[0], tuple(instances[1:]))
        _check(value)
        name = f"v{len(self.lines)}"
        self.values[name] = value
        self.lines.append(Line(name, text, tuple(dict.fromkeys(reads))))
        return name

    def _noise(self, shape: tuple[int, ...]) -> np.ndarray:
        """Factors near 1."""
        return 1 + ROUNDING_NOISE * self.noise.standard_normal(shape)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.values[name].exact.shape

    def rank(self, name: str) -> int:
        return self.values[name].exact.ndim

    def numbers(self) -> list[str]:
        """The names of floating-point arrays."""
        return [name for name, value in self.values.items() if value.exact.dtype.kind == "f"]

    def conditions(self) -> list[str]:
        return [name for name, value in self.values.items() if value.exact.dtype.kind == "b"]

    def pick(self, names: Sequence[str] | None = None, least_rank: int = 0) -> str:
        """One of these names (of all arrays of numbers), late ones more often."""
        found = [name for name in (self.numbers() if names is None else names) if self.rank(name) >= least_rank]
        if not found:
            raise Unfit("nothing to choose from")
        late = self.random.random() < 0.6
        return found[int(self.random.integers(max(0, len(found) - 3) if late else 0, len(found)))]

    def choose(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.integers(len(options)))]

    def program(self, outputs: tuple[str, ...], options: dict[str, Any]) -> Program:
        whole = Program(self.seed, tuple(self.lines), outputs, self.values, self.layouts, frozenset(self.constants), options)
        return whole.with_lines(whole.lines, outputs)


def _instance(value: Value, number: int) -> np.ndarray:
    return value.exact if number == 0 else value.twins[number - 1]


def _check(value: Value) -> None:
    exact = value.exact
    if exact.size > MOST_ELEMENTS or exact.ndim > 6:
        raise Unfit("large")
    if exact.dtype.kind != "f":
        if any(not np.array_equal(exact, twin) for twin in value.twins):
            raise Unfit("decided by a rounding")
        return
    finite = np.isfinite(exact)
    if not finite.all() or np.abs(exact).max(initial=0.0) > LARGEST:
        raise Unfit("not finite, or large")
    if value.spread > MOST_SPREAD * max(np.abs(exact).max(initial=0.0), 1e-3):
        raise Unfit("ill conditioned")
