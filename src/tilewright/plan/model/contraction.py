"""Facts of a contraction that no schedule changes: which operands its roles are, how they lie, and what their elements take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.graph.types import Access, Chain, Operator, planned_extent
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.kernel_work import has_windows
from tilewright.plan.regions.footprint import distinct_elements, swept_elements
from tilewright.plan.types import ContractionRoles


@dataclass(frozen=True, slots=True)
class Contraction:
    """What the formulas ask of a contraction again and again."""

    left: int
    """The place of the left operand among the reads of the operator, each once."""
    right: int
    """The same of the right operand."""
    left_held_bytes: int
    """What a chain reads of the left operand, each element once; 0 of one that it makes."""
    left_bytes: int
    """Of an element of the left operand, as it lies while the chain runs."""
    right_bytes: int
    """The same of the right operand, before it is packed."""
    target_bytes: int
    """The same of the result."""
    row_stride: int
    """Elements between neighbours along the depth in the right operand."""
    left_row_stride: int
    """Elements between neighbours along the rows in the left operand."""
    target_row_stride: int
    """The same in the result."""
    has_unit_columns: bool
    """Whether the columns of the right operand lie side by side."""
    has_windows: bool
    """Whether overlapping windows move over them."""
    is_copied_once: bool
    """Whether the right operand is a constant of extents that are known, no element of which is read at two points."""


def contractions_of(chain: Chain, roles: Mapping[str, ContractionRoles], sizes: Mapping[str, int]) -> Mapping[str, Contraction]:
    """The facts of every contraction that has roles, by name."""
    return {name: _contraction(chain, chain.operator(name), own_roles, sizes) for name, own_roles in roles.items()}


def _contraction(chain: Chain, operator: Operator, roles: ContractionRoles, sizes: Mapping[str, int]) -> Contraction:
    left, right, reads = operator.reads[roles.left], operator.reads[roles.right], tuple(dict.fromkeys(operator.reads))
    return Contraction(
        left=reads.index(left),
        right=reads.index(right),
        left_held_bytes=_held_outside(chain, left, sizes),
        left_bytes=held_bytes(chain, left.tensor),
        right_bytes=held_bytes(chain, right.tensor),
        target_bytes=held_bytes(chain, operator.write.tensor),
        row_stride=axis_stride(chain, right, roles.depth),
        left_row_stride=axis_stride(chain, left, roles.row),
        target_row_stride=axis_stride(chain, operator.write, roles.row),
        has_unit_columns=_is_unit(right, roles.column),
        has_windows=has_windows(right, roles.column, sizes),
        is_copied_once=_is_copied_once(chain, right, sizes),
    )


def _held_outside(chain: Chain, access: Access, sizes: Mapping[str, int]) -> int:
    if access.tensor in chain.intermediates:
        return 0
    return held_bytes(chain, access.tensor) * int(swept_elements(access, sizes, sizes))


def axis_stride(chain: Chain, access: Access, axis: str | None) -> int:
    """Elements between neighbours along an axis, row-major at planned sizes; 0 along none."""
    if axis is None:
        return 0
    extents = [planned_extent(extent) for extent in chain.tensor(access.tensor).shape]
    return sum(_strides(extents, access, axis))


def _strides(extents: Sequence[int], access: Access, axis: str) -> list[int]:
    return [index.coefficient(axis) * prod(extents[place + 1 :]) for place, index in enumerate(access.indices)]


def _is_unit(access: Access, axis: str | None) -> bool:
    return axis is not None and bool(access.indices) and access.indices[-1].coefficient(axis) == 1


def _is_copied_once(chain: Chain, access: Access, sizes: Mapping[str, int]) -> bool:
    axes = sorted(access.axes())
    if access.tensor not in chain.constants or not all(isinstance(chain.extents[axis], int) for axis in axes):
        return False
    return int(distinct_elements(access, sizes)) == prod(sizes[axis] for axis in axes)
