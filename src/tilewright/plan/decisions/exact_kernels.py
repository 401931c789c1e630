"""Which micro kernels are exact for the operands of a contraction: those that cannot saturate, whatever a call's arguments are.

What is known of arguments is their type. Of constants planning knows how large elements and pairs of neighbours are
(`graph/constant_values.py`): found when a graph is made, and a part of what equal chains have in common.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.errors import InternalError
from tilewright.graph.types import Access, Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.saturation import OperandBounds
from tilewright.plan.element_types import held_type
from tilewright.plan.types import ContractionRoles, Plan

Bounds = tuple[OperandBounds, OperandBounds]
"""Of the left and the right operand."""


def is_exact(kernel: MicroKernel, chain: Chain, operator: Operator, roles: ContractionRoles) -> bool:
    """Whether no sum of a kernel can saturate."""
    return kernel.saturation is None or kernel.saturation.is_excluded(*operand_bounds(chain, operator, roles))


def operand_bounds(chain: Chain, operator: Operator, roles: ContractionRoles) -> Bounds:
    """What is known of both operands of a contraction of integers."""
    left, right = (_bounds(chain, operator.reads[read], roles.depth) for read in (roles.left, roles.right))
    return left, right


def check_exact(plan: Plan, kernels: Mapping[str, MicroKernel], *, flushing: bool = False) -> None:
    """Raise `InternalError` for a plan, wherever it comes from, with a kernel that may saturate, or that flushes denormal numbers
    where that is not allowed. `kernels` are all, by name."""
    for part in plan.operators:
        kernel = kernels.get(part.micro_kernel or "")
        if kernel is not None and kernel.flushes and not flushing:
            raise InternalError(f"{kernel.name} takes denormal numbers for zeros in {part.operator} of {plan.chain.name}")
        if kernel is None or kernel.saturation is None or part.roles is None:
            continue
        if not is_exact(kernel, plan.chain, plan.chain.operator(part.operator), part.roles):
            raise InternalError(f"{kernel.name} may saturate in {part.operator} of {plan.chain.name}")


def _bounds(chain: Chain, access: Access, depth: str | None) -> OperandBounds:
    limits, magnitudes = np.iinfo(held_type(chain, access.tensor)), chain.tensor(access.tensor).magnitudes
    largest = max(int(limits.max), -int(limits.min))
    if magnitudes is None or access.tensor not in chain.constants:
        return OperandBounds(largest, 2 * largest)
    return OperandBounds(magnitudes.largest, magnitudes.pair(_stepped_dimension(access, depth)))


def _stepped_dimension(access: Access, depth: str | None) -> int | None:
    """The dimension along which steps of the depth are neighbours."""
    moved = [dimension for dimension, index in enumerate(access.indices) if depth in index.axes()]
    if depth is None or len(moved) != 1 or not access.is_affine() or access.indices[moved[0]].coefficient(depth) != 1:
        return None
    return moved[0]
