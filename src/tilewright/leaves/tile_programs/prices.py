"""What expressions of other types than float32 cost: their instructions, counted in the program of one vector."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from tilewright.graph.expressions.scalar import Scalar
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.leaves.tile_programs.values import Values
from tilewright.tile.builder import Builder
from tilewright.tile.operations import Operation
from tilewright.tile.program import Block, For, Instruction, Value
from tilewright.tile.types import Type, vector

CYCLES = 0.5
"""Of an instruction: two start a cycle."""
PER_BYTE: Mapping[Operation, float] = MappingProxyType({Operation.DIVIDE: 0.25, Operation.SQUARE_ROOT: 0.3})
"""Cycles of slow instructions for a byte of their vector (Intel's and AMD's cores since 2019: 16 for eight float64)."""
PER_LANE: Mapping[Operation, float] = MappingProxyType({Operation.QUOTIENT: 6.0, Operation.REMAINDER: 6.0})
"""Cycles of what no vector instruction does, for a lane."""
FREE = frozenset((Operation.PER_LANE, Operation.CALL))
"""Rare cases."""


@lru_cache(1024)
def cycles_of(body: Scalar, dtype: str, lanes: int) -> float:
    """Of an expression of such lanes, without what it reads.

    >>> from tilewright.graph.expressions.scalar import Load, apply
    >>> cycles_of(apply("add", Load(0), Load(1)), "int32", 16), cycles_of(apply("divide", Load(0), Load(1)), "float64", 8)
    (0.5, 16.0)
    """
    b, of = Builder(), vector(dtype, lanes)
    arguments: dict[Scalar, Value] = {}

    def leaf(scalar: Scalar) -> Value:
        return arguments.setdefault(scalar, b.argument(f"x{len(arguments)}", of))

    values = Values(b, of, leaf, own={REPORT_NOT_FINITE: lambda _, value: value})
    values.any(body)
    return _cycles(b.program("priced").body)


def _cycles(block: Block) -> float:
    return sum(_of_statement(statement) for statement in block)


def _of_statement(statement: object) -> float:
    match statement:
        case Instruction():
            return _of_instruction(statement.operation, statement.type)
        case For(start=int(start), stop=int(stop), step=step, body=body):
            return len(range(start, stop, step)) * _cycles(body)
        case _:
            return 0.0


def _of_instruction(operation: Operation, of: Type) -> float:
    if operation in PER_LANE:
        return PER_LANE[operation] * of.lanes
    if operation in PER_BYTE:
        return PER_BYTE[operation] * of.size_bits / 8
    return 0.0 if operation in FREE else CYCLES
