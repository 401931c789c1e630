"""Sums over several axes in registers: a micro kernel with nested reduction loops loads and stores no tile between them.

Else there is a call for every point of the axes around the depth, and each but the first takes up what the one before has stored.
"""

from __future__ import annotations

from math import prod

from tilewright.graph.contraction_roles import ContractionRoles, outer_reductions
from tilewright.graph.types import Chain, Operator
from tilewright.kernels.contract import NESTED_LOOPS, MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.element_types import held_bytes
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.schedule import planned_sizes

LONGEST_SUM = 4096
"""Longer sums are cut: see `decisions.long_sums`."""
SHORT_CALL = 24
"""Steps up to which loading and storing a tile for every call costs more than reading the right operand from L2. Nested over not,
Xeon, 3x3 and 5x5 filters of 64: 24 channels 0.98 to 1.04, 32 of 74 columns 1.02 to 1.06, 64 1.02 to 1.05, 128 1.1 to 1.12."""


def outer_sums(chain: Chain, operator: Operator, roles: ContractionRoles) -> list[str]:
    """The reduction axes around the depth that have several points."""
    around = outer_reductions(operator, roles)
    sizes = planned_sizes(chain) if around else {}
    return [axis for axis in around if sizes[axis] > 1]


def sums_at_once(chain: Chain, operator: Operator, roles: ContractionRoles, kernel: MicroKernel, machine: Machine) -> bool:
    """Whether a tile sums over all reduction axes at once.

    They are few, and L1 holds what a tile reads of the right operand, or calls would be short. Else a call for every point of the
    outer ones reads a smaller panel, which stays in L1 for all rows.
    """
    if not kernel.nested or roles.column is None:
        return False
    around = outer_sums(chain, operator, roles)
    reduced = [axis.name for axis in operator.reduction_axes()]
    if not 0 < len(around) < NESTED_LOOPS or not all(isinstance(chain.extents[axis], int) for axis in reduced):
        return False
    sizes = planned_sizes(chain)
    right = operator.reads[roles.right]
    tile = {axis: sizes[axis] if axis in reduced else 1 for axis in sizes} | {roles.column: kernel.columns}
    read_bytes = held_bytes(chain, right.tensor) * int(distinct_elements(right, tile))
    is_in_rows = operator.write.indices[-1].coefficient(roles.column) == 1
    is_held = read_bytes <= machine.levels[0].usable_bytes or sizes[roles.depth or ""] <= SHORT_CALL
    return is_in_rows and prod(sizes[axis] for axis in reduced) <= LONGEST_SUM and is_held
