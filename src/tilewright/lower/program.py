"""Block programs of a model: the loop nests of every chain in order, arguments, and what lies in memory between chains."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pprint import pformat

from tilewright.artifact import Signature
from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.loop_nest import BufferName, LoopNest, PackedConstant
from tilewright.graph.types import Tensor
from tilewright.kernels.contract import MicroKernel
from tilewright.lower.arguments import hints, signature_of, stored_arguments
from tilewright.lower.chain import lower
from tilewright.lower.plan_comment import header
from tilewright.lower.storage import Stored, extent_value, strides_of
from tilewright.lower.workspace import Workspace, allocations, arranged
from tilewright.plan.binding import numbered_plan
from tilewright.plan.chains import names_of
from tilewright.plan.layout import Layout
from tilewright.plan.regions.gathered_reads import lookups_of
from tilewright.plan.types import ModelPlan, Plan


@dataclass(frozen=True, slots=True)
class BlockProgram:
    """A ModelPlan lowered, for any device: what runs, and how it is called."""

    model_plan: ModelPlan
    signature: Signature
    nests: tuple[LoopNest, ...]
    plans: tuple[Plan, ...]
    """Of every nest: a plan that splits a reduction has two."""
    workspace: Workspace
    """Tensors between chains, what parts leave to their combination, and shared operands."""
    constants: tuple[PackedConstant, ...]
    """Those that several chains pack alike are there once."""

    def listing(self) -> str:
        """The loop nests, for people."""
        return pformat(self.nests, width=120)


def block_program(model_plan: ModelPlan, kernels: Mapping[str, MicroKernel], lanes: int) -> BlockProgram:
    """Lower every chain of a plan, for vectors of so many lanes of 32 bits. Raises `DTypeError` for types no kernel takes."""
    signature = signature_of(model_plan)
    tensors = {tensor.name: tensor for tensor in model_plan.graph.tensors}
    stored = stored_arguments(model_plan)
    stored |= {tensor: _between(tensors[tensor], layout) for tensor, layout in model_plan.layouts}
    kinds = _kinds(model_plan, signature, stored)
    lowered = [
        (replace(nest, lookups_before=before, structure=(kind, number)), plan)
        for plan, kind, before in zip(model_plan.plans, kinds, _lookups_before(model_plan), strict=True)
        for number, nest in enumerate(lower(plan, kernels, lanes, _of_chain(plan, stored), header(plan)))
    ]
    nests, plans = tuple(nest for nest, _ in lowered), tuple(plan for _, plan in lowered)
    workspace = arranged(tuple(allocations(model_plan, lowered)), hints(model_plan.graph))
    constants = tuple(dict.fromkeys(constant for nest in nests for constant in nest.constants))
    return BlockProgram(model_plan, signature, nests, plans, workspace, constants)


def _kinds(model_plan: ModelPlan, signature: Signature, stored: Mapping[str, Stored]) -> list[int]:
    """For every chain the number of its kind: chains of a kind have the same code but for names."""
    order = [slot.name for slot in (*signature.inputs, *signature.outputs)]
    found: dict[Hashable, int] = {}
    return [found.setdefault(code_structure(plan, _of_chain(plan, stored), order), len(found)) for plan in model_plan.plans]


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


def _lookups_before(model_plan: ModelPlan) -> Iterator[int]:
    """For every chain, how many lookups the chains before it have."""
    counts = (len(lookups_of(plan.chain)) for plan in model_plan.plans)
    return islice(accumulate(counts, initial=0), len(model_plan.plans))


def _between(tensor: Tensor, layout: Layout) -> Stored:
    sizes = tuple(extent_value(extent) for extent in tensor.shape)
    return Stored(BufferName(tensor.name), strides_of(layout, sizes), (0,) * len(sizes), dtype=tensor.dtype)


def _of_chain(plan: Plan, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    return {tensor: stored[tensor] for tensor in (*plan.chain.inputs, plan.chain.output) if tensor in stored}
