"""The C text of a whole program: routines, each once, in one file or several, and the driver that runs them in order.

Every file holds the prelude that its routines need, and the loops that tile for them; micro kernels are linked, but for short
tiles, and so are the shared loops of large programs. The driver passes every chain its pointers and sizes. Constants are packed
once for all calls: by a function for every way of packing, and one that chooses by number. No text imports a symbol from outside
the library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.block.memory import WORD_BYTES, View
from tilewright.block.program import Region, walk
from tilewright.block.statements import Statement, Transfer
from tilewright.c_text.integer_expressions import pointer, to_c
from tilewright.c_text.names import buffer_name
from tilewright.c_text.statements import COMMENT, comment, function, without_names, words
from tilewright.graph.types import element_bytes
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.helpers import Helper
from tilewright.leaves.declaration import Lowered
from tilewright.leaves.registry import characters
from tilewright.leaves.registry import functions as functions_of
from tilewright.lower.program import Structure
from tilewright.records import record
from tilewright.render.c.c_file import (
    File,
    NestCall,
    OperatorNest,
    Prepared,
    Routine,
    RoutineSource,
    linked_nest,
    nest_declaration,
    nest_text,
    shared,
    unambiguous,
    with_prelude,
)
from tilewright.render.c.kernel_sources import inlined_texts, rendered
from tilewright.render.c.leaf_texts import LeafText, with_leaf_texts
from tilewright.render.c.nest import defined, node_helpers, node_lines, routine_like, routine_of
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import dialects

EXPORTED = '__attribute__((visibility("default")))'


def linked_preparation(file: File) -> tuple[list[str], list[OperatorNest]]:
    """`preparation` of a program that links shared loops, and those that it calls."""
    nodes = walk(node for prepared in file.prepared for node in prepared.calls)
    nests = unambiguous(node.nest for node in nodes if isinstance(node, NestCall))
    prepared = (replace(one, constant=replace(one.constant, body=one.calls)) for one in file.prepared)
    called = replace(file, prepared=tuple(prepared))
    return [*map(nest_declaration, nests), *preparation(called)], nests


def preparation(file: File) -> list[str]:
    """`NAME_prepare` packs one constant; none where nothing is packed."""
    if not file.prepared:
        return []
    numbers: dict[str, int] = {}
    chosen = [numbers.setdefault(way_of_packing(prepared), len(numbers)) for prepared in file.prepared]
    firsts = (with_texts(file.prepared[chosen.index(number)], file.dialect) for number in range(len(numbers)))
    ways = [_way(f"{file.entry_point}_pack_{number}", first) for number, first in enumerate(firsts)]
    table = ", ".join(f"{file.entry_point}_pack_{number}" for number in chosen)
    lines = [f"static void (*const ways[])(const void *source, char *packed) = {{{table}}};", "ways[number](source, packed);"]
    sizes = f"static const long sizes[] = {{{', '.join(str(packed_bytes(prepared.constant)) for prepared in file.prepared)}}};"
    return [
        *ways,
        function(f"{EXPORTED} long {file.entry_point}_packed_bytes(long number)", [sizes, "return sizes[number];"]),
        function(f"{EXPORTED} void {file.entry_point}_prepare(long number, const void *source, char *packed)", lines),
    ]


def emit_packing(file: File) -> str:
    """A C file of the preparation alone. It calls no micro kernel, so that a CPU without the features of one may run it."""
    file = replace(file, dialect=dialects()["portable"])
    return f"{comment(file.header)}\n{with_prelude(preparation_helpers(file), preparation(file))}"


def preparation_helpers(file: File) -> frozenset[Helper]:
    """The helpers that these functions call."""
    prepared = (with_texts(one, file.dialect) for one in file.prepared)
    return frozenset(node_helpers(walk(node for one in prepared for node in one.constant.body)))


def with_texts(prepared: Prepared, dialect: Dialect) -> Prepared:
    """With text in the place of copies."""
    return replace(prepared, constant=with_leaf_texts(prepared.constant, dialect))


def packed_bytes(constant: Region) -> int:
    """The size of what is packed."""
    (buffer,) = constant.buffers
    size = buffer.elements * element_bytes(buffer.dtype)
    assert isinstance(size, int), f"{buffer.name} has no size before a call"
    return size


def packed_from(constant: Region) -> View:
    """The tensor that a region packs."""
    return next(node.source for node in constant.nodes() if isinstance(node, Transfer))


def way_of_packing(prepared: Prepared) -> str:
    """What two constants have in common that are packed alike: a digest of all that the text depends on, without names."""
    described = replace(prepared, constant=prepared.constant.mapped(_described))
    return hashlib.sha256(without_names(COMMENT.sub("", _way("tw_pack", described))).encode()).hexdigest()


@record
class _Description(Lowered):
    lines: tuple[str, ...]

    def text(self) -> list[str]:
        """All that a copy depends on."""
        return list(self.lines)

    def helpers(self) -> list[Helper]:
        """None is called."""
        return []


def _described(node: Statement) -> tuple[Statement, ...]:
    if not isinstance(node, Transfer):
        return (node,)
    outer = {axis: (size, stride, node.source.stride(axis)) for axis, size, stride in node.outer}
    row, column = node.source.stride(node.depth_axis), node.source.stride(node.column_axis)
    shape = (node.depth, node.columns, node.panel_columns, node.panel_stride, node.target_row, node.interleave, row, column)
    places = [pointer(view.buffer, view.offset) for view in (node.source, node.target)]
    numbers = [to_c(number) for number in (*shape, *(number for numbers in outer.values() for number in numbers))]
    return (LeafText("", _Description((", ".join([node.source.dtype, *places, *numbers]),))),)


def _way(name: str, prepared: Prepared) -> str:
    (buffer,) = prepared.constant.buffers
    source, packed = C_TYPES[prepared.dtype], C_TYPES[buffer.dtype]
    pointers = [
        f"const {source} *const {prepared.source} = source;",
        f"{packed} *const {buffer_name(buffer.name)} = ({packed} *)packed; /* {buffer.note} */",
    ]
    return function(f"static void {name}(const void *source, char *packed)", [*pointers, *node_lines(prepared.constant.body)])


ENTRY_ARGUMENTS = "const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace"
FILE_CHARACTERS = 48_000
"""Of chains in one C file, tiles counted as `leaves/matrix_tiles/loops.py` says: 0.3 s of a compiler, whose start and vocabulary
take 0.04 s. Files are as small as that so that any number of cores gets a like share of them."""
LEAST_CHARACTERS = 48_000
"""Of chains, tiles and shared loops together: what has fewer is one file, for readers, and compilers inline loops that have one
caller."""

OPTIMIZED = '#ifndef __clang__\n#pragma GCC optimize("{}")\n#endif'
NOT_OPTIMIZED, HARDLY_OPTIMIZED = OPTIMIZED.format("O0"), OPTIMIZED.format("Og") + "\n"
"""Before a list of calls, and before loops around calls: gcc takes half of the time for them so."""


@record
class Emitted:
    """The C file of the entry points, the C files linked with it, and the micro kernels that they call."""

    text: str
    linked: tuple[KernelSource, ...] = ()
    kernels: tuple[KernelSource, ...] = ()
    """Translation units that other libraries have as well."""


def emit_files(file: File) -> Emitted:
    """A program in as many C files as its text fills; a small one in one file."""
    routines, chosen = _routines(file)
    called = list(dict.fromkeys(chosen))
    if not _is_large(file, called):
        return _whole(file, routines, chosen)
    parts = [(part, only_calls) for only_calls in (False, True) for part in _divided(file, called, only_calls=only_calls)]
    files = [
        _file(file, part, [*map(nest_declaration, _nests(part)), *(one.text for one in part)], only_calls=only_calls)
        for part, only_calls in parts
    ]
    declared = [routine.declaration for part, _ in parts for routine in part]
    packing, packing_nests = linked_preparation(file)
    text, _ = _file(file, [], [NOT_OPTIMIZED, *declared, "", *_entry(file, routines, chosen), *packing])
    nests = [linked_nest(nest) for nest in unambiguous([*_nests(called), *packing_nests])]
    kernels = dict.fromkeys([*nests, *(kernel for _, linked in files for kernel in linked)])
    return Emitted(text, tuple(KernelSource(SourceKind.C, text) for text, _ in files), tuple(kernels))


def emit_file(file: File) -> Emitted:
    """The same in one file: it ends with the functions of all chains and the entry points."""
    return _whole(file, *_routines(file))


def _whole(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> Emitted:
    """One C file with everything."""
    chains = _chains_and_entry(file, routines, chosen)
    text, kernels = _file(file, list(dict.fromkeys(chosen)), chains, preparation_helpers(file))
    return Emitted(text, kernels=kernels)


def _routines(file: File) -> tuple[list[Routine], list[Routine]]:
    """Those of all nests, and for each the one that is called in its place: only such a one has a text."""
    first: dict[Structure | str, tuple[RoutineSource, Routine]] = {}
    routines, sizes = [], dict(file.definitions)
    for nest in file.nests:
        known = first.get(nest.structure or nest.region.name)
        routines.append(routine_of(file, nest) if known is None else routine_like(nest, *known, sizes))
        first.setdefault(nest.structure or nest.region.name, (nest, routines[-1]))
    return routines, shared(routines)


def _chains_and_entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    called = dict.fromkeys(chosen)
    return [*map(nest_text, _nests(called)), *map(_static, called), *_entry(file, routines, chosen), *preparation(file)]


def _nests(routines: Iterable[Routine]) -> list[OperatorNest]:
    """The shared loops that routines call, one of equal text."""
    return unambiguous(nest for routine in routines for nest in routine.nests.values())


def _static(routine: Routine) -> str:
    return routine.text.replace(f"\nvoid {routine.name}_run(", f"\nstatic void {routine.name}_run(")


def _file(
    file: File,
    routines: Sequence[Routine],
    functions: Sequence[str],
    helpers: frozenset[Helper] = frozenset(),
    *,
    only_calls: bool = False,
) -> tuple[str, tuple[KernelSource, ...]]:
    """One C file: the prelude of these routines and helpers, the micro kernels that they call, and the functions.

    `only_calls` says that these are loops around calls, unless tiles are inlined.
    """
    called = functions_of(file, (leaf for routine in routines for leaf in routine.leaves))
    inlined = inlined_texts(called.inlined)
    used = helpers.union(inlined.helpers, *(routine.helpers for routine in routines))
    text = (HARDLY_OPTIMIZED if only_calls and not inlined.text else "") + with_prelude(
        used, [inlined.text, *called.text, *functions]
    )
    return f"{comment(file.header)}\n{text}", tuple(map(rendered, called.linked))


@dataclass(slots=True)
class _Part:
    """The routines of one file, the functions that tile for them, and the characters of both."""

    routines: list[Routine]
    tiles: dict[str, int]
    characters: int = 0

    def grown(self, routine: Routine, tiles: Mapping[str, int]) -> int:
        """The characters with another routine, which may find its tiles here."""
        return self.characters + len(routine.text) + sum(weight for name, weight in tiles.items() if name not in self.tiles)

    def add(self, routine: Routine, tiles: Mapping[str, int]) -> None:
        """Take another routine in."""
        self.characters = self.grown(routine, tiles)
        self.tiles |= tiles
        self.routines.append(routine)


def _is_large(file: File, routines: Sequence[Routine]) -> bool:
    """Whether a program is more than one file, and links its shared loops."""
    nests = sum(len(nest_text(nest)) for nest in _nests(routines))
    return file.links_kernels and len(routines) > 1 and nests + _whole_part(file, routines).characters >= LEAST_CHARACTERS


def _divided(file: File, routines: Sequence[Routine], *, only_calls: bool) -> list[list[Routine]]:
    """The routines that are only calls, or the others, by file, each in their order: as many files as the text fills, the largest
    routine first into the smallest."""
    routines = [routine for routine in routines if routine.only_calls is only_calls]
    tiles = {routine: _weights(file, routine) for routine in routines}
    count = min(len(routines), max(1, round(_whole_part(file, routines).characters / FILE_CHARACTERS)))
    parts = [_Part([], {}) for _ in range(count)]
    for routine in sorted(routines, key=lambda routine: -_Part([], {}).grown(routine, tiles[routine])):
        min(parts, key=lambda part: part.grown(routine, tiles[routine])).add(routine, tiles[routine])
    position = {routine: number for number, routine in enumerate(routines)}
    return [sorted(part.routines, key=position.__getitem__) for part in parts]


def _whole_part(file: File, routines: Sequence[Routine]) -> _Part:
    """All routines in one file."""
    whole = _Part([], {})
    for routine in routines:
        whole.add(routine, _weights(file, routine))
    return whole


def _weights(file: File, routine: Routine) -> dict[str, int]:
    """What the loops over tiles that a routine calls cost a compiler, by name."""
    return characters(file, routine.leaves)


def _entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    """The driver: every chain in order, with its own pointers and sizes."""
    workspace = [f"return {to_c(file.workspace_words * WORD_BYTES)};"]
    lines: list[str] = []
    for routine, called, last in zip(routines, chosen, file.ends, strict=True):
        lines.append(_statement(routine, called))
        lines += [f"if (context->chain_done) context->chain_done(context->pool, {last});"] if last is not None else []
    size = f"{EXPORTED} long {file.entry_point}_workspace_bytes(const long *sizes)"
    return [
        function(size, _entered(file, ["sizes"], workspace)),
        function(f"{EXPORTED} void {file.entry_point}({ENTRY_ARGUMENTS})", _entered(file, ["sizes", "workspace"], lines)),
    ]


def _entered(file: File, arguments: list[str], lines: list[str]) -> list[str]:
    """The lines behind the run-time sizes that they mention; compilers do not warn of the others."""
    body = defined(file.definitions, file.bounds, lines)
    mentioned = words(body)
    return [*(f"(void){name};" for name in arguments if name not in mentioned), *body]


def _statement(routine: Routine, chosen: Routine) -> str:
    pointers = f"(void *const[]){{{', '.join(routine.pointers)}}}" if routine.pointers else "0"
    sizes = f"(const long[]){{{', '.join(routine.sizes)}}}" if routine.sizes else "0"
    remark = f" /* {routine.name} */" if routine is not chosen else ""
    return f"{chosen.name}_run(context, {pointers}, {sizes});{remark}"
