"""What a C file consists of: routines of loop nests, in front of them a prelude.

Routines: the functions of chains, which chains of equal structure share.

Content of one C file: kernels, loop nests with their arguments, run-time sizes, constants that are packed ahead.

What precedes the functions of a C file: what they use of the vocabulary of vectors, declarations, and helpers they call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.codegen.artifact import CONTEXT_DECLARATION
from tilewright.codegen.expressions import Value
from tilewright.codegen.loop_nest import KernelCall, LoopNest, Node, OperatorNest, PackedConstant, Structure
from tilewright.errors import InternalError
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES
from tilewright.kernels.helpers import Helper, texts
from tilewright.kernels.translation_units import used_prelude

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


@dataclass(frozen=True, slots=True)
class Argument:
    """A tensor that the entry point is given or that lies in its workspace: its variable, and the C expression of its address."""

    name: str
    pointer: str
    is_written: bool
    dtype: str = "float32"

    @property
    def c_type(self) -> str:
        """Of its elements."""
        return C_TYPES[self.dtype] if self.is_written else f"const {C_TYPES[self.dtype]}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A constant that is packed ahead: `source` is what the copies call it.

    `calls` are the copies as calls of shared loops, for programs that link them.
    """

    constant: PackedConstant
    source: str
    calls: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """All that one C file is made of."""

    entry_point: str
    header: tuple[str, ...]
    dialect: VectorDialect
    kernels: Mapping[str, MicroKernel]
    definitions: tuple[tuple[str, str], ...]
    """Run-time extents and strides: (variable, C expression over `sizes`)."""
    nests: tuple[tuple[LoopNest, tuple[Argument, ...]], ...]
    workspace_elements: Value
    ends: tuple[int | None, ...] = ()
    """For every nest the number of the chain that it finishes, None if others follow."""
    prepared: tuple[Prepared, ...] = ()
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The smallest and the largest value of every run-time extent."""
    links_kernels: bool = True
    """Whether functions of micro kernels are linked; else all that are C of this dialect stand in the file."""


CALL_DECLARATION = """\
struct tw_call {
  void *const *tensors;
  const long *sizes;
};
"""
SMALLER_AND_LARGER = """\
TW_INLINE long tw_min(long a, long b) { return a < b ? a : b; }
TW_INLINE long tw_max(long a, long b) { return a > b ? a : b; }
"""
DECLARATIONS = SMALLER_AND_LARGER + CONTEXT_DECLARATION + CALL_DECLARATION
"""What every file needs."""


def with_prelude(dialect: VectorDialect, helpers: Iterable[Helper], functions: Sequence[str]) -> str:
    """The C of functions behind these helpers and what all of it needs of the dialect's vocabulary: GCC 12 reads all of that
    in 10 to 20 ms, as long as it takes for a small operator.
    """
    text = "\n".join([DECLARATIONS, *texts(helpers), *functions])
    return f"{used_prelude(dialect.prelude, text)}\n{text}"
