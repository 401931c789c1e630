"""C text of shared loop nests: a function of pointers and numbers for every nest, named by its text.

It stands in the file that calls it, or is a translation unit of its own, which libraries share as they do micro kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from tilewright.codegen.emit_c.c_file import SMALLER_AND_LARGER
from tilewright.codegen.emit_c.c_text import function
from tilewright.codegen.emit_c.packing import copy_helper, copy_lines
from tilewright.codegen.emit_c.scalar_loops import emit_scalar_loops, scalar_loop_helpers
from tilewright.codegen.emit_c.vectors.loops import emit_vector_loops, vector_loop_helpers
from tilewright.codegen.loop_nest import Copy, OperatorNest, VectorLoops
from tilewright.errors import InternalError
from tilewright.kernels.contract import KernelSource, SourceKind
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.helpers import Helper, texts
from tilewright.kernels.translation_units import WEAK, unit_text

NAME_DIGITS = 8
"""Of the hash that names a nest."""
MOST_REMEMBERED = 1024
"""Nests whose text is kept: large models have some hundred."""


@lru_cache(MOST_REMEMBERED)
def nest_name(nest: OperatorNest) -> str:
    """The function of a nest: equal for equal text, in all programs."""
    kind = "pack" if isinstance(nest.loops, Copy) else "map" if nest.loops.operator.reduction is None else "rows"
    return f"{kind}_{hashlib.sha256(_text(nest, '').encode()).hexdigest()[:NAME_DIGITS]}"


@lru_cache(MOST_REMEMBERED)
def nest_text(nest: OperatorNest) -> str:
    """The definition of that function, for the file that calls it."""
    return _text(nest, nest_name(nest))


@lru_cache(MOST_REMEMBERED)
def linked_nest(nest: OperatorNest, dialect: VectorDialect) -> KernelSource:
    """The translation unit of that function."""
    helpers = texts(loop_helpers(nest, dialect.lanes))
    definition = function(f"{WEAK} {_signature(nest, nest_name(nest))}", _lines(nest))
    return KernelSource(SourceKind.C, unit_text(dialect, (SMALLER_AND_LARGER, *helpers, definition)), joins=True)


def nest_declaration(nest: OperatorNest) -> str:
    """For the file that calls the function of another translation unit."""
    return f"extern {_signature(nest, nest_name(nest))};"


def unambiguous(nests: Iterable[OperatorNest]) -> list[OperatorNest]:
    """Of nests of equal text the first. Raises `InternalError` for two texts of one name: either would be linked."""
    found: dict[str, OperatorNest] = {}
    for nest in nests:
        name = nest_name(nest)
        if nest_text(found.setdefault(name, nest)) != nest_text(nest):
            raise InternalError(f"two functions of shared loops are called {name}", dump=nest_text(nest))
    return list(found.values())


def loop_helpers(nest: OperatorNest, lanes: int) -> list[Helper]:
    """The helpers that the function calls, in vectors of so many lanes."""
    return [copy_helper(nest.loops)] if isinstance(nest.loops, Copy) else vector_loops_helpers(nest.loops, lanes)


def vector_loops_lines(loops: VectorLoops) -> list[str]:
    """The statements of a map or a row-wise reduction, in vectors or point by point."""
    return emit_scalar_loops(loops) if loops.scalar_element_type else emit_vector_loops(loops)


def vector_loops_helpers(loops: VectorLoops, lanes: int) -> list[Helper]:
    """The helpers that they call, in vectors of so many lanes."""
    return scalar_loop_helpers(loops) if loops.scalar_element_type else vector_loop_helpers(loops, lanes)


def _text(nest: OperatorNest, name: str) -> str:
    return function(f"static {_signature(nest, name)}", _lines(nest))


def _signature(nest: OperatorNest, name: str) -> str:
    pointers = (f"{'' if p.is_written else 'const '}{C_TYPES[p.dtype]} *const {p.name}" for p in nest.pointers)
    return f"void {name}({', '.join([*pointers, *(f'const long {number}' for number in nest.numbers)])})"


def _lines(nest: OperatorNest) -> list[str]:
    return copy_lines(nest.loops) if isinstance(nest.loops, Copy) else vector_loops_lines(nest.loops)
