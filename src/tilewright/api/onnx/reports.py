"""Reports of a session: the plan of every stage, in the names of the model's file, and measured times beside predictions.

A graph has names of its own, which are identifiers: so code of models that differ in names only is the same. Those of the file
are bound to a plan when it is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.api.compiled import Compiled
from tilewright.api.onnx.given_names import with_given_names
from tilewright.api.onnx.steps import RemainingSubgraph, SessionContext, Step
from tilewright.api.onnx.values import Values
from tilewright.errors import ShapeError
from tilewright.frontend.onnx.model import Array, Declared, Node
from tilewright.frontend.onnx.stage_types import Stage
from tilewright.graph.types import Graph
from tilewright.plan.repriced import at_extents
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record
from tilewright.report import explain, units
from tilewright.report.layout import columns

SUSPICIOUS = 1.5
"""How many times its predicted time a chain may take before the model's error is pointed at."""


@record
class ChainTime:
    """One chain, or one operator that ran as NumPy: seconds; what planning predicted and no schedule can beat, on one thread."""

    name: str
    seconds: float
    predicted_seconds: float = 0.0
    floor_seconds: float = 0.0
    flops: int = 0
    peak_share: float = 0.0
    """Of the machine's arithmetic, on one thread."""
    size_bytes: int = 0
    """The least that has to be moved from and to memory."""
    is_numpy: bool = False
    has_products: bool = False
    """Whether it has sums of products."""
    has_weights: bool = False
    """Whether an operand of one of them is a constant."""


@record
class Profile:
    """One call of a session: `str()` is a table of its chains."""

    chains: tuple[ChainTime, ...]

    @property
    def seconds(self) -> float:
        """Of all chains and operators, without the way between them."""
        return sum(chain.seconds for chain in self.chains)

    def __str__(self) -> str:
        return _table(self.chains)


@dataclass(slots=True)
class StepClock:
    """Keeps what every part of a call took."""

    times: list[ChainTime] = field(default_factory=list)

    def graph(self, step: Step, compiled: Compiled, values: Values, inputs: Sequence[Array]) -> list[Array]:
        """Run the graph of a step with the library's clocks, and look up what was planned for it: anew at the first time."""
        outputs, measured = compiled.profile(inputs)
        if not step.plans:
            step.plans = step.remaining.context.options.planned(step.remaining.graph_of(step, values)).plans
        self.times += chain_times(measured, _plans_of_call(step, values))
        return outputs

    def node(self, node: Node, seconds: float) -> None:
        """A node that ran as NumPy."""
        self.times.append(ChainTime(node.label, seconds, is_numpy=True))


def _plans_of_call(step: Step, values: Values) -> tuple[Plan, ...]:
    """The plans of a step at the extents of a call; those of the last one are kept."""
    dimensions = step.dimensions(values)
    if step.called is None or step.called[0] != dimensions:
        step.called = dimensions, tuple(at_extents(plan, dimensions) for plan in step.plans)
    return step.called[1]


def explained(remaining: RemainingSubgraph, values: Values, *, full: bool) -> str:
    """The plan of the first stage for these values, and what comes behind it."""
    stage = remaining.first_stage(values)
    return "\n".join(_stage_lines(stage, remaining.context, stage.graph, full))


def planned_stages(remaining: RemainingSubgraph, values: Values) -> list[ModelPlan]:
    """The plan of the first stage for these values, if it has a graph."""
    stage = remaining.first_stage(values)
    return [] if stage.graph is None else [remaining.context.options.planned(stage.graph)]


def explained_runs(remaining: RemainingSubgraph, *, full: bool) -> str:
    """The plan of every step that was made so far, behind the shapes of the call that asked for it, and of those behind it."""
    parts: list[str] = []
    for step, values in remaining.samples():
        graph = remaining.graph_of(step, values) if step.compiled is not None else None
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in values.items())
        parts.append("\n".join([f"for {shapes}:", *_stage_lines(step.stage, remaining.context, graph, full)]))
        if step.following is not None and step.following.samples():
            parts.append(explained_runs(step.following, full=full))
    return "\n\n".join(parts)


def _stage_lines(stage: Stage, context: SessionContext, graph: Graph | None, full: bool) -> list[str]:
    lines, as_numpy = ["nothing is compiled"], [node.label for node in stage.as_numpy]
    if graph is not None:
        named = with_given_names(context.options.planned(graph), graph, stage.operator_names, stage.tensor_names)
        lines = [explain.explain(named, full=full, numpy_nodes=as_numpy)]
    if as_numpy:
        lines += ["", "these run as NumPy:", *(f"  {label}" for label in as_numpy)]
    if stage.rest:
        more = f"{len(stage.rest)} more {'node is' if len(stage.rest) == 1 else 'nodes are'}"
        lines += ["", f"{more} planned when a call has shown what comes out of that"]
    return lines


def has_fixed_shapes(declared: Sequence[Declared]) -> bool:
    """Whether a model says all extents of its inputs."""
    return all(value.shape is not None and all(isinstance(extent, int) for extent in value.shape) for value in declared)


def checked_shapes(declared: Sequence[Declared], shapes: dict[str, Any], where: str = "explain") -> dict[str, tuple[int, ...]]:
    """The shape of every input: as it is declared, names of extents and whole shapes replaced by what is given.

    `shapes` has extents by the names of dimensions, and shapes by the names of inputs. Raises `ShapeError` for what is missing.
    """
    unknown = set(shapes) - {value.name for value in declared} - {e for value in declared for e in value.shape or ()}
    if unknown:
        named = sorted({e for value in declared for e in value.shape or () if isinstance(e, str)})
        inputs = ", ".join(value.name for value in declared)
        why = f"its inputs are {inputs}; its dimensions {', '.join(named) or 'have no names'}"
        raise ShapeError(f"the model has no input and no dimension {sorted(unknown)[0]!r}", where=where, why=why)
    return {value.unique: tuple(_extents(value, shapes, where)) for value in declared}


def _extents(declared: Declared, shapes: dict[str, Any], where: str) -> Iterator[int]:
    if declared.name in shapes:
        yield from (int(extent) for extent in shapes[declared.name])
        return
    for extent in declared.shape if declared.shape is not None else (None,):
        known = shapes.get(extent) if isinstance(extent, str) else extent
        if known is None:
            first = "; or run the session first" if where == "explain" else ""
            why, hint = f"it is {declared.shape}", f"give the shape of the input: {_call_with_shape(declared, where)}{first}"
            raise ShapeError(f"the shape of {declared.name!r} is not known", where=where, why=why, hint=hint)
        yield int(known)


def _call_with_shape(declared: Declared, where: str) -> str:
    """The call with some shape that this input may have."""
    shape = (1, 128) if declared.shape is None else tuple(extent if isinstance(extent, int) else 128 for extent in declared.shape)
    return f"{where}({declared.name}={shape})" if declared.name.isidentifier() else f"{where}(**{{{declared.name!r}: {shape}}})"


def chain_times(measured: Sequence[tuple[str, float]], planned: Sequence[Plan]) -> tuple[ChainTime, ...]:
    """The chains of a model with the seconds that were measured for each, by name."""
    plans = {plan.chain.name: plan for plan in planned}
    found = []
    for name, seconds in measured:
        plan = plans.get(name)
        if plan is None:
            found.append(ChainTime(name, seconds))
            continue
        floor = plan.floor
        share = floor.compute_s / seconds if seconds else 0.0
        times = (seconds, plan.predicted_seconds, floor.seconds)
        products = [operator for operator in plan.chain.operators if operator.is_contraction()]
        weights = any(read.tensor in plan.chain.constants for operator in products for read in operator.reads[:2])
        kinds = {"has_products": bool(products), "has_weights": weights}
        found.append(ChainTime(name, *times, floor.flops, share, floor.compulsory_bytes, **kinds))
    return tuple(found)


def _table(times: Sequence[ChainTime]) -> str:
    """Lines for a person: the chains in order, then the total; what took longer than predicted is marked."""
    rows = [["chain", "time", "predicted", "floor", "of peak", "bytes", ""]]
    rows += [_row(time) for time in times]
    total = sum(time.seconds for time in times)
    rows.append(["total", units.seconds(total), units.seconds(sum(time.predicted_seconds for time in times)), "", "", "", ""])
    return "\n".join(columns(rows, right=range(1, 6)))


def _row(time: ChainTime) -> list[str]:
    if time.is_numpy:
        return [time.name, units.seconds(time.seconds), "", "", "", "", "runs as NumPy"]
    is_late = time.predicted_seconds and time.seconds > SUSPICIOUS * time.predicted_seconds
    remark = f"{time.seconds / time.predicted_seconds:.1f} times as predicted" if is_late else ""
    figures = [units.seconds(value) for value in (time.seconds, time.predicted_seconds, time.floor_seconds)]
    return [time.name, *figures, units.percent(time.peak_share), units.size(time.size_bytes), remark]
