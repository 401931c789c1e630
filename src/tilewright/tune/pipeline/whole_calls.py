"""Calls of a whole model with other plans for some of its chains: what is faster alone need not be behind other chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from tilewright.graph.types import Constant, Graph
from tilewright.plan.types import ModelPlan, Plan
from tilewright.runtime.arrays import Array, dtype_named
from tilewright.tune.pipeline.drawing import drawn
from tilewright.tune.pipeline.work import PAIRS_S, SERIES, loaded_model
from tilewright.tune.timing import paired_ratios, seconds_per_call

SEED = 20240301
Call = Callable[[], object]
Named = tuple[str, Constant]
Sent = tuple[str, Constant | None, bool, tuple[int, ...], np.dtype[Any]]
"""A constant: its values where generated code may depend on them, else None; whether there are values; shape and type."""


@dataclass(frozen=True, eq=False, slots=True)
class WholeCase:
    """A model whose calls are compared."""

    model: ModelPlan

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is sent elsewhere: weights are drawn there, for nothing that is measured depends on them."""
        graph, part, given = self.model.graph, self.model.constant_part, self.model.given
        bare = replace(self.model, graph=replace(graph, constants=()), given=())
        bare = replace(bare, constant_part=part and replace(part, constants=()))
        return _received, (bare, _sent(graph.constants), _sent(part.constants if part else ()), _sent(given))


def worst_ratio(case: WholeCase, plans: tuple[Plan, ...], threads: int | None) -> float | None:
    """The time of a call with these plans over that with the model's: of several series of pairs, loaded anew, the worst.

    Inputs are drawn, integers are 0: they may look something up. None where a model has extents that are known at run time only.
    """
    models = case.model, replace(case.model, plans=plans)
    if any(not isinstance(extent, int) for tensor in case.model.graph.tensors for extent in tensor.shape):
        return None
    inputs = _inputs(case.model.graph)
    loaded: list[Sequence[Call]] = []  # all stay, so that every series lies on other pages
    ratios = []
    for _ in range(SERIES):
        loaded.append([_call(model, inputs, threads) for model in models])
        first, second = (partial(seconds_per_call, call) for call in loaded[-1])
        (found,) = paired_ratios(first, [second], budget_s=PAIRS_S / 2)
        ratios.append(median(found))
    return max(ratios)


def _call(model: ModelPlan, inputs: Sequence[Array], threads: int | None) -> Call:
    executable, read = loaded_model(model, threads)
    operands = (*inputs, *read)
    return partial(executable.run, operands, executable.new_outputs(operands))


def _inputs(graph: Graph) -> list[Array]:
    source, tensors = np.random.default_rng(SEED), map(graph.tensor, graph.inputs)
    return [drawn(source, tensor.shape, dtype_named(tensor.dtype)) for tensor in tensors]


def _sent(constants: Iterable[Named]) -> list[Sent]:
    light = ((name, constant, constant.without_values()) for name, constant in constants)
    return [
        (name, kept if kept.has_values else None, constant.has_values, constant.array.shape, constant.array.dtype)
        for name, constant, kept in light
    ]


def _received(model: ModelPlan, of_graph: list[Sent], of_part: list[Sent], given: list[Sent]) -> WholeCase:
    part, known = model.constant_part, dict[str, Constant]()
    graph = replace(model.graph, constants=_constants(of_graph, known))
    part = part and replace(part, constants=_constants(of_part, known))
    return WholeCase(replace(model, graph=graph, constant_part=part, given=_constants(given, known)))


def _constants(sent: Sequence[Sent], known: dict[str, Constant]) -> tuple[Named, ...]:
    """Constants of the same name are drawn once."""
    source = np.random.default_rng(SEED)
    for name, kept, has_values, shape, dtype in sent:
        if kept is not None:
            known[name] = kept
        elif name not in known:
            values = drawn(source, shape, dtype) if has_values else np.broadcast_to(np.zeros((), dtype), shape)
            known[name] = Constant(values, has_values)
    return tuple((one[0], known[one[0]]) for one in sent)
