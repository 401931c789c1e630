"""The chains whose schedules are measured: Table IV's, some with softmax, and ten of ragged sizes; each takes 0.2 to 20 ms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import tilewright as tw
from tilewright.graph.types import Graph
from tilewright.kernels import registry
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.repriced import context_for
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.types import ModelPlan, Plan
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.schedules.chain_case import Problem
from tilewright.tune.schedules.space import Sampled, point_of, priced
from tilewright.tune.shapes import TABLE_IV, ChainShape

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Case(Problem):
    """One chain: what it computes, as a user would write it, and the shapes of its inputs."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[Shape, ...]
    network: str = ""
    """That it is of, if it is of any."""

    @cached_property
    def graph(self) -> Graph:
        """What is planned: the chain after all rewrites."""
        return self.model_plan().graph

    def model_plan(self, *, fuse: bool | None = True) -> ModelPlan:
        """The planner's decisions for this machine."""
        return tw.jit(self.function, fuse=fuse).lower(*map(tw.spec, self.shapes)).model_plan


class NoSchedules(Exception):
    """The planner's choice for a chain is outside of the space that can be drawn from."""


def choice(plan: Plan) -> Sampled:
    """The planner's choice for a chain, as a point of the space.

    The search is repeated with the plan's micro kernels. Raises `NoSchedules` if it does not come to the plan's schedule, or
    where the chain's loops are not searched at all. Where the plan splits its sum, which no point of the space does, the point is
    that of the best schedule without a split.
    """
    try:
        found = searched(plan)
    except KeyError as problem:
        raise NoSchedules(f"{plan.chain.name} has an operator without loops to search, {problem}") from problem
    if plan.schedule.split:
        return replace(found, plan=plan)
    if found.plan.schedule != plan.schedule:
        raise NoSchedules(f"the search does not repeat the plan of {plan.chain.name}")
    return found


def searched(plan: Plan) -> Sampled:
    """The best schedule without a split, with the plan's micro kernels."""
    context = context_for(plan, plan.chain)
    return priced(plan, context, point_of(context, refine(context, search(context))))


def kernels_for(machine: Machine) -> tuple[MicroKernel, ...]:
    """The micro kernels that the machine can run, of all element types."""
    return registry.for_machine(machine, element_types=None)


def product(a: Any, b: Any) -> Any:
    """c = a b."""
    return tw.einsum("mk,kn->mn", a, b)


def transposed_product(a: Any, b: Any) -> Any:
    """c = a b^T."""
    return tw.einsum("mk,nk->mn", a, b)


def two_layers(x: Any, v: Any, w: Any) -> Any:
    """relu(x v) w."""
    return tw.einsum("ml,ln->mn", tw.maximum(tw.einsum("mk,kl->ml", x, v), 0.0), w)


WITH_SOFTMAX = ("G2", "G7", "G9", "G12")
CASES = (
    *(Case(shape.name, gemm_chain, shape.operands, shape.network) for shape in TABLE_IV),
    *(
        Case(f"{shape.name} with softmax", attention, shape.operands, shape.network)
        for shape in TABLE_IV
        if shape.name in WITH_SOFTMAX
    ),
    Case("R1 odd chain", gemm_chain, ChainShape("", 2, 701, 211, 307, 499).operands),
    Case("R2 ViT attention", attention, ChainShape("", 12, 197, 64, 64, 197).operands, "ViT"),
    Case("R3 odd attention", attention, ChainShape("", 7, 333, 71, 73, 509).operands),
    Case("R4 tall chain", gemm_chain, ChainShape("", 1, 10007, 33, 31, 127).operands),
    Case("R5 flat chain", gemm_chain, ChainShape("", 1, 53, 301, 509, 2053).operands),
    Case("R6 tall product", product, ((8191, 129), (129, 67))),
    Case("R7 flat product", product, ((101, 769), (769, 2039))),
    Case("R8 prime product", product, ((523, 541), (541, 547))),
    Case("R9 transposed product", transposed_product, ((383, 257), (1021, 257))),
    Case("R10 two layers", two_layers, ((1021, 83), (83, 251), (251, 97))),
    Case("R11 product from memory", product, ((37, 2557), (2557, 8461))),
    Case("R12 outer product", product, ((2053, 31), (31, 4093))),
    Case("R13 shallow product", product, ((389, 5), (5, 251))),
)
"""R4 is tall, R5 flat; the right operand of R11 and the result of R12 come from memory; tiles of R13 end
after five steps; most extents are primes."""
