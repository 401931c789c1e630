"""C text of vectors of integers: the middle of the innermost loop of a map in int32, whose rest is point by point.

Lanes are unsigned in C, where sums, differences and products wrap, as those of int32 do in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tilewright.codegen.emit_c.c_text import indent
from tilewright.codegen.emit_c.whole_expressions import NATURALS, natural_text
from tilewright.codegen.loop_nest import VectorLoops, View
from tilewright.graph.exactness import has_integer_lanes
from tilewright.kernels.element_access import C_TYPES, TOUCH_BYTES, whole_numbers
from tilewright.kernels.helpers import Helper

Lines = list[str]
ACCESS = """\
TW_INLINE tw_naturals tw_load_naturals_@NAME@(const @TYPE@ *p) { return (tw_naturals)tw_load_whole_@NAME@(p); }
TW_INLINE void tw_store_naturals_@NAME@(@TYPE@ *p, tw_naturals v) { tw_store_whole_@NAME@(p, (tw_int)v); }
"""
TOUCHES = """\
TW_INLINE tw_naturals tw_load_naturals_@NAME@(const @TYPE@ *p) { tw_touch_bytes(p, TW_LANES * sizeof *p); return 0; }
TW_INLINE void tw_store_naturals_@NAME@(@TYPE@ *p, tw_naturals v) { (void)v; tw_touch_written(p, TW_LANES * sizeof *p); }
"""


def has_vectors(loops: VectorLoops) -> bool:
    """Whether a map is computed in vectors of integers: its operands lie side by side, or are the same for the whole vector."""
    types = [operand.dtype for operand in (*loops.reads, loops.write)]
    if loops.vector_axis is None or not has_integer_lanes(loops.operator, types[:-1], types[-1]):
        return False
    strides = [operand.stride(loops.vector_axis) for operand in loops.reads if isinstance(operand, View)]
    return len(strides) == len(loops.reads) and set(strides) <= {0, 1} and loops.write.stride(loops.vector_axis) == 1


def vector_lines(loops: VectorLoops, address: Callable[[View], str]) -> Lines:
    """The statements of TW_LANES points, at the addresses of the first of them."""
    lines = [f"const tw_naturals vector_{read} = {_load(loops, read, address)};" for read in range(len(loops.reads))]
    value = natural_text(loops.operator.body, "vector_{}".format)
    return [*lines, f"tw_store_naturals_{loops.write.dtype}({address(loops.write)}, {value});"]


def in_vectors(index: str, size: str, vectors: Lines, point: Lines) -> Lines:
    """A loop over whole vectors, and one over the points that are left."""
    return [
        "{",
        *indent(
            [
                f"long {index} = 0;",
                f"for (; {index} + TW_LANES <= {size}; {index} += TW_LANES) {{",
                *indent(vectors),
                "}",
                f"for (; {index} < {size}; {index}++) {{",
                *indent(point),
                "}",
            ]
        ),
        "}",
    ]


def integer_helpers(loops: VectorLoops) -> list[Helper]:
    """The helpers that these lines call."""
    return [_access(operand.dtype) for operand in (*loops.reads, loops.write)] if has_vectors(loops) else []


@cache
def _access(dtype: str) -> Helper:
    def named(text: str) -> str:
        return text.replace("@NAME@", dtype).replace("@TYPE@", C_TYPES[dtype])

    name = f"tw_naturals_{dtype}"
    traced = Helper(name, named(TOUCHES), (NATURALS.traced or NATURALS, TOUCH_BYTES))
    return Helper(name, named(ACCESS), (NATURALS, whole_numbers(dtype)), traced)


def _load(loops: VectorLoops, read: int, address: Callable[[View], str]) -> str:
    operand = loops.reads[read]
    assert isinstance(operand, View)
    is_splat = operand.stride(loops.vector_axis) == 0
    element = f"tw_get_{operand.dtype}({address(operand)})"
    return f"tw_splat_natural({element})" if is_splat else f"tw_load_naturals_{operand.dtype}({address(operand)})"
