"""Lowering of a whole model: its block program, arguments and workspace.

Structure of a chain's code: equal for chains whose functions are the same but for names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import TypeAlias

from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.memory import Buffer, BufferName, Lifetime
from tilewright.block.printer import to_text
from tilewright.block.program import Region
from tilewright.block.verifier import verify
from tilewright.entry_point import Signature
from tilewright.graph.types import Tensor
from tilewright.kernels.contract import MicroKernel
from tilewright.lower.arguments import extents_in, hints, signature_of, stored_arguments
from tilewright.lower.chain import lower
from tilewright.lower.storage import Stored, extent_value, strides_of
from tilewright.lower.workspace import Workspace, allocations, arranged, between_chains
from tilewright.plan.binding import numbered_plan
from tilewright.plan.chains import names_of
from tilewright.plan.layout import Layout
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record

Structure: TypeAlias = tuple[int, int]
"""The number of a kind of chains, and that of the region in its chain."""


@record
class BlockProgram:
    """The block program of a model: the regions of all chains, in order, and the arguments of a call."""

    model_plan: ModelPlan
    signature: Signature
    regions: tuple[Region, ...]
    plans: tuple[Plan, ...]
    """Of every region: a plan that splits a reduction has two."""
    structures: tuple[Structure | None, ...]
    """Of every region: equal for those whose functions are the same but for names; None: shared by nobody."""
    workspace: Workspace
    """Tensors between chains, what parts leave to their combination, and shared operands."""

    @property
    def constants(self) -> tuple[Region, ...]:
        """The regions that run when the kernel is loaded; those that several chains pack alike are there once."""
        return tuple(dict.fromkeys(constant for region in self.regions for constant in region.constants))

    def listing(self) -> str:
        """The block program, for people."""
        return to_text(self.regions)


def block_program(model_plan: ModelPlan, kernels: Mapping[str, MicroKernel], lanes: int) -> BlockProgram:
    """Lower every chain of a plan, for vectors of so many lanes of 32 bits. Raises `DTypeError` for types no kernel takes."""
    graph = model_plan.graph
    signature = signature_of(model_plan)
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    stored = stored_arguments(model_plan)
    stored |= {tensor: _between(tensors[tensor], layout) for tensor, layout in model_plan.layouts}
    kinds = _kinds(model_plan, signature, stored)
    lowered = [
        (region, plan, (kind, number))
        for plan, kind in zip(model_plan.plans, kinds, strict=True)
        for number, region in enumerate(lower(plan, kernels, lanes, _of_chain(plan, stored)))
    ]
    workspace = arranged(tuple(allocations(model_plan, [(region, plan) for region, plan, _ in lowered])), hints(graph))
    regions, plans, structures = zip(*lowered, strict=True) if lowered else ((), (), ())
    return BlockProgram(model_plan, signature, regions, plans, structures, workspace)


def verify_program(program: BlockProgram) -> None:
    """Check every chain at the sizes that are planned with; raises `InternalError` where one is wrong."""
    variables = {Variable(VariableKind.EXTENT, name): extent.hint for name, extent in extents_in(program.model_plan).items()}
    known: dict[str, Buffer] = {}
    for slot in (*program.signature.inputs, *program.signature.constants, *program.signature.outputs):
        sizes = [variables[Variable(VariableKind.EXTENT, size)] if isinstance(size, str) else size for size in slot.shape]
        known[slot.name] = Buffer(BufferName(slot.name), prod(sizes), slot.dtype, Lifetime.CALL)
        variables |= {Variable(VariableKind.STRIDE, slot.name, dim): prod(sizes[dim + 1 :]) for dim in range(len(sizes))}
    for tensor, layout in program.model_plan.layouts:
        known[tensor] = between_chains(layout, program.model_plan.graph.tensor(tensor))
    for _, pairs in groupby(zip(program.plans, program.regions, strict=True), key=lambda pair: id(pair[0])):
        plans, regions = zip(*pairs, strict=True)
        given = [known[tensor] for tensor in plans[0].chain.inputs if tensor in known]
        verify(regions, given, [known[plans[0].chain.output]], variables)


def code_structure(plan: Plan, stored: Mapping[str, Stored], order: Sequence[str]) -> Hashable:
    """All that the functions of a chain depend on: its plan in numbers, where its tensors lie, and how their sizes are passed.

    `stored` says where inputs and output lie; `order` has the arguments of the program, whose run-time strides are passed in
    this order. Nothing else may reach the text of a routine, but for comments.
    """
    numbers = names_of(plan.chain).inverse().tensors
    places = tuple((numbers[tensor], *_place(tensor, place)) for tensor, place in stored.items())
    sizes = tuple(numbers[tensor] for tensor in order if tensor in stored)
    return numbered_plan(replace(plan, rejected=())), places, sizes


def _place(tensor: str, place: Stored) -> Iterator[Hashable]:
    """Where a tensor lies: run-time strides are passed under its name."""
    yield tuple(_stride(tensor, dimension, stride) for dimension, stride in enumerate(place.strides))
    yield place.origins, place.offset, place.dtype


def _stride(tensor: str, dimension: int, stride: IntegerExpression) -> IntegerExpression | None:
    return None if stride == Variable(VariableKind.STRIDE, tensor, dimension) else stride


def _kinds(model_plan: ModelPlan, signature: Signature, stored: Mapping[str, Stored]) -> list[int]:
    """For every chain the number of its kind: chains of a kind have the same code but for names."""
    order = [slot.name for slot in (*signature.inputs, *signature.outputs)]
    found: dict[Hashable, int] = {}
    return [found.setdefault(code_structure(plan, _of_chain(plan, stored), order), len(found)) for plan in model_plan.plans]


def _between(tensor: Tensor, layout: Layout) -> Stored:
    sizes = tuple(extent_value(extent) for extent in tensor.shape)
    return Stored(BufferName(tensor.name), strides_of(layout, sizes), (0,) * len(sizes), dtype=tensor.dtype)


def _of_chain(plan: Plan, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    return {tensor: stored[tensor] for tensor in (*plan.chain.inputs, plan.chain.output) if tensor in stored}
