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
from tilewright.codegen.emit_c.nest import defined, nest_helpers, routine_of
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
from tilewright.codegen.loop_nest import FLOAT_BYTES, KernelCall
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
    texts = [_file(file, part, [routine.text for routine in part])[0] for part in parts]
    _, linked = _kernels(file, [call for part in parts for routine in part for call in routine.calls])
    declared = [routine.declaration for part in parts for routine in part]
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
    routines = [routine_of(file, nest, arguments) for nest, arguments in file.nests]
    return routines, shared(routines)


def _chains_and_entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    return [*map(_static, dict.fromkeys(chosen)), *_entry(file, routines, chosen), *preparation(file)]


def _static(routine: Routine) -> str:
    return routine.text.replace(f"\nvoid {routine.name}_run(", f"\nstatic void {routine.name}_run(")


def _file(
    file: File, routines: Sequence[Routine], functions: Sequence[str], helpers: frozenset[Helper] = frozenset()
) -> tuple[str, tuple[KernelSource, ...]]:
    """One C file: the prelude of these routines and helpers, the micro kernels that they call, and the functions."""
    kernel_text, linked = _kernels(file, [call for routine in routines for call in routine.calls])
    used = helpers.union(*(routine.helpers for routine in routines))
    return "\n".join([comment(file.header), *prelude(file.dialect, used), *kernel_text, *functions]), linked


def _kernels(file: File, calls: list[KernelCall]) -> tuple[list[str], tuple[KernelSource, ...]]:
    """The text of every kernel used, then of all that tile them; kernels in another dialect are declared, and linked."""
    text: list[str] = []
    tiles: list[str] = []
    linked: list[KernelSource] = []
    for name, kernel_calls in by_kernel(calls).items():
        kernel, epilogue, prefetching = (
            file.kernels[kernel_calls[0].kernel],
            kernel_epilogue(kernel_calls[0]),
            kernel_calls[0].prefetching,
        )
        source = kernel.source(name, _variants(kernel, kernel_calls), epilogue, prefetching=prefetching)
        is_here = source.kind is SourceKind.C and str(source.content).startswith(file.dialect.prelude)
        if is_here:
            declaration = inlined_declaration if may_inline(kernel, kernel_calls) else function_declaration
            text.append(declaration(kernel.signature(name, epilogue, prefetching=prefetching)))
            text.append(str(source.content).removeprefix(file.dialect.prelude))
        else:
            text.append(kernel.declaration(name, epilogue))
            linked.append(source)
        tiles += tiles_functions(kernel, [call for call in kernel_calls if call in calls], by_shape=is_here)
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

    def grown(self, routine: Routine, tiles: Mapping[str, int]) -> int:
        """The characters with another routine, which may find its tiles here."""
        return self.characters + len(routine.text) + sum(weight for name, weight in tiles.items() if name not in self.tiles)

    def add(self, routine: Routine, tiles: Mapping[str, int]) -> None:
        """Take another routine in."""
        self.characters = self.grown(routine, tiles)
        self.tiles |= tiles
        self.routines.append(routine)


def _divided(file: File, routines: Sequence[Routine]) -> list[list[Routine]]:
    """The routines by file, each in their order: as many files as the text fills, the largest routine first into the smallest."""
    tiles = {routine: tiles_weights(file.kernels, routine.calls) for routine in routines}
    whole = _Part([], {})
    for routine in routines:
        whole.add(routine, tiles[routine])
    count = min(len(routines), round(whole.characters / FILE_CHARACTERS))
    if count < LEAST_FILES:
        return [list(routines)]
    parts = [_Part([], {}) for _ in range(count)]
    for routine in sorted(routines, key=lambda routine: -_Part([], {}).grown(routine, tiles[routine])):
        min(parts, key=lambda part: part.grown(routine, tiles[routine])).add(routine, tiles[routine])
    position = {routine: number for number, routine in enumerate(routines)}
    return [sorted(part.routines, key=position.__getitem__) for part in parts]


def _entry(file: File, routines: Sequence[Routine], chosen: Sequence[Routine]) -> list[str]:
    """The driver: every chain in order, with its own pointers and sizes."""
    workspace = [f"return {to_c(multiply(file.workspace_elements, FLOAT_BYTES))};"]
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
    return [*(f"(void){name};" for name in arguments if name not in words(body)), *body]


def _statement(routine: Routine, chosen: Routine) -> str:
    pointers = f"(void *const[]){{{', '.join(routine.pointers)}}}" if routine.pointers else "0"
    sizes = f"(const long[]){{{', '.join(routine.sizes)}}}" if routine.sizes else "0"
    remark = f" /* {routine.name} */" if routine is not chosen else ""
    return f"{chosen.name}_run(context, {pointers}, {sizes});{remark}"
