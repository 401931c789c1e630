"""Which contractions have a left operand whose entries generated code may hold (`Tensor.entries`)."""

from __future__ import annotations

from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.types import ContractionRoles


def has_known_left(chain: Chain, operator: Operator, roles: ContractionRoles, kernel: MicroKernel) -> bool:
    """Whether the left operand is a matrix of known entries, which the rows and steps of a tile alone index."""
    access = operator.reads[roles.left]
    is_matrix = roles.row is not None and roles.depth is not None and access.axes() == {roles.row, roles.depth}
    is_plain = access.guard is None and not access.lookups
    return kernel.emit_known is not None and is_matrix and is_plain and chain.tensor(access.tensor).entries is not None
