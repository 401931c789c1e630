"""The operator as it is written: micro kernels compute sums of products of affine reads, loops of its own type whatever is exact.

Or with operands that are widened to float32 before: what float32 kernels compute of shorter floats. A micro kernel that takes the
operands as they are moves half the bytes; kernels of float32 may be faster where operands are read often, and take operands of
two types. Every short float is a float32, so that sums are of the same products.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import HALVES, exact_element_type
from tilewright.graph.licences import Licence
from tilewright.graph.types import Tensor
from tilewright.kernels import registry
from tilewright.plan.algorithms.definition import Algorithm, Problem


def applies(problem: Problem) -> bool:
    """Whether planning can take the operator as it is: guarded products must be expanded, and short floats have a kernel."""
    if exact_element_type(problem.operator, problem.tensors):
        return True
    return problem.operator.is_contraction() and (not is_widened(problem) or _has_kernel(problem))


def _has_kernel(problem: Problem) -> bool:
    types = sorted(problem.operand(read).dtype for read in range(2))
    kernels = registry.for_machine(problem.machine, element_types=None)
    return any(sorted(kernel.element_types[:2]) == types for kernel in kernels)


def _expand(problem: Problem, builder: Builder) -> Tensor:
    """The operator itself."""
    builder.operators.append(problem.operator)
    return problem.result


def is_widened(problem: Problem) -> bool:
    """Whether an operator is a product with an operand of short floats, summed in float32."""
    types = {problem.operand(read).dtype for read in range(len(problem.operator.reads))}
    return problem.operator.is_contraction() and problem.operator.accumulator == "float32" and bool(types & HALVES)


def _widen(problem: Problem, builder: Builder) -> Tensor:
    """Maps that widen, each tensor once, and the product of what they write."""
    tensors = dict.fromkeys(access.tensor for access in problem.operator.reads)
    wide = {name: builder.cast(problem.tensors[name], "float32").name for name in tensors}
    reads = tuple(replace(access, tensor=wide[access.tensor]) for access in problem.operator.reads)
    builder.operators.append(replace(problem.operator, reads=reads))
    return problem.result


JOINED_PIXELS = frozenset({"pointwise", "filter lanes"})
"""Algorithms with one axis of pixels, of which lanes run along either operand: vectors and tiles end at the last pixel, not at
the end of every row."""
AS_WRITTEN = Algorithm("as written", Licence.EXACT, applies, _expand, beaten_by=lambda problem: JOINED_PIXELS)
WIDENED_OPERANDS = Algorithm("widened operands", Licence.EXACT, is_widened, _widen)
ALGORITHMS = (AS_WRITTEN, WIDENED_OPERANDS)
