"""Every leaf gives the interpreter's results: at all extents around its vectors, of special values, in guarded memory.

All cases of a leaf are operators of one library, which is compiled once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.codegen.test_convolutions import at_end
from tests.leaves.problems import EXTENTS, MACHINE, PROBLEMS, bound, planned
from tests.support.guarded import in_child
from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.leaves.registry import leaves

Floats = np.ndarray[Any, Any]
ROOT = Path(__file__).parents[2]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 1e-42, -0.0], np.float32)


def test_every_leaf_has_a_contract_suite() -> None:
    """This one for those with problems; else the one that the leaf names."""
    assert {leaf.name for leaf in leaves() if not leaf.contract} == set(PROBLEMS)
    assert all((ROOT / leaf.contract).is_file() for leaf in leaves() if leaf.contract)


def operands(graph: Graph, special: bool) -> dict[str, Floats]:
    """Numbers around 0, of whole numbers and floats; `special` ones among these."""
    random = np.random.default_rng(0)
    values = {}
    for name in graph.inputs:
        tensor = graph.tensor(name)
        value = (10 * random.standard_normal(tensor.shape)).astype(tensor.dtype)
        if special and value.dtype.kind == "f":
            count = min(2, value.size)
            value.flat[random.choice(value.size, count, replace=False)] = random.choice(SPECIAL, count)
        values[name] = value
    return values


def check(leaf: str) -> None:
    graph, plan = planned(leaf)
    leaves_of = [binding.leaf for _, binding in bound(leaf)]
    assert leaves_of.count(leaf) >= len(PROBLEMS[leaf][1]) * (len(EXTENTS) - 1), "all but lanes along one channel"
    generated = compiler.generate(plan)
    executable, constants = loading.load(generated, graph, MACHINE, threads=1, strict=lambda: generated)
    for special in (False, True):
        values = operands(graph, special)
        inputs = [at_end(value) for value in (*values.values(), *constants)]
        outputs = [at_end(output) for output in executable.new_outputs(inputs)]
        executable.run(inputs, outputs)
        wider = {name: value.astype(np.float64) if value.dtype == np.float32 else value for name, value in values.items()}
        with np.errstate(all="ignore"):
            wanted = evaluate(graph, wider)
        for name, found in zip(graph.outputs, outputs, strict=True):
            atol = 1e-5 * np.abs(wanted[name][np.isfinite(wanted[name])]).max(initial=1.0)
            np.testing.assert_allclose(found, wanted[name], rtol=1e-5, atol=atol, err_msg=name)


@pytest.mark.parametrize("leaf", PROBLEMS)
def test_results_are_those_of_the_interpreter(leaf: str) -> None:
    in_child(check, leaf)
