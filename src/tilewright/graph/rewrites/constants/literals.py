"""Literals for constants of one element in the bodies that read them: scales, roots of two, epsilons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_used_reads
from tilewright.graph.scalar import Literal, Load, Scalar, rewrite
from tilewright.graph.types import Constant, Graph, Operator


@dataclass(frozen=True, slots=True)
class Literals(Rewrite):
    """A number that a map reads everywhere the same is part of its formula, whoever wrote it as an array.

    Only in maps that compute in floating point, which is what literals are.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps read no constant of one element."""
        numbers = {name: Literal(_value(constant)) for name, constant in graph.constants if constant.array.size == 1}
        return with_operators(graph, [_with_literals(operator, numbers) for operator in graph.operators]) if numbers else graph


def _value(constant: Constant) -> float:
    return float(constant.array.reshape(())[()])


def _with_literals(operator: Operator, numbers: Mapping[str, Literal]) -> Operator:
    known = {Load(number): numbers[access.tensor] for number, access in enumerate(operator.reads) if access.tensor in numbers}
    if not known or not operator.is_map() or not np.issubdtype(np.dtype(operator.accumulator), np.floating):
        return operator
    guarded = {Load(number) for number, access in enumerate(operator.reads) if access.guard is not None}
    values: Mapping[Scalar, Literal] = {load: value for load, value in known.items() if load not in guarded}
    return with_used_reads(replace(operator, body=rewrite(operator.body, values.get)))
