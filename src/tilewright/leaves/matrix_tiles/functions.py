"""The functions of micro kernels that a C file calls: linked ones are declared, inlined ones stand in the file.

A linked function is of one tile shape, with the epilogue of its calls or with none. It is a translation unit of its own, and its
text depends on nothing else: all libraries of a machine share what is compiled of it (`runtime/store/objects.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from tilewright.block.statements import MatrixTiles
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import PREFETCH_ARGUMENTS, Epilogue, MicroKernel, matrix_parameters
from tilewright.kernels.tile_ending import Case, dispatch_text
from tilewright.kernels.tile_sources import Programs
from tilewright.leaves.declaration import CFile, Functions, InlinedSource
from tilewright.leaves.matrix_tiles.block_programs import block_source, is_compiled
from tilewright.leaves.matrix_tiles.epilogues import kernel_epilogue
from tilewright.leaves.matrix_tiles.loops import (
    DECLARATIONS,
    by_kernel,
    has_tables,
    loops_name,
    loops_signature,
    loops_source,
    may_inline,
    tile_shapes,
    tiles_by_tables,
    tiles_declaration,
    tiles_functions,
    tiles_name,
)

MOST_UNITS = 256
"""Translation units that are remembered, of 2 to 8 kB."""


def tile_functions(file: CFile, calls: Sequence[MatrixTiles]) -> Functions:
    """All functions of tiles for the calls of a file, then all that loop over tiles."""
    text: list[str] = []
    tiles: list[str] = []
    linked: list[KernelSource] = []
    inlined: list[InlinedSource] = []
    loops: dict[str, tuple[MicroKernel, MatrixTiles]] = {}
    for name, of_kernel in by_kernel(calls).items():
        kernel = file.kernels[of_kernel[0].tile.micro_kernel]
        blocks = _blocks(file, kernel, [call for call in of_kernel if call in calls])
        text += blocks.text
        linked += blocks.linked
        of_kernel = [call for call in of_kernel if is_compiled(file, kernel, call)]
        if not of_kernel:
            continue
        functions = _inlined(file, kernel, name, of_kernel) or _linked(kernel, name, of_kernel)
        text += functions.text
        linked += functions.linked
        inlined += functions.inlined
        used = [call for call in of_kernel if call in calls]
        by_tables = [call for call in used if functions.linked and has_tables(kernel, call)]
        tiles += tiles_by_tables(kernel, by_tables)
        loops |= {loops_name(kernel, call): (kernel, call) for call in by_tables}
        by_shape = not functions.linked or kernel.emit_shape is not None
        tiles += tiles_functions(kernel, [call for call in used if call not in by_tables], by_shape=by_shape)
    if loops:
        text += [DECLARATIONS, *(f"extern {loops_signature(*named)};" for named in loops.values()), ""]
        linked += [loops_source(*named) for named in loops.values()]
    return Functions((*text, *tiles), tuple(dict.fromkeys(linked)), tuple(inlined))


def _blocks(file: CFile, kernel: MicroKernel, calls: Sequence[MatrixTiles]) -> Functions:
    """Functions of calls that are tile programs as a whole."""
    found = {tiles_name(call): (call, block_source(kernel, call)) for call in calls if not is_compiled(file, kernel, call)}
    return Functions(tuple(tiles_declaration(call) for call, _ in found.values()), tuple(source for _, source in found.values()))


def _inlined(file: CFile, kernel: MicroKernel, name: str, calls: list[MatrixTiles]) -> Functions | None:
    """The kernel as functions of the file, where the calls ask for it: None if it has no programs in its vectors, or too much.

    A kernel without functions of single shapes stands in every file that calls it: objects of two files would else define one
    function, each with the shapes of its calls.
    """
    if (
        file.links_kernels
        and kernel.emit_shape is not None
        and not all(call.inlined and may_inline(kernel, [call]) for call in calls)
    ):
        return None
    epilogue, prefetching = kernel_epilogue(calls[0]), calls[0].prefetching
    source = kernel.source(name, _variants(kernel, calls), epilogue, prefetching=prefetching, known=calls[0].known)
    if not isinstance(source.content, Programs) or source.content.vectors.vector_bits != file.dialect.vector_bits:
        return None
    return Functions(inlined=(InlinedSource(_needed(kernel, source, calls), may_inline(kernel, calls)),))


def _needed(kernel: MicroKernel, source: KernelSource, calls: list[MatrixTiles]) -> KernelSource:
    """The functions of the shapes that are called, without a choice among them where all are known."""
    if kernel.of_shape is None or any(call.shapes is None for call in calls):
        return source
    tiles = source.content
    assert isinstance(tiles, Programs)
    wanted = {kernel.of_shape(tiles.name, *shape)[0] for shape in _functions(kernel, calls).values()}
    shapes = tuple(one for one in tiles.shapes if f"{tiles.name}_{one.suffix}" in wanted)
    return replace(source, content=replace(tiles, shapes=shapes, choice=""))


def _linked(kernel: MicroKernel, name: str, calls: list[MatrixTiles]) -> Functions:
    """Declarations of the functions of all shapes, and what chooses among them where shapes are known at run time only.

    A kernel without such functions is linked as a whole.
    """
    epilogue, prefetching = kernel_epilogue(calls[0]), calls[0].prefetching
    if kernel.of_shape is None or kernel.emit_shape is None:
        source = kernel.source(name, _variants(kernel, calls), epilogue, prefetching=prefetching)
        return Functions((kernel.declaration(name, epilogue),), (source,))
    shapes = _functions(kernel, calls)
    declarations = [
        f"extern {kernel.shape_signature(name, m, n, epilogue, prefetching=prefetching)};" for m, n in shapes.values()
    ]
    is_chosen = any(call.shapes is None for call in calls)
    dispatch = [_dispatch(kernel, name, calls[0], shapes)] if is_chosen else []
    return Functions(
        (*declarations, "", *dispatch), tuple(_unit(kernel, name, m, n, epilogue, prefetching) for m, n in shapes.values())
    )


@lru_cache(maxsize=MOST_UNITS)
def _unit(kernel: MicroKernel, name: str, m: int, n: int, epilogue: Epilogue | None, prefetching: bool) -> KernelSource:
    """`MicroKernel.emit_shape`: asked for when a chain is planned, to be compiled ahead, and when its library is written."""
    assert kernel.emit_shape is not None
    return kernel.emit_shape(name, m, n, epilogue, prefetching)


def _functions(kernel: MicroKernel, calls: Iterable[MatrixTiles]) -> dict[tuple[int, int, bool], tuple[int, int]]:
    """For the (rows, vectors, last vector in part) of every function that the calls need, a shape that it computes."""
    shapes = sorted({shape for call in calls for shape in tile_shapes(kernel, call)}, reverse=True)
    return {(m, -(-n // kernel.lanes), n % kernel.lanes != 0): (m, n) for m, n in shapes}


def _dispatch(kernel: MicroKernel, name: str, call: MatrixTiles, shapes: dict[tuple[int, int, bool], tuple[int, int]]) -> str:
    """The function of the ABI, from the functions of the shapes that occur."""
    assert kernel.of_shape is not None
    epilogue = kernel_epilogue(call)
    product = [name for name in matrix_parameters(kernel.element_types) if name not in ("m", "n")]
    more = (*(epilogue.arguments() if epilogue is not None else ()), *(PREFETCH_ARGUMENTS if call.prefetching else ()))
    arguments = ", ".join((*product, *more))
    cases: list[Case] = []
    for (rows, vectors, is_edge), shape in shapes.items():
        function, _ = kernel.of_shape(name, *shape)
        cases.append((rows, vectors, is_edge, f"{function}({arguments}{', last' * is_edge})"))
    signature = f"static __attribute__((noinline)) {kernel.signature(name, epilogue, prefetching=call.prefetching)}"
    return dispatch_text(signature, cases, kernel.lanes)


def _variants(kernel: MicroKernel, calls: list[MatrixTiles]) -> frozenset[tuple[int, int]]:
    """The (rows, vectors) that the calls need."""
    wanted = {(m, -(-columns // kernel.lanes)) for call in calls for m, columns in tile_shapes(kernel, call)}
    return frozenset(wanted) or frozenset({(1, 1)})
