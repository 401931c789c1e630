"""Price of a split reduction: its parts, and the combination of their results."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.graph.types import element_bytes
from tilewright.plan.arrays import product
from tilewright.plan.element_types import computed_type
from tilewright.plan.model.blocking import Blocking
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.regions.online_reductions import row_axes, softmax_weights, weights_read
from tilewright.plan.schedule import Loop, Schedule


@dataclass(frozen=True, slots=True)
class SplitReduction:
    """A reduction cut into parts of `tile` points."""

    axis: str
    tile: int
    parts: int
    size: int
    """Points of the whole axis."""
    context: CostContext
    """Of one part."""
    blocking: Blocking
    """Of one part."""

    @property
    def passes(self) -> float:
        """Parts, the last one counted by its length."""
        return self.size / self.tile

    def schedule(self) -> Schedule:
        """The schedule of all parts."""
        part = self.blocking.schedule
        return Schedule((Loop(self.axis, self.tile, part.body),), part.storage, self.axis, part.ahead)


def split_seconds(context: CostContext, split: SplitReduction) -> float:
    """The price of all parts and of their combination, on one thread."""
    return split.passes * split.blocking.seconds + combine_seconds(context, split.parts)


def combine_seconds(context: CostContext, parts: int) -> float:
    """Outputs and states of all parts written to memory and read back, and a pass over them."""
    sink = context.chain.operators[-1]
    rows = weights_read(context.chain, sink)
    weights = softmax_weights(rows) if rows is not None else None
    written = int(product(context.sizes[name] for name in sink.write.axes()))
    per_state = int(product(context.sizes[name] for name in row_axes(rows))) if rows is not None else 0
    states = len(weights.factors) * per_state if weights else 0
    size_bytes = parts * (written + states) * element_bytes(computed_type(sink))
    vectors = size_bytes * 8 / context.machine.vector_bits
    moved = 2 * size_bytes / context.machine.levels[-1].bandwidth_bytes_per_s
    passing = vectors * context.coefficients.pass_cycles_per_vector / context.machine.frequency_hz
    return context.coefficients.combining * (moved + passing)
