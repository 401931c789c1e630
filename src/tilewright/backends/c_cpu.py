"""The backend of CPUs: a plan becomes C with vector extensions, which the C compiler of the system makes a library of.

A loaded artifact needs neither plans nor code generation, whose modules take longer to import than a library to open: they are
imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tilewright.artifact import Artifact
from tilewright.backends.backend import Backend
from tilewright.machine.description import CPU
from tilewright.machine.machine import Machine
from tilewright.runtime import executable
from tilewright.runtime.executable import Built, Executable

if TYPE_CHECKING:
    from tilewright.plan.types import ModelPlan, Plan
    from tilewright.render.c.program import Program


class CForCpus(Backend["Program"]):
    """One library of C per graph, with the entry points of `artifact.py`."""

    name = "c_cpu"
    suffix = "c"
    element_types = None
    takes_merged_arguments = True

    def serves(self, machine: Machine) -> bool:
        """CPUs of any architecture: where no vector dialect is written for one, the portable dialect is."""
        return machine.device == CPU

    def product_types(self, machine: Machine) -> frozenset[tuple[str, str]]:
        """Those of micro kernels."""
        from tilewright.kernels import registry

        return frozenset(kernel.element_types[:2] for kernel in registry.for_machine(machine, element_types=None))

    def lower(self, model_plan: ModelPlan) -> Program:
        """The regions of every chain. Raises `DTypeError` for arguments of types that C code cannot take."""
        from tilewright.render.c.program import lower_program

        return lower_program(model_plan)

    def emit(self, program: Program) -> Artifact:
        """The C files."""
        from tilewright.render.c.program import emit_program

        return emit_program(program)

    @contextmanager
    def compiling_ahead(self) -> Iterator[Callable[[Sequence[Plan]], None]]:
        """Micro kernels of chains are compiled while others are planned."""
        from tilewright.render.c.program import linked_kernels
        from tilewright.runtime.ahead import compiling_ahead

        host = Machine.detect()

        def planned(plans: Sequence[Plan]) -> None:
            for linked in map(linked_kernels, plans):
                if linked.architecture == host.architecture and linked.features <= host.features:
                    ahead.begin(linked.units, linked.architecture, linked.features)

        with compiling_ahead() as ahead:
            yield planned

    def lacking(self, artifact: Artifact) -> tuple[str, ...]:
        """The architecture, or instructions of it."""
        host = Machine.detect()
        if host.architecture != artifact.architecture:
            return (artifact.architecture,)
        return tuple(sorted(artifact.features - host.features))

    def build(self, artifact: Artifact, program: Program, *, constants: Sequence[object]) -> Built:
        """Compile the files, and pack the constants by code for any CPU of this architecture."""
        from tilewright.render.c.program import packing_program

        return executable.build(artifact, packing_program(program), constants=constants)

    def load(self, artifact: Artifact, *, constants: Sequence[object], threads: int | None, runner: str = "") -> Executable:
        """Compile the files, or find their library in the cache, and pack the constants. Raises as `executable.load` does."""
        return executable.load(artifact, threads=threads, constants=constants)


BACKEND = CForCpus()
