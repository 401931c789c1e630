"""`Lowered`: a planned function. `Kernel`: a compiled one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.api import pytree
from tilewright.api.calling import FlatCall, TracedCall, flatten_call, is_array
from tilewright.errors import ShapeError, TilewrightError
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.plan.types import ModelPlan, Plan
from tilewright.runtime.arrays import as_array, like

if TYPE_CHECKING:
    from tilewright.runtime.executable import Executable
    from tilewright.runtime.pool import MemoryStats

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Lowered:
    """A function planned for one signature; no compiler has run."""

    traced: TracedCall
    model_plan: ModelPlan
    """The graph cut into chains, the plan of each, and the reasons for the cuts."""
    signature: inspect.Signature
    static_names: tuple[str, ...]
    threads: int | None
    foreign: Machine | None
    """The machine that was named as target, which may not be this one."""

    @property
    def graph(self) -> Graph:
        """What the function means, as it was traced."""
        return self.traced.graph

    @property
    def plan(self) -> Plan:
        """The plan of the only chain. Raises `TilewrightError` if there is not exactly one: then see `model_plan`."""
        plans = self.model_plan.plans
        if len(plans) != 1:
            raise TilewrightError(
                f"{self.graph.name} was planned as {len(plans)} chains, so there is no single plan",
                why="; ".join(f"{cut.tensor}: {cut.reason}" for cut in self.model_plan.cuts),
                hint="see .model_plan.plans and .explain()",
            )
        return plans[0]

    def explain(self) -> str:
        """The plan and its reasons, for a person."""
        from tilewright.report.explain import explain

        return explain(self.model_plan)

    def compile(self) -> Kernel:
        """Generate C, compile it (or find it in the cache) and load it. Raises `ToolchainError` without a working compiler."""
        from tilewright import compiler

        if self.foreign is not None:
            _check_runs_here(compiler.generate(self.model_plan).features, self.foreign)
        return Kernel(self, compiler.build(self.model_plan, threads=self.threads))


class Kernel:
    """A compiled function: call it like the function, with arrays that fit its signature. Safe from several threads at once."""

    def __init__(self, lowered: Lowered, executable: Executable) -> None:
        self._lowered = lowered
        self._executable = executable
        self._result = lowered.traced.result
        self._constants = tuple(constant.array for _, constant in lowered.model_plan.graph.constants)
        self._is_single = isinstance(self._result, pytree.Leaf)
        self._parameter_count = _plain_parameters(lowered.traced.call)

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        """The result, of the kind of the first array argument; `out` (an array, or containers like the result's) is written to.

        Raises `ShapeError` and `DTypeError` for arguments that do not fit the signature.
        """
        if out is None and not options and len(args) == self._parameter_count and _all_numpy(args):
            return self.run_numpy(args)
        call = flatten_call(self._lowered.signature, self._lowered.static_names, args, options)
        if call.structure != self._lowered.traced.call:
            raise ShapeError(
                "the arguments do not have the structure that this kernel was compiled for",
                where=self._lowered.graph.name,
                why="containers and static values are part of the signature",
                hint="call the jitted function itself, which compiles what it needs",
            )
        return self.run_call(call, out)

    def run_numpy(self, inputs: tuple[Array, ...]) -> Any:
        """The result for NumPy arrays in the order of the graph's inputs: the shortest way."""
        outputs = self._executable.new_outputs(inputs)
        self._executable.run(inputs + self._constants if self._constants else inputs, outputs)
        return outputs[0] if self._is_single else pytree.unflatten(self._result, outputs)

    def run_call(self, call: FlatCall, out: Any = None) -> Any:
        """The result of a flat call, in the kind of its first array, or written into `out`."""
        inputs = call.arrays()
        if out is None:
            outputs = self._executable.new_outputs(inputs)
            self._executable.run((*inputs, *self._constants), outputs)
            first = call.first_array()
            return pytree.unflatten(self._result, [like(first, output) for output in outputs])
        self._executable.run((*inputs, *self._constants), output_arrays(self._result, out))
        return out

    @property
    def source(self) -> str:
        """The C text."""
        return self._executable.source

    def save(self, path: str | Path) -> None:
        """Write the compiled library to `path` and its C text beside it, to `path`.c."""
        self._executable.save(path)

    def explain(self) -> str:
        """The plan and its reasons, for a person."""
        return self._lowered.explain()

    def memory_stats(self) -> MemoryStats:
        """Scratch and workspace that calls have needed so far, in bytes."""
        return self._executable.memory_stats()


def output_arrays(result: pytree.Structure, out: Any) -> list[Array]:
    """The arrays of `out`, which must be nested like the result. Raises `ShapeError` if it is not."""
    flat = pytree.flatten(out, is_array)
    expected = _leaf_count(result)
    if len(flat.leaves) != expected:
        raise ShapeError(
            f"out= holds {len(flat.leaves)} arrays, but the function returns {expected}",
            hint="pass one array, or containers nested like the result",
        )
    return [as_array(leaf) for leaf in flat.leaves]


def _leaf_count(structure: pytree.Structure) -> int:
    if isinstance(structure, pytree.Leaf):
        return 1
    return sum(map(_leaf_count, structure.children)) if isinstance(structure, pytree.Node) else 0


def _plain_parameters(call: pytree.Structure) -> int:
    """How many positional arrays a call consists of, -1 if there is anything else in it."""
    assert isinstance(call, pytree.Node)
    positional, keywords = call.children
    assert isinstance(positional, pytree.Node)
    assert isinstance(keywords, pytree.Node)
    plain = not keywords.children and all(isinstance(child, pytree.Leaf) for child in positional.children)
    return len(positional.children) if plain else -1


def _all_numpy(args: Sequence[Any]) -> bool:
    return all(type(arg) is np.ndarray for arg in args)


def _check_runs_here(needed: frozenset[str], machine: Machine) -> None:
    here = Machine.detect()
    missing = sorted(needed - here.features) if here.architecture == machine.architecture else [machine.architecture]
    if missing:
        raise TilewrightError(
            f"a kernel for {machine.name} cannot run on this machine",
            why=f"this CPU ({here.architecture}) lacks {', '.join(missing)}",
            hint="lower(...).explain() works for any target; leave out target= to compile for this machine",
        )
