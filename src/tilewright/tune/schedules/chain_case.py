"""One chain of a plan by itself, with values for all that it reads: what trials of its variants compile, check and time.

Weights are those of the model; what other chains make, and arguments, are drawn. What cannot be drawn is said with its reason.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.dtypes import dtype_named
from tilewright.errors import TilewrightError
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Constant, Extent, Graph, SymbolicExtent, Tensor
from tilewright.plan.element_types import SHORT_INTEGERS
from tilewright.plan.types import ModelPlan
from tilewright.runtime.arrays import Array

FLOATS = ("float16", "bfloat16", "float32", "float64")


def drawn(source: np.random.Generator, shape: Iterable[Extent], dtype: np.dtype[Any]) -> Array:
    """Normal numbers over the square root of the last extent, so that sums stay near 1, and truth values; 0 of other types.

    Whole numbers may be positions, of which 0 is always in range. Raises `TypeError` for extents that are not known.
    """
    known = tuple(int(extent) for extent in shape)  # type: ignore[arg-type]
    if dtype == np.bool_:
        return source.random(known) < 0.5
    if dtype.name not in FLOATS:
        return np.zeros(known, dtype)
    values = source.standard_normal(known, np.float32) / np.float32(np.sqrt(max(1, *known[-1:])))
    return values.astype(dtype, copy=False)


def drawn_factors(source: np.random.Generator, tensor: Tensor) -> Array:
    """Integers of at most 16 bits that products read: of the whole range of their type, or within what is known of their size.

    Any two together stay below what is known of two neighbours, so that kernels are exact that were proved to be.
    Raises `TypeError` for extents that are not known.
    """
    limits, known = np.iinfo(tensor.dtype), tensor.magnitudes
    most = limits.max - limits.min if known is None else min((known.largest, *(pair // 2 for pair in known.pairs)))
    lowest, highest = max(limits.min, -most), min(limits.max, most)
    shape = tuple(int(extent) for extent in tensor.shape)  # type: ignore[arg-type]
    return source.integers(lowest, highest, shape, dtype_named(tensor.dtype), endpoint=True)


DRAWN = ("float32", "bool")
"""Types of inputs that can be drawn: whole numbers may be positions, which have a range, unless products alone read them."""
RESULTS = ("float32", "int32")
SEED = 20240229


class NotTunable(TilewrightError):
    """A chain whose variants cannot be measured; `why` says what stands in the way."""

    def __init__(self, chain: str, why: str) -> None:
        super().__init__(f"{chain} cannot be tuned", why=why)
        self.why = why


class Problem(ABC):
    """A graph with its constants, inputs that are drawn for it, and what must come out."""

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """What is planned."""

    @cached_property
    def inputs(self) -> tuple[Array, ...]:
        """Standard normal numbers over the square root of the last extent, truth values, and integers; the same in every run."""
        source = np.random.default_rng(SEED)
        return tuple(_drawn(source, self.graph.tensor(name)) for name in self.graph.inputs)

    @cached_property
    def reference(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The result in float64, by the meaning of the graph in NumPy; sums of integers wrap there as kernels' do."""
        given = dict(zip(self.graph.inputs, self.inputs, strict=True))
        return evaluate(self.graph, given, dtype="float64")[self.graph.outputs[0]].astype(np.float64, copy=False)

    def error(self, result: Array) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for NaN and wrong integers."""
        if result.dtype.kind in "iu":
            return 0.0 if np.array_equal(result, self.reference) else float("inf")
        if not np.isfinite(result).all():
            return float("inf")
        largest = float(np.abs(self.reference).max(initial=0.0))
        return float(np.abs(result - self.reference).max(initial=0.0)) / (largest or 1.0)


@dataclass(frozen=True, eq=False)
class ChainCase(Problem):
    """A plan of one chain, and what it is run on."""

    model: ModelPlan
    """Of this chain alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is sent elsewhere: weights are drawn there, for nothing that is measured depends on them."""
        kept = tuple((name, constant.without_values()) for name, constant in self.graph.constants)
        known = tuple((name, constant) for name, constant in kept if constant.has_values)
        return _received, (replace(self.model, graph=replace(self.graph, constants=known), given=()),)

    @property
    def graph(self) -> Graph:
        """The chain, with its constants."""
        return self.model.graph

    @property
    def name(self) -> str:
        """Of the chain."""
        return self.model.plans[0].chain.name


def chain_case(model: ModelPlan, at: int) -> ChainCase:
    """The chain of this number by itself.

    Raises `NotTunable` where its extents are known at run time only, where its inputs or its result have types that cannot be
    drawn, and where its result is not finite for numbers that are drawn.
    """
    plan = model.plans[at]
    if why := _why_not(plan.chain):
        raise NotTunable(plan.chain.name, why)
    graph = _graph_of(plan.chain, model.graph)
    case = ChainCase(ModelPlan(graph, (plan,), (), given=graph.constants))
    if not np.isfinite(case.reference).all():
        raise NotTunable(plan.chain.name, "its result is not finite for numbers that are drawn")
    return case


def _received(model: ModelPlan) -> ChainCase:
    """A case that was sent here."""
    graph = _graph_of(model.plans[0].chain, model.graph)
    return ChainCase(replace(model, graph=graph, given=graph.constants))


def _why_not(chain: Chain) -> str:
    """The reason why the operands of a chain cannot be drawn; empty if they can."""
    if any(isinstance(extent, SymbolicExtent) for tensor in chain.tensors for extent in tensor.shape):
        return "it has extents that are known at run time only; plans are measured at one size"
    given = [chain.tensor(name) for name in chain.inputs if name not in chain.constants]
    for tensor in given:
        if not _can_be_drawn(chain, tensor):
            return f"it reads {tensor.name}, which is {tensor.dtype}: only float32 and factors of integer products are drawn"
    result = chain.tensor(chain.output)
    return f"its result {result.name} is {result.dtype}, not float32 or int32" if result.dtype not in RESULTS else ""


def _can_be_drawn(chain: Chain, tensor: Tensor) -> bool:
    """Whether any numbers may stand in the place of an operand: it holds no positions."""
    is_factor = all(reader.is_contraction() for reader in chain.consumers(tensor.name))
    return tensor.dtype in DRAWN or (tensor.dtype in SHORT_INTEGERS and is_factor)


def _graph_of(chain: Chain, whole: Graph) -> Graph:
    """The chain as a graph, with the values of its constants; those that are not known are drawn."""
    source, known = np.random.default_rng(SEED), dict(whole.constants)
    constants = tuple((name, _constant(chain, name, known.get(name), source)) for name in chain.constants)
    inputs = tuple(name for name in chain.inputs if name not in chain.constants)
    return Graph(chain.name, chain.tensors, chain.operators, inputs, (chain.output,), constants)


def _constant(chain: Chain, name: str, known: Constant | None, source: np.random.Generator) -> Constant:
    if known is not None and known.has_values:
        return known
    tensor = chain.tensor(name)
    if not _can_be_drawn(chain, tensor):
        raise NotTunable(chain.name, f"the values of its constant {name}, which is {tensor.dtype}, are not known here")
    return Constant(_drawn(source, tensor))


def _drawn(source: np.random.Generator, tensor: Tensor) -> Array:
    if tensor.dtype in SHORT_INTEGERS:
        return drawn_factors(source, tensor)
    return drawn(source, tensor.shape, dtype_named(tensor.dtype))
