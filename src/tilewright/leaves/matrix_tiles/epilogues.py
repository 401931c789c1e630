"""Epilogues of matrix tiles as C: functions of vectors. A micro kernel that ends with an epilogue has a name of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from tilewright.block.integers import IntegerExpression
from tilewright.block.statements import MatrixTiles, TileEpilogue, TileOperand
from tilewright.c_text import names
from tilewright.c_text.scalar_expressions import NATURALS, literal_text, natural_text, vector_text
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, subexpressions
from tilewright.kernels.contract import Along, Epilogue
from tilewright.kernels.functions.scalar_functions import lane_functions
from tilewright.kernels.helpers import Helper, texts
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
    operands = _operands(call)
    name = f"{kernel_name(call)}_end"
    text = _text(call.epilogue, name, operands) if call.tile.accumulator != "float64" else ""
    ending = call.epilogue
    values = EpilogueBody(ending.body, tuple(one.element_type for one in operands), ending.whole, ending.element_type)
    return Epilogue(name, text, operands, ending.non_temporal, ending.element_type, values)


def _text(epilogue: TileEpilogue, name: str, operands: tuple[Along, ...]) -> str:
    """The C function."""
    sums = "tw_vec" if epilogue.whole is None else "tw_int"
    given = ", ".join([f"{sums} sum", *(f"{'tw_int' if one.is_whole else 'tw_vec'} x_{i}" for i, one in enumerate(operands))])
    result, lines = _lines(epilogue)
    body = "".join(f"  {line}\n" for line in lines)
    return f"{''.join(texts(_helpers(epilogue)))}TW_INLINE {result} {name}({given}) {{\n{body}}}\n"


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


def _helpers(epilogue: TileEpilogue) -> Iterator[Helper]:
    """What the function calls besides the vocabulary: texts that may be repeated within a translation unit."""
    yield from [NATURALS] if epilogue.whole is not None else []
    functions = {node.function for node in subexpressions(epilogue.body) if isinstance(node, Apply)}
    yield from lane_functions(functions)


def _lines(epilogue: TileEpilogue) -> tuple[str, list[str]]:
    """The type of what the function gives, and its statements."""
    if epilogue.whole is None:
        return "tw_vec", [f"return {vector_text(epilogue.body, _leaf)};"]
    whole = f"(tw_int){natural_text(epilogue.whole, _whole_leaf)}"
    if not epilogue.element_type:
        return "tw_int", [f"return {whole};"]
    numbers = f"const tw_vec whole = __builtin_convertvector({whole}, tw_vec);"
    return "tw_vec", [numbers, f"return {vector_text(epilogue.body, _leaf, {Load(0): 'whole'})};"]


def _operands(call: MatrixTiles) -> tuple[Along, ...]:
    places = ((operand, *operand_steps(call, operand)) for operand in call.operands)
    return tuple(Along(row != 0, moves, one.view.dtype, one.is_far, one.is_whole) for one, row, moves in places)


def operand_steps(call: MatrixTiles, operand: TileOperand) -> tuple[IntegerExpression, bool]:
    """Elements between rows of what an epilogue reads, and whether it moves with columns."""
    roles = call.tile.roles
    return operand.view.stride(roles.row), operand.view.stride(roles.column) != 0


def _whole_leaf(read: int) -> str:
    return f"(tw_naturals){'sum' if read == 0 else f'x_{read - 1}'}"


def _leaf(scalar: Scalar) -> str:
    match scalar:
        case Load(0):
            return "sum"
        case Load(read):
            return f"x_{read - 1}"
        case Literal(value):
            return f"tw_splat({literal_text(value)})"
        case _:
            raise InternalError(f"{scalar} is not known in a micro tile")
