"""Cost context: a chain on a machine, with the coefficients of the price and everything that no schedule changes.

`Contraction` has the facts of a contraction: which operands its roles are, how they lie, and what their elements take.
`likeness` is equal for equal layers inside loops with equal tiles, whose work is then the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

from tilewright.arrays import Count, content
from tilewright.block.leaf_binding import LeafBinding
from tilewright.coefficients import Coefficients
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.exactness import computed_type
from tilewright.graph.strides import has_windows, memory_stride
from tilewright.graph.types import Access, Chain, Operator, element_bytes
from tilewright.kernels.contract import MicroKernel
from tilewright.leaves.declaration import CostProblem
from tilewright.leaves.registry import bindings
from tilewright.machine.description import MemoryLevel
from tilewright.machine.machine import Machine
from tilewright.plan.element_types import held_bytes, outer_bytes, product_type
from tilewright.plan.regions.epilogues import Epilogue, taken
from tilewright.plan.regions.equal_layers import kinds
from tilewright.plan.regions.footprint import Footprint, distinct_elements, footprint_of, swept_elements
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.schedule import planned_sizes
from tilewright.records import record, replace


@record
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
    left_depth_stride: int
    """The same along the depth."""
    target_row_stride: int
    """The same in the result."""
    has_unit_columns: bool
    """Whether the columns of the right operand lie side by side."""
    has_windows: bool
    """Whether overlapping windows move over them."""
    is_copied_once: bool
    """Whether the right operand is a constant of extents that are known, no element of which is read at two points."""


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
        left_depth_stride=axis_stride(chain, left, roles.depth),
        target_row_stride=axis_stride(chain, operator.write, roles.row),
        has_unit_columns=roles.column is not None and bool(right.indices) and right.indices[-1].coefficient(roles.column) == 1,
        has_windows=has_windows(right, roles.column, sizes),
        is_copied_once=_is_copied_once(chain, right, sizes),
    )


def _held_outside(chain: Chain, access: Access, sizes: Mapping[str, int]) -> int:
    if access.tensor in chain.intermediates:
        return 0
    return held_bytes(chain, access.tensor) * int(swept_elements(access, sizes, sizes))


def axis_stride(chain: Chain, access: Access, axis: str | None) -> int:
    """Elements between neighbours along an axis, row-major at planned sizes; 0 along none."""
    return 0 if axis is None else memory_stride(access, axis, chain.tensor(access.tensor).shape)


def _is_copied_once(chain: Chain, access: Access, sizes: Mapping[str, int]) -> bool:
    axes = sorted(access.axes())
    if access.tensor not in chain.constants or not all(isinstance(chain.extents[axis], int) for axis in axes):
        return False
    return int(distinct_elements(access, sizes)) == prod(sizes[axis] for axis in axes)


FUSION_LEVELS = 6
"""What an own core may have of the last cache, in sizes of its fusion level: Intel's server CPUs have 1 to 2 for each core, AMD's
4. On a Xeon in a virtual machine with 2 cores and 480 MiB of L3 an output of 32 MiB past the caches took 0.88 to 0.92 times as
long (3x3 and 1x1 filters, one core)."""
OWN_BYTES = 8 << 20
"""What a process may count on of any last cache that holds it. Written, then read by one core of a Zen 3 VM (L2 512 KiB, L3
32 MiB, other work beside it), microseconds plainly and past the caches: 3 MiB 180, 352; 4.6 MiB 332, 526; 8 MiB 891, 934; 12
MiB 1814, 1608; 16 MiB 3643, 2579."""


@record
class Operand:
    """An access of an operator (equal reads are one), with what the formulas ask of it again and again."""

    access: Access
    axes: frozenset[str]
    is_write: bool
    is_intermediate: bool
    element_bytes: int
    """Of its tensor, as it lies while the chain runs."""
    footprint: Footprint
    """Of the access."""


@record
class CostContext:
    """Chain, machine, the micro kernel and roles of every contraction, and the coefficients."""

    chain: Chain
    machine: Machine
    kernels: Mapping[str, MicroKernel]
    roles: Mapping[str, ContractionRoles]
    coefficients: Coefficients
    sizes: Mapping[str, Count]
    operands: Mapping[str, tuple[Operand, ...]]
    """Of every operator: its reads, those of its epilogue, then its write."""
    compulsory_bytes: int
    """All inputs and the output, once."""
    epilogues: Mapping[str, Epilogue] = field(default_factory=dict)
    """Of the contractions whose micro tiles apply maps in registers. These maps have no operands of their own."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Of operators that are like others of the chain: see `equal_layers.kinds`."""
    contractions: Mapping[str, Contraction] = field(default_factory=dict)
    """Of every contraction: what neither a schedule nor a micro kernel changes."""
    in_tiles: frozenset[str] = frozenset()
    """The maps that micro tiles apply."""
    leaves: Mapping[str, LeafBinding] = field(default_factory=dict)
    """Of the operators that a leaf computes, those with a micro kernel among them."""
    available: tuple[MicroKernel, ...] = ()
    """The micro kernels to choose from."""
    cache_levels: tuple[MemoryLevel, ...] = field(init=False, repr=False)
    """The levels with a size, nearest first."""
    fusion_position: int = field(init=False, repr=False)
    """Where among the cache levels intermediates stay (`Machine.fusion_position`)."""
    fusion_level: MemoryLevel = field(init=False, repr=False)
    """The level that intermediates stay in."""
    source_position: int = field(init=False, repr=False)
    """Where among the levels all inputs and outputs are when a call begins."""
    capacity_bytes: int = field(init=False, repr=False)
    """What one core may use of the fusion level."""
    nearest_bytes: float = field(init=False, repr=False)
    """What packed tiles may occupy of the level nearest to the core."""
    pack_limit_bytes: int = field(init=False, repr=False)
    """The largest packed operand that stays in the caches that one core can count on."""

    def __post_init__(self) -> None:
        levels, fusion = self.machine.levels[:-1], self.machine.fusion_position
        shares = [level.usable_bytes / level.shared_by_cores for level in levels]
        capacity = int(shares[fusion])
        derived = {
            "cache_levels": levels,
            "fusion_position": fusion,
            "fusion_level": levels[fusion],
            "source_position": source_position(self.machine, self.compulsory_bytes),
            "capacity_bytes": capacity,
            "nearest_bytes": shares[0],
            "pack_limit_bytes": max(capacity // 2, *map(int, shares[1:]), 0),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def for_view(self, view: OperatorView) -> CostContext:
        """The context of an operator that walks more points along an axis than its extent, where blocks overlap."""
        sizes = view.computed_sizes(self.sizes)
        return self if sizes is self.sizes else self.with_sizes(sizes)

    def with_sizes(self, sizes: Mapping[str, Count]) -> CostContext:
        """The context with other points along axes."""
        other = object.__new__(CostContext)
        for name in CostContext.__dataclass_fields__:
            object.__setattr__(other, name, sizes if name == "sizes" else getattr(self, name))
        return other  # nothing else follows from sizes

    def with_kernels(self, kernels: Mapping[str, MicroKernel]) -> CostContext:
        """The context with other micro kernels for some contractions."""
        bound = {name: kernel.binding(self.roles[name]) for name, kernel in kernels.items()}
        return replace(self, kernels={**self.kernels, **kernels}, leaves={**self.leaves, **bound})

    def cost_problem(self, operator: Operator, tiles: Mapping[str, Count]) -> CostProblem:
        """What the cost of a leaf depends on in blocks of these tiles."""
        lanes, write_bytes = self.lanes(operator), held_bytes(self.chain, operator.write.tensor)
        machine, kernel = self.machine, self.kernels.get(operator.name)
        return CostProblem(
            operator, machine, self.coefficients, self.sizes, tiles, lanes, write_bytes, self.capacity_bytes, kernel
        )

    def lanes(self, operator: Operator) -> int:
        """Elements of a vector in which an operator is computed."""
        return self.machine.lanes(element_bytes(computed_type(operator)))

    def vectors_per_element(self, operator: Operator) -> float:
        """One over the elements of a vector in which an operator is computed."""
        return element_bytes(computed_type(operator)) * 8 / self.machine.vector_bits

    def packed_bytes(self, operator: str) -> int:
        """The bytes of an element of a contraction's right operand, once it is packed for its micro kernel."""
        return element_bytes(self.kernels[operator].element_types[1])


def context_of(
    chain: Chain,
    machine: Machine,
    kernels: Mapping[str, MicroKernel],
    roles: Mapping[str, ContractionRoles],
    coefficients: Coefficients,
    available: tuple[MicroKernel, ...] = (),
) -> CostContext:
    """The cost context of a chain, with what is asked of it again and again computed once."""
    sizes, epilogues = planned_sizes(chain), taken(chain, kernels)
    in_tiles = frozenset(name for epilogue in epilogues.values() for name in epilogue.maps)
    operands, compulsory = _all_operands(chain, epilogues, in_tiles), compulsory_bytes(chain, sizes)
    alike = kinds(chain, roles, epilogues)
    contractions = {name: _contraction(chain, chain.operator(name), own_roles, sizes) for name, own_roles in roles.items()}
    leaves = bindings((operator for operator in chain.operators if operator.name not in kernels), chain.tensors, machine)
    leaves |= {name: kernel.binding(roles[name]) for name, kernel in kernels.items()}
    context = CostContext(chain, machine, kernels, roles, coefficients, sizes, operands, compulsory, epilogues, alike)
    return replace(context, contractions=contractions, in_tiles=in_tiles, leaves=leaves, available=available)


def source_position(machine: Machine, size_bytes: int) -> int:
    """Where tensors of so many bytes are between calls: in a cache behind the fusion level, if its usable part holds them.

    >>> machine = Machine.named("cascadelake-6240")
    >>> [machine.levels[source_position(machine, size)].name for size in (1 << 10, 1 << 24, 1 << 30)]
    ['L3', 'memory', 'memory']
    """
    behind = range(machine.fusion_position + 1, len(machine.levels) - 1)
    return next((i for i in behind if size_bytes <= machine.levels[i].usable_bytes), len(machine.levels) - 1)


def own_bytes(machine: Machine) -> int:
    """What a process may count on of the last cache, if that holds it: other cores, those of other virtual machines, use it, too.

    >>> own_bytes(Machine.named("x86-64-v3")) >> 20
    8
    """
    return max(OWN_BYTES, FUSION_LEVELS * machine.cores * machine.levels[machine.fusion_position].size_bytes)


def compulsory_bytes(chain: Chain, sizes: Mapping[str, int]) -> int:
    """What is read of all inputs, and the output; a tensor that is read twice counts once."""
    return outer_bytes(chain, lambda operator, access: int(swept_elements(access, sizes, sizes)))


def seconds_at_peak(machine: Machine, flops_by_type: Mapping[str, int]) -> Iterator[float]:
    """The time of flops at the machine's peak for every element type."""
    return (count / machine.highest_peak(dtype) for dtype, count in flops_by_type.items())


def flops(operator: Operator, sizes: Mapping[str, int]) -> int:
    """A multiplication and an addition for every point of a contraction."""
    return 2 * prod(sizes[axis.name] for axis in operator.axes)


def flops_by_type(chain: Chain, flops_of: Mapping[str, int]) -> dict[str, int]:
    """The flops of some contractions, which are given by name, by the element type of their products."""
    counts: dict[str, int] = {}
    for name, count in flops_of.items():
        dtype = product_type(chain, chain.operator(name))
        counts[dtype] = counts.get(dtype, 0) + count
    return counts


def _all_operands(chain: Chain, epilogues: Mapping[str, Epilogue], in_tiles: frozenset[str]) -> dict[str, tuple[Operand, ...]]:
    """A contraction has the operands of its epilogue, whose maps then have none."""
    operands = {}
    for operator in chain.operators:
        reads, write = operator.reads, operator.write
        if operator.name in epilogues:
            epilogue = epilogues[operator.name]
            reads, write = (*reads, *epilogue.reads(chain)), epilogue.write(chain)
        operands[operator.name] = () if operator.name in in_tiles else _operands(chain, reads, write)
    return operands


def _operands(chain: Chain, reads: tuple[Access, ...], write: Access) -> tuple[Operand, ...]:
    intermediates = frozenset(chain.intermediates)
    accesses = [*((access, False) for access in dict.fromkeys(reads)), (write, True)]
    found = []
    for access, is_write in accesses:
        is_intermediate, size_bytes = access.tensor in intermediates, held_bytes(chain, access.tensor)
        found.append(Operand(access, access.axes(), is_write, is_intermediate, size_bytes, footprint_of(access.indices)))
    return tuple(found)


def likeness(context: CostContext, view: OperatorView) -> Hashable:
    """Equal for views of operators of one kind with equal loops and tiles, but for names; that of others is theirs alone."""
    name = view.operator.name
    kind = context.kinds.get(name)
    if kind is None or view.regions or view.conditions:
        return name
    places = {axis.name: place for place, axis in enumerate(view.operator.axes)}
    loops = tuple((places.get(loop.axis, loop.axis), content(loop.trips)) for loop in view.loops)
    kernel = context.kernels[name].name if name in context.kernels else ""
    return kind, kernel, loops, tuple(content(view.tiles[axis]) for axis in places)


def axes_of_like(first: Operator, second: Operator, axes: Sequence[str]) -> tuple[str, ...]:
    """The axes of an operator that stand where these do in another of its kind."""
    names = {old.name: new.name for old, new in zip(first.axes, second.axes, strict=True)}
    return tuple(names[axis] for axis in axes)
