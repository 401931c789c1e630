"""Epilogues of matrix tiles, in tile operations. A micro kernel that ends with an epilogue has a name of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tilewright.block.integers import IntegerExpression
from tilewright.block.statements import MatrixTiles, TileOperand
from tilewright.c_text import names
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Apply, Load, Scalar, subexpressions
from tilewright.kernels.contract import Along, Epilogue
from tilewright.leaves.tile_programs.conversions import loaded, stored
from tilewright.leaves.tile_programs.values import Values
from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.program import Value

DIGITS = 6
"""Of the hash that tells epilogues of the same functions apart."""


def kernel_name(call: MatrixTiles) -> str:
    """The function that computes a tile: the kernel's own, or the one that ends with the call's epilogue.

    Equal epilogues have equal names, whatever tensors they read. Inlined functions have names of their own, so that linked ones
    may be called in the same file.
    """
    known = [f"_of_{_digits(repr(call.known))}"] if call.known is not None else []
    kinds = [*known, *(["_asking"] if call.prefetching else []), *(["_inlined"] if call.inlined else [])]
    symbol = "".join([call.tile.symbol or names.identifier(call.tile.micro_kernel), *kinds])
    if call.epilogue is None:
        return symbol
    bodies = (call.epilogue.whole or Load(0), call.epilogue.body)
    functions = [node.function for body in bodies for node in subexpressions(body) if isinstance(node, Apply)]
    content = f"{call.epilogue.body}{_operands(call)}"
    if call.epilogue.whole is not None:
        content += f"{call.epilogue.whole}{call.epilogue.element_type}"
    non_temporal = ["streams"] if call.epilogue.non_temporal else []
    return "_".join([symbol, *reversed(functions), *non_temporal, _digits(content)])


def _digits(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:DIGITS]


def kernel_epilogue(call: MatrixTiles) -> Epilogue | None:
    """The epilogue of a call, in the terms of micro kernels."""
    if call.epilogue is None:
        return None
    ending, operands = call.epilogue, _operands(call)
    values = EpilogueBody(ending.body, tuple(one.element_type for one in operands), ending.whole, ending.element_type)
    return Epilogue(f"{kernel_name(call)}_end", operands, ending.non_temporal, ending.element_type, values)


@record
class EpilogueBody:
    """An epilogue of a sum (`Load(0)`) and operands (from `Load(1)` on), in tile operations.

    With a `whole` part sums are integers: it is computed first, and the body of what it gives, as floats that become elements of
    the `stored` type; without a stored type it is all there is.
    """

    body: Scalar
    dtypes: tuple[str, ...] = ()
    """Element types of the operands."""
    whole: Scalar | None = None
    stored: str = ""

    def value(self, builder: Builder, total: Value, operands: Sequence[Value]) -> Value:
        """Of `contract.EpilogueValues`."""
        if self.whole is None:
            return self._finished(builder, self._computed(builder, self.body, total, operands))
        whole = self._computed(builder, self.whole, total, operands)
        if not self.stored:
            return whole
        return self._finished(builder, self._computed(builder, self.body, builder.cast(whole, "float32"), operands))

    def _computed(self, builder: Builder, body: Scalar, total: Value, operands: Sequence[Value]) -> Value:
        """An expression in the type of a sum."""
        known: dict[Scalar, Value] = {Load(0): total}
        for read in {node.read for node in subexpressions(body) if isinstance(node, Load)} - {0}:
            known[Load(read)] = loaded(builder, operands[read - 1], self.dtypes[read - 1], total.type.dtype)
        return Values(builder, total.type, _unknown, known).value(body)

    def _finished(self, builder: Builder, value: Value) -> Value:
        return stored(builder, value, self.stored) if self.stored else value


def _unknown(scalar: Scalar) -> Value:
    raise InternalError(f"{scalar} is not known in a micro tile")


def _operands(call: MatrixTiles) -> tuple[Along, ...]:
    places = ((operand, *operand_steps(call, operand)) for operand in call.operands)
    return tuple(Along(row != 0, moves, one.view.dtype, one.is_far, one.is_whole) for one, row, moves in places)


def operand_steps(call: MatrixTiles, operand: TileOperand) -> tuple[IntegerExpression, bool]:
    """Elements between rows of what an epilogue reads, and whether it moves with columns."""
    roles = call.tile.roles
    return operand.view.stride(roles.row), operand.view.stride(roles.column) != 0
