"""A program of the soak: a function with the shapes that it takes, and its meaning in NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Shapes: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Something to call, the shapes that it takes, and what it means."""

    name: str
    call: Callable[..., Any]
    shapes: Callable[[random.Random], Shapes]
    meaning: Callable[..., Any]
