"""C text of constant packing, once for all calls: a function for every way of packing, and one that chooses by number."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tilewright.codegen.emit_c.c_file import File, Prepared
from tilewright.codegen.emit_c.c_text import COMMENT, function, without_names
from tilewright.codegen.emit_c.nest import node_helpers, node_lines
from tilewright.codegen.emit_c.operator_nests import nest_declaration, unambiguous
from tilewright.codegen.expressions import multiply
from tilewright.codegen.loop_nest import FLOAT_BYTES, NestCall, OperatorNest, PackedConstant, walk
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.helpers import Helper

EXPORTED = '__attribute__((visibility("default")))'


def linked_preparation(file: File) -> tuple[list[str], list[OperatorNest]]:
    """`preparation` of a program that links shared loops, and those that it calls."""
    nodes = walk(node for prepared in file.prepared for node in prepared.calls)
    nests = unambiguous(node.nest for node in nodes if isinstance(node, NestCall))
    called = replace(file, prepared=tuple(_with_calls(prepared) for prepared in file.prepared))
    return [*map(nest_declaration, nests), *preparation(called)], nests


def _with_calls(prepared: Prepared) -> Prepared:
    return replace(prepared, constant=replace(prepared.constant, copies=prepared.calls))


def preparation(file: File) -> list[str]:
    """`NAME_prepare` packs one constant; none where nothing is packed."""
    if not file.prepared:
        return []
    numbers: dict[str, int] = {}
    chosen = [numbers.setdefault(way_of_packing(prepared), len(numbers)) for prepared in file.prepared]
    ways = [_way(f"{file.entry_point}_pack_{number}", file.prepared[chosen.index(number)]) for number in range(len(numbers))]
    table = ", ".join(f"{file.entry_point}_pack_{number}" for number in chosen)
    lines = [f"static void (*const ways[])(const void *source, char *packed) = {{{table}}};", "ways[number](source, packed);"]
    sizes = f"static const long sizes[] = {{{', '.join(str(packed_bytes(prepared.constant)) for prepared in file.prepared)}}};"
    return [
        *ways,
        function(f"{EXPORTED} long {file.entry_point}_packed_bytes(long number)", [sizes, "return sizes[number];"]),
        function(f"{EXPORTED} void {file.entry_point}_prepare(long number, const void *source, char *packed)", lines),
    ]


def preparation_helpers(file: File) -> frozenset[Helper]:
    """The helpers that these functions call."""
    nodes = walk(node for prepared in file.prepared for node in prepared.constant.copies)
    return frozenset(node_helpers(nodes, file.dialect.lanes))


def packed_bytes(constant: PackedConstant) -> int:
    """The size of what is packed."""
    size = multiply(constant.buffer.floats, FLOAT_BYTES)
    assert isinstance(size, int), f"{constant.buffer.name} has no size before a call"
    return size


def way_of_packing(prepared: Prepared) -> str:
    """What two constants have in common that are packed alike: a digest of the text without names."""
    return hashlib.sha256(without_names(COMMENT.sub("", _way("tw_pack", prepared))).encode()).hexdigest()


def _way(name: str, prepared: Prepared) -> str:
    buffer = prepared.constant.buffer
    source, packed = C_TYPES[prepared.constant.dtype], C_TYPES[buffer.dtype]
    pointers = [
        f"const {source} *const {prepared.source} = source;",
        f"{packed} *const {buffer.name} = ({packed} *)packed; /* {buffer.note} */",
    ]
    return function(f"static void {name}(const void *source, char *packed)", [*pointers, *node_lines(prepared.constant.copies)])
