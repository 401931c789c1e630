"""Product of operands that are widened to float32 before: what float32 kernels compute of shorter floats.

A micro kernel that takes the operands as they are moves half the bytes; kernels of float32 may be faster where operands are read
often, and take operands of two types. Every short float is a float32, so that sums are of the same products.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import HALVES
from tilewright.graph.licences import Licence
from tilewright.graph.types import Operator, Tensor
from tilewright.plan.algorithms.definition import Algorithm, Problem


def applies(problem: Problem) -> bool:
    """Whether an operator is a product with an operand of short floats, summed in float32."""
    types = {problem.operand(read).dtype for read in range(len(problem.operator.reads))}
    return problem.operator.is_contraction() and problem.operator.accumulator == "float32" and bool(types & HALVES)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """Maps that widen, each tensor once, and the product of what they write."""
    tensors = dict.fromkeys(access.tensor for access in problem.operator.reads)
    wide = {name: builder.cast(problem.tensors[name], "float32").name for name in tensors}
    return builder.record(_product, problem, wide, kind=problem.operator.kind)


def _product(problem: Problem, wide: dict[str, str], *, name: str, result: str) -> tuple[Operator, Tensor]:
    operator = problem.operator
    reads = tuple(replace(access, tensor=wide[access.tensor]) for access in operator.reads)
    write = replace(operator.write, tensor=result)
    return replace(operator, name=name, reads=reads, write=write), replace(problem.result, name=result)


ALGORITHM = Algorithm("widened operands", Licence.EXACT, applies, expand)
