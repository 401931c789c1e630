"""C text of vectors of integers: the middle of the innermost loop of a map in int32, whose rest is point by point.

Lanes are unsigned in C, where sums, differences and products wrap, as those of int32 do in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache

from tilewright.codegen.emit_c.c_text import indent
from tilewright.codegen.emit_c.scalar_expressions import NATURALS, natural_text
from tilewright.codegen.loop_nest import VectorLoops, View
from tilewright.graph.exactness import has_integer_lanes, sums_in_integer_lanes
from tilewright.kernels.element_access import C_TYPES, whole_numbers
from tilewright.kernels.helpers import Helper, filled

Lines = list[str]
ACCESS = """\
TW_INLINE tw_naturals tw_load_naturals_@NAME@(const @TYPE@ *p) { return (tw_naturals)tw_load_whole_@NAME@(p); }
TW_INLINE void tw_store_naturals_@NAME@(@TYPE@ *p, tw_naturals v) { tw_store_whole_@NAME@(p, (tw_int)v); }
"""
FOLD = Helper(
    "tw_fold_naturals",
    """\
TW_INLINE int tw_fold_naturals(tw_naturals v) {
  unsigned sum = 0;
  for (long i = 0; i < TW_LANES; i++)
    sum += v[i];
  return (int)sum;
}
""",
    (NATURALS,),
)
"""The sum of all lanes, which wraps."""


def has_vectors(loops: VectorLoops) -> bool:
    """Whether a map is computed in vectors of integers: its operands lie side by side, or are the same for the whole vector."""
    types = [operand.dtype for operand in (*loops.reads, loops.write)]
    if loops.vector_axis is None or not has_integer_lanes(loops.operator, types[:-1], types[-1]):
        return False
    strides = [operand.stride(loops.vector_axis) for operand in loops.reads if isinstance(operand, View)]
    return len(strides) == len(loops.reads) and set(strides) <= {0, 1} and loops.write.stride(loops.vector_axis) == 1


def sums_in_vectors(loops: VectorLoops, reduced: Collection[str]) -> bool:
    """Whether a sum of integers is taken in vectors along the innermost axis that is summed."""
    types = [operand.dtype for operand in loops.reads]
    if loops.vector_axis not in reduced or not sums_in_integer_lanes(loops.operator, types):
        return False
    strides = [operand.stride(loops.vector_axis) for operand in loops.reads if isinstance(operand, View)]
    return len(strides) == len(loops.reads) and set(strides) <= {0, 1}


def vector_loads(loops: VectorLoops, address: Callable[[View], str]) -> Lines:
    """The operands of TW_LANES points, at the addresses of the first of them."""
    return [f"const tw_naturals vector_{read} = {_load(loops, read, address)};" for read in range(len(loops.reads))]


def vector_value(loops: VectorLoops) -> str:
    """What is computed of these."""
    return natural_text(loops.operator.body, "vector_{}".format)


def vector_lines(loops: VectorLoops, address: Callable[[View], str]) -> Lines:
    """The statements of TW_LANES points, at the addresses of the first of them."""
    store = f"tw_store_naturals_{loops.write.dtype}({address(loops.write)}, {vector_value(loops)});"
    return [*vector_loads(loops, address), store]


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
    if has_vectors(loops):
        return [_access(operand.dtype) for operand in (*loops.reads, loops.write)]
    reduced = {axis.name for axis in loops.operator.reduction_axes()}
    return [FOLD, *(_access(operand.dtype) for operand in loops.reads)] if sums_in_vectors(loops, reduced) else []


@cache
def _access(dtype: str) -> Helper:
    text = filled(ACCESS, {"NAME": dtype, "TYPE": C_TYPES[dtype]})
    return Helper(f"tw_naturals_{dtype}", text, (NATURALS, whole_numbers(dtype)))


def _load(loops: VectorLoops, read: int, address: Callable[[View], str]) -> str:
    operand = loops.reads[read]
    assert isinstance(operand, View)
    is_splat = operand.stride(loops.vector_axis) == 0
    element = f"tw_get_{operand.dtype}({address(operand)})"
    return f"tw_splat_natural({element})" if is_splat else f"tw_load_naturals_{operand.dtype}({address(operand)})"
