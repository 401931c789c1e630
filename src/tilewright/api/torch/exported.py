"""Programs of `torch.export` become kernels: called like the module that was exported, saved as packages, without Dynamo."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.utils import _pytree as torch_trees

from tilewright.api.building import Options
from tilewright.api.calls import pytree
from tilewright.api.calls.calling import Binder, TracedCall
from tilewright.api.choices import checked_choice
from tilewright.api.kernel import Kernel, Lowered
from tilewright.errors import InvalidModel, TilewrightError, UnsupportedOperation
from tilewright.frontend.torch.extents import conditions
from tilewright.frontend.torch.program import Given, Program, Recording
from tilewright.frontend.torch.registry import lowerings
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.types import Graph, SymbolicExtent, Tensor
from tilewright.machine.machine import Machine
from tilewright.precision import checked
from tilewright.runtime import calibration
from tilewright.runtime.packages.layout import Content
from tilewright.runtime.packages.writing import PackageWriter

WHERE = "tilewright.torch.load"
MOST_TOLD = 8
"""Calls without a lowering that an error names."""


def load(
    program: ExportedProgram | str | os.PathLike[str],
    *,
    target: str | None = None,
    threads: int | None = None,
    precision: str = "float32",
    fuse: bool | None = None,
) -> Kernel:
    """Compile what `torch.export.export` gave, or a file that `torch.export.save` wrote (*.pt2).

    The kernel is called like the module that was exported, with torch's tensors or other arrays, and gives results in plain
    containers (dicts for those of transformers). Parameters, buffers and constants are packed. Dimensions that were exported as
    dynamic share it. `save(path)` writes a package for `tw.load`, which needs no torch. The options are those of `tw.jit`.

    Raises `InvalidModel` for what is no exported program, and `UnsupportedOperation` with all reasons for calls that have no
    lowering, and for programs that change their inputs or buffers: `torch.compile` runs these, with such calls in torch.

    >>> exported = torch.export.export(torch.nn.ReLU(), (torch.ones(4, 3),))
    >>> load(exported, threads=1)(torch.ones(4, 3)).shape
    torch.Size([4, 3])
    """
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise TilewrightError(f"threads={threads!r} is no number of threads", where=WHERE, hint="use 1, 2, ... or None")
    machine = calibration.ensure() if target is None else Machine.named(target)
    chosen = checked_choice("fuse", fuse, WHERE, "price")
    options = Options(machine, chosen, checked(precision, WHERE), threads, target is not None)
    return lowered(exported_program(program), options).compile()


def write(
    program: str | os.PathLike[str], path: str | os.PathLike[str], targets: Sequence[str], *, precision: str, fuse: bool | None
) -> Iterator[tuple[str, float]]:
    """Write a package with the kernels of an exported program for machines of these names (none: for this one).

    Gives the name of every machine, and the seconds that are predicted for a call. Raises as `load`.
    """
    exported, writer = exported_program(program), PackageWriter(Content.KERNEL)
    for target in targets or (None,):
        machine = calibration.ensure() if target is None else Machine.named(target)
        found = lowered(exported, Options(machine, fuse, checked(precision, WHERE), 1, target is not None, is_saved=True))
        found.compile().write_target(writer, machine.name)
        yield machine.name, found.model_plan.predicted_seconds
    writer.write(Path(path))


def exported_program(program: object) -> ExportedProgram:
    """An exported program in ATen's operators, of which those that are composed of others and have no lowering are decomposed.

    Raises `InvalidModel`.
    """
    if isinstance(program, str | os.PathLike):
        program = _read(os.fspath(program))
    if not isinstance(program, ExportedProgram):
        hint = "use torch.export.export(model, args), or the file that torch.export.save wrote"
        raise InvalidModel(f"a {type(program).__name__} is no exported program", where=WHERE, hint=hint)
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # torch's own
        return program.run_decompositions(_decompositions())


@cache
def _decompositions() -> dict[Any, Any]:
    """Of operators that every backend of torch gets decomposed, unless a program was exported."""
    known, table = lowerings(), torch.export.default_decompositions()
    composed = torch._C.DispatchKey.CompositeImplicitAutograd
    return {op: table[op] for op in table if str(op) not in known and op.has_kernel_for_dispatch_key(composed)}


def _read(path: str) -> ExportedProgram:
    """What `torch.export.save` wrote."""
    if not is_zipfile(path):
        raise InvalidModel("this is no exported program", where=path, why="it is no archive, as torch.export.save writes them")
    try:
        return torch.export.load(path)
    except Exception as problem:
        raise InvalidModel("this is no exported program", where=path, why=str(problem)) from problem


def lowered(exported: ExportedProgram, options: Options) -> Lowered:
    """An exported program as `tw.jit` lowers functions, planned when it is asked for. Raises `UnsupportedOperation`."""
    _check_pure(exported)
    _check_conditions(exported)
    program = _recorded(exported)
    call, binder, order = _call(exported, program)
    _check_order(program.graph, order)
    graph = replace(program.graph, inputs=order)
    return Lowered(TracedCall(graph, call, _result(exported, program)), options, binder)


def _check_pure(exported: ExportedProgram) -> None:
    """Raises `UnsupportedOperation` for a program that changes its inputs or buffers."""
    outputs = (spec for spec in exported.graph_signature.output_specs if spec.kind is not OutputKind.USER_OUTPUT)
    if changed := [f"{spec.kind.name.lower()} {spec.target}" for spec in outputs]:
        text = f"the program changes its state: {', '.join(changed)}"
        hint = 'use torch.compile(exported.module(), backend="tilewright")'
        raise UnsupportedOperation(text, where=WHERE, why="a kernel has none", hint=hint)


def _check_conditions(exported: ExportedProgram) -> None:
    """Raises `UnsupportedOperation` for a program that holds for some extents of its ranges only: a kernel takes them all."""
    examples = [node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"]
    found = [text for example in examples for extent in getattr(example, "shape", ()) for text in conditions(extent)]
    if found:
        hint = 'fewer dynamic dimensions, or torch.compile(exported.module(), backend="tilewright")'
        text = f"the program holds where {' and '.join(dict.fromkeys(found))}"
        raise UnsupportedOperation(text, where=WHERE, why="kernels take all extents of a range", hint=hint)


def _check_order(graph: Graph, order: Sequence[str]) -> None:
    """Raises `UnsupportedOperation` where an extent follows from a dimension that a later argument tells."""
    told: set[str] = set()
    for name in order:
        extents = [extent for extent in graph.tensor(name).shape if isinstance(extent, SymbolicExtent)]
        told.update(extent.name for extent in extents if extent.formula is None)
        if later := dimensions_of(extents).keys() - told:
            text = f"the shape of {name} follows from {', '.join(sorted(later))}, which later arguments tell"
            hint = "export the module with these arguments first"
            raise UnsupportedOperation(text, where=WHERE, why="arguments are looked at one after the other", hint=hint)


def _recorded(exported: ExportedProgram) -> Program:
    module = exported.graph_module
    recording = Recording.of(module, _state(exported), type(exported).__name__.lower())
    output = next(node for node in module.graph.nodes if node.op == "output")
    try:
        return recording.program(output.args[0], is_closed=True)
    except TilewrightError as problem:
        hint = 'torch.compile(exported.module(), backend="tilewright") leaves these calls to torch'
        why = "; ".join(_told(recording.refused)) or problem.message
        raise UnsupportedOperation("the program cannot be compiled whole", where=WHERE, why=why, hint=hint) from problem


def _told(refused: Mapping[Node, str]) -> Iterator[str]:
    reasons = dict.fromkeys(f"{reason} ({node.name})" for node, reason in refused.items() if node.users)
    yield from list(reasons)[:MOST_TOLD]
    if len(reasons) > MOST_TOLD:
        yield f"and {len(reasons) - MOST_TOLD} more"


def _state(exported: ExportedProgram) -> dict[str, torch.Tensor]:
    """Parameters, buffers and constants by placeholder."""
    kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
    held = {**exported.constants, **exported.state_dict}
    return {spec.arg.name: held[spec.target].detach() for spec in exported.graph_signature.input_specs if spec.kind in kinds}


def _call(exported: ExportedProgram, program: Program) -> tuple[pytree.Node, Binder, tuple[str, ...]]:
    """The structure of a call, its parameters, and the graph's inputs in the order of a call's arrays."""
    user = [spec for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    inputs = {name: program.graph.tensor(own) for name, own in zip(program.inputs, program.graph.inputs, strict=True)}
    leaves = [_leaf(spec.arg, inputs) for spec in user]
    args, options = torch_trees.tree_unflatten(leaves, exported.call_spec.in_spec)
    signature = _signature(exported, len(args), list(options))
    given = {**dict(zip(signature.parameters, args, strict=False)), **options}
    binder = Binder(signature, [name for name, value in given.items() if isinstance(value, int | float)])
    call = binder.flatten(args, options)
    order = tuple(leaf.name for leaf in call.leaves if isinstance(leaf, TensorSpec))
    if sorted(order) != sorted(program.graph.inputs) or len(order) != len(call.leaves):
        why = "arguments are tensors in tuples, lists and dicts, and numbers outside of these"
        raise UnsupportedOperation("the program takes other arguments than a kernel can", where=WHERE, why=why)
    return call.structure, binder, order


def _leaf(argument: Any, inputs: Mapping[str, Tensor]) -> Any:
    """A stand-in for a tensor, or the value of what is none: then it is a part of the call's structure."""
    if (tensor := inputs.get(getattr(argument, "name", ""))) is not None:
        return TensorSpec(tensor.shape, tensor.dtype, tensor.name)
    return getattr(argument, "value", None)


def _signature(exported: ExportedProgram, count: int, options: Sequence[str]) -> inspect.Signature:
    """So many positional arguments by their names in the module, then options, which have a position where the module's have."""
    known = list(exported.module_call_graph[0].signature.forward_arg_names or ())
    names = known[:count] if len(known) >= count else [f"x{place}" for place in range(count)]
    has_places = known == [*names, *options]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if has_places else inspect.Parameter.KEYWORD_ONLY
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    return inspect.Signature([*positional, *(inspect.Parameter(name, kind) for name in options)])


def _result(exported: ExportedProgram, program: Program) -> pytree.Structure:
    """The structure of the results; what the graph does not compute is a part of it."""
    stand_in = TensorSpec(())
    leaves = [result.value if isinstance(result, Given) else stand_in for result in program.results]
    tree = torch_trees.tree_unflatten(leaves, exported.call_spec.out_spec)
    flat = pytree.flatten(tree, lambda leaf: leaf is stand_in)
    if len(flat.leaves) != len(program.graph.outputs):
        raise UnsupportedOperation("results in containers that are no tuples, lists and dicts", where=WHERE)
    return flat.structure
