"""Backends in one file: graphs run in the NumPy interpreter.

`Interpreter` serves a device that is called "interpreter" and planned for as a CPU is. `Device` serves one that plans chains by
itself, has an algorithm of its own, computes in other element types, and is not there: an interpreter stands in for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from time import perf_counter
from typing import Any

import numpy as np

from tilewright.artifact import Artifact
from tilewright.backends.backend import Backend
from tilewright.block.leaf_binding import LeafBinding, MatrixTile
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.data_format import decode, encode
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.types import Chain, Graph, Operator, SymbolicExtent
from tilewright.machine import Machine
from tilewright.plan.reasons import NotExecutable, Unplannable
from tilewright.plan.schedule import Compute, Schedule
from tilewright.plan.types import Floor, LevelPlan, ModelPlan, Movement, OperatorPlan, Plan, Price, PriceTerm, TermKind
from tilewright.precision import Precision
from tilewright.records import record
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

    def compute(self, inputs: tuple[object, ...]) -> list[Array]:
        outputs = self.new_outputs(inputs)
        self.run(inputs, outputs)
        return outputs

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


MISSING = "absent"
"""A device that no host has."""
ALGORITHM = "tiled"
"""What operators of its own algorithm are called."""


def missing_machine() -> Machine:
    """With the units, spaces and limits of some GPU."""
    return replace(Machine.named("a100"), name="absent-1", device=MISSING)


@record
class Planner:
    """At most so many products are one kernel, and rows behind a product only with the next product."""

    precision: Precision
    most_products: int = 2
    used_bytes: int = 1 << 10
    """Of the space "shared" that its kernels need."""
    second_s: float = 1.0
    """What a second of its price is."""

    def plan(self, chain: Chain, machine: Machine) -> Plan:
        """The operators one after the other, each as a whole."""
        self._check(chain)
        operators = tuple(OperatorPlan(operator.name, _leaf(operator)) for operator in chain.operators)
        size_bytes = {name: chain.tensor(name).element_bytes * prod(chain.tensor(name).shape) for name in _ends(chain)}
        seconds = 1e-6 + sum(size_bytes.values()) / (machine.cores * machine.levels[-1].bandwidth_bytes_per_s)
        terms = (PriceTerm(TermKind.TRAFFIC, self.second_s * seconds, chain.operators[-1].name, "shared"),)
        return Plan(
            chain=chain,
            machine=machine,
            schedule=Schedule(tuple(Compute(operator.name) for operator in chain.operators)),
            operators=operators,
            levels=(LevelPlan("shared", (), (), self.used_bytes, machine.level("shared").size_bytes),),
            parallel_axes=(),
            movements=tuple(Movement(name, "shared", size) for name, size in size_bytes.items()),
            scratch_bytes=0,
            price=Price(terms),
            unfused_price=None,
            floor=Floor(0, 0.0, sum(size_bytes.values()), 0.0),
            rejected=(),
        )

    def _check(self, chain: Chain) -> None:
        products = [operator for operator in chain.operators if operator.is_contraction()]
        ends_in_rows = bool(products) and any(
            map(Operator.is_row_reduction, chain.operators[chain.operators.index(products[-1]) :])
        )
        if len(products) > self.most_products or ends_in_rows:
            names = tuple(operator.name for operator in chain.operators)
            raise Unplannable("no kernel holds it", reason=NotExecutable(names), where=chain.name)


@dataclass(frozen=True, eq=False)
class FarTensor:
    """A tensor in memory that NumPy does not read."""

    there: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.there.shape

    @property
    def dtype(self) -> str:
        return f"far.{self.there.dtype.name}"

    def __dlpack__(self, **options: object) -> Any:
        raise BufferError("the memory is elsewhere")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class TakesTensors(Interpreted):
    """Results are where the arguments are."""

    takes_tensors = True

    def new_outputs(self, inputs: Sequence[object]) -> list[Any]:
        outputs = super().new_outputs([_near(one) for one in inputs])
        return [FarTensor(output) for output in outputs] if any(isinstance(one, FarTensor) for one in inputs) else outputs

    def run(self, inputs: Sequence[object], outputs: Sequence[Any]) -> None:
        super().run([_near(one) for one in inputs], [_near(one) for one in outputs])


def _near(one: Any) -> Any:
    return one.there if isinstance(one, FarTensor) else one


class Device(Interpreter):
    name = "absent"
    takes_tensors = True
    element_types = ("float32", "float16", "bfloat16", "int8", "int32")
    pads_rows = False
    stores_halves = True
    precisions = tuple(Precision)
    runners = ("interpreter",)

    def __init__(self, *, is_there: bool = False, **figures: float) -> None:
        self.is_there = is_there
        self.figures: dict[str, Any] = figures
        self.told: list[Precision] = []
        """The precisions that rewrites were asked for in."""

    def serves(self, machine: Machine) -> bool:
        return machine.device == MISSING

    def product_types(self, machine: Machine) -> frozenset[tuple[str, str]]:
        return frozenset((dtype, dtype) for dtype in ("float16", "bfloat16"))

    def rewrites(self, steps: tuple[Rewrite, ...], precision: Precision) -> tuple[Rewrite, ...]:
        self.told.append(precision)
        return steps

    def algorithms(self, graph: Graph) -> Graph:
        operators = (replace(operator, kind=f"{ALGORITHM}_{operator.kind}") for operator in graph.operators)
        return replace(graph, operators=tuple(operators))

    def chain_planner(self, precision: Precision) -> Planner:
        return Planner(precision, **self.figures)

    def lacking(self, artifact: Artifact) -> tuple[str, ...]:
        return () if self.is_there else ("an absent device",)

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None, runner: str = "") -> Interpreted:
        assert runner == "interpreter" or self.is_there, "there is no such device"
        loaded = super().load(artifact, constants=constants, threads=threads)
        return TakesTensors(loaded.signature, loaded.chains, loaded.source)


def _leaf(operator: Operator) -> LeafBinding:
    """A leaf that no registry knows, and a micro kernel that none knows."""
    roles = (("row", operator.axes[0].name),) if operator.axes else ()
    if not operator.is_contraction():
        return LeafBinding("absent_map", roles, numbers=(("warps", 4),))
    tile = MatrixTile("absent_16x16x16", contraction_roles(operator), 16, 16, 1, ("float16", "float16", "float32"), "float32")
    return LeafBinding("absent_dot", roles, numbers=(("warps", 4),), tile=tile)


def _ends(chain: Chain) -> tuple[str, ...]:
    return (*chain.inputs, *(name for name in chain.constants if name not in chain.inputs), chain.output)


def _slot(graph: Graph, name: str) -> TensorSlot:
    tensor = graph.tensor(name)
    return TensorSlot(name, tensor.dtype, tuple(e.name if isinstance(e, SymbolicExtent) else e for e in tensor.shape))
