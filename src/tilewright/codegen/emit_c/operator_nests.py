"""C text of shared loop nests: a function of pointers and numbers for every nest, named by its text."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from tilewright.codegen.emit_c.c_text import function
from tilewright.codegen.emit_c.packing import copy_lines
from tilewright.codegen.emit_c.scalar_loops import emit_scalar_loops, scalar_loop_helpers
from tilewright.codegen.emit_c.vectors.loops import emit_vector_loops, vector_loop_helpers
from tilewright.codegen.loop_nest import Copy, OperatorNest, VectorLoops
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.helpers import Helper

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
    """The definition of that function."""
    return _text(nest, nest_name(nest))


def vector_loops_lines(loops: VectorLoops) -> list[str]:
    """The statements of a map or a row-wise reduction, in vectors or point by point."""
    return emit_scalar_loops(loops) if loops.scalar_element_type else emit_vector_loops(loops)


def vector_loops_helpers(loops: VectorLoops, lanes: int) -> list[Helper]:
    """The helpers that they call, in vectors of so many lanes."""
    return scalar_loop_helpers(loops) if loops.scalar_element_type else vector_loop_helpers(loops, lanes)


def _text(nest: OperatorNest, name: str) -> str:
    pointers = (f"{'' if p.is_written else 'const '}{C_TYPES[p.dtype]} *const {p.name}" for p in nest.pointers)
    given = ", ".join([*pointers, *(f"const long {number}" for number in nest.numbers)])
    lines = copy_lines(nest.loops) if isinstance(nest.loops, Copy) else vector_loops_lines(nest.loops)
    return function(f"static void {name}({given})", lines)
