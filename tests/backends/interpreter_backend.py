"""A backend in one file: graphs run in the NumPy interpreter, on a device that is called "interpreter"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from tilewright.artifact import Artifact
from tilewright.backends.backend import Backend
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.graph.data_format import decode, encode
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, SymbolicExtent
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan
from tilewright.runtime.binding import bind
from tilewright.runtime.pool import MemoryStats

Array = np.ndarray[Any, np.dtype[Any]]

DEVICE = "interpreter"


@dataclass(frozen=True)
class Program:
    """The chains of a plan, one graph each, in the order in which they run; constants come with the inputs."""

    graph: Graph
    chains: tuple[Graph, ...]

    def listing(self) -> str:
        return "\n".join(chain.name for chain in self.chains)


@dataclass(frozen=True)
class Interpreted:
    signature: Signature
    chains: tuple[Graph, ...]
    source: str

    def new_outputs(self, inputs: Sequence[object]) -> list[Array]:
        sizes = bind(self.signature, inputs)
        shapes = [[sizes.get(extent, extent) for extent in slot.shape] for slot in self.signature.outputs]
        return [np.empty(shape, slot.dtype) for shape, slot in zip(shapes, self.signature.outputs, strict=True)]

    def run(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        self.profile(inputs, outputs)

    def run_repeatedly(self, count: int, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        for _ in range(count):
            self.run(inputs, outputs)

    def profile(self, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[tuple[str, float], ...]:
        values = dict(zip((slot.name for slot in self.signature.inputs), map(np.asarray, inputs), strict=True))
        times = []
        for chain in self.chains:
            begin = perf_counter()
            values |= evaluate(chain, {name: values[name] for name in chain.inputs})
            times.append((chain.name, perf_counter() - begin))
        for slot, output in zip(self.signature.outputs, outputs, strict=True):
            np.copyto(output, values[slot.name])
        return tuple(times)

    def memory_stats(self) -> MemoryStats:
        return MemoryStats(0, 0)


class Interpreter(Backend[Program]):
    name = "interpreter"

    def serves(self, machine: Machine) -> bool:
        return machine.device == DEVICE

    def lower(self, model_plan: ModelPlan) -> Program:
        graph = model_plan.graph
        chains = []
        for plan in model_plan.plans:
            chain = plan.chain
            inputs = (*chain.inputs, *(name for name in chain.constants if name not in chain.inputs))
            chains.append(Graph(chain.name, graph.tensors, chain.operators, inputs, (chain.output,)))
        return Program(graph, tuple(chains))

    def emit(self, program: Program) -> Artifact:
        graph = program.graph
        names = (*graph.inputs, *(name for name, _ in graph.constants))
        slots = [_slot(graph, name) for name in (*names, *graph.outputs)]
        extents = [e for t in graph.tensors for e in t.shape if isinstance(e, SymbolicExtent)]
        symbols = {name: Symbol(name, e.low, e.high) for name, e in dimensions_of(extents).items()}
        symbols |= {e.name: Symbol(e.name, e.low, e.high, e) for e in extents if e.formula is not None}
        signature = Signature(tuple(symbols.values()), tuple(slots[: len(names)]), tuple(slots[len(names) :]))
        text = "\n".join(encode(chain, Graph).decode() for chain in program.chains)
        return Artifact("evaluate", text, (), DEVICE, frozenset(), signature, tuple(chain.name for chain in program.chains))

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None) -> Interpreted:
        chains = tuple(decode(line.encode(), Graph) for line in artifact.text.splitlines())
        return Interpreted(artifact.signature, chains, artifact.text)


def machine() -> Machine:
    """Planned for as a CPU is."""
    return replace(Machine.named("x86-64-v3"), name="interpreter", device=DEVICE)


def _slot(graph: Graph, name: str) -> TensorSlot:
    tensor = graph.tensor(name)
    return TensorSlot(name, tensor.dtype, tuple(e.name if isinstance(e, SymbolicExtent) else e for e in tensor.shape))
