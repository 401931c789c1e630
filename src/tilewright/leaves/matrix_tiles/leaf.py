"""Matrix tiles: contractions, whose tiles micro kernels multiply. Ours and a user's are bound alike."""

from __future__ import annotations

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.statements import MatrixTiles
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles
from tilewright.graph.exactness import computed_type
from tilewright.graph.types import Operator
from tilewright.kernels.contract import MATRIX_TILES, MicroKernel
from tilewright.kernels.helpers import Helper
from tilewright.leaves.declaration import Constraints, Leaf, Mismatch, Problem, Refusal
from tilewright.leaves.matrix_tiles.functions import tile_functions
from tilewright.leaves.matrix_tiles.loops import tile_loop_helpers, tiles_call, tiles_weights
from tilewright.leaves.matrix_tiles.work import kernel_work
from tilewright.records import record


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """A tile for each micro kernel that multiplies elements of the types that a contraction reads, sums as it does, and stores
    what it writes."""
    if not problem.operator.is_contraction():
        return Refusal(MATRIX_TILES, Mismatch.OPERATION)
    roles = contraction_roles(problem.operator)
    reasons = [(kernel, _mismatch(problem, roles, kernel)) for kernel in _of_types(problem, roles)]
    found = tuple(kernel.binding(roles) for kernel, reason in reasons if reason is None)
    return found or Refusal(MATRIX_TILES, next((reason for _, reason in reasons if reason), Mismatch.MICRO_KERNEL))


def kernel_refusals(problem: Problem) -> list[Refusal]:
    """Why micro kernels of the right types do not compute a contraction, but for those of another layout."""
    roles = contraction_roles(problem.operator)
    reasons = ((kernel.name, _mismatch(problem, roles, kernel)) for kernel in _of_types(problem, roles))
    return [Refusal(name, reason) for name, reason in reasons if reason is not None and reason is not Mismatch.LANES]


def _of_types(problem: Problem, roles: ContractionRoles) -> list[MicroKernel]:
    types = problem.reads[roles.left], problem.reads[roles.right], problem.write
    accumulator = computed_type(problem.operator)
    return [kernel for kernel in problem.kernels if kernel.element_types == types and kernel.accumulator == accumulator]


def _mismatch(problem: Problem, roles: ContractionRoles, kernel: MicroKernel) -> Mismatch | None:
    """Why a micro kernel of the right types does not compute a contraction.

    Columns that lie side by side are those of the last dimension, even where that has one element, as arrays of callers have any
    stride in others. Tiles without such are staged; sums of interleaved steps, whose panels begin with whole groups, are not.
    """
    operator = problem.operator
    in_place = roles.column is None or operator.write.indices[-1].coefficient(roles.column) == 1
    has_panels = roles.depth is not None and roles.column is not None
    is_staged = problem.write in ("float32", kernel.accumulator if kernel.interleave == 1 else "")
    if not (in_place or is_staged) or not (has_panels or kernel.interleave == 1):
        return Mismatch.COLUMNS
    if problem.needs_epilogue and kernel.emit_with is None:
        return Mismatch.EPILOGUE
    if kernel.saturation is not None and not kernel.saturation.is_excluded(
        problem.bounds[roles.left], problem.bounds[roles.right]
    ):
        return Mismatch.SATURATION
    return Mismatch.LANES if kernel.right_by_columns and not _has_unit_depth(operator, roles) else None


def _has_unit_depth(operator: Operator, roles: ContractionRoles) -> bool:
    """Whether the columns of the right operand are contiguous, one by one: then a kernel may read it by columns."""
    indices = operator.reads[roles.right].indices
    is_last = bool(indices) and indices[-1].is_axis() and roles.depth in indices[-1].axes()
    return roles.column is not None and is_last and operator.reads[roles.right].is_affine()


def constraints(binding: LeafBinding) -> Constraints:
    """Panels of whole tiles, groups of steps that lie side by side, and the rows of a tile."""
    tile = binding.tile
    assert tile is not None
    along = {tile.roles.row: tile.rows, tile.roles.column: tile.columns}
    return Constraints(
        panels=((tile.roles.column, tile.columns),) if tile.roles.column else (),
        steps=((tile.roles.depth, tile.interleave),) if tile.roles.depth else (),
        largest=tuple((axis, extent) for axis, extent in along.items() if axis is not None),
    )


@record
class TileCall:
    """The call of the function that computes a block tile by tile."""

    tiles: MatrixTiles

    def text(self) -> list[str]:
        """One statement."""
        return [tiles_call(self.tiles)]

    def helpers(self) -> list[Helper]:
        """Those of the function."""
        return tile_loop_helpers(self.tiles)


LEAF = Leaf(
    MATRIX_TILES,
    order=0,
    match=match,
    seconds=lambda binding, problem: kernel_work(binding, problem).seconds,
    lower=lambda tiles, _: TileCall(tiles),
    constraints=constraints,
    work=kernel_work,
    kernel_refusals=kernel_refusals,
    functions=tile_functions,
    characters=tiles_weights,
    contract="tests/contract/test_matmul_kernels.py",
)
