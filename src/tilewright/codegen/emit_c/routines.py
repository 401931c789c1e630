"""Routines: the functions of chains, which chains of equal structure share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.codegen.loop_nest import KernelCall, OperatorNest, Structure
from tilewright.errors import InternalError
from tilewright.kernels.helpers import Helper

RUN_ARGUMENTS = "const struct tw_context *context, void *const *tensors, const long *sizes"


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A chain as functions: `name`_run gives its pointers and sizes to `name`_task, which computes the blocks of a thread."""

    name: str
    text: str
    pointers: tuple[str, ...]
    """What the caller passes as `tensors`: C expressions in the entry point."""
    sizes: tuple[str, ...]
    """What the caller passes as `sizes`."""
    calls: Sequence[KernelCall]
    """Of micro kernels."""
    helpers: frozenset[Helper] = frozenset()
    """What the text calls."""
    structure: Structure | None = None
    """Equal for routines that are the same code but for names."""
    nests: Mapping[str, OperatorNest] = field(default_factory=dict)
    """The shared loops that are called, by the name of their function."""

    @property
    def declaration(self) -> str:
        """Of the function that others call."""
        return f"void {self.name}_run({RUN_ARGUMENTS});"


def shared(routines: Sequence[Routine]) -> list[Routine]:
    """In the place of every routine the first of its structure."""
    first: dict[Structure | str, Routine] = {}
    chosen = [first.setdefault(routine.structure or routine.name, routine) for routine in routines]
    for routine, called in zip(routines, chosen, strict=True):
        if (len(routine.pointers), len(routine.sizes)) != (len(called.pointers), len(called.sizes)):
            raise InternalError(f"{called.name} cannot be called for {routine.name}: it has other arguments", dump=routine.text)
    return chosen
