"""A builder of programs for a dialect."""

from __future__ import annotations

from tilewright.tile.builder import Builder
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.operations import Operation
from tilewright.tile.program import Detail, Value
from tilewright.tile.types import Type


class DialectBuilder(Builder):
    """Makes instructions for a dialect; `legalise.Legaliser` makes only such that it has."""

    def __init__(self, dialect: Dialect) -> None:
        """An empty program."""
        super().__init__()
        self.dialect = dialect

    def left_alone(self, operation: Operation, value_type: Type, operands: tuple[Value, ...], detail: Detail = None) -> Value:
        """An instruction as the renderer has it, whatever the dialect's table says."""
        return Builder.instruction(self, operation, value_type, operands, detail)
