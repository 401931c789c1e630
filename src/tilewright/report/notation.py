"""Operators and schedules as lines of text: einsum-like formulas and trees of loops."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import assert_never

from tilewright.graph.printer import scalar_text
from tilewright.graph.scaled_points import point_factor
from tilewright.graph.types import Access, Chain, Operator, planned_extent
from tilewright.lower.plan_comment import cut_rows_text
from tilewright.plan.regions.online_reductions import cut_rows
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule


def formula(operator: Operator) -> str:
    """What an operator computes: `scores[b,m,l] = sum(k) q[b,m,k] * k[b,k,l]`; `#0` of the printer is the first read."""
    value = re.sub(r"#(\d+)", lambda number: access_text(operator.reads[int(number[1])]), scalar_text(operator.body))
    if operator.is_map():
        return f"{access_text(operator.write)} = {value}"
    reduced = ",".join(axis.name for axis in operator.reduction_axes())
    factor = point_factor(operator.reduction) if operator.reduction is not None else 1.0
    value = value if factor == 1 else f"{factor:g} * {value}"
    carried = "sum" if operator.is_product_sum() else operator.kind
    return f"{access_text(operator.write)} = {carried}({reduced}) {value}"


def access_text(access: Access) -> str:
    """`q[b,m,k]`; `padded(x[m+1], 0)` with the value that an access has where its predicate does not hold."""
    text = f"{access.tensor}[{','.join(str(index).replace(' ', '') for index in access.indices)}]"
    return f"padded({text}, {access.guard.otherwise:g})" if access.guard else text


def schedule_rows(schedule: Schedule, chain: Chain, parallel_axes: tuple[str, ...]) -> list[tuple[str, str]]:
    """The tree, one row per node: its indented text, and what is to be said beside it."""
    extents = {name: planned_extent(extent) for name, extent in chain.extents.items()}
    cut = {operator: cut_rows_text(rows) for operator, rows in cut_rows(chain, schedule).items()}
    ahead = [
        (f"pack {packed_tensor(pack, chain)}", f"prepacked, for {pack.operator}, {layout_text(pack)}") for pack in schedule.ahead
    ]
    rows = [*ahead, *_node_rows(schedule.body, chain, extents, parallel_axes, depth=0)]
    return [(text, "; ".join(filter(None, (remark, cut.get(text.strip(), ""))))) for text, remark in rows]


def _node_rows(
    body: tuple[Node, ...], chain: Chain, ranges: dict[str, int], parallel_axes: tuple[str, ...], depth: int
) -> Iterator[tuple[str, str]]:
    indent = "  " * depth
    for node in body:
        match node:
            case Loop(axis, tile, inner):
                blocks = math.ceil(ranges[axis] / tile)
                remark = f"{blocks} {'block' if blocks == 1 else 'blocks'}{', parallel' if axis in parallel_axes else ''}"
                yield f"{indent}for {axis} by {tile}", remark
                below = tuple(name for name in parallel_axes if name != axis)
                yield from _node_rows(inner, chain, {**ranges, axis: min(tile, ranges[axis])}, below, depth + 1)
            case Compute(operator, when):
                conditions = " and ".join(f"the {condition.trip.value} block of {condition.axis}" for condition in when)
                yield f"{indent}{operator}", f"at {conditions}" if conditions else ""
            case Pack():
                yield f"{indent}pack {packed_tensor(node, chain)}", f"for {node.operator}, {layout_text(node)}"
            case _:
                assert_never(node)


def packed_tensor(pack: Pack, chain: Chain) -> str:
    """The name of the tensor that a Pack copies."""
    return chain.operator(pack.operator).reads[pack.read].tensor


def layout_text(pack: Pack) -> str:
    """How an operand is copied."""
    columns, steps = pack.layout.panel_columns, pack.layout.interleave
    interleaved = f", {steps} steps side by side" if steps > 1 else ""
    return f"in panels of {columns} columns{interleaved}" if columns else "densely"
