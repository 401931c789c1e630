"""Reasons of a plan, as typed records: what lost and why, why an edge is cut, and what the terms of a price say of themselves.

Records hold figures in the units of their fields, and operators, tensors and axes by name: `binding.py` gives them the names of a
chain, `report/reasons.py` makes sentences.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from tilewright.errors import PlanningError
from tilewright.graph.expressions.conditions import Constraint
from tilewright.plan.chains import AxisName, OperatorName, TensorName
from tilewright.plan.schedule import Storage
from tilewright.records import record

Tiles: TypeAlias = tuple[tuple[AxisName, int], ...]
"""Axes with the tiles of their loops, outermost first."""


# What lost


@record
class EveryOperatorAlone:
    """A chain of its own for each operator, with intermediates in memory."""


@record
class OnePart:
    """A reduction along an axis that is not split."""

    axis: AxisName


@record
class Loops:
    """Loops of a schedule: those of all operators, of partially fused groups, and of each operator."""

    outer: Tiles
    line_buffered: tuple[TensorName, ...] = ()
    """Intermediates that have circular line buffers along the last of the outer loops."""
    groups: tuple[tuple[Tiles, tuple[OperatorName, ...]], ...] = ()
    """Loops with the operators that share them."""
    inner: tuple[tuple[OperatorName, tuple[AxisName, ...]], ...] = ()
    """Operators with the axes of their loops."""


@record
class OtherLoops:
    """A schedule of other loops."""

    storage: Storage
    """What becomes of intermediates in it."""
    loops: Loops


@record
class OtherKernel:
    """Another micro kernel for an operator."""

    kernel: str
    operator: OperatorName


@record
class OtherAlgorithm:
    """Another way to compute an operator."""

    algorithm: str
    operator: OperatorName


@record
class OtherAlgorithms:
    """Other ways to compute neighbours: as one chain, or apart."""

    ways: tuple[OtherAlgorithm, ...]
    is_one_chain: bool


Alternative: TypeAlias = EveryOperatorAlone | OnePart | OtherLoops | OtherKernel | OtherAlgorithm | OtherAlgorithms
"""What a plan could have been."""


# Why it lost


class Defeat(Enum):
    """Why an alternative lost to the winner."""

    THROUGH_MEMORY = auto()
    """It is slower, since intermediates go through memory."""
    MEMORY_BETWEEN = auto()
    """It is not slower, but needs memory for intermediates."""
    THREADS_WAIT = auto()
    """It is not slower on one thread, but has fewer blocks than there are cores."""
    DOES_NOT_FIT = auto()
    """Its working set is larger than the usable share of a memory level."""
    SLOWER = auto()
    SLOWER_THAN = auto()
    """It is slower than a winner that has a name."""
    SLOWER_AS_ONE = auto()
    """It is slower than the same operators apart."""
    SLOWER_APART = auto()
    """It is slower than the same operators as one chain."""
    SLOWER_WITH_NEIGHBOUR = auto()
    """It is faster alone, but a winner that has a name can be fused with its neighbour."""
    LITTLE_GAIN = auto()
    """It gains too little for a loop more."""
    EDGES_AND_RATE = auto()
    """Its padded work at its rate takes longer."""
    LATER_IN_REGISTRY = auto()
    """It takes as long, and is registered later."""
    MAY_SATURATE = auto()
    """Its sums of neighbouring products may leave its 16 bits, as far as is known of the operands."""
    NOT_PREFETCHED = auto()
    """It leaves the operator's traffic without prefetches."""
    LITTLE_GAIN_BY_PREFETCHES = auto()


@record
class LossReason:
    """Why an alternative lost."""

    defeat: Defeat
    beside: str = ""
    """The memory level that it does not fit, or the winner that it is slower than."""
    is_bound: bool = False
    """Whether its figure is only the least that it can cost."""
    source: str = ""
    """The operator of which the figures are, if the choice was taken over from it."""
    blocks: int = 0
    """Where threads wait for others: of the plan."""
    cores: int = 0


# Why an edge is cut


class Barrier(Enum):
    """Why a tensor between operators goes through memory, whatever that costs."""

    SWITCHED_OFF = auto()
    """Fusion was not wanted."""
    GRAPH_OUTPUT = auto()
    ELEMENT_TYPE = auto()
    """Its elements are stored in a type that vectors of float32 do not hold."""
    MAPS_ALONE = auto()
    """Integers that a product reads, and that no product or reduction of the chain comes before."""
    EXACT_ARITHMETIC = auto()
    """An operator at one of its ends is computed exactly, in a type of its own."""
    MERGED_DIMENSION = auto()
    """Its writer puts several axes into one dimension."""
    DATA_POSITIONS = auto()
    """A reader looks up positions in it, or with it."""
    SEVERAL_READERS = auto()
    OVERLAPPING_TILES = auto()
    """An algorithm reads it by tiles that overlap (`Algorithm.reads_tiles`)."""
    LONG_GROUP = auto()
    """The operators before it are as many as are planned together."""


@record
class CannotFuse:
    """A barrier between two operators."""

    barrier: Barrier
    operators: tuple[OperatorName, ...] = ()
    """Those that it is about."""
    dtype: str = ""


@record
class NotExecutable:
    """Operators as one chain, whose best schedule cannot be executed."""

    operators: tuple[OperatorName, ...]


@record
class NoMicroKernel:
    """A contraction that none of the micro kernels can compute."""

    operator: OperatorName


@record
class SeparateFaster:
    """Separate plans that take less time on one thread."""

    is_bound: bool = False
    """Whether they take less than the fused chain at least costs: then it was not planned."""


@record
class FewerBlocks:
    """A fused chain with fewer blocks, which takes longer on all cores."""

    cores: int
    fused_s: float
    separate_s: float
    is_bound: bool = False
    """Whether the fused chain's time is the least that it can cost: then it was not planned."""


CutReason: TypeAlias = CannotFuse | NotExecutable | NoMicroKernel | SeparateFaster | FewerBlocks
"""Why an edge is cut."""


class Unplannable(PlanningError):
    """A chain that has no plan; `reason` says it of the edges inside, should they be cut."""

    def __init__(
        self, message: str, *, reason: NotExecutable | NoMicroKernel | CannotFuse, where: str, why: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, where=where, why=why, hint=hint)
        self.reason = reason


@record
class WholeGroup:
    """What all operators of a group cost as one chain, and in the parts that they were cut into instead."""

    operators: int
    cores: int
    whole_s: float
    parts_s: float


@record
class TakenOver:
    """Where the loops of a plan come from that was not searched."""

    chain: str
    """Of the same model, searched; by name."""
    efficiency: float
    """The ideal time over the price, without the call: on one thread or on all cores, where it is less."""
    source_efficiency: float
    """The same of the chain that was searched."""


# What terms of a price say of themselves


@record
class BeyondShare:
    """Bytes that do not fit the usable share of a memory level."""

    excess_bytes: int
    level: str


@record
class CombinedParts:
    """Partial results that a second parallel region combines."""

    parts: int


@record
class ParallelBlocks:
    """How the blocks of a parallel region divide among cores, and what the region costs."""

    blocks: int
    cores: int
    imbalance: float
    """The share of the busiest core, in even shares."""
    region_s: float


@record
class UnreadLines:
    """Cache lines of the output that are stored without being read."""


PriceNote: TypeAlias = BeyondShare | CombinedParts | ParallelBlocks | UnreadLines


# What masks leave out


@record
class KeyLimit:
    """What holds where a mask lets a row see a key."""

    constraint: Constraint
    tensor: TensorName = ""
    """Where an element is read from that the constraint speaks of."""


# How rows meet loops


@record
class CutRows:
    """How a row-wise reduction meets loops that cut its rows."""

    parts: Tiles
    """Loops whose blocks are parts of their own, combined at the end."""
    online: Tiles
    """Loops from block to block of which its states are kept."""
