"""What becomes of a program: compiled, or rewritten and interpreted, beside NumPy's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import helper

import tilewright as tw
import tilewright.onnx as ort
from tests.support.random.discontinuities.operators import OPERATORS
from tests.support.random.discontinuities.program import Array, Chosen, difference
from tests.support.sweeps import EQUAL, WRONG, Outcome, judged
from tilewright import compiler
from tilewright.frontend.onnx.reading import load
from tilewright.frontend.onnx.stage import import_stage
from tilewright.frontend.onnx.stage_types import Given, ImportRequest
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.precision import Precision


def outcome(program: Chosen) -> Outcome:
    """Run in its way, and compared."""
    return judged(lambda: _compared(program))


def _compared(program: Chosen) -> Outcome:
    ways: dict[str, Callable[[Chosen], Mapping[str, Any]]] = {
        "session": _session,
        "jit": _jit,
        "rewrites": _rewritten,
        "algorithms": _with_algorithms,
        "traced rewrites": _traced,
    }
    for name, result in ways[program.way](program).items():
        problem = difference(result, program.values[name])  # type: ignore[arg-type]
        if problem:
            return Outcome(WRONG, f"{name}: {problem}")
    return Outcome(EQUAL)


def _session(program: Chosen) -> dict[str, Any]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = program.threads
    machine = Machine.named(program.target)
    session = ort.InferenceSession(program.model(), options, target=machine, precision=program.precision)
    return dict(zip(program.outputs, session.run(list(program.outputs), program.feeds(0)), strict=True))


def _jit(program: Chosen) -> dict[str, Any]:
    options: Any = {"target": program.target, "threads": program.threads, "precision": program.precision}
    results = tw.jit(_function(program), **options)(*program.feeds(0).values())
    return dict(zip(program.outputs, results, strict=True))


def _traced(program: Chosen) -> dict[str, Any]:
    lowered = tw.jit(_function(program)).lower(*program.feeds(0).values())
    graph = compiler.rewrite(lowered.graph, _steps(program))
    feeds = dict(zip(graph.inputs, program.feeds(0).values(), strict=True))
    return dict(zip(program.outputs, evaluate(graph, feeds).values(), strict=True))


def _function(program: Chosen) -> Callable[..., Any]:
    """The program as a function of its inputs; numbers are Python's."""
    constants = {name: value.arrays[0] for name, value in program.values.items() if value.is_constant}
    known = {name: array if array.ndim or array.dtype.kind != "f" else float(array) for name, array in constants.items()}

    def function(*inputs: Any) -> Any:
        values = {**known, **dict(zip(program.inputs, inputs, strict=True))}
        for node in program.nodes:
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            traced = OPERATORS[node.op_type].traced
            assert traced is not None
            values[node.output[0]] = traced(*(values[name] for name in node.input), **attributes)
        return tuple(values[name] for name in program.outputs)

    return function


def _rewritten(program: Chosen) -> dict[str, Array]:
    graph, names = _imported(program)
    return _evaluated(program, compiler.rewrite(graph, _steps(program)), names)


def _with_algorithms(program: Chosen) -> dict[str, Array]:
    """With layouts and algorithms, too, as planning sees the graph."""
    graph, names = _imported(program)
    machine, precision = Machine.named(program.target), Precision(program.precision)
    chosen = compiler.choose(compiler.rewrite(graph, compiler.rewrites_for(machine, precision)), machine, precision=precision)
    return _evaluated(program, compiler.rewrite(chosen.graph, compiler.PLANNING_FORMS), names)


def _steps(program: Chosen) -> tuple[Any, ...]:
    steps = compiler.rewrites_for(Machine.named(program.target), Precision(program.precision))
    return (*steps, *compiler.PLANNING_FORMS)


def _imported(program: Chosen) -> tuple[Graph, tuple[str, ...]]:
    """The graph of the model, and what its outputs are called there, in order."""
    body = load(replace(program).model()).body
    given = {one.unique: Given(program.values[one.name].arrays[0].shape, one.dtype.name) for one in body.inputs if one.dtype}
    wanted = tuple(one.unique for one in body.outputs)
    stage = import_stage(ImportRequest("random", body.nodes, given, body.constants, wanted), lambda operator, tensors: "")
    assert stage.graph is not None
    names = {one.unique: one.name for one in body.outputs}
    return stage.graph, tuple(names[value] for value in stage.outputs)


def _evaluated(program: Chosen, graph: Graph, names: tuple[str, ...]) -> dict[str, Array]:
    feeds = {name: np.asarray(program.feeds(0)[name]) for name in program.inputs}
    results = evaluate(graph, {name: feeds[name] for name in graph.inputs})
    return dict(zip(names, results.values(), strict=True))
