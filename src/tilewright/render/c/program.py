"""The block program of a model, emitted as an artifact: C files of all regions, and pointers to arguments and workspace.

Micro kernels that a library links for a chain, found from the plan of the chain alone, before the library has a text.

Their text depends on tile shapes, types and epilogues, not on where tensors lie, nor on other chains of the library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

from tilewright.artifact import Artifact
from tilewright.block.execution import Nests
from tilewright.block.memory import WORD_BYTES, BufferName, Lifetime
from tilewright.block.program import Region
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.entry_point import PackedSlot, Signature
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.kernel_source import KernelSource
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.registry import by_name, dialect_for
from tilewright.leaves.registry import functions
from tilewright.lower.arguments import (
    argument_names,
    extents_in,
    stored_argument,
    value_of_formula,
)
from tilewright.lower.chain import lower
from tilewright.lower.program import BlockProgram, block_program
from tilewright.plan.regions.gathered_reads import lookups_of
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record
from tilewright.render.c.c_file import Argument, File, Prepared, RoutineSource
from tilewright.render.c.kernel_sources import rendered
from tilewright.render.c.library import emit_files, emit_packing, packed_bytes, packed_from, way_of_packing
from tilewright.render.c.nest import leaves_of
from tilewright.render.c.operator_nests import shared
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import with_vectors

ENTRY_POINT = "tilewright_run"
LARGEST_LONG = (1 << 63) - 1
"""Of C's `long`."""


@record
class Program(BlockProgram):
    """A block program with the instructions and the micro kernels that its text is made of."""

    dialect: Dialect
    kernels: Mapping[str, MicroKernel]


def lower_program(model_plan: ModelPlan) -> Program:
    """The block program of a plan. The machine of the plans decides the dialect."""
    dialect, kernels = _dialect_of(model_plan), by_name()
    lowered = block_program(model_plan, kernels, dialect.lanes("float32"))
    signature = replace(lowered.signature, packed=tuple(_packed_slots(lowered)))
    regions = _with_unique_names(lowered.regions)
    return Program(model_plan, signature, regions, lowered.plans, lowered.structures, lowered.workspace, dialect, kernels)


def _dialect_of(plan: Plan | ModelPlan) -> Dialect:
    """The instructions of a plan's machine, in vectors as wide as those of its micro kernels."""
    machine = plan.machine
    vectors = dialect_for(machine.architecture, machine.features)
    return with_vectors(machine.architecture, machine.features, vectors.vector_bits)


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


def packing_program(program: Program) -> Artifact:
    """The preparation of constants as a library of its own, for every CPU of the machine's architecture."""
    file, constants = c_file(program), Signature((), (), (), program.signature.constants, program.signature.packed)
    return Artifact(file.entry_point, emit_packing(file), (), program.model_plan.machine.architecture, frozenset(), constants)


def c_file(program: Program) -> File:
    """What the C files of a program are made of."""
    machine = program.model_plan.machine
    name = program.model_plan.graph.name
    pointers = {BufferName(tensor): f"tensors[{i}]" for i, tensor in enumerate(argument_names(program.model_plan))}
    for buffer, offset in program.workspace.places:
        pointers[buffer] = f"workspace + {to_c(offset * WORD_BYTES)}"
    constants = {constant: f"(void *)context->constants[{number}]" for number, constant in enumerate(program.constants)}
    lookups_before = accumulate((len(lookups_of(plan.chain)) for plan in program.model_plan.plans), initial=0)
    before = dict(zip(map(id, program.model_plan.plans), lookups_before, strict=False))
    nests = tuple(
        RoutineSource(region, plan, tuple(_arguments(region, plan, pointers, constants)), before[id(plan)], structure)
        for region, plan, structure in zip(program.regions, program.plans, program.structures, strict=True)
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
        prepared=tuple(replace(_prepared(c), calls=shared(c.body, Nests(), program.dialect)) for c in program.constants),
        bounds={names.extent(name): bounds for name, bounds in _bounds(program)},
    )


def _ends(program: Program) -> Iterator[int | None]:
    """For every region the number of the chain that it finishes."""
    numbers = _numbers(program.model_plan)
    for plan, following in zip(program.plans, [*program.plans[1:], None], strict=True):
        yield None if plan is following else numbers[id(plan)]


def _numbers(model_plan: ModelPlan) -> dict[int, int]:
    """The position of every plan, by its identity."""
    return {id(plan): number for number, plan in enumerate(model_plan.plans)}


def _packed_slots(program: BlockProgram) -> Iterator[PackedSlot]:
    numbers = {slot.name: number for number, slot in enumerate(program.signature.constants)}
    for constant in program.constants:
        yield PackedSlot(
            numbers[packed_from(constant).buffer.tensor], packed_bytes(constant), way_of_packing(_prepared(constant))
        )


def _prepared(constant: Region) -> Prepared:
    source = packed_from(constant)
    return Prepared(constant, names.buffer_name(source.buffer), source.dtype)


def _arguments(
    region: Region, plan: Plan, pointers: Mapping[BufferName, str], constants: Mapping[Region, str]
) -> Iterator[Argument]:
    """All that a region reads or writes outside its scratch."""
    yield from _chain_arguments(plan, pointers)
    for buffer in region.buffers:
        if buffer.lifetime is Lifetime.CALL:
            yield Argument(names.buffer_name(buffer.name), pointers[buffer.name], is_written=True, dtype=buffer.dtype)
    for constant in region.constants:
        for buffer in constant.buffers:
            yield Argument(names.buffer_name(buffer.name), constants[constant], is_written=False, dtype=buffer.dtype)


def _chain_arguments(plan: Plan, pointers: Mapping[BufferName, str]) -> Iterator[Argument]:
    for tensor in (BufferName(tensor) for tensor in plan.chain.inputs):
        if tensor in pointers:
            dtype = plan.chain.tensor(tensor.tensor).dtype
            yield Argument(names.buffer_name(tensor), pointers[tensor], is_written=False, dtype=dtype)
    output = plan.chain.tensor(plan.chain.output)
    place = BufferName(output.name)
    yield Argument(names.buffer_name(place), pointers[place], is_written=True, dtype=output.dtype)


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


def _with_unique_names(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """Names are identifiers of C."""
    seen: dict[str, int] = {}
    unique = []
    for region in regions:
        name = names.identifier(region.name)
        seen[name] = seen.get(name, 0) + 1
        unique.append(replace(region, name=f"{name}_{seen[name]}" if seen[name] > 1 else name))
    return tuple(unique)


def _kernel_features(program: Program) -> frozenset[str]:
    used = {plan.micro_kernel for chain in program.model_plan.plans for plan in chain.operators if plan.micro_kernel}
    return frozenset().union(*(program.kernels[name].features for name in used))


@record
class LinkedKernels:
    """Translation units, and the CPU that they are for."""

    units: tuple[KernelSource, ...]
    architecture: str
    features: frozenset[str]


def linked_kernels(plan: Plan) -> LinkedKernels:
    """The kernels of a chain that are not inlined; none of a chain that C code cannot compute."""
    machine = plan.machine
    dialect, kernels = _dialect_of(plan), by_name()
    used = [part for part in plan.operators if part.micro_kernel is not None]
    features = dialect.features.union(*(kernels[part.micro_kernel].features for part in used if part.micro_kernel is not None))
    if all(part.calls.inlined for part in used) or any(tensor.dtype not in C_TYPES for tensor in plan.chain.tensors):
        return LinkedKernels((), machine.architecture, features)
    tensors = [plan.chain.tensor(name) for name in (*plan.chain.inputs, plan.chain.output)]
    stored = {tensor.name: stored_argument(tensor, len(tensor.shape) - 1) for tensor in tensors}
    nests = lower(plan, kernels, dialect.lanes("float32"), stored)
    file = File("", (), dialect, kernels, (), (), 0)
    called = functions(file, (leaf for nest in nests for leaf in leaves_of(nest)))
    return LinkedKernels(tuple(map(rendered, called.linked)), machine.architecture, features)
