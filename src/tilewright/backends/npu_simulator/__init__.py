"""The backend of NPUs, of which it has none: programs run in a simulator that counts bytes, instructions and cycles.

`planner.py` plans a chain, `lowering.py` makes its block program with a transfer for every DMA, `core.py` runs that on simulated
buffers and pipes. Results are functional; every time is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.backends.backend import Backend
from tilewright.precision import Precision

if TYPE_CHECKING:
    from tilewright.artifact import Artifact
    from tilewright.backends.npu_simulator.planner import NpuPlanner
    from tilewright.backends.npu_simulator.program import Program, Simulated
    from tilewright.machine.machine import Machine
    from tilewright.plan.types import ModelPlan

ENTRY_POINT = "simulate"


class NpuSimulator(Backend["Program"]):
    """Kernels of float16 operands, one for each chain."""

    name = "npu_simulator"
    element_types = ("float16", "float32")
    pads_rows = False
    stores_halves = True

    def serves(self, machine: Machine) -> bool:
        """Targets of this device."""
        return machine.device == "npu"

    def product_types(self, machine: Machine) -> frozenset[tuple[str, str]]:
        """Those of the cube."""
        return frozenset({("float16", "float16")})

    def chain_planner(self, precision: Precision) -> NpuPlanner:
        """Orders and tiles by price, from exact bytes."""
        from tilewright.backends.npu_simulator.planner import NpuPlanner

        return NpuPlanner()

    def lower(self, model_plan: ModelPlan) -> Program:
        """The launches of a plan."""
        from tilewright.backends.npu_simulator.figures import figures_of
        from tilewright.backends.npu_simulator.lowering import tiles_of
        from tilewright.backends.npu_simulator.program import Launch, Program
        from tilewright.lower.arguments import signature_of

        launches = tuple(Launch(plan.chain, tiles_of(plan)) for plan in model_plan.plans)
        return Program(launches, figures_of(model_plan.machine), signature_of(model_plan))

    def emit(self, program: Program) -> Artifact:
        """The program as data."""
        from tilewright.artifact import Artifact

        names = tuple(launch.chain.name for launch in program.launches)
        return Artifact(ENTRY_POINT, program.text(), (), self.name, frozenset(), program.signature, names)

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None, runner: str = "") -> Simulated:
        """A kernel that runs in the simulator, which takes no threads."""
        from tilewright.backends.npu_simulator.program import Program, Simulated

        return Simulated(Program.of(artifact.text), artifact.source)


BACKEND = NpuSimulator()
