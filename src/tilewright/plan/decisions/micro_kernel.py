"""Choice of a micro kernel for a contraction: least time with edges, of registered kernels that can compute it.

Exact kernels cannot saturate, whatever a call's arguments are. What is known of arguments is their type. Of constants planning
knows how large elements and pairs of neighbours are (`graph/constant_values.py`): found when a graph is made, and a part of what
equal chains have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tilewright.arrays import Count
from tilewright.block.leaf_binding import LeafBinding
from tilewright.coefficients import Coefficients
from tilewright.errors import InternalError
from tilewright.graph.contraction_roles import ContractionRoles, contraction_roles
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.types import Access, Chain, Operator
from tilewright.kernels.contract import DEPTH, MicroKernel
from tilewright.kernels.registry import prefetches_panels
from tilewright.kernels.saturation import OperandBounds
from tilewright.leaves.declaration import CostProblem, KernelWork, Problem
from tilewright.leaves.registry import kernel_work, tiles_of
from tilewright.machine.machine import Machine
from tilewright.plan.element_types import SHORT_INTEGERS, held_bytes, held_type
from tilewright.plan.memory import remembered
from tilewright.plan.model.cost_context import CostContext, compulsory_bytes, context_of, source_position
from tilewright.plan.reasons import Barrier, CannotFuse, NoMicroKernel, NotExecutable, Unplannable
from tilewright.plan.regions.epilogues import integers_in_memory, needs_epilogue
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.gathered_reads import without_lookups
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.types import Plan
from tilewright.records import record, replace

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


FAR_BELOW = 2.0
"""Arithmetic that takes so many times less than reading the right operand is hidden."""
TIE = 1.005
"""Kernels within this factor of the best are equal; the registry's order decides."""

ONE_PASS = 1.05
"""What a tile of all rows may cost more where it reads panels packed ahead, each element once: 8 rows of a 2496 x 2500 constant
take 0.43 ms in 8x48, 0.6 in 6x64, 12 rows 0.64 in 12x32, 0.78 in 6x64, beside 0.40 and 0.61 of arithmetic (Zen 5)."""

MOST_CONTEXTS = 256
"""Chains whose contexts a process remembers: bounds of algorithms and searches ask for those of equal chains."""
RankedKernels = dict[str, tuple[tuple[MicroKernel, float], ...]]
"""By contraction: micro kernels with what each costs (seconds), best first."""


@remembered(MOST_CONTEXTS)
def chain_context(
    chain: Chain, machine: Machine, available: tuple[MicroKernel, ...], coefficients: Coefficients
) -> tuple[CostContext, RankedKernels]:
    """The cost context of a chain with the best of some micro kernels, and how they rank for every contraction."""
    chain = without_lookups(chain)
    _check_integers(chain)
    sizes = planned_sizes(chain)
    roles: dict[str, ContractionRoles] = {}
    chosen: dict[str, MicroKernel] = {}
    ranked: RankedKernels = {}
    for operator in chain.operators:
        if not operator.is_contraction():
            continue
        found = tiles(chain, operator, available)
        if not found:
            raise Unplannable(
                f"no micro kernel can compute {operator.name} on {machine.name}",
                reason=NoMicroKernel(operator.name),
                where=operator.name,
                hint="register one with tilewright.kernels.registry.register",
            )
        roles[operator.name] = contraction_roles(operator)
        problem = CostProblem(operator, machine, coefficients, sizes, sizes, lanes=1)
        right = _right_operand(chain, problem, roles[operator.name])
        chosen[operator.name], ranked[operator.name] = choose_kernel(found, problem, right)
    return context_of(chain, machine, chosen, roles, coefficients, available), ranked


@record
class RightOperand:
    """What a right operand costs whatever the micro kernel."""

    copied_s: float = 0.0
    """The time to copy it once where its columns do not lie side by side; 0 where a call does not copy it."""
    reading_s: float = 0.0
    """The time to read it once from where the chain's inputs are; 0 for an intermediate."""
    is_streamed: bool = False
    """Whether it is a constant that comes in panels from behind the fusion level."""


def _right_operand(chain: Chain, problem: CostProblem, roles: ContractionRoles) -> RightOperand:
    access, sizes, machine = problem.operator.reads[roles.right], planned_sizes(chain), problem.machine
    is_constant, element_bytes = access.tensor in chain.constants, held_bytes(chain, access.tensor)
    elements = int(distinct_elements(access, sizes))
    is_copied = roles.column is not None and access.indices[-1].coefficient(roles.column) != 1 and not is_constant
    cycles = problem.coefficients.transpose_cycles_per_vector * element_bytes * 8 / machine.vector_bits
    source = machine.levels[source_position(machine, compulsory_bytes(chain, sizes))]
    reading_s = element_bytes * elements / source.bandwidth_bytes_per_s
    return RightOperand(
        elements * cycles / machine.frequency_hz if is_copied else 0.0,
        0.0 if access.tensor in chain.intermediates else reading_s,
        is_constant and element_bytes * elements > machine.levels[machine.fusion_position].size_bytes // 2,
    )


def _check_integers(chain: Chain) -> None:
    """Raise `Unplannable` for intermediates of integers that no micro tile takes on, and where maps alone make all others.

    A product with maps before it would only be cut into blocks of rows for them: 128 x 768 x 3072 of bytes takes 1.08 of the time
    so, as its weights come from the last cache for every block (Zen 3).
    """
    if stored := integers_in_memory(chain):
        reason = NotExecutable(tuple(operator.name for operator in chain.operators))
        raise Unplannable(f"no place for {', '.join(stored)}", reason=reason, where=chain.name)
    short = [tensor for tensor in chain.intermediates if held_type(chain, tensor) in SHORT_INTEGERS]
    if short and not any(_is_behind_reductions(chain, tensor) for tensor in short):
        alone = CannotFuse(Barrier.MAPS_ALONE, tuple(reader.name for reader in chain.consumers(short[0])))
        raise Unplannable(f"elementwise operators alone make {', '.join(short)}", reason=alone, where=chain.name)


def _is_behind_reductions(chain: Chain, tensor: str) -> bool:
    """Whether an intermediate is made of results of products or reductions of the chain."""
    producer = chain.producer(tensor)
    if producer is None:
        return False
    return not producer.is_map() or any(_is_behind_reductions(chain, access.tensor) for access in producer.reads)


def tiles(chain: Chain, contraction: Operator, kernels: Iterable[MicroKernel]) -> dict[MicroKernel, LeafBinding]:
    """The micro tiles that compute a contraction in a chain, of some kernels; none where other leaves do, or nobody."""
    known = {kernel.name: kernel for kernel in kernels}
    found = tiles_of(contraction_problem(chain, contraction, tuple(known.values())))
    return {known[binding.tile.micro_kernel]: binding for binding in found if binding.tile is not None}


def contraction_problem(chain: Chain, contraction: Operator, kernels: tuple[MicroKernel, ...]) -> Problem:
    """What a leaf is asked, with types and bounds of operands as the chain holds them."""
    reads = tuple(held_type(chain, access.tensor) for access in contraction.reads)
    is_bounded = INTEGERS.issuperset(reads) and any(kernel.saturation is not None for kernel in kernels)
    depth = contraction_roles(contraction).depth if is_bounded else None
    bounds = tuple(_bounds(chain, access, depth) for access in contraction.reads) if is_bounded else ()
    written = held_type(chain, contraction.write.tensor)
    return Problem(contraction, reads, written, kernels, bounds, needs_epilogue(chain, contraction))


def choose_kernel(
    candidates: Mapping[MicroKernel, LeafBinding], problem: CostProblem, right: RightOperand
) -> tuple[MicroKernel, tuple[tuple[MicroKernel, float], ...]]:
    """The kernel with the least padded work over its attainable rate, and all with their seconds, best first.

    Extents count as uncut: tiles of rows are multiples of the kernel's. Kernels that prefetch are left out where others do the
    same tile: see `decisions.prefetching_kernels`; those of one column where there are more, which would read A again for each.
    Kernels that read B by rows need a copy of it. Where reading it takes much longer than all else, the fewest calls win: few
    panels, and few passes over each. Of a B that is streamed, kernels that can prefetch panels go before those that cannot (one
    row needs none), and a tile of all rows wins over slightly less work.
    """
    kernels, sizes, roles = tuple(candidates), problem.sizes, contraction_roles(problem.operator)
    plain_tiles = {kernel.tile() for kernel in kernels if not kernel.prefetch}
    kernels = tuple(kernel for kernel in kernels if not (kernel.prefetch and kernel.tile() in plain_tiles))
    if right.is_streamed and roles.row is not None and sizes[roles.row] > 1:
        kernels = tuple(filter(prefetches_panels, kernels)) or kernels
    has_columns = roles.column is not None and sizes[roles.column] != 1
    kernels = tuple(kernel for kernel in kernels if kernel.columns > 1 or not has_columns) or kernels
    works = [kernel_work(candidates[kernel], replace(problem, lanes=kernel.lanes, kernel=kernel)) for kernel in kernels]
    copies = [right.copied_s * (kernel.lanes_along != DEPTH) for kernel in kernels]
    seconds = [float(work.seconds) + copy_s for work, copy_s in zip(works, copies, strict=True)]
    is_streamed = right.is_streamed
    passes_once = [is_streamed and kernel.lanes_along != DEPTH and _takes_all_rows(kernel, roles, sizes) for kernel in kernels]
    compared = [time / ONE_PASS if once else time for once, time in zip(passes_once, seconds, strict=True)]
    chosen = kernels[_first(works, compared, right.reading_s)]
    ranked = sorted(zip(kernels, seconds, strict=True), key=lambda pair: pair[1])
    return chosen, tuple(ranked)


def _first(works: Sequence[KernelWork], seconds: Sequence[float], reading_s: float) -> int:
    """The number of the first that costs as much as the best; of those that hardly matter beside reading, of the fewest calls."""
    best = min(range(len(works)), key=seconds.__getitem__)
    hidden = [number for number, time in enumerate(seconds) if time * FAR_BELOW <= reading_s]
    if hidden:
        return min(hidden, key=lambda number: int(works[number].calls))
    most = seconds[best] + (TIE - 1) * float(works[best].seconds)
    return next((number for number, time in enumerate(seconds) if time <= most), best)


def _takes_all_rows(kernel: MicroKernel, roles: ContractionRoles, sizes: Mapping[str, Count]) -> bool:
    return roles.row is None or bool(sizes[roles.row] <= kernel.rows)
