"""Graphs whose operators are computed by algorithms named in a test, whatever they cost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import Algorithm, Problem, applicable, expanded
from tilewright.plan.whole_model import algorithm_choice
from tilewright.precision import Precision

MACHINE = Machine.named("x86-64-v3")


def problems(graph: Graph) -> list[Problem]:
    """The operators of a graph."""
    tensors, constants = {tensor.name: tensor for tensor in graph.tensors}, frozenset(name for name, _ in graph.constants)
    return [Problem(operator, tensors, constants, MACHINE) for operator in graph.operators]


def computed_by(graph: Graph, *names: str) -> Graph:
    """The graph in which every operator is computed by the first of some algorithms that applies; others stay."""
    chosen = {}
    for problem in problems(graph):
        by_name = {algorithm.name: algorithm for algorithm in applicable(problem, Precision.FAST)}
        if found := next((by_name[name] for name in names if name in by_name), None):
            chosen[problem.operator.name] = found
    return expanded(graph, chosen, frozenset(name for name, _ in graph.constants), MACHINE)


@contextmanager
def forced(name: str) -> Iterator[None]:
    """Inside, planning knows one algorithm alone of every operator that it applies to, and all of the others."""

    def of(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        found = applicable(problem, precision)
        return tuple(algorithm for algorithm in found if algorithm.name == name) or found

    with patch.object(algorithm_choice, "applicable", of):
        yield


@contextmanager
def drawn(seed: int) -> Iterator[None]:
    """Inside, planning knows one algorithm of every operator, drawn of those that apply; a seed says which."""

    def of(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        found = applicable(problem, precision)
        return (random.Random(f"{seed} {problem.operator.name}").choice(found),) if found else ()

    with patch.object(algorithm_choice, "applicable", of):
        yield
