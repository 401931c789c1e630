"""Programs under construction: every line is run in eager mode, and kept if what it makes is small and mostly finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from tests.support.random.torch.program import NAMES, Called, Line
from tests.support.random.torch.rounding import Checked, Undefined
from tests.support.random.torch.values import FLOATS, INTEGERS, Given

MOST_ELEMENTS = 6000
MOST_RANKS = 5


class Unfit(Exception):
    """A line that is no part of a program."""


class Growing:
    """Names with tensors, and a random generator that chooses among them."""

    def __init__(self, seed: int, arguments: Sequence[Given], weights: Sequence[Given], call: Called) -> None:
        self.random = np.random.default_rng(seed)
        self.seed, self._arguments, self._weights, self._call = seed, arguments, weights, call
        self.values: dict[str, Any] = {}
        self.lines: list[Line] = []
        self._begin()

    def _begin(self) -> None:
        """What the lines have made."""
        values: dict[str, Any] = {}
        for one in self._arguments:
            values[one.name] = one.made(dict(self._call.lengths), self._call.seed, values)
        values.update((one.name, one.made({}, self.seed, {})) for one in self._weights)
        self.values = {**values, "k": self._call.number}
        for line in self.lines:
            exec(line.statement, NAMES, self.values)

    def add(self, text: str) -> str:
        """A line that makes a tensor; raises `Unfit` where it is none, large, or has hardly a number."""
        name = f"v{len(self.lines)}"
        self._run(f"{name} = {text}", lambda: self._is_fit(self.values.get(name)))
        value = self.values[name]
        self.lines.append(Line(name, text, str(value.dtype).removeprefix("torch."), tuple(value.shape)))
        return name

    def do(self, text: str, written: str) -> None:
        """A statement that writes to a tensor."""
        before = {name: _place(value) for name, value in self.values.items()}
        self._run(text, lambda: self._is_fit(self.values[written]) and before[written] == _place(self.values[written]))
        self.lines.append(Line("", text))

    def _run(self, statement: str, is_fit: Callable[[], bool]) -> None:
        try:
            with Checked():
                exec(statement, NAMES, self.values)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, Undefined, ArithmeticError) as problem:
            self._begin()
            raise Unfit(str(problem)) from problem
        if not is_fit():
            self._begin()
            raise Unfit("large, or wild")

    def _is_fit(self, value: Any) -> bool:
        if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_complex():
            return type(value) is torch.nn.Parameter
        if value.numel() > MOST_ELEMENTS or value.ndim > MOST_RANKS:
            return False
        if not value.is_floating_point() or not value.numel():
            return True
        return bool(value.isfinite().double().mean() > 0.5) or self.random.random() < 0.1

    # Choices

    def names(self, kind: str = "any") -> list[str]:
        """Tensors of a kind: any, float, integer, truth, number (no truth)."""
        return [name for name, value in self.values.items() if isinstance(value, torch.Tensor) and _is_a(value, kind)]

    def pick(self, kind: str = "any", least_rank: int = 0, *, fits: Callable[[Any], bool] = lambda value: True) -> str:
        """A tensor, a late one more often."""
        found = [name for name in self.names(kind) if self.values[name].ndim >= least_rank and fits(self.values[name])]
        if not found:
            raise Unfit("nothing to choose from")
        late = self.random.random() < 0.6
        return found[int(self.random.integers(max(0, len(found) - 3) if late else 0, len(found)))]

    def beside(self, name: str, kind: str = "any") -> str:
        """A tensor that broadcasts with another."""
        shape = self.values[name].shape
        return self.pick(kind, fits=lambda value: broadcasts(shape, value.shape))

    def choose(self, options: Sequence[Any]) -> Any:
        """One of these."""
        return options[int(self.random.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return bool(self.random.random() < probability)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a tensor."""
        return tuple(self.values[name].shape)

    def dim(self, name: str) -> int:
        """A dimension of a tensor, perhaps counted from the end."""
        rank = self.values[name].ndim
        if not rank:
            raise Unfit("no dimension")
        return int(self.random.integers(-rank, rank))

    def dtype(self, names: Sequence[str] = (*FLOATS, *INTEGERS, "bool")) -> str:
        """A type, as text."""
        return f"torch.{self.choose(names)}"

    def number(self) -> str:
        """A number, as text."""
        whole = ("0", "1", "2", "3", "-1", "-2", "7", "k")
        return str(self.choose((*whole, "0.5", "-1.5", "2.0", "0.1", "-0.0", "True", "1e-3", "3.7", "k")))


def broadcasts(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether shapes broadcast."""
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))


def _is_a(value: torch.Tensor, kind: str) -> bool:
    is_float, is_truth = value.is_floating_point(), value.dtype is torch.bool
    known: dict[str, bool] = {
        "any": True,
        "float": is_float,
        "integer": not is_float and not is_truth,
        "truth": is_truth,
        "number": not is_truth,
    }
    return known[kind]


def _place(value: Any) -> Any:
    """Where a tensor is, and its type."""
    return (value.dtype, value.shape, value.data_ptr()) if isinstance(value, torch.Tensor) else None
