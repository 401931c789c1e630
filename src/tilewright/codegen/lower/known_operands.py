"""Left operands of micro kernels whose entries are known, so that they may be literals of the text."""

from __future__ import annotations

import numpy as np

from tilewright.codegen.loop_nest import Range
from tilewright.codegen.lower.context import Lowering, Scope
from tilewright.graph.types import Operator
from tilewright.kernels.contract import Matrix, MicroKernel
from tilewright.plan.contraction_roles import has_known_left
from tilewright.plan.types import ContractionRoles


def known_left(
    state: Lowering, operator: Operator, roles: ContractionRoles, scope: Scope, kernel: MicroKernel, columns: Range
) -> Matrix | None:
    """The left operand of a call, if its entries are known, and every tile takes all of its rows and all of its steps."""
    if not has_known_left(state.plan.chain, operator, roles, kernel) or (operator.name, roles.left) in state.packed:
        return None
    access = operator.reads[roles.left]
    axes = [operator.axis(name) for name in (roles.row, roles.depth) if name is not None]
    extents = [axis.extent for axis in axes if isinstance(axis.extent, int)]
    is_whole = [(scope.ranges[axis.name].start, scope.ranges[axis.name].size) for axis in axes] == [(0, n) for n in extents]
    if not is_whole or columns.sizes is None or extents[0] > min(map(kernel.rows_for, columns.pieces(kernel.columns))):
        return None
    places = dict(zip((axis.name for axis in axes), np.indices(extents), strict=True))
    values = state.plan.chain.tensor(access.tensor).known_values()
    return tuple(map(tuple, values[tuple(index.evaluate(places) for index in access.indices)].tolist()))
