"""A program: operands, a few lines that are repeated, and what is returned, as text that a module of functions runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SPREAD = 0.5
"""Of the elements of operands: deep programs stay finite."""


@dataclass(frozen=True, slots=True)
class Program:
    """`def f(F, *xs)`: `steps` are run `count` times in turns on `x`, which is `start` at first; `end` is returned.

    In the text of steps `k` is the number of the step, `n` the number of operands, `F` the module of functions.
    """

    seed: int
    family: str
    shapes: tuple[tuple[int, ...], ...]
    start: str
    steps: tuple[str, ...]
    count: int
    end: str = "x"
    is_planned_only: bool = False

    def text(self) -> str:
        """The whole program."""
        shapes = f"[{self.shapes[0]}] * {len(self.shapes)}" if len(set(self.shapes)) == 1 else str(list(self.shapes))
        lines = [f"# {self.family}, operands of shapes {shapes}", "def f(F, *xs):", "    n = len(xs)", f"    x = {self.start}"]
        if self.steps and self.count:
            lines.append(f"    for k in range({self.count}):")
            for number, step in enumerate(self.steps):
                lines += [f"        if k % {len(self.steps)} == {number}:", f"            {step}"]
        return "\n".join([*lines, f"    return {self.end}"])

    def function(self, functions: Any) -> Callable[..., Any]:
        """The function of arrays."""
        names: dict[str, Any] = {}
        exec(self.text(), names)
        return lambda *xs: names["f"](functions, *xs)

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Operands."""
        random = np.random.default_rng(self.seed)
        return tuple((random.standard_normal(shape) * SPREAD).astype(np.float32) for shape in self.shapes)
