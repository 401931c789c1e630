"""Types of plans: a `Plan` per chain, which carries its own reasons, and a `ModelPlan` for a whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from enum import StrEnum

from tilewright.block.execution import Execution, KernelCalls
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.types import Chain, Constant, Extent, Graph, Tensor, planned_extent
from tilewright.machine.machine import Machine
from tilewright.plan.chains import AxisName, OperatorName, TensorName
from tilewright.plan.layout import Layout
from tilewright.plan.reasons import Alternative, CutReason, KeyLimit, LossReason, PriceNote, TakenOver, Tiles, WholeGroup
from tilewright.plan.schedule import Schedule
from tilewright.plan.threads import threads_seconds
from tilewright.records import record


@record
class OperatorPlan:
    """How one operator is computed."""

    operator: OperatorName
    leaf: LeafBinding | None = None
    """The leaf that computes it; None for general vector loops."""
    efficiency: float = 1.0
    """Useful share of the lanes and rows that a micro kernel computes, edges included."""
    epilogue_of: OperatorName = ""
    """The contraction whose micro tiles apply a map in registers, before they are stored; "" for all other operators."""
    calls: KernelCalls = field(default_factory=KernelCalls)
    """How calls of the micro kernel cover a block."""

    @property
    def micro_kernel(self) -> str | None:
        """The name of the micro kernel that computes it, if one does."""
        return self.leaf.tile.micro_kernel if self.leaf is not None and self.leaf.tile is not None else None

    @property
    def roles(self) -> ContractionRoles | None:
        """The roles of its axes in that."""
        return self.leaf.tile.roles if self.leaf is not None and self.leaf.tile is not None else None


@record
class LevelPlan:
    """The blocking that serves one memory level: loop order (outermost first), tile per axis, what it occupies."""

    level: str
    order: tuple[AxisName, ...]
    tiles: Tiles
    used_bytes: int
    capacity_bytes: int


@record
class Movement:
    """Bytes of one tensor that cross into a level from the one behind it (write-backs included), for the whole chain."""

    tensor: TensorName
    level: str
    size_bytes: int


class TermKind(StrEnum):
    """What a term of a price pays for; the value is the text that `explain` prints."""

    ARITHMETIC = "arithmetic"
    FUNCTIONS = "functions"
    ARITHMETIC_AND_FUNCTIONS = "arithmetic and functions"
    TRAFFIC = "traffic"
    EXACT_ARITHMETIC = "exact arithmetic"
    PREFETCHES = "prefetches"
    PACKING = "packing and pages"
    BLOCKS = "blocks and tile ends"
    LINE_BUFFERS = "line buffers"
    VISIBLE_TRAFFIC = "visible traffic"
    NON_TEMPORAL_STORES = "non-temporal stores"
    SPILLS = "spills"
    COMBINE = "combine"
    CALL = "call"
    REGION = "parallel region"
    ROUNDS = "rounds of blocks"
    WAITS = "waiting for loads"
    FILL = "fill"
    LAUNCH = "launch"

    @property
    def overlaps(self) -> bool:
        """Whether a core pays for it while it pays for the same operator's other terms of such kinds."""
        return self in _OVERLAPPING


_OVERLAPPING = (
    *(TermKind.ARITHMETIC, TermKind.FUNCTIONS, TermKind.ARITHMETIC_AND_FUNCTIONS, TermKind.TRAFFIC),
    *(TermKind.ROUNDS, TermKind.WAITS),
)


@record
class PriceTerm:
    """A part of a price: of an operator, or of the whole chain. Of an operator's overlapping terms only the largest counts."""

    kind: TermKind
    seconds: float
    operator: OperatorName = ""
    level: str = ""
    """Into which traffic goes."""
    note: PriceNote | None = None

    @property
    def name(self) -> str:
        """As `explain` prints it.

        >>> PriceTerm(TermKind.TRAFFIC, 1e-6, "scores", "L1").name
        'scores: traffic into L1'
        """
        text = f"{self.kind} into {self.level}" if self.level else str(self.kind)
        return f"{self.operator}: {text}" if self.operator else text


@record
class Price:
    """Predicted time of one call on one thread, term by term, and what several threads need to divide it.

    That of a device is of the whole device, in one block.
    """

    terms: tuple[PriceTerm, ...]
    blocks: int = 1
    """Independent blocks; of several chains one after the other the fewest."""
    region_s: float = 0.0
    """Of the parallel regions of a call."""

    @property
    def seconds(self) -> float:
        """The largest of every operator's overlapping terms, plus all others."""
        longest: dict[str, float] = {}
        for term in self.terms:
            if term.kind.overlaps:
                longest[term.operator] = max(longest.get(term.operator, 0.0), term.seconds)
        return sum(longest.values()) + sum(term.seconds for term in self.terms if not term.kind.overlaps)

    def on(self, threads: int) -> float:
        """The time on several threads: whole blocks are dealt out, the call itself stays on one.

        >>> Price((PriceTerm(TermKind.ARITHMETIC, 8.0, "x"), PriceTerm(TermKind.CALL, 1.0)), blocks=16).on(5)
        3.0
        """
        if threads <= 1 or self.blocks <= 1:
            return self.seconds
        call_s = sum(term.seconds for term in self.terms if term.kind is TermKind.CALL)
        return float(call_s + threads_seconds(self.seconds - call_s, self.blocks, threads, self.region_s))


@record
class KeyBlocks:
    """What masks make of the pairs of a row and a key, by blocks of rows: shares that are left out, masked, and as without."""

    axis: AxisName
    """Of the keys."""
    limits: tuple[KeyLimit, ...]
    """What must hold for a pair."""
    rows: Tiles
    """Rows of a block, along every axis that the limits speak of."""
    empty: float
    partial: float
    full: float
    is_known: bool = True
    """Whether no data of a call leaves out more."""


@record
class Floor:
    """What no schedule can beat: flops over peak and compulsory bytes over memory bandwidth, of one thread or a whole device."""

    flops: int
    compute_s: float
    compulsory_bytes: int
    memory_s: float

    @property
    def seconds(self) -> float:
        """The larger of the two."""
        return max(self.compute_s, self.memory_s)


@record
class Rejected:
    """An alternative that lost: what it was, its figure, the winner's figure, in `unit`, and why that decided."""

    alternative: Alternative
    figure: float
    winner_figure: float
    unit: str
    reason: LossReason


@record
class Tuned:
    """Why a plan is not the planner's choice: it was measured to be faster, in pairs."""

    seconds: float
    """Of a call."""
    planned_seconds: float
    """Of the planner's choice, measured beside it."""
    measured: int
    """Plans that were measured."""


@record
class Plan:
    """How one chain is computed on one machine, and why."""

    chain: Chain
    machine: Machine
    schedule: Schedule
    operators: tuple[OperatorPlan, ...]
    levels: tuple[LevelPlan, ...]
    parallel_axes: tuple[AxisName, ...]
    """Axes of the outermost loops, in order, whose blocks are distributed over threads."""
    movements: tuple[Movement, ...]
    scratch_bytes: int
    """Packed operands and live intermediates of one thread."""
    price: Price
    unfused_price: Price | None
    """None where the division into chains was taken over: then the operators alone have no price."""
    floor: Floor
    rejected: tuple[Rejected, ...]
    constant_bytes: int = 0
    """Constants that are packed ahead: once, for all threads."""
    thinned_axes: tuple[AxisName, ...] = ()
    """Axes of which not every tile that matters was tried, because an operator has too many combinations."""
    prefetched_inputs: tuple[TensorName, ...] = ()
    """Inputs of which micro tiles prefetch the next block's part."""
    prefetching_operators: tuple[OperatorName, ...] = ()
    """The contractions whose micro tiles do that."""
    non_temporal: tuple[OperatorName, ...] = ()
    """Contractions whose micro tiles store past the caches what nobody reads soon."""
    key_blocks: KeyBlocks | None = None
    """Where masks leave out keys."""
    taken_over: TakenOver | None = None
    """Where the loops come from, if they were not searched."""
    tuned: Tuned | None = None
    """Where the choice is not the planner's."""
    execution: Execution = field(default_factory=Execution)
    """What neither loops nor tiles say, and no name: order of blocks, sums, shared packing, spread rows."""

    def __hash__(self) -> int:
        """Equal for equal plans, by chain and scratch: hashing every figure would take far longer."""
        return hash((self.chain, self.scratch_bytes))

    @property
    def predicted_seconds(self) -> float:
        """Of one call on one thread, or on a device."""
        return self.price.seconds

    def operator_plan(self, name: str) -> OperatorPlan:
        """The plan of one operator."""
        return next(plan for plan in self.operators if plan.operator == name)


@record
class Cut:
    """An edge between two chains that was not fused: the tensor, both prices, and the reason."""

    tensor: TensorName
    fused_seconds: float
    """Infinite where no executable fused plan exists."""
    unfused_seconds: float | None
    """None where an operator at an end has no price alone."""
    reason: CutReason
    whole: WholeGroup | None = None
    """What the whole group of operators costs that the edge belongs to, where that was found out."""
    source: str = ""
    """The tensor between two other chains of which the figures are, if the cut was taken over from them."""


@record
class MergedArgument:
    """An input or output of which several dimensions are one in a plan: no operator tells them apart."""

    declared: Tensor
    """With the dimensions that callers see."""
    joined: tuple[int, ...]
    """Dimensions that are one with the next."""

    def last_dims(self) -> tuple[int, ...]:
        """For every dimension of the plan the last declared one that is a part of it.

        >>> MergedArgument(Tensor("x", (1, 8, 4, 4)), joined=(2,)).last_dims()
        (0, 1, 3)
        """
        return tuple(dim for dim in range(len(self.declared.shape)) if dim not in self.joined)


def joined_dims(declared: Sequence[Extent], planned: Sequence[Extent]) -> tuple[int, ...]:
    """The dimensions of a shape that are one with the next in another that has fewer; those of one element stay apart.

    >>> joined_dims((1, 8, 4, 4), (1, 8, 16))
    (2,)
    """
    joined: list[int] = []
    dim = 0
    for extent in planned:
        points = declared[dim]
        while points != extent:
            joined.append(dim)
            dim += 1
            points = planned_extent(points) * planned_extent(declared[dim])
        dim += 1
    return tuple(joined)


@record
class ImageLayouts:
    """The images between operators, in the order in which they are made: the names of those with their channels last, and of
    those that lie as they are written.
    """

    channels_last: tuple[str, ...]
    as_written: tuple[str, ...]


@record
class ModelPlan:
    """A graph cut into chains, in execution order; tensors between chains live in the workspace of a call."""

    graph: Graph
    plans: tuple[Plan, ...]
    cuts: tuple[Cut, ...]
    constant_part: Graph | None = None
    """What depends on constants alone. Its outputs are constants of `graph`, whose values it gives when a kernel is loaded."""
    given: tuple[tuple[str, Constant], ...] = ()
    """The constants of the graph that was asked for, before it was rewritten."""
    layouts: tuple[tuple[str, Layout], ...] = ()
    """Of the tensors between chains; the graph knows none, and inputs and outputs lie as the caller has them."""
    merged: tuple[MergedArgument, ...] = ()
    """Inputs and outputs of which the graph has fewer dimensions than callers."""
    images: ImageLayouts | None = None
    """None where operators leave no images to each other, or where nobody chose."""

    def with_plan(self, number: int, plan: Plan) -> ModelPlan:
        """The same with another plan for one of its chains."""
        return replace(self, plans=(*self.plans[:number], plan, *self.plans[number + 1 :]))

    @property
    def machine(self) -> Machine:
        """What all chains are planned for."""
        return self.plans[0].machine

    @property
    def predicted_seconds(self) -> float:
        """Of one call on one thread: the chains one after the other, the cost of the call itself once."""
        calls = [term.seconds for plan in self.plans for term in plan.price.terms if term.kind is TermKind.CALL]
        return sum(plan.predicted_seconds for plan in self.plans) - sum(calls[1:])
