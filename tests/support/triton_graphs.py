"""Random graphs of the generators of `random/planned.py`, planned for a GPU and run in Triton's interpreter."""

from __future__ import annotations

import random
from dataclasses import replace

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
