"""The comment above a generated chain: what it computes, by which schedule, at which price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.graph.types import Operator
from tilewright.plan.regions.online_reductions import row_forms
from tilewright.plan.schedule import Compute, Layout, Loop, Node, Pack
from tilewright.plan.types import Plan


def header(plan: Plan) -> tuple[str, ...]:
    """Lines for people; they are deterministic, so that generated text may be compared."""
    predicted, unfused, floor = (
        f"{seconds * 1e6:.1f} us" for seconds in (plan.predicted_seconds, plan.unfused_price.seconds, plan.floor.seconds)
    )
    return (
        f"{plan.chain.name}, planned for {plan.machine.name}",
        "",
        *(operator_text(operator) for operator in plan.chain.operators),
        "",
        *(f"  {_pack_text(pack)}, when the kernel is loaded" for pack in plan.schedule.ahead),
        *(f"  {line}" for line in schedule_lines(plan.schedule.body, forms=row_forms(plan.chain, plan.schedule))),
        "",
        f"predicted {predicted} on one thread (floor {floor}, operator by operator {unfused})",
    )


def operator_text(operator: Operator) -> str:
    """An operator as an assignment of indexed tensors.

    >>> from tilewright.graph.index import axis
    >>> from tilewright.graph.scalar import Load
    >>> from tilewright.graph.types import Access, Axis
    >>> m = (axis("m"),)
    >>> operator_text(Operator("f", "copy", (Axis("m", 4),), (Access("x", m),), Access("y", m), Load(0)))
    'y[m] = copy(x[m])'
    """
    reads = ", ".join(_access(access.tensor, access.indices) for access in operator.reads)
    reduced = ", ".join(axis.name for axis in operator.reduction_axes())
    over = f" over {reduced}" if reduced else ""
    return f"{_access(operator.write.tensor, operator.write.indices)} = {operator.kind}({reads}){over}"


def schedule_lines(body: tuple[Node, ...], depth: int = 0, forms: Mapping[str, str] | None = None) -> Iterator[str]:
    """The schedule tree, one node a line, indented by depth; `forms` says of operators how they meet its loops."""
    indent = "  " * depth
    for node in body:
        match node:
            case Loop(axis, tile, inner):
                yield f"{indent}for {axis} in blocks of {tile}"
                yield from schedule_lines(inner, depth + 1, forms)
            case Pack():
                yield f"{indent}{_pack_text(node)}"
            case Compute(operator, when):
                conditions = " and ".join(f"{condition.trip.value} block of {condition.axis}" for condition in when)
                form = (forms or {}).get(operator, "")
                remarks = [*([f"at the {conditions}"] if when else []), *([form] if form else [])]
                yield f"{indent}{operator}" + (f" ({'; '.join(remarks)})" if remarks else "")


def _pack_text(pack: Pack) -> str:
    form = f"panels of {pack.panel_columns} columns" if pack.layout is Layout.PANELS else "dense rows"
    return f"pack operand {pack.read} of {pack.operator} into {form}"


def _access(tensor: str, indices: tuple[object, ...]) -> str:
    return f"{tensor}[{', '.join(map(str, indices))}]"
