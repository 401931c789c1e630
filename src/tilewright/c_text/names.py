"""C identifiers for the names of the graph: readable, valid, and free of collisions by their prefixes.

Tensors keep their names. The current block of an axis starts at `at_<axis>`, has `size_<axis>` points, and is walked by
`in_<axis>`; the region that an operator works on by `at_<axis>_of_<operator>` and `size_<axis>_of_<operator>`, long bounds of
it by `reach_<bound>_<blocks before>_<axis>_of_<operator>`. Run-time extents are `extent_<symbol>`, run-time strides
`stride_<tensor>_<dimension>`. States of rows between blocks are `running_<tensor>_<state>`, what the parts of a split make of a
tensor is `partial_<tensor>`. What lies packed for an axis is of its block `last_<axis>`, the prefetched data was asked for in
the block `fetched_<axis>`. Of what masks let through, the points along an axis are `count_<axis>` from `first_<axis>` on, and
`limit_<axis>_<number>` is a value of the data that says so; a mask does nothing from `plain_from_<operator>` to
`plain_to_<operator>`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tilewright.block.integers import Variable, VariableKind
from tilewright.block.memory import BufferName, Content

KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof
"""
LOCALS = """
block blocks call caller column constants context contribution fetches from image is_inside lane lanes lookups_before next outside
packed pair point row rows scratch sizes step taken tensors until workspace
"""
TAKEN = frozenset(f"{KEYWORDS} {LOCALS}".split())
PREFIXES = """
at_ in_ size_ stride_ extent_ load_ state_ tw_ packed_ staged_ running_ partial_ previous_ gained_ factor_ last_ fetched_
first_ count_ limit_ plain_ reach_ row_ seen_ sum_ weight_ __
"""
FORMULA_WORDS = (
    (" + ", "_plus_"),
    (" - ", "_minus_"),
    ("-", "minus_"),
    ("//", "_over_"),
    ("*", "_times_"),
    (", ", "_and_"),
    ("(", "b_"),
    (")", "_e"),
)
"""The signs of formulas of extents."""
REGION_BOUNDS = (VariableKind.REQUIRED_START, VariableKind.REQUIRED_STOP, VariableKind.COMPUTED_START)
RESERVED_PREFIXES = tuple(PREFIXES.split())


def identifier(name: str) -> str:
    """A C identifier for a tensor, an operator or a function.

    >>> identifier("scores"), identifier("layer.0/out"), identifier("at_m"), identifier("0x")
    ('scores', 'layer_0_out', 'at_m_', '_0x')
    """
    text = _word(name)
    text = f"_{text}" if not text or text[0].isdigit() else text
    clashes = text in TAKEN or text.startswith(RESERVED_PREFIXES)
    return f"{text}_" if clashes else text


MOST_REMEMBERED = 4096


@lru_cache(MOST_REMEMBERED)
def variable_name(variable: Variable) -> str:
    """The identifier of a variable.

    >>> variable_name(Variable(VariableKind.BLOCK_START, "m", 1)), variable_name(Variable(VariableKind.PLAIN_STOP, "mask"))
    ('at_m_1', 'plain_to_mask')
    >>> variable_name(Variable(VariableKind.REQUIRED_STOP, "h", 1, "conv"))
    'reach_to_1_h_of_conv'
    """
    kind, of, number = variable.kind, variable.of, variable.number
    if kind is VariableKind.LOCAL:
        return of
    if kind is VariableKind.EXTENT:
        return extent(of)
    if kind is VariableKind.STRIDE and of:
        return stride(of, number or 0)
    place = f"{of}_of_{identifier(variable.operator)}" if variable.operator else of
    words = (kind, number, place) if kind in REGION_BOUNDS else (kind, place, number)
    return _word("_".join(str(word) for word in words if word not in ("", None)))


def last_block(axis: str) -> str:
    """The variable that holds the number of the block of a parallel axis that operands were packed for."""
    return "last_" + _word(axis)


def prefetched_block(axis: str) -> str:
    """The variable that holds the number of the block of a parallel axis in which the next one was asked for."""
    return "fetched_" + _word(axis)


@lru_cache(MOST_REMEMBERED)
def buffer_name(buffer: BufferName) -> str:
    """The pointer to a buffer.

    >>> [buffer_name(BufferName("x", content, "y")) for content in Content]
    ['x', 'packed_x_for_y', 'staged_y', 'running_x_y', 'partial_x_y']
    """
    match buffer.content:
        case Content.ELEMENTS:
            return identifier(buffer.tensor)
        case Content.PACKED:
            words = [identifier(buffer.tensor), *([f"for_{identifier(buffer.of)}"] if buffer.of else [])]
            return "_".join(["packed", *words, *([str(buffer.read)] if buffer.read is not None else [])])
        case Content.STAGED:
            return f"staged_{identifier(buffer.of)}"
        case Content.RUNNING | Content.PARTIAL:
            return _word("_".join([buffer.content, buffer.tensor, *([buffer.of] if buffer.of else [])]))


def extent(symbol: str) -> str:
    """The variable that holds a run-time extent: a dimension, or a formula by its text. No dimension begins with a digit.

    >>> extent("s0"), extent("8*s0 + 1"), extent("(s0 - 1)//2")
    ('extent_s0', 'extent_0_8_times_s0_plus_1', 'extent_0_b_s0_minus_1_e_over_2')
    """
    if symbol.isidentifier():
        return "extent_" + _word(symbol)
    text = symbol.replace("_", "__")
    for sign, word in FORMULA_WORDS:
        text = text.replace(sign, word)
    return f"extent_0_{text}"


def stride(tensor: str, dim: int) -> str:
    """The variable that holds the stride of a tensor's dimension, in elements."""
    return f"stride_{identifier(tensor)}_{dim}"


def _word(text: str) -> str:
    return re.sub(r"\W", "_", text, flags=re.ASCII)
