"""A program: lines of Python over named arrays, with the values that every name has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.support.random.jit import reference


@dataclass(frozen=True)
class Line:
    """`name = text`, where the text calls functions of `F` and reads other names."""

    name: str
    text: str
    reads: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Value:
    """What a name stands for, in float64; `twins` are what it might have been, had inputs and sums been rounded differently."""

    exact: np.ndarray
    twins: tuple[np.ndarray, ...]

    @property
    def spread(self) -> float:
        """The largest difference of a twin."""
        with np.errstate(invalid="ignore"):
            apart = [np.abs(self.exact - twin.astype(np.float64)) for twin in self.twins] if self.exact.dtype != bool else []
        return max((float(np.max(one, initial=0.0, where=np.isfinite(one))) for one in apart), default=0.0)


@dataclass(frozen=True, eq=False)
class Program:
    """Lines in the order in which they run; what they read and do not make are its arguments and constants."""

    seed: int
    lines: tuple[Line, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, Value]
    layouts: Mapping[str, str]
    """How arguments lie in memory: see `in_layout`."""
    constants: frozenset[str]
    options: Mapping[str, Any]
    """Of `tw.jit`."""

    def arguments(self) -> tuple[str, ...]:
        """The names that a call gives, in order."""
        made = {line.name for line in self.lines}
        read = dict.fromkeys(
            name for name in (*(n for line in self.lines for n in line.reads), *self.outputs) if name not in made
        )
        return tuple(name for name in read if name not in self.constants)

    def function(self, functions: Any, given: Mapping[str, np.ndarray]) -> Callable[..., Any]:
        """The function of the arguments; `given` has the constants."""
        source = f"def function({', '.join(self.arguments())}):\n" + "".join(
            f"    {one.name} = {one.text}\n" for one in self.lines
        )
        scope: dict[str, Any] = {"F": functions, **given}
        exec(source + f"    return {', '.join(self.outputs)},\n", scope)
        function: Callable[..., Any] = scope["function"]
        return function

    def arrays(self, dtype: str = "float32") -> list[np.ndarray]:
        """The arguments of a call, as they lie in memory."""
        return [in_layout(in_type(self.values[name].exact, dtype), self.layouts.get(name, "")) for name in self.arguments()]

    def constant_arrays(self, dtype: str = "float32") -> dict[str, np.ndarray]:
        return {name: in_type(self.values[name].exact, dtype) for name in self.constants}

    def text(self) -> str:
        """A script that runs the program."""
        arrays = zip(self.arguments(), self.arrays(), strict=True)
        lines = ["import numpy as np, tilewright as F", "r = np.random.default_rng(0)"]
        lines += [f"{name} = {_shape_text(array)}  # strides {array.strides}" for name, array in self.constant_arrays().items()]
        lines += [f"def function({', '.join(self.arguments())}):"]
        lines += [f"    {line.name} = {line.text}" for line in self.lines]
        lines += [f"    return {', '.join(self.outputs)},"]
        given = ", ".join(f"{_shape_text(array)}{self._layout_text(name)}" for name, array in arrays)
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return "\n".join([*lines, f"F.jit(function, {options})({given})"])

    def _layout_text(self, name: str) -> str:
        return f" ({self.layouts[name]})" if self.layouts.get(name) else ""

    def with_lines(self, lines: tuple[Line, ...], outputs: tuple[str, ...]) -> Program:
        """The same with some of its lines, and none that no output needs."""
        needed, kept = set(outputs), []
        for line in reversed(lines):
            if line.name in needed:
                kept.append(line)
                needed.update(line.reads)
        return replace(self, lines=tuple(kept[::-1]), outputs=outputs)


def in_type(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floating-point numbers in this type; truth values and integers stay."""
    return array.astype(dtype) if array.dtype.kind == "f" else array


def in_layout(array: np.ndarray, layout: str) -> np.ndarray:
    """The same elements, lying otherwise: backwards, with gaps, transposed, beside a word's boundary, or one for all."""
    match layout:
        case "backwards":
            turned = tuple(slice(None, None, -1) for _ in array.shape)
            return np.ascontiguousarray(array[turned])[turned] if array.ndim else array
        case "with gaps":
            wide = np.full([2 * extent + 1 for extent in array.shape], 7, array.dtype)
            places = tuple(slice(1, 2 * extent, 2) for extent in array.shape)
            wide[places] = array
            return wide[places]
        case "transposed":
            return np.ascontiguousarray(array.T).T if array.ndim else array
        case "unaligned":
            room = np.zeros(array.nbytes + 1, np.uint8)
            moved = room[1:].view(array.dtype).reshape(array.shape) if array.size else array.copy()
            moved[...] = array
            return moved
        case _:
            return array


def evaluate(text: str, names: Mapping[str, np.ndarray]) -> np.ndarray:
    """The NumPy reference of a line."""
    with np.errstate(all="ignore"):
        return np.asarray(eval(text, {"F": SimpleNamespace(**vars(reference))}, dict(names)))


def _shape_text(array: np.ndarray) -> str:
    return f"r.standard_normal({array.shape}).astype({array.dtype.name!r})"
