"""Cases that are a shape with operands: names, counts, and required results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tilewright_bench.cases.required import NOTHING, Required


class Shape(Protocol):
    """The sizes of a case."""

    @property
    def name(self) -> str:
        """As `--cases` takes it."""

    @property
    def flops(self) -> int:
        """Operations of the products; of pairs that a causal mask leaves."""

    @property
    def moved_bytes(self) -> int:
        """Operands and result, each once."""


ShapeT = TypeVar("ShapeT", bound=Shape)


@dataclass(frozen=True)
class ShapeCase(Generic[ShapeT]):
    """One shape of a table; `even` is the name of the case whose share an odd one is held against."""

    shape: ShapeT
    table: str
    required: Required = NOTHING
    even: str = ""

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.shape.name

    @property
    def flops(self) -> int:
        """The shape's operations."""
        return self.shape.flops

    @property
    def moved_bytes(self) -> int:
        """Operands and result, each once."""
        return self.shape.moved_bytes
