"""The program of a model: its plans lowered, and emitted as an artifact.

Structure of a chain's code: equal for chains whose functions are the same but for names.

From a ModelPlan to an Artifact: arguments, workspace, one loop nest per chain, C files.

Micro kernels that a library links for a chain, found from the plan of the chain alone, before the library has a text.

Their text depends on tile shapes, types and epilogues, not on where tensors lie, nor on other chains of the library.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pprint import pformat

from tilewright.artifact import Artifact, PackedSlot, Signature
from tilewright.block.execution import Nests
from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.loop_nest import WORD_BYTES, BufferName, LoopNest, PackedConstant
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.graph.types import Tensor
from tilewright.kernels.contract import KernelSource, MicroKernel
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.registry import by_name, dialect_for
from tilewright.lower.arguments import (
    argument_names,
    extents_in,
    hints,
    signature_of,
    stored_argument,
    stored_arguments,
    value_of_formula,
)
from tilewright.lower.chain import lower
from tilewright.lower.plan_comment import header
from tilewright.lower.storage import Stored, extent_value, partial_buffers, strides_of
from tilewright.lower.workspace import Workspace, allocations, arranged
from tilewright.plan.binding import numbered_plan
from tilewright.plan.chains import names_of
from tilewright.plan.layout import Layout
from tilewright.plan.regions.gathered_reads import lookups_of
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.c_file import Argument, File, Prepared
from tilewright.render.c.kernel_functions import kernel_functions
from tilewright.render.c.library import emit_files, packed_bytes, way_of_packing
from tilewright.render.c.nest import kernel_calls
from tilewright.render.c.operator_nests import shared, with_shared_nests


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


ENTRY_POINT = "tilewright_run"
LARGEST_LONG = (1 << 63) - 1
"""Of C's `long`."""


@dataclass(frozen=True, slots=True)
class Program:
    """A ModelPlan lowered: everything that the emitter needs, and how the result is called."""

    model_plan: ModelPlan
    signature: Signature
    dialect: VectorDialect
    kernels: Mapping[str, MicroKernel]
    nests: tuple[LoopNest, ...]
    plans: tuple[Plan, ...]
    """Of every nest: a plan that splits a reduction has two."""
    workspace: Workspace
    """Tensors between chains, what parts leave to their combination, and shared operands."""
    constants: tuple[PackedConstant, ...] = ()
    """Those that several chains pack alike are there once."""

    def listing(self) -> str:
        """The loop nests, for people."""
        return pformat(self.nests, width=120)


def lower_program(model_plan: ModelPlan) -> Program:
    """Lower every chain of a plan. The machine of the plans decides the vector dialect."""
    graph = model_plan.graph
    machine = model_plan.machine
    dialect = dialect_for(machine.architecture, machine.features)
    kernels = by_name()
    signature = signature_of(model_plan)
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    stored = stored_arguments(model_plan)
    stored |= {tensor: _between(tensors[tensor], layout) for tensor, layout in model_plan.layouts}
    kinds = _kinds(model_plan, signature, stored)
    lowered = [
        (replace(nest, lookups_before=before, structure=(kind, number)), plan)
        for plan, kind, before in zip(model_plan.plans, kinds, _lookups_before(model_plan), strict=True)
        for number, nest in enumerate(lower(plan, kernels, dialect.lanes, _of_chain(plan, stored), header(plan)))
    ]
    nests, plans = _with_unique_names(tuple(nest for nest, _ in lowered)), tuple(plan for _, plan in lowered)
    workspace = arranged(tuple(allocations(model_plan, zip(nests, plans, strict=True))), hints(graph))
    constants = tuple(dict.fromkeys(constant for nest in nests for constant in nest.constants))
    signature = replace(signature, packed=tuple(_packed_slots(signature, constants)))
    return Program(model_plan, signature, dialect, kernels, nests, plans, workspace, constants)


def emit_program(program: Program, *, links_kernels: bool = True) -> Artifact:
    """The C files of a lowered program; without links, the text of every kernel stands where it is called (for comparisons)."""
    machine = program.model_plan.machine
    file = replace(c_file(program), links_kernels=links_kernels)
    emitted = emit_files(file)
    features = program.dialect.features | _kernel_features(program)
    chains = tuple(plan.chain.name for plan in program.model_plan.plans)
    lookups = tuple(lookup for plan in program.model_plan.plans for lookup in lookups_of(plan.chain))
    return Artifact(
        file.entry_point,
        emitted.text,
        emitted.linked,
        machine.architecture,
        features,
        program.signature,
        chains,
        lookups=lookups,
        kernels=emitted.kernels,
        reports_not_finite=any(REPORT_NOT_FINITE in op.functions() for plan in program.plans for op in plan.chain.operators),
    )


def _kinds(model_plan: ModelPlan, signature: Signature, stored: Mapping[str, Stored]) -> list[int]:
    """For every chain the number of its kind: chains of a kind have the same code but for names."""
    order = [slot.name for slot in (*signature.inputs, *signature.outputs)]
    found: dict[Hashable, int] = {}
    return [found.setdefault(code_structure(plan, _of_chain(plan, stored), order), len(found)) for plan in model_plan.plans]


def _lookups_before(model_plan: ModelPlan) -> Iterator[int]:
    """For every chain, how many lookups the chains before it have."""
    counts = (len(lookups_of(plan.chain)) for plan in model_plan.plans)
    return islice(accumulate(counts, initial=0), len(model_plan.plans))


def c_file(program: Program) -> File:
    """What the C files of a program are made of."""
    machine = program.model_plan.machine
    name = program.model_plan.graph.name
    pointers = {BufferName(tensor): f"tensors[{i}]" for i, tensor in enumerate(argument_names(program.model_plan))}
    for buffer, offset in program.workspace.places:
        pointers[buffer] = f"workspace + {to_c(offset * WORD_BYTES)}"
    constants = {constant: f"(void *)context->constants[{number}]" for number, constant in enumerate(program.constants)}
    chains = zip(program.nests, program.plans, strict=True)
    nests = tuple(
        (
            with_shared_nests(nest, plan.execution.nests),
            tuple(_arguments(nest, plan, pointers, constants)),
        )
        for nest, plan in chains
    )
    return File(
        entry_point=ENTRY_POINT,
        header=(f"{name}: generated by Tilewright for {machine.name}; do not edit.",),
        dialect=program.dialect,
        kernels=program.kernels,
        definitions=tuple(_definitions(program)),
        nests=nests,
        workspace_words=program.workspace.size_words,
        ends=tuple(_ends(program)),
        prepared=tuple(replace(_prepared(c), calls=shared(c.copies, Nests())) for c in program.constants),
        bounds={names.extent(name): bounds for name, bounds in _bounds(program)},
    )


def _ends(program: Program) -> Iterator[int | None]:
    """For every nest the number of the chain that it finishes."""
    numbers = _numbers(program.model_plan)
    for plan, following in zip(program.plans, [*program.plans[1:], None], strict=True):
        yield None if plan is following else numbers[id(plan)]


def _numbers(model_plan: ModelPlan) -> dict[int, int]:
    """The position of every plan, by its identity."""
    return {id(plan): number for number, plan in enumerate(model_plan.plans)}


def _packed_slots(signature: Signature, constants: Iterable[PackedConstant]) -> Iterator[PackedSlot]:
    numbers = {slot.name: number for number, slot in enumerate(signature.constants)}
    for constant in constants:
        yield PackedSlot(numbers[constant.tensor], packed_bytes(constant), way_of_packing(_prepared(constant)))


def _prepared(constant: PackedConstant) -> Prepared:
    return Prepared(constant, names.identifier(constant.tensor))


def _between(tensor: Tensor, layout: Layout) -> Stored:
    sizes = tuple(extent_value(extent) for extent in tensor.shape)
    return Stored(BufferName(tensor.name), strides_of(layout, sizes), (0,) * len(sizes), dtype=tensor.dtype)


def _of_chain(plan: Plan, stored: Mapping[str, Stored]) -> dict[str, Stored]:
    return {tensor: stored[tensor] for tensor in (*plan.chain.inputs, plan.chain.output) if tensor in stored}


def _arguments(
    nest: LoopNest, plan: Plan, pointers: Mapping[BufferName, str], constants: Mapping[PackedConstant, str]
) -> Iterator[Argument]:
    """All that a nest reads or writes outside its scratch."""
    yield from _chain_arguments(plan, pointers)
    for buffer in nest.shared:
        yield Argument(names.buffer_name(buffer.name), pointers[buffer.name], is_written=True, dtype=buffer.dtype)
    for constant in nest.constants:
        name = names.buffer_name(constant.buffer.name)
        yield Argument(name, constants[constant], is_written=False, dtype=constant.buffer.dtype)


def _chain_arguments(plan: Plan, pointers: Mapping[BufferName, str]) -> Iterator[Argument]:
    for tensor in (BufferName(tensor) for tensor in plan.chain.inputs):
        if tensor in pointers:
            dtype = plan.chain.tensor(tensor.tensor).dtype
            yield Argument(names.buffer_name(tensor), pointers[tensor], is_written=False, dtype=dtype)
    output = plan.chain.tensor(plan.chain.output)
    place = BufferName(output.name)
    yield Argument(names.buffer_name(place), pointers[place], is_written=True, dtype=output.dtype)
    for part in partial_buffers(plan):
        yield Argument(names.buffer_name(part.name), pointers[part.name], is_written=True, dtype=part.dtype)


def _bounds(program: Program) -> Iterator[tuple[str, tuple[int, int]]]:
    """The ranges of run-time extents; those beyond the numbers of C tell nothing."""
    for name, extent in extents_in(program.model_plan).items():
        if extent.low >= -LARGEST_LONG and extent.high <= LARGEST_LONG:
            yield name, (extent.low, extent.high)


def _definitions(program: Program) -> Iterator[tuple[str, str]]:
    signature = program.signature
    position = len(signature.symbols)
    dimensions = {symbol.name: local(f"sizes[{number}]") for number, symbol in enumerate(signature.symbols)}
    yield from ((names.extent(name), to_c(value)) for name, value in dimensions.items())
    for name, extent in extents_in(program.model_plan).items():
        if name not in dimensions:
            yield names.extent(name), to_c(value_of_formula(extent, dimensions))
    for slot in (*signature.inputs, *signature.outputs):
        for dim in range(len(slot.shape)):
            yield names.stride(slot.name, dim), f"sizes[{position}]"
            position += 1


def _with_unique_names(nests: tuple[LoopNest, ...]) -> tuple[LoopNest, ...]:
    seen: dict[str, int] = {}
    unique = []
    for nest in nests:
        name = names.identifier(nest.name)
        seen[name] = seen.get(name, 0) + 1
        unique.append(replace(nest, name=f"{name}_{seen[name]}" if seen[name] > 1 else name))
    return tuple(unique)


def _kernel_features(program: Program) -> frozenset[str]:
    used = {plan.micro_kernel for chain in program.model_plan.plans for plan in chain.operators if plan.micro_kernel}
    return frozenset().union(*(program.kernels[name].features for name in used))


@dataclass(frozen=True, slots=True)
class LinkedKernels:
    """Translation units, and the CPU that they are for."""

    units: tuple[KernelSource, ...]
    architecture: str
    features: frozenset[str]


def linked_kernels(plan: Plan) -> LinkedKernels:
    """The kernels of a chain that are not inlined; none of a chain that C code cannot compute."""
    machine = plan.machine
    dialect = dialect_for(machine.architecture, machine.features)
    kernels = by_name()
    used = [part for part in plan.operators if part.micro_kernel is not None]
    features = dialect.features.union(*(kernels[part.micro_kernel].features for part in used if part.micro_kernel is not None))
    if all(part.calls.inlined for part in used) or any(tensor.dtype not in C_TYPES for tensor in plan.chain.tensors):
        return LinkedKernels((), machine.architecture, features)
    tensors = [plan.chain.tensor(name) for name in (*plan.chain.inputs, plan.chain.output)]
    stored = {tensor.name: stored_argument(tensor, len(tensor.shape) - 1) for tensor in tensors}
    nests = lower(plan, kernels, dialect.lanes, stored)
    calls = [call for nest in nests for call in kernel_calls(nest)]
    file = File("", (), dialect, kernels, (), (), 0)
    return LinkedKernels(kernel_functions(file, calls).linked, machine.architecture, features)
