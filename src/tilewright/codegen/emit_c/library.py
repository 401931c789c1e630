"""The C text of a whole program: routines, each once, in one file or several, and the driver that runs them in order.

Every file holds the prelude and the micro kernels that its routines need, with the loops that tile them. The driver
passes every chain its pointers and sizes. No text imports a symbol from outside the library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.codegen.emit_c.c_file import File
from tilewright.codegen.emit_c.c_text import comment, function, words
from tilewright.codegen.emit_c.constant_packing import preparation, preparation_helpers
from tilewright.codegen.emit_c.epilogues import kernel_epilogue
from tilewright.codegen.emit_c.nest import FLOAT_BYTES, defined, nest_helpers, routine
from tilewright.codegen.emit_c.prelude import prelude
from tilewright.codegen.emit_c.routines import Routine, shared
from tilewright.codegen.emit_c.tile_loops import (
    by_kernel,
    function_declaration,
    inlined_declaration,
    may_inline,
    tile_shapes,
    tiles_functions,
    tiles_weights,
)
from tilewright.codegen.expressions import multiply, to_c
from tilewright.codegen.loop_nest import KernelCall
from tilewright.kernels.contract import KernelSource, MicroKernel, SourceKind
from tilewright.kernels.helpers import Helper

EXPORTED = '__attribute__((visibility("default")))'
ENTRY_ARGUMENTS = "const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace"
FILE_CHARACTERS = 48_000
"""Of chains in one C file, tiles counted as `tile_loops.tiles_weights` says: 0.3 s of a compiler, whose start and vocabulary
take 0.04 s. Files are as small as that so that any number of cores gets a like share of them."""
LEAST_FILES = 2
"""What fills fewer is one file, for readers: it takes half a second."""


def emit_files(file: File) -> tuple[str, tuple[KernelSource, ...]]:
    """The C text, and what is compiled on its own and linked with it: more files, kernels that are not C of the same dialect."""
    routines, chosen = _routines(file)
    parts = _divided(file, list(dict.fromkeys(chosen)))
    if len(parts) == 1:
        return _whole(file, routines, chosen)
    texts = [_file(file, part, [one.text for one in part])[0] for part in parts]
    _, linked = _kernels(file, [call for part in parts for one in part for call in one.calls])
    declared = [one.declaration for part in parts for one in part]
    main = [*declared, "", *_entry(file, routines, chosen), *preparation(file)]
    return _file(file, [], main, preparation_helpers(file))[0], (*(KernelSource(SourceKind.C, text) for text in texts), *linked)


def emit_file(file: File) -> tuple[str, tuple[KernelSource, ...]]:
    """The same in one file: it ends with `chains_and_entry`."""
    return _whole(file, *_routines(file))


def chains_and_entry(file: File, *, share: bool = True) -> list[str]:
    """The functions of all chains and the entry points: what follows the prelude and the kernels in a file."""
    routines, chosen = _routines(file)
    return _chains_and_entry(file, routines, chosen if share else routines)


def helpers(file: File) -> frozenset[Helper]:
    """The helpers that all these functions call."""
    return preparation_helpers(file).union(*(nest_helpers(nest, file.dialect.lanes) for nest, _ in file.nests))


def _whole(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> tuple[str, tuple[KernelSource, ...]]:
    """One C file with everything."""
    chains = _chains_and_entry(file, routines, chosen)
    return _file(file, list(dict.fromkeys(chosen)), chains, preparation_helpers(file))


def _routines(file: File) -> tuple[list[Routine], list[Routine]]:
    """Those of all nests, and for each the one that is called in its place."""
    routines = [routine(file, nest, arguments) for nest, arguments in file.nests]
    return routines, shared(routines)


def _chains_and_entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    return [*map(_static, dict.fromkeys(chosen)), *_entry(file, routines, chosen), *preparation(file)]


def _static(one: Routine) -> str:
    return one.text.replace(f"\nvoid {one.name}_run(", f"\nstatic void {one.name}_run(")


def _file(
    file: File, routines: Sequence[Routine], functions: Sequence[str], helpers: frozenset[Helper] = frozenset()
) -> tuple[str, tuple[KernelSource, ...]]:
    """One C file: the prelude of these routines and helpers, the micro kernels that they call, and the functions."""
    kernel_text, linked = _kernels(file, [call for one in routines for call in one.calls])
    used = helpers.union(*(one.helpers for one in routines))
    return "\n".join([comment(file.header), *prelude(file.dialect, used), *kernel_text, *functions]), linked


def _kernels(file: File, calls: list[KernelCall]) -> tuple[list[str], tuple[KernelSource, ...]]:
    """The text of every kernel used, then of all that tile them; kernels in another dialect are declared, and linked."""
    text: list[str] = []
    tiles: list[str] = []
    linked: list[KernelSource] = []
    for name, own in by_kernel(calls).items():
        kernel, epilogue, prefetching = file.kernels[own[0].kernel], kernel_epilogue(own[0]), own[0].prefetching
        source = kernel.source(name, _variants(kernel, own), epilogue, prefetching=prefetching)
        is_here = source.kind is SourceKind.C and str(source.content).startswith(file.dialect.prelude)
        if is_here:
            declaration = inlined_declaration if may_inline(kernel, own) else function_declaration
            text.append(declaration(name, epilogue, prefetching))
            text.append(str(source.content).removeprefix(file.dialect.prelude))
        else:
            text.append(kernel.declaration(name, epilogue))
            linked.append(source)
        tiles += tiles_functions(kernel, [call for call in own if call in calls], by_shape=is_here)
    return [*text, *tiles], tuple(dict.fromkeys(linked))


def _variants(kernel: MicroKernel, calls: list[KernelCall]) -> frozenset[tuple[int, int]]:
    """The (rows, vectors) that the calls need."""
    wanted = {(m, -(-columns // kernel.lanes)) for call in calls for m, columns in tile_shapes(kernel, call)}
    return frozenset(wanted) or frozenset({(1, 1)})


@dataclass(slots=True)
class _Part:
    """The routines of one file, the functions that tile for them, and the characters of both."""

    routines: list[Routine]
    tiles: dict[str, int]
    characters: int = 0

    def grown(self, one: Routine, tiles: Mapping[str, int]) -> int:
        """The characters with another routine, which may find its tiles here."""
        return self.characters + len(one.text) + sum(weight for name, weight in tiles.items() if name not in self.tiles)

    def add(self, one: Routine, tiles: Mapping[str, int]) -> None:
        """Take another routine in."""
        self.characters = self.grown(one, tiles)
        self.tiles |= tiles
        self.routines.append(one)


def _divided(file: File, routines: Sequence[Routine]) -> list[list[Routine]]:
    """The routines by file, each in their order: as many files as the text fills, the largest routine first into the smallest."""
    tiles = {one: tiles_weights(file.kernels, one.calls) for one in routines}
    whole = _Part([], {})
    for one in routines:
        whole.add(one, tiles[one])
    count = min(len(routines), round(whole.characters / FILE_CHARACTERS))
    if count < LEAST_FILES:
        return [list(routines)]
    parts = [_Part([], {}) for _ in range(count)]
    for one in sorted(routines, key=lambda one: -_Part([], {}).grown(one, tiles[one])):
        min(parts, key=lambda part: part.grown(one, tiles[one])).add(one, tiles[one])
    position = {one: number for number, one in enumerate(routines)}
    return [sorted(part.routines, key=position.__getitem__) for part in parts]


def _entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    """The driver: every chain in order, with its own pointers and sizes."""
    workspace = [f"return {to_c(multiply(file.workspace_elements, FLOAT_BYTES))};"]
    lines: list[str] = []
    for own, called, last in zip(routines, chosen, file.ends, strict=True):
        lines.append(_statement(own, called))
        lines += [f"if (context->chain_done) context->chain_done(context->pool, {last});"] if last is not None else []
    size = f"{EXPORTED} long {file.entry_point}_workspace_bytes(const long *sizes)"
    return [
        function(size, _entered(file, ["sizes"], workspace)),
        function(f"{EXPORTED} void {file.entry_point}({ENTRY_ARGUMENTS})", _entered(file, ["sizes", "workspace"], lines)),
    ]


def _entered(file: File, arguments: list[str], lines: list[str]) -> list[str]:
    """The lines behind the run-time sizes that they mention; compilers do not warn of the others."""
    body = defined(file.definitions, file.bounds, lines)
    return [*(f"(void){name};" for name in arguments if name not in words(body)), *body]


def _statement(own: Routine, chosen: Routine) -> str:
    pointers = f"(void *const[]){{{', '.join(own.pointers)}}}" if own.pointers else "0"
    sizes = f"(const long[]){{{', '.join(own.sizes)}}}" if own.sizes else "0"
    remark = f" /* {own.name} */" if own is not chosen else ""
    return f"{chosen.name}_run(context, {pointers}, {sizes});{remark}"
