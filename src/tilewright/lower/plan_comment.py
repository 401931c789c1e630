"""The comment above a generated chain: what it computes, by which schedule, at which price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.block.program import Region
from tilewright.block.statements import Combine, Transfer
from tilewright.graph.types import Operator
from tilewright.lower.storage import split_rows, sums_weights
from tilewright.plan.reasons import CutRows
from tilewright.plan.regions.online_reductions import cut_rows
from tilewright.plan.schedule import Compute, Loop, Node, Pack
from tilewright.plan.types import Plan


def header(region: Region, plan: Plan) -> tuple[str, ...]:
    """What a region of a plan does, for people; deterministic, so that generated text may be compared."""
    copy = next((node for node in region.nodes() if isinstance(node, Transfer)), None)
    if copy is not None and all(node.moves for node in region.body):
        return (f"packs {copy.source.buffer.tensor} for {copy.target.buffer.of}",)
    if not any(isinstance(node, Combine) for node in region.nodes()):
        return _plan_text(plan)
    if not sums_weights(plan):
        return (f"adds up the parts of {plan.chain.output}",)
    rows, _ = split_rows(plan)
    return (f"combines the partial results of {plan.chain.name}: states of {rows.name}, then {plan.chain.output}",)


def _plan_text(plan: Plan) -> tuple[str, ...]:
    predicted, floor = (f"{seconds * 1e6:.1f} us" for seconds in (plan.predicted_seconds, plan.floor.seconds))
    unfused = f", operator by operator {plan.unfused_price.seconds * 1e6:.1f} us" if plan.unfused_price else ""
    return (
        f"{plan.chain.name}, planned for {plan.machine.name}",
        "",
        *(operator_text(operator) for operator in plan.chain.operators),
        "",
        *(f"  {_pack_text(pack)}, when the kernel is loaded" for pack in plan.schedule.ahead),
        *(f"  {line}" for line in schedule_lines(plan.schedule.body, cut=cut_rows(plan.chain, plan.schedule))),
        "",
        f"predicted {predicted} on one thread (floor {floor}{unfused})",
    )


def operator_text(operator: Operator) -> str:
    """An operator as an assignment of indexed tensors.

    >>> from tilewright.graph.expressions.index import axis
    >>> from tilewright.graph.expressions.scalar import Load
    >>> from tilewright.graph.types import Access, Axis
    >>> m = (axis("m"),)
    >>> operator_text(Operator("f", "copy", (Axis("m", 4),), (Access("x", m),), Access("y", m), Load(0)))
    'y[m] = copy(x[m])'
    """
    reads = ", ".join(_access(access.tensor, access.indices) for access in operator.reads)
    reduced = ", ".join(axis.name for axis in operator.reduction_axes())
    over = f" over {reduced}" if reduced else ""
    return f"{_access(operator.write.tensor, operator.write.indices)} = {operator.kind}({reads}){over}"


def schedule_lines(body: tuple[Node, ...], depth: int = 0, cut: Mapping[str, CutRows] | None = None) -> Iterator[str]:
    """The schedule tree, one node a line, indented by depth; `cut` has the operators whose rows its loops cut."""
    indent = "  " * depth
    for node in body:
        match node:
            case Loop(axis, tile, inner):
                yield f"{indent}for {axis} in blocks of {tile}"
                yield from schedule_lines(inner, depth + 1, cut)
            case Pack():
                yield f"{indent}{_pack_text(node)}"
            case Compute(operator, when):
                conditions = " and ".join(f"{condition.trip.value} block of {condition.axis}" for condition in when)
                rows = (cut or {}).get(operator)
                remarks = [*([f"at the {conditions}"] if when else []), *([cut_rows_text(rows)] if rows is not None else [])]
                yield f"{indent}{operator}" + (f" ({'; '.join(remarks)})" if remarks else "")


def cut_rows_text(rows: CutRows) -> str:
    """How a row-wise reduction meets loops that cut its rows.

    >>> cut_rows_text(CutRows(parts=(("l", 1024),), online=(("l", 64),)))
    'l in parts of 1024, combined at the end; online over l by 64'
    """
    parts = [f"{axis} in parts of {tile}, combined at the end" for axis, tile in rows.parts]
    online = ", ".join(f"{axis} by {tile}" for axis, tile in rows.online)
    return "; ".join([*parts, *([f"online over {online}"] if online else [])])


def _pack_text(pack: Pack) -> str:
    form = f"panels of {pack.layout.panel_columns} columns" if pack.layout.panel_columns else "dense rows"
    return f"pack operand {pack.read} of {pack.operator} into {form}"


def _access(tensor: str, indices: tuple[object, ...]) -> str:
    return f"{tensor}[{', '.join(map(str, indices))}]"
