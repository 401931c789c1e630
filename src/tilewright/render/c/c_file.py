"""What a C file consists of: a prelude, the loops that nests share, and the routines of chains.

The prelude is declarations, and the helpers that the functions of a file call. Chains of equal structure share a routine. A
shared loop nest is a function of pointers and numbers, named by its text: it stands in the file that calls it, or is a
translation unit of its own, which libraries share as they do micro kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from tilewright.artifact import CONTEXT_DECLARATION
from tilewright.block.integers import IntegerExpression, Variable
from tilewright.block.memory import BufferName
from tilewright.block.program import Region
from tilewright.block.statements import Leaf, Statement, Transfer, VectorLoops
from tilewright.c_text.names import buffer_name, variable_name
from tilewright.c_text.statements import function
from tilewright.errors import InternalError, UnsupportedOperation
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.element_types import C_TYPES
from tilewright.kernels.helpers import INLINE, Helper, texts
from tilewright.kernels.translation_units import WEAK
from tilewright.leaves.declaration import PlaceArgument, TileArgument
from tilewright.lower.program import Structure
from tilewright.plan.types import Plan
from tilewright.records import record
from tilewright.render.assembly.function import assembly, unit
from tilewright.render.c.leaf_texts import leaf_text, tile_of
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.passes.legalise import legalise

RUN_ARGUMENTS = "const struct tw_context *context, void *const *tensors, const long *sizes"


@record
class PointerParameter:
    """Where a nest finds the elements of a buffer."""

    name: BufferName
    dtype: str
    is_written: bool


@record
class OperatorNest:
    """The loops of an operator as a function of its own: equal for operators that differ in names, places and numbers only.

    Of the numbers, those that are not parameters are the same for all of them.
    """

    loops: VectorLoops | Transfer
    """In the names of the parameters; axes are numbered."""
    pointers: tuple[PointerParameter, ...]
    numbers: tuple[Variable, ...]
    dialect: Dialect
    """Of the vectors that they are rendered in."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.loops, self.pointers, self.numbers)))

    def __hash__(self) -> int:
        """Computed once: texts are looked up by nests."""
        return self._hash


@record
class NestCall(Statement):
    """A nest for one operator: where its buffers begin, and its numbers."""

    nest: OperatorNest
    note: str
    """The operator, for readers."""
    places: tuple[tuple[BufferName, IntegerExpression], ...]
    """Buffer and offset in elements of every pointer."""
    numbers: tuple[IntegerExpression, ...]

    @property
    def moves(self) -> bool:
        """Whether the function only moves elements."""
        return self.nest.loops.moves


@record(eq=False)
class Routine:
    """A chain as functions: `name`_run gives its pointers and sizes to `name`_task, which computes the blocks of a thread."""

    name: str
    text: str
    pointers: tuple[str, ...]
    """What the caller passes as `tensors`: C expressions in the entry point."""
    sizes: tuple[str, ...]
    """What the caller passes as `sizes`."""
    leaves: Sequence[Leaf]
    helpers: frozenset[Helper] = frozenset()
    """What the text calls."""
    structure: Structure | None = None
    """Equal for routines that are the same code but for names."""
    nests: Mapping[str, OperatorNest] = field(default_factory=dict)
    """The shared loops that are called, by the name of their function."""
    arguments: tuple[int, ...] = ()
    """The numbers of those arguments of its region that are pointers."""
    size_names: tuple[str, ...] = ()
    """What the sizes are called in the text."""
    only_calls: bool = False
    """Whether all its elements are computed by functions of other objects."""

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


@record
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


@record
class Prepared:
    """A constant that is packed ahead: `source` is what the copies call it.

    `calls` are the copies as calls of shared loops, for programs that link them.
    """

    constant: Region
    source: str
    dtype: str
    calls: tuple[Statement, ...] = ()


@record
class RoutineSource:
    """A region with all else that its functions are made of."""

    region: Region
    plan: Plan
    arguments: tuple[Argument, ...]
    lookups_before: int
    """How many the chains before this one have."""
    structure: Structure | None


@record
class File:
    """All that one C file is made of."""

    entry_point: str
    header: tuple[str, ...]
    dialect: Dialect
    kernels: Mapping[str, MicroKernel]
    definitions: tuple[tuple[str, str], ...]
    """Run-time extents and strides: (variable, C expression over `sizes`)."""
    nests: tuple[RoutineSource, ...]
    workspace_words: IntegerExpression
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


def with_prelude(helpers: Iterable[Helper], functions: Sequence[str]) -> str:
    """The C of functions behind what every file needs, and these helpers."""
    return "\n".join([INLINE, DECLARATIONS, *texts(helpers), *functions])


NAME_DIGITS = 8
"""Of the hash that names a nest."""
MOST_REMEMBERED = 1024
"""Nests whose text is kept: large models have some hundred."""


@lru_cache(MOST_REMEMBERED)
def nest_name(nest: OperatorNest) -> str:
    """The function of a nest: equal for equal text, in all programs."""
    kind = "pack" if isinstance(nest.loops, Transfer) else "map" if nest.loops.operator.reduction is None else "rows"
    return f"{kind}_{hashlib.sha256(_text(nest, '').encode()).hexdigest()[:NAME_DIGITS]}"


@lru_cache(MOST_REMEMBERED)
def nest_text(nest: OperatorNest) -> str:
    """The definition of that function, for the file that calls it."""
    return _text(nest, nest_name(nest))


@lru_cache(MOST_REMEMBERED)
def linked_nest(nest: OperatorNest) -> KernelSource:
    """The translation unit of that function: assembly where that can be, of which an object takes a fiftieth of the time."""
    assembled = _assembled(nest)
    if assembled is not None:
        return KernelSource(SourceKind.ASSEMBLY, unit([assembled]), joins=True)
    helpers = texts(loop_helpers(nest))
    definition = function(f"{WEAK} {_signature(nest, nest_name(nest))}", _lines(nest))
    return KernelSource(SourceKind.C, "\n".join([INLINE, SMALLER_AND_LARGER, *helpers, definition]), joins=True)


def _assembled(nest: OperatorNest) -> str | None:
    """That function in assembly; None where C has to render it.

    Copies of AVX2, and maps that turn tiles, are C: rows that end inside of a vector take up to four times as long in assembly.
    """
    tile = tile_of(nest.loops, nest.dialect)
    if tile is None:
        return None
    moves_tiles = isinstance(nest.loops, Transfer) or bool(tile.program.tables)
    if moves_tiles and not nest.dialect.has_mask_registers:
        return None
    places: dict[object, int] = {pointer.name: number for number, pointer in enumerate(nest.pointers)}
    places |= {number: place for place, number in enumerate(nest.numbers, len(nest.pointers))}
    order = [places.get(_passed(argument), -1) for argument in tile.arguments]
    if -1 in order:
        return None
    try:
        return assembly(legalise(tile.program, nest.dialect), nest.dialect, nest_name(nest), order)
    except UnsupportedOperation:
        return None


def _passed(argument: TileArgument) -> object:
    """The pointer or the number of a nest that is an argument of its tile program; None of what is computed from those."""
    if isinstance(argument, PlaceArgument):
        return argument.buffer if argument.offset == 0 else None
    return argument


def nest_declaration(nest: OperatorNest) -> str:
    """For the file that calls the function of another translation unit."""
    return f"extern {_signature(nest, nest_name(nest))};"


def unambiguous(nests: Iterable[OperatorNest]) -> list[OperatorNest]:
    """Of nests of equal text the first. Raises `InternalError` for two texts of one name: either would be linked."""
    found: dict[str, OperatorNest] = {}
    for nest in nests:
        name = nest_name(nest)
        if nest_text(found.setdefault(name, nest)) != nest_text(nest):
            raise InternalError(f"two functions of shared loops are called {name}", dump=nest_text(nest))
    return list(found.values())


def loop_helpers(nest: OperatorNest) -> list[Helper]:
    """The helpers that the function calls."""
    return leaf_text(nest.loops, nest.dialect).helpers()


def _text(nest: OperatorNest, name: str) -> str:
    return function(f"static {_signature(nest, name)}", _lines(nest))


def _signature(nest: OperatorNest, name: str) -> str:
    pointers = (f"{'' if p.is_written else 'const '}{C_TYPES[p.dtype]} *const {buffer_name(p.name)}" for p in nest.pointers)
    return f"void {name}({', '.join([*pointers, *(f'const long {variable_name(number)}' for number in nest.numbers)])})"


@lru_cache(MOST_REMEMBERED)
def _lines(nest: OperatorNest) -> tuple[str, ...]:
    return tuple(leaf_text(nest.loops, nest.dialect).text())
