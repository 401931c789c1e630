"""The operator as it is written: micro kernels compute sums of products of affine reads, scalar loops whatever is exact."""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.exactness import scalar_loop_type
from tilewright.graph.types import Tensor
from tilewright.plan.algorithms.definition import Accuracy, Algorithm, Problem


def applies(problem: Problem) -> bool:
    """Whether planning can take the operator as it is: guarded products must be expanded."""
    return problem.operator.is_contraction() or scalar_loop_type(problem.operator, problem.tensors) != ""


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The operator itself."""
    builder.operators.append(problem.operator)
    return problem.result


ALGORITHM = Algorithm("as written", Accuracy.SAME, applies, expand)
