"""The interface of a backend: a plan is lowered to a program, a program emitted as an artifact, an artifact loaded to be called.

An artifact is data: it may be kept on disk, and loaded by a process that has neither planned nor lowered anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from tilewright.entry_point import Signature
from tilewright.errors import UnsupportedOperation
from tilewright.precision import Precision
from tilewright.runtime.pool import MemoryStats

if TYPE_CHECKING:
    from tilewright.artifact import Artifact
    from tilewright.graph.rewrites import Rewrite
    from tilewright.graph.types import Graph
    from tilewright.machine.machine import Machine
    from tilewright.plan.chain_planner import ChainPlanner
    from tilewright.plan.types import ModelPlan, Plan
    from tilewright.runtime.executable import Built

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class Program(Protocol):
    """A lowered plan, in whatever form the backend emits."""

    def listing(self) -> str:
        """For people: what TILEWRIGHT_DUMP_DIR keeps of the stage `lower`."""


P = TypeVar("P", bound=Program)


class Runnable(Protocol):
    """A loaded artifact. Calls are safe from several threads at once."""

    @property
    def signature(self) -> Signature:
        """The arguments, in order."""

    @property
    def source(self) -> str:
        """The text that was compiled."""

    def new_outputs(self, inputs: Sequence[object]) -> list[Array]:
        """Uninitialised arrays of the outputs' shapes and types. Raises like `run`."""

    def run(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """Compute the outputs from the inputs. Raises `ShapeError` and `DTypeError` for arrays that do not fit the signature."""

    def compute(self, inputs: tuple[object, ...]) -> list[Array]:
        """New outputs for the inputs. Raises as `run`."""

    def run_repeatedly(self, count: int, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """The same run `count` times, for measurements."""

    def profile(self, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[tuple[str, float], ...]:
        """One call: the name of every chain, in order, and the seconds that it took."""

    def memory_stats(self) -> MemoryStats:
        """The memory that calls have needed so far."""


class Backend(Protocol[P]):
    """Generated code for one kind of device. A subclass says what differs from the defaults."""

    name: str
    """In messages; every backend has another name."""
    suffix: str = "txt"
    """Of files that hold the text of its artifacts."""
    element_types: tuple[str, ...] | None = ("float32",)
    """What functions may compute in and return; None: every type that graphs have."""
    takes_merged_arguments: bool = False
    """Whether neighbouring dimensions of an argument may be walked as one where no operator tells them apart."""
    takes_tensors: bool = False
    """Whether what it loads takes tensors in memory of a device as they are, and makes results there for them. It then says so by
    an attribute of this name, too."""
    pads_rows: bool = True
    """Whether rows of tensors between chains are padded, so that they spread over the sets of the nearest cache."""
    stores_halves: bool = False
    """Whether numbers of 16 bits stay what they are inside of chains and between them: sums are of float32, results are stored in
    16 bits by what computes them."""
    precisions: tuple[Precision, ...] = tuple(precision for precision in Precision if precision is not Precision.TF32)
    """What results may be asked for in."""
    runners: tuple[str, ...] = ()
    """What else can run its artifacts, by name: `compile(runner=...)` takes one of these, where a device is missing."""

    def serves(self, machine: Machine) -> bool:
        """Whether plans for this machine are this backend's."""

    def product_types(self, machine: Machine) -> frozenset[tuple[str, str]]:
        """Element types of two operands that products take as they are; others are widened first."""
        return frozenset()

    def rewrites(self, steps: tuple[Rewrite, ...], precision: Precision) -> tuple[Rewrite, ...]:
        """The rewrites for this device, given those of all: they may be more, fewer, and others."""
        return steps

    def with_merged_arguments(self, graph: Graph) -> tuple[Graph, Mapping[str, tuple[int, ...]]]:
        """The rewritten graph with neighbouring dimensions of arguments as one, and by name the dimensions that are one with the
        next: callers see the others. Elements of such arguments lie in a row.
        """
        from tilewright.graph.rewrites.index_changes.flatten_tensors import with_merged_arguments  # calls need none

        return with_merged_arguments(graph) if self.takes_merged_arguments else (graph, {})

    def algorithms(self, graph: Graph) -> Graph | None:
        """The rewritten graph with an algorithm of this device for every operator; inputs and outputs keep their shapes.

        None: algorithms and layouts of images are chosen by prices, unless a `chain_planner` takes operators as they are.
        """
        return None

    def chain_planner(self, precision: Precision) -> ChainPlanner | None:
        """What plans chains for this device; None: schedules are searched, for caches and vectors."""
        return None

    def lower(self, model_plan: ModelPlan) -> P:
        """Translate a plan; decide nothing that changes speed or rounding."""

    def emit(self, program: P) -> Artifact:
        """The text of a program, and its arguments."""

    def compiling_ahead(self) -> AbstractContextManager[Callable[[Sequence[Plan]], None]]:
        """While a graph is planned: told the plans of chains that are final, a backend may begin with what `load` will need.

        Nothing may depend on it: other graphs are loaded without.
        """
        return nullcontext(lambda plans: None)

    def lacking(self, artifact: Artifact) -> tuple[str, ...]:
        """What an artifact needs and this host does not have: architectures, features, devices; nothing where it can run."""
        return ()

    def build(self, artifact: Artifact, program: P, *, constants: Sequence[object]) -> Built:
        """What `load` would load of an emitted program, to be saved: this host may lack what it needs."""
        raise UnsupportedOperation(f"kernels of the backend {self.name} cannot be saved")

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None, runner: str = "") -> Runnable:
        """Something to call. `constants` are those of the signature, by order; `threads` of None means all usable cores.

        `runner` is one of `runners`, or "" for the device; only who has some is told.
        """
