"""Execution details of a plan: what changes the speed or the rounding of generated code, but neither loops, tiles nor storage.

`plan/decisions/execution.py` decides them; code generation translates them. They name no axis, tensor or operator, so that equal
layers share them.
"""

from __future__ import annotations

from dataclasses import field

from tilewright.records import record

ALIGNED_STEPS = 64
"""The depth of calls is a multiple of so many steps: whole vectors, and whole cache lines of left operands."""


EVERY_OTHER = 2
"""The stride at which two loads and a shuffle make a vector."""
LEAST_TURNED_ROWS = 8
"""Rows of a map whose reads lie transposed, from which on squares of them turn in registers."""


@record
class KernelCalls:
    """How calls of the micro kernel cover a block of a contraction. A step is one position along the depth."""

    most_steps: int = 0
    """Steps that an accumulator takes in before they go into the result; 0: all that the block has."""
    slice_steps: int = 0
    """Steps of which all columns of a block are read before the next; 0: panel by panel. Few rows read a right operand in place
    so: long runs of a few of its rows, where panels are short pieces of many."""
    panel_slice_bytes: int = 0
    """Packed panels are read in slices of so many bytes, whose tiles share the lines of the next one to prefetch; 0: no tile
    prefetches panels."""
    asks_ahead: bool = False
    """Whether tiles share the prefetch of what is read next of a right operand in memory: in place its next panel; packed by the
    call what the next block packs."""
    nested: str = ""
    """The micro kernel whose tiles stay in registers while all reduction loops pass, those around the depth included; "" for
    calls of the plan's kernel for every point of these."""
    inlined: bool = False
    """Whether tiles are so short that the text of the kernel stands where it is called; else its functions are linked."""

    def steps_of(self, block: int) -> int:
        """The depth of calls that cover a block of so many steps evenly; 0 if one call does.

        >>> KernelCalls(most_steps=1024).steps_of(5760), KernelCalls(most_steps=1024).steps_of(1000)
        (960, 0)
        """
        if not self.most_steps or block <= self.most_steps:
            return 0
        return -(-block // (-(-block // self.most_steps) * ALIGNED_STEPS)) * ALIGNED_STEPS


@record
class Sums:
    """How loops add up floats: see `plan/decisions/long_sums.py`."""

    long_steps: int = 256
    """Steps (vectors along the reduction, or points where lanes run across it) up to which a sum is left in one piece: blocks
    cost a few instructions each, and the rows of softmax and norms are short."""
    block_steps: int = 64
    """Steps of one accumulator in a block. A block ends with the innermost loop that fills it: it has less than twice as many."""


@record
class Vectors:
    """How vector loops are unrolled and turned."""

    accumulators: int = 4
    """Vectors that take turns where a step of a reduction is no more than combining, whose latency would show: the maximum of a
    row takes 8 cycles a vector with one."""
    least_turned_columns: int = 3
    """Fewer columns of a map whose reads lie transposed are stored lane by lane, not turned in registers. Cycles per element of
    3000 rows of 2, 3, 4 and 8 (Zen 5): lane by lane 1.22, 1.11, 0.96 and 0.97, in tiles 1.25, 0.81, 0.56 and 0.21."""
    least_turned_rows: int = LEAST_TURNED_ROWS
    """Rows of a window are fewer, and loaded as they lie."""


@record
class Nests:
    """Which numbers stand as literals in the loops of an operator; the others are arguments, so that layers share the loops.

    Trip counts of long loops, offsets and strides between rows cost nothing as arguments; short loops are unrolled, and a stride
    of neighbours decides how vectors are loaded (docs/decisions/cold-starts.md).
    """

    most_literal: int = 16
    """Numbers up to this one are literals."""

    most_literal_lanes: int = 64
    """Extents along which lanes run, of loops in vectors, are literals up to this one: some vectors and a rest."""

    def folds(self, number: int, *, along_lanes: bool = False) -> bool:
        """Whether a number is a literal.

        >>> Nests().folds(7), Nests().folds(-3), Nests().folds(56), Nests().folds(56, along_lanes=True)
        (True, True, False, True)
        """
        return abs(number) <= (self.most_literal_lanes if along_lanes else self.most_literal)


@record
class Execution:
    """The details of a chain."""

    sums: Sums = field(default_factory=Sums)
    vectors: Vectors = field(default_factory=Vectors)
    nests: Nests = field(default_factory=Nests)
    descends: tuple[bool, ...] = ()
    """For every parallel axis, whether its last block comes first: where masks leave more to later blocks, long blocks should
    not be the last ones."""
    packs_together: bool = False
    """Whether all threads together pack what stands above all blocks, in a parallel region of its own; else every thread does."""
    packed_rows: int = 64
    """Rows of a panel that one thread packs at a time then: some 16 KiB."""
    combined_rows: int = 8
    """Rows along the last row axis in a block of the combination of split rows."""
    combined_points: int = 64
    """Points along the first dimension of the output in a block of the combination of a split sum."""
    set_period_bytes: int = 0
    """Rows of intermediates are padded so that columns and blocks of rows spread over the sets of the nearest cache, which lines
    so far apart share; 0: rows lie side by side."""
