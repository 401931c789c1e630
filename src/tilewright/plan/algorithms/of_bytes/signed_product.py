"""Product of bytes for micro kernels of two signed operands: activations become signed, and zero points leave the product.

The equation is that of `integer_product.py`. Such kernels are exact for constant weights that have an opposite in 8 bits (-127 to
127), where those of unsigned activations would have to take every byte apart.
"""

from __future__ import annotations

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Tensor
from tilewright.kernels import registry
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.of_bytes.integer_product import (
    Factor,
    affine_factors,
    factors,
    needs_change,
    plain_product,
    product_in_types,
)
from tilewright.plan.contraction_roles import contraction_roles

SIGNED = "int8"
LARGEST = 127
"""Of |weight| in a type that has the opposite of each."""


def applies(problem: Problem) -> bool:
    """Whether the right operand is a constant of such weights, and the left one becomes signed or has a zero point."""
    found = affine_factors(problem)
    if not found:
        return False
    weights = _weights(problem, found)
    magnitudes = problem.tensors[weights.access.tensor].magnitudes
    is_opposable = magnitudes is not None and magnitudes.largest <= LARGEST and weights.access.tensor in problem.constants
    return is_opposable and needs_change(problem, found, (SIGNED, SIGNED)) and _has_kernel(problem)


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The product of signed bytes, their sums, and a map that puts them together."""
    return product_in_types(problem, builder, factors(problem.operator), (SIGNED, SIGNED))


def _weights(problem: Problem, found: tuple[Factor, ...]) -> Factor:
    return found[contraction_roles(plain_product(problem.operator, found)).right]


def _has_kernel(problem: Problem) -> bool:
    return bool(registry.for_machine(problem.machine, element_types=(SIGNED, SIGNED, "int32")))


ALGORITHM = Algorithm("signed bytes", Licence.EXACT, applies, expand)
