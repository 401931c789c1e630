"""Calls of a whole model with other plans for some of its chains: what is faster alone need not be behind other chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np

from tilewright import compiler
from tilewright.backends import loading
from tilewright.graph.types import Graph, Tensor
from tilewright.plan.types import ModelPlan
from tilewright.runtime.arrays import Array, dtype_named
from tilewright.tune.pipeline.work import PAIRS_S, SERIES
from tilewright.tune.timing.pairs import paired_ratios
from tilewright.tune.timing.turns import seconds_per_call

Call = Callable[[], object]


def worst_ratio(before: ModelPlan, after: ModelPlan, threads: int | None) -> float | None:
    """The time of a call with the second plans over that with the first: of several series of pairs, loaded anew, the worst.

    Inputs are drawn, integers are 0: they may look something up. None where a model cannot be called with drawn inputs, as it has
    extents that are known at run time only, or constants without values here.
    """
    if not _can_be_called(before.graph):
        return None
    inputs = [_drawn(before.graph.tensor(name)) for name in before.graph.inputs]
    loaded: list[Sequence[Call]] = []  # all stay, so that every series lies on other pages
    ratios = []
    for _ in range(SERIES):
        loaded.append([_call(model, inputs, threads) for model in (before, after)])
        first, second = (partial(seconds_per_call, call) for call in loaded[-1])
        (found,) = paired_ratios(first, [second], budget_s=PAIRS_S / 2)
        ratios.append(median(found))
    return max(ratios)


def _can_be_called(graph: Graph) -> bool:
    fixed = all(isinstance(extent, int) for tensor in graph.tensors for extent in tensor.shape)
    return fixed and all(constant.has_values for _, constant in graph.constants)


def _drawn(tensor: Tensor) -> Array:
    shape = tuple(extent for extent in tensor.shape if isinstance(extent, int))
    if tensor.dtype in ("float32", "float64", "float16"):
        return np.random.default_rng(0).standard_normal(shape).astype(tensor.dtype)
    return np.zeros(shape, dtype_named(tensor.dtype))


def _call(model: ModelPlan, inputs: Sequence[Array], threads: int | None) -> Call:
    given = replace(model.graph, constants=model.given)
    executable, read = loading.load(compiler.generate(model), given, model.machine, threads=threads)
    operands = (*inputs, *read)
    return partial(executable.run, operands, executable.new_outputs(operands))
