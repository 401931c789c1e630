"""Operands of contractions whose entries are known before a call."""

from __future__ import annotations

from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel


def has_known_left(chain: Chain, operator: Operator, roles: ContractionRoles, kernel: MicroKernel) -> bool:
    """Whether the left operand is a matrix of known entries (`Tensor.entries`), which the rows and steps of a tile alone index:
    generated code may hold them then."""
    access = operator.reads[roles.left]
    is_matrix = roles.row is not None and roles.depth is not None and access.axes() == {roles.row, roles.depth}
    is_plain = access.guard is None and not access.lookups
    return kernel.emit_known is not None and is_matrix and is_plain and chain.tensor(access.tensor).entries is not None
