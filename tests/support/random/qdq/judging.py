"""What becomes of a program of quantised layers: its results beside what they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import tilewright.onnx as ort
from tests.support.random.qdq.program import Program
from tests.support.sweeps import EQUAL, WRONG, Outcome, judged
from tilewright.machine import Machine


def outcome(program: Program) -> Outcome:
    """Compiled once and run twice."""
    return judged(lambda: _compared(program))


def _compared(program: Program) -> Outcome:
    options = ort.SessionOptions()
    options.intra_op_num_threads = program.threads
    session = ort.InferenceSession(program.model(), options, target=Machine.named(program.target))
    for _ in range(2):
        problem = program.difference(session.run(list(program.results), program.feeds))
        if problem:
            return Outcome(WRONG, problem)
    return Outcome(EQUAL, as_numpy=tuple(session.numpy_operators))


def shrunk(program: Program, cause: str, judge: Callable[[Program], Outcome]) -> Program:
    """A program of which no output and no node behind the last one wanted can be left out."""
    for name in program.results:
        smaller = _leading_to(program, name)
        if judge(smaller).cause == cause:
            return smaller
    return program


def _leading_to(program: Program, name: str) -> Program:
    """What one result needs."""
    wanted, kept = {name}, []
    for node in reversed(program.nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(node.input)
    constants = {key: value for key, value in program.constants.items() if key in wanted}
    feeds = {key: value for key, value in program.feeds.items() if key in wanted}
    results = {name: program.results[name]}
    return replace(program, nodes=tuple(reversed(kept)), constants=constants, feeds=feeds, results=results)
