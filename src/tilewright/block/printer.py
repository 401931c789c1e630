"""Printer of block programs, for readers: one line a statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from tilewright.block.integers import Function, IntegerExpression, Operation, Variable
from tilewright.block.memory import Buffer, Gather, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import (
    Combine,
    Fill,
    For,
    If,
    Leaf,
    Let,
    Prefetch,
    Rounded,
    Statement,
    Transfer,
)

INFIX = {
    Function.ADD: " + ",
    Function.SUBTRACT: " - ",
    Function.MULTIPLY: " * ",
    Function.QUOTIENT: " / ",
    Function.REMAINDER: " % ",
    Function.EQUAL: " == ",
    Function.UNEQUAL: " != ",
    Function.LESS: " < ",
    Function.ANY: " or ",
    Function.ALL: " and ",
}


def to_text(regions: Iterable[Region]) -> str:
    """All regions, those that run once ahead of those that read what they leave."""
    regions = list(regions)
    constants = dict.fromkeys(constant for region in regions for constant in region.constants)
    lines = [line for region in constants for line in _region(region, "at load")]
    return "\n".join([*lines, *(line for region in regions for line in _region(region, "region"))])


def integer_text(value: IntegerExpression) -> str:
    """An integer expression.

    >>> from tilewright.block.integers import VariableKind, choose, less
    >>> m = Variable(VariableKind.BLOCK_START, "m")
    >>> integer_text(m * 2 + 1), integer_text(choose(less(m, 4), m // 2, 0))
    ('(at m * 2) + 1', 'choose(at m < 4, floor divide(at m, 2), 0)')
    """
    if isinstance(value, Variable):
        words = (value.kind, value.of, value.number, value.operator and f"of {value.operator}")
        return " ".join(str(word) for word in words if word not in ("", None))
    if not isinstance(value, Operation):
        return str(value)
    if value.function in INFIX:
        return INFIX[value.function].join(_enclosed(operand) for operand in value.operands)
    return f"{value.function}({', '.join(map(integer_text, value.operands))})"


def _enclosed(value: IntegerExpression) -> str:
    text = integer_text(value)
    return f"({text})" if isinstance(value, Operation) and value.function in INFIX else text


def _region(region: Region, what: str) -> Iterator[str]:
    yield f"{what} {region.name}"
    yield from (f"  buffer {_buffer(buffer)}" for buffer in region.buffers)
    yield from _body(region.body)


def _buffer(buffer: Buffer) -> str:
    group = "" if buffer.reuse_group is None else f", reuse group {buffer.reuse_group}"
    return f"{buffer.name}: {integer_text(buffer.elements)} {buffer.dtype} in {buffer.space}, {buffer.lifetime}{group}"


def _body(nodes: Iterable[Statement]) -> Iterator[str]:
    for node in nodes:
        yield f"  {_line(node)}"
        if isinstance(node, For | If):
            yield from (f"  {line}" for line in _body(node.body))


@singledispatch
def _line(node: Statement) -> str:
    return type(node).__name__


@_line.register
def _(node: For) -> str:
    level = f", {node.level}" if node.level else ""
    return f"for {node.axis} from {integer_text(node.whole.start)} to {integer_text(node.whole.stop)} by {node.tile}{level}"


@_line.register
def _(node: If) -> str:
    return f"if {integer_text(node.condition)}"


@_line.register
def _(node: Let) -> str:
    value = node.value
    if isinstance(value, Rounded):
        return f"let {integer_text(node.variable)} = {'ceil' if value.rounds_up else 'floor'}({_operand(value.element)})"
    return f"let {integer_text(node.variable)} = {integer_text(value)}"


@_line.register
def _(node: Fill) -> str:
    return f"fill {_operand(node.target)}: {_box(node.box)}, {node.value}"


@_line.register
def _(node: Transfer) -> str:
    outer = "".join(f"{integer_text(size)} x " for _, size, _ in node.outer)
    layout = f", panels of {node.panel_columns}" if node.panel_columns else ""
    size = f"{outer}{integer_text(node.depth)} x {integer_text(node.columns)}"
    return f"transfer {_operand(node.source)} to {_operand(node.target)}: {size}{layout}"


@_line.register
def _(node: Prefetch) -> str:
    return f"prefetch {_operand(node.view)} for the next block of {node.axis}: {node.lines} lines a tile"


@_line.register
def _(node: Leaf) -> str:
    name = f"combine the parts of {node.operator.name}" if isinstance(node, Combine) else node.operator.name
    kernel = f" by {node.leaf.tile.micro_kernel}" if node.leaf.tile is not None else ""
    return f"{name}: {node.operator.kind}{kernel}, {_box(node.box)}, {_operands(node)}"


def _operands(leaf: Leaf) -> str:
    """What is read, then what is written; both for what changes."""
    operands = list(leaf.accesses())
    reads = ", ".join(_operand(operand.place) for operand in operands if operand.is_read != 0)
    return f"reads {reads}, writes {', '.join(_operand(operand.place) for operand in operands if operand.is_written)}"


def _box(box: Iterable[tuple[str, Range]]) -> str:
    return " x ".join(f"{axis} {integer_text(span.size)}" for axis, span in box)


def _operand(operand: View | Gather) -> str:
    offset = "" if operand.offset == 0 else f" + {_enclosed(operand.offset)}"
    return f"[{operand.buffer}{offset}]"
