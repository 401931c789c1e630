"""C text of epilogues: one function of vectors each, and the name of a micro kernel that ends with it."""

from __future__ import annotations

import hashlib

from tilewright.codegen.emit_c.scalar_expressions import literal_text, vector_text
from tilewright.codegen.loop_nest import KernelCall
from tilewright.errors import InternalError
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, subexpressions
from tilewright.kernels.contract import Along, Epilogue

DIGITS = 6
"""Of the hash that tells epilogues of the same functions apart."""


def kernel_name(call: KernelCall) -> str:
    """The function that computes a tile: the kernel's own, or the one that ends with the call's epilogue.

    Equal epilogues have equal names, whatever tensors they read. Inlined functions have names of their own, so that linked ones
    may be called in the same file.
    """
    symbol = "".join([call.symbol, *(["_asking"] if call.prefetching else []), *(["_inlined"] if call.inlined else [])])
    if call.epilogue is None:
        return symbol
    functions = [node.function for node in subexpressions(call.epilogue.body) if isinstance(node, Apply)]
    content = f"{call.epilogue.body}{_operands(call)}"
    non_temporal = ["streams"] if call.epilogue.non_temporal else []
    return "_".join([symbol, *reversed(functions), *non_temporal, hashlib.sha256(content.encode()).hexdigest()[:DIGITS]])


def kernel_epilogue(call: KernelCall) -> Epilogue | None:
    """The epilogue of a call, in the terms of micro kernels."""
    if call.epilogue is None:
        return None
    operands = _operands(call)
    name = f"{kernel_name(call)}_end"
    given = ", ".join(["tw_vec sum", *(f"tw_vec x_{i}" for i in range(len(operands)))])
    text = f"TW_INLINE tw_vec {name}({given}) {{\n  return {vector_text(call.epilogue.body, _leaf)};\n}}\n"
    return Epilogue(name, text, operands, call.epilogue.non_temporal)


def _operands(call: KernelCall) -> tuple[Along, ...]:
    assert call.epilogue is not None
    return tuple(
        Along(operand.row != 0, operand.has_columns, operand.view.dtype, operand.is_far) for operand in call.epilogue.operands
    )


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
