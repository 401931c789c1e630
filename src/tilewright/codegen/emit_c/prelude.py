"""What a C file needs for elements of other types than float32: their loads and stores in vectors, and exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.codegen.emit_c.c_file import Argument, File
from tilewright.codegen.emit_c.scalar_loops import functions_of
from tilewright.codegen.loop_nest import LoopNest, VectorLoops
from tilewright.kernels.element_access import reading, touching, writing
from tilewright.kernels.functions.compensated_sums import total_functions
from tilewright.kernels.functions.lane_functions import lane_functions, touched_lane_functions
from tilewright.kernels.functions.scalar_functions import exact_vocabulary


def element_vocabulary(file: File) -> list[str]:
    """The functions by which the loops of a file read, compute and store."""
    vectors = [argument for nest, arguments in file.nests if not _is_exact(nest) for argument in arguments]
    written = (argument.dtype for argument in vectors if argument.is_written)
    reads = reading(argument.dtype for argument in vectors)
    return [*reads, *writing(written), *lane_functions(_functions(file)), *_exact(file, touches=False), *_totals(file)]


def touched_vocabulary(file: File) -> list[str]:
    """The same for traces of memory accesses."""
    touches = touching(argument.dtype for argument in _arguments(file))
    return [*touches, *touched_lane_functions(_functions(file)), *_exact(file, touches=True), *_totals(file)]


def _arguments(file: File) -> Iterator[Argument]:
    return (argument for _, arguments in file.nests for argument in arguments)


def _loops(file: File) -> Iterator[VectorLoops]:
    return (node for nest, _ in file.nests for node in nest.nodes() if isinstance(node, VectorLoops))


def _functions(file: File) -> frozenset[str]:
    """All scalar functions of vectors."""
    return frozenset(name for one in _loops(file) if not one.exact_type for name in functions_of(one))


def _totals(file: File) -> list[str]:
    return total_functions(one.exact_type for one in _loops(file) if one.block_steps)


def _exact(file: File, touches: bool) -> list[str]:
    nests = [(nest, arguments) for nest, arguments in file.nests if _is_exact(nest)]
    loops = [one for nest, _ in nests for one in _exact_loops(nest)]
    elements = {argument.dtype for _, arguments in nests for argument in arguments}
    functions = {name for one in loops for name in functions_of(one)}
    return exact_vocabulary({one.exact_type for one in loops}, elements, functions, touches) if loops else []


def _is_exact(nest: LoopNest) -> bool:
    return any(_exact_loops(nest))


def _exact_loops(nest: LoopNest) -> Iterator[VectorLoops]:
    return (node for node in nest.nodes() if isinstance(node, VectorLoops) and node.exact_type)
