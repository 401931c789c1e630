"""Random graphs of the generators of `random/planned.py`, planned for a GPU and run in Triton's interpreter."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

import tilewright as tw
from tests.support.random import planned
from tests.support.sweeps import EQUAL, REFUSED, WRONG, Outcome
from tilewright import compiler
from tilewright.backends import loading
from tilewright.errors import UnsupportedOperation
from tilewright.machine import Machine
from tilewright.plan.reasons import Unplannable
from tilewright.verification import expected_results


def graph_outcome(seed: int, target: str) -> Outcome:
    """What became of the graph of a seed."""
    graph, inputs = planned.KINDS[seed % len(planned.KINDS)](random.Random(seed))
    machine = Machine.named(target)
    try:
        plan = compiler.plan(graph, machine)
        artifact = compiler.generate(plan)
    except (UnsupportedOperation, Unplannable) as refusal:
        return Outcome(REFUSED, refusal.why)
    given = replace(plan.graph, constants=plan.given)
    loaded, constants = loading.load(artifact, given, machine, threads=None, runner="interpreter")
    arguments = [*(inputs[name] for name in graph.inputs), *constants]
    outputs = loaded.new_outputs(arguments)
    loaded.run(arguments, outputs)
    for name, result, wanted in zip(graph.outputs, outputs, expected_results(graph, inputs), strict=True):
        if result.dtype != wanted.rounded.dtype or (difference := wanted.difference(result)):
            return Outcome(WRONG, f"{name} of {result.dtype} is off by {difference:.3g}, {wanted.tolerance:.3g} are allowed")
    return Outcome(EQUAL)


def row_maxima() -> list[float | None]:
    """The maxima of rows with infinity, with numbers, and with NaN, for which stands None."""
    x = np.full((3, 40), 1.0, np.float32)
    x[0, 3], x[1, 4], x[2, 5] = np.inf, 2.0, np.nan
    found = tw.jit(lambda x: tw.max(x, axis=-1), target="h100").lower(tw.spec(x.shape)).compile(runner="interpreter")(x)
    return [None if np.isnan(one) else float(one) for one in found]
