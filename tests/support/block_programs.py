"""Whole models through the interpreter of block programs: run-time sizes, the arena of a call, and every chain's regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from tilewright.block.integers import Variable, VariableKind, evaluated
from tilewright.block.interpreter import Shares, on_one_thread, run
from tilewright.block.memory import WORD_BYTES, BufferName
from tilewright.graph.expressions.extents import value_of
from tilewright.graph.interpreter import bind_symbols, evaluate
from tilewright.graph.types import Graph
from tilewright.lower.arguments import extents_in
from tilewright.lower.storage import elements_of, extent_value, partial_buffers
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import Program, lower_program

Array = np.ndarray[Any, np.dtype[Any]]


def interpreted(model_plan: ModelPlan, inputs: Mapping[str, Array], shares: Shares = on_one_thread) -> dict[str, Array]:
    """The outputs of a plan, by name, as its block program computes them."""
    program = lower_program(model_plan)
    declared = _declared(model_plan)
    symbols = bind_symbols(declared, inputs)
    sizes = {tensor.name: tuple(value_of(extent, symbols) for extent in tensor.shape) for tensor in declared.tensors}
    given = {name: np.ascontiguousarray(inputs[name]) for name in declared.inputs} | constants(model_plan)
    outputs = {name: np.zeros(sizes[name], declared.tensor(name).dtype) for name in declared.outputs}
    variables = {Variable(VariableKind.EXTENT, name): value_of(e, symbols) for name, e in extents_in(model_plan).items()}
    for name in (*given, *outputs):
        shape = sizes[name]
        variables |= {Variable(VariableKind.STRIDE, name, d): prod(shape[d + 1 :]) for d in range(len(shape))}
    arrays = {BufferName(name): array for name, array in (given | outputs).items()} | dict(_arena(program, variables))
    for _, regions in groupby(zip(program.regions, program.plans, strict=True), key=lambda pair: id(pair[1])):
        run([nest for nest, _ in regions], arrays, variables, shares)
    return outputs


def constants(model_plan: ModelPlan) -> dict[str, Array]:
    """The constants of the graph that is planned, those that are made of others included."""
    graph, part = model_plan.graph, model_plan.constant_part
    known = {name: constant.array for name, constant in graph.constants}
    if part is None:
        return known
    return {name: np.ascontiguousarray(array) for name, array in (known | evaluate(part, {})).items()}


def _declared(model_plan: ModelPlan) -> Graph:
    """The graph with its inputs and outputs as callers have them."""
    merged = {argument.declared.name: argument.declared for argument in model_plan.merged}
    graph = model_plan.graph
    return replace(graph, tensors=tuple(merged.get(tensor.name, tensor) for tensor in graph.tensors))


def _arena(program: Program, variables: Mapping[Variable, int]) -> Iterator[tuple[BufferName, Array]]:
    """The places of tensors between chains, and of the parts of splits: in one array, as in a call."""
    model_plan = program.model_plan
    memory = np.full(evaluated(program.workspace.size_words, variables) * WORD_BYTES, 255, np.uint8)
    starts = {name: evaluated(offset, variables) * WORD_BYTES for name, offset in program.workspace.places}
    for name, layout in ((BufferName(tensor), layout) for tensor, layout in model_plan.layouts):
        if name in starts:
            tensor = model_plan.graph.tensor(name.tensor)
            count = evaluated(elements_of(layout, tuple(map(extent_value, tensor.shape))), variables)
            size_bytes = count * np.dtype(tensor.dtype).itemsize
            yield name, memory[starts[name] : starts[name] + size_bytes]
    for plan in model_plan.plans:
        for buffer in partial_buffers(plan):
            size_bytes = evaluated(buffer.elements, variables) * np.dtype(buffer.dtype).itemsize
            yield buffer.name, memory[starts[buffer.name] : starts[buffer.name] + size_bytes]
