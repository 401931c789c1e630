"""The operator as it is written: micro kernels compute sums of products of affine reads, scalar loops whatever is exact."""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import scalar_element_type
from tilewright.graph.licences import Licence
from tilewright.graph.types import Tensor
from tilewright.kernels import registry
from tilewright.plan.algorithms import widened_operands
from tilewright.plan.algorithms.definition import Algorithm, Problem


def applies(problem: Problem) -> bool:
    """Whether planning can take the operator as it is: guarded products must be expanded, and short floats have a kernel."""
    if scalar_element_type(problem.operator, problem.tensors):
        return True
    return problem.operator.is_contraction() and (not widened_operands.applies(problem) or _has_kernel(problem))


def _has_kernel(problem: Problem) -> bool:
    types = sorted(problem.operand(read).dtype for read in range(2))
    kernels = registry.for_machine(problem.machine, element_types=None)
    return any(sorted(kernel.element_types[:2]) == types for kernel in kernels)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The operator itself."""
    builder.operators.append(problem.operator)
    return problem.result


ALGORITHM = Algorithm("as written", Licence.EXACT, applies, expand)
