"""A plan as text that renaming changes nowhere: numbers and structure, with labels of the replay's own.

Classes, fields and sentences of the package do not show; names of tensors, operators and axes are numbered by first occurrence,
unless the text is for readers. Figures have six digits, more than sums in another order change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tilewright.graph.expressions.index import FloorDiv, Index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Previous, Scalar, State
from tilewright.graph.types import Access, Graph, Operator, Reduction, SymbolicExtent
from tilewright.plan.layout import Layout
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, Storage
from tilewright.plan.types import KeyBlocks, ModelPlan, OperatorPlan, Plan, Price

STORED = {Storage.KEEP: "keep", Storage.RECOMPUTE: "recompute", Storage.LINE_BUFFER: "roll"}

Naming = Callable[[str, str], str]
"""How a name of some sort ("tensor", "axis", ...) is written."""


def numbered() -> Naming:
    """Names by first occurrence: `tensor0`, `axis0`, `axis1`."""
    found: dict[tuple[str, str], str] = {}
    counts: dict[str, int] = {}

    def name(sort: str, text: str) -> str:
        if (sort, text) not in found:
            found[sort, text] = f"{sort}{counts.get(sort, 0)}"
            counts[sort] = counts.get(sort, 0) + 1
        return found[sort, text]

    return name


def plain(sort: str, text: str) -> str:
    """Names as they are, for readers."""
    return text


def plan_text(plan: ModelPlan, naming: Naming) -> str:
    """All that was decided for a graph."""
    return "\n".join(_PlanText(naming).model(plan)) + "\n"


class _PlanText:
    """Lines of a plan, by part."""

    def __init__(self, naming: Naming) -> None:
        self.naming = naming

    def tensor(self, name: str) -> str:
        return self.naming("tensor", name)

    def operator(self, name: str) -> str:
        return self.naming("operator", name)

    def axis(self, name: str) -> str:
        return self.naming("axis", name)

    def model(self, plan: ModelPlan) -> Iterator[str]:
        yield "graph"
        yield from _indented(self.graph(plan.graph))
        if plan.constant_part is not None:
            yield "constant part"
            yield from _indented(self.graph(plan.constant_part))
            yield from _indented(self.computations(plan.constant_part.operators))
        for number, one in enumerate(plan.plans):
            yield f"chain {number}"
            yield from _indented(self.chain_plan(one))
        for cut in plan.cuts:
            apart = "unknown" if cut.unfused_seconds is None else _figure(cut.unfused_seconds)
            yield f"cut {self.tensor(cut.tensor)}: fused {_figure(cut.fused_seconds)}, apart {apart}"

    # Graphs

    def graph(self, graph: Graph) -> Iterator[str]:
        """Its tensors; of constants the values count only where they show in what is planned. Operators stand in their chains."""
        yield f"inputs {self.tensors(graph.inputs)}"
        yield f"outputs {self.tensors(graph.outputs)}"
        yield f"constants {self.tensors(name for name, _ in graph.constants)}"
        for tensor in graph.tensors:
            yield f"{self.tensor(tensor.name)}: {tensor.dtype} {self.extents(tensor.shape)}"

    def computations(self, operators: Iterable[Operator]) -> Iterator[str]:
        for operator in operators:
            yield from self.computation(operator)

    def computation(self, operator: Operator) -> Iterator[str]:
        """What an operator computes."""
        axes = ", ".join(f"{self.axis(a.name)} {a.kind.value} {self.extents([a.extent])}" for a in operator.axes)
        yield f"{self.operator(operator.name)}: {axes}"
        yield from (f"  read {self.access(access)}" for access in operator.reads)
        yield f"  write {self.access(operator.write)} from {operator.accumulator}"
        yield f"  body {self.scalar(operator.body)}"
        if operator.reduction is not None:
            yield from _indented(self.reduction(operator.reduction))

    def reduction(self, reduction: Reduction) -> Iterator[str]:
        for state in reduction.states:
            parts = (_figure(state.identity), state.combine, self.scalar(state.contribution))
            yield f"state {self.naming('state', state.name)}: {', '.join(parts)}"
        yield f"finish {self.scalar(reduction.finish)}"
        for rescale in reduction.rescales:
            yield f"rescale {self.naming('state', rescale.target)}: {self.scalar(rescale.factor)}"

    def access(self, access: Access) -> str:
        text = f"{self.tensor(access.tensor)}[{', '.join(map(self.index, access.indices))}]"
        if access.lookups:
            text += f" looked up {list(access.lookups)}"
        if access.guard is not None:
            text += f" where {list(map(self.index, access.guard.constraints))} else {_figure(access.guard.otherwise)}"
        return text

    def index(self, index: Index) -> str:
        terms = [f"{coefficient} {self.atom(atom)}" for atom, coefficient in index.terms]
        return " + ".join([*sorted(terms), str(index.constant)])

    def atom(self, atom: Any) -> str:
        if isinstance(atom, str):
            return self.axis(atom)
        return f"({self.index(atom.dividend)}) {'/' if isinstance(atom, FloorDiv) else '%'} {atom.divisor}"

    def scalar(self, scalar: Scalar) -> str:
        match scalar:
            case Literal():
                return _figure(scalar.value)
            case Load():
                return f"read{scalar.read}"
            case Point():
                return "point"
            case State() | Previous():
                return f"{'old ' if isinstance(scalar, Previous) else ''}{self.naming('state', scalar.name)}"
            case AxisValue():
                return self.axis(scalar.axis)
            case Parameter():
                return self.naming("length", scalar.name)
            case Apply():
                return f"{scalar.function}({', '.join(map(self.scalar, scalar.operands))})"

    def extents(self, extents: Iterable[Any]) -> str:
        return "x".join(map(self.extent, extents)) or "scalar"

    def extent(self, extent: Any) -> str:
        if not isinstance(extent, SymbolicExtent):
            return str(extent)
        return f"{self.naming('length', extent.name)}({extent.low}..{extent.high}, {extent.hint})"

    def tensors(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.tensor, names))

    def operators(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.operator, names))

    def axes(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.axis, names))

    # Decisions

    def chain_plan(self, plan: Plan) -> Iterator[str]:
        yield f"constants {self.tensors(plan.chain.constants)}"
        yield from self.computations(plan.chain.operators)
        yield from self.schedule(plan.schedule)
        yield from map(self.operator_plan, plan.operators)
        for level in plan.levels:
            tiles = ", ".join(f"{self.axis(axis)} {tile}" for axis, tile in level.tiles)
            yield f"{level.level}: {level.used_bytes} of {level.capacity_bytes} bytes, {self.axes(level.order)}: {tiles}"
        yield f"parallel {self.axes(plan.parallel_axes)}"
        yield from (f"moves {self.tensor(one.tensor)} {one.level} {one.size_bytes}" for one in plan.movements)
        yield f"scratch {plan.scratch_bytes}, constants {plan.constant_bytes}"
        yield f"thinned {self.axes(plan.thinned_axes)}"
        yield f"fetched {self.tensors(plan.prefetched_inputs)} by {self.operators(plan.prefetching_operators)}"
        yield f"streamed {self.operators(plan.non_temporal)}"
        yield from _key_blocks(plan.key_blocks, self.axis)
        yield from _price("price", plan.price)
        yield from _price("apart", plan.unfused_price) if plan.unfused_price else ()
        floor = plan.floor
        yield f"floor {floor.flops} {_figure(floor.compute_s)}, {floor.compulsory_bytes} {_figure(floor.memory_s)}"
        yield from (f"lost {_figure(one.figure)} to {_figure(one.winner_figure)}" for one in plan.rejected)

    def schedule(self, schedule: Schedule) -> Iterator[str]:
        yield "schedule"
        if schedule.split:
            yield f"  split {self.axis(schedule.split)}"
        yield from (f"  ahead {self.pack(pack)}" for pack in schedule.ahead)
        yield from (f"  {STORED[storage]} {self.tensor(tensor)}" for tensor, storage in schedule.storage)
        yield from _indented(self.nodes(schedule.body))

    def nodes(self, nodes: Iterable[Node]) -> Iterator[str]:
        for node in nodes:
            match node:
                case Loop():
                    yield f"loop {self.axis(node.axis)} by {node.tile}"
                    yield from _indented(self.nodes(node.body))
                case Compute():
                    when = "".join(f" at {one.trip.value} {self.axis(one.axis)}" for one in node.when)
                    yield f"compute {self.operator(node.operator)}{when}"
                case Pack():
                    yield self.pack(node)

    def pack(self, pack: Pack) -> str:
        return f"pack {self.operator(pack.operator)} read{pack.read} {_layout(pack.layout)}"

    def operator_plan(self, plan: OperatorPlan) -> str:
        text = f"{self.operator(plan.operator)} by {plan.micro_kernel}, {_figure(plan.efficiency)} of its lanes"
        if plan.epilogue_of:
            text += f", in tiles of {self.operator(plan.epilogue_of)}"
        if plan.roles is not None:
            roles = plan.roles
            named = [self.axis(axis) if axis else "none" for axis in (roles.row, roles.column, roles.depth)]
            text += f", {roles.left} x {roles.right}: {', '.join(named)}; {self.axes(roles.outer)}"
        return text


def _key_blocks(blocks: KeyBlocks | None, axis: Callable[[str], str]) -> Iterator[str]:
    if blocks is not None:
        shares = ", ".join(map(_figure, (blocks.empty, blocks.partial, blocks.full)))
        rows = ", ".join(f"{axis(name)} {count}" for name, count in blocks.rows)
        yield f"keys {axis(blocks.axis)}: {len(blocks.limits)} limits, {rows}; {shares}; {blocks.is_known}"


def _price(title: str, price: Price) -> Iterator[str]:
    """Overlap groups are numbered: terms with a number overlap those with the same."""
    yield f"{title} {_figure(price.seconds)}, {price.blocks} blocks, {_figure(price.region_s)}"
    groups = list(dict.fromkeys(term.operator for term in price.terms if term.kind.overlaps))
    for term in price.terms:
        yield f"  {_figure(term.seconds)}{f' overlaps {groups.index(term.operator)}' if term.kind.overlaps else ''}"


def _layout(layout: Layout) -> str:
    steps = f" {layout.interleave} steps" if layout.interleave > 1 else ""
    return f"{'panels' if layout.panel_columns else 'dense'} {layout.panel_columns}{steps}"


def _figure(value: float) -> str:
    return f"{value:.6g}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
