"""Layouts of the tensors between chains: row-major, with rows that spread over the sets of the nearest cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.graph.types import Graph, Tensor
from tilewright.plan.layout import Layout, row_major
from tilewright.plan.row_padding import spread_padding
from tilewright.plan.types import ModelPlan, Plan


def with_layouts(model_plan: ModelPlan) -> ModelPlan:
    """The plan with a layout for every tensor that a chain leaves to later ones."""
    return replace(model_plan, layouts=tuple(_layouts(model_plan.graph, model_plan.plans)))


def _layouts(graph: Graph, plans: Sequence[Plan]) -> Iterator[tuple[str, Layout]]:
    for plan in plans:
        if plan.chain.output not in graph.outputs:
            yield plan.chain.output, _spread(graph.tensor(plan.chain.output), plan.execution.set_period_bytes)


def _spread(tensor: Tensor, period_bytes: int) -> Layout:
    """Row-major, one row as it is."""
    if len(tensor.shape) < 2:
        return row_major(len(tensor.shape))
    row = tensor.shape[-1]
    return row_major(len(tensor.shape), spread_padding(row if isinstance(row, int) else None, tensor.element_bytes, period_bytes))
