"""What a dialect is: the instruction set that a tile program is rendered for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from tilewright.records import record
from tilewright.tile.types import BITS, Type, vector


@record
class Entry:
    """How a dialect computes an operation on a register."""

    c: str
    """An expression of operands {0}, {1}, {2}, in which {t} is the type of the result, {u} its unsigned integers, {i} its signed
    ones, {all} a mask register of all lanes and {fma} a function of vectors. Empty where C has no operator: one instruction in
    inline assembly."""
    mnemonic: str
    """In AT&T syntax, an immediate operand behind it: "vaddps", "vroundps $9,", "{vex} vpdpbusd". Empty where it takes
    several."""
    ports: str = ""
    """On which the instruction starts on Intel's cores since Ice Lake, as 256 bits have them: "05"."""
    latency: int = 0
    """In cycles, of a register operand."""


Key: TypeAlias = tuple[str, ...]
"""An operation and the element type of its operands; casts and products of narrower lanes name all types, the result last. Memory
has `load`, `store`, `masked load`, `masked store`, `streamed store`, `broadcast` and `gather` (index type, element type). `shift
left by number` and `shift right by number` are of all lanes, by an immediate operand. `pair sums`, of int16, are products of
neighbouring lanes added up in int32: `DOT` where that is no instruction. Of register tiles keys begin with `tile`: `tile
configure`, `tile release`, and those of `TileOperation`."""


@record
class Dialect:
    """An instruction set."""

    name: str
    architecture: str
    """As in `Machine.architecture`, or "any"."""
    features: frozenset[str]
    """That a machine must have, named as in `Machine.features`."""
    vector_bits: int
    registers: int
    """Vector registers that every machine with these features has."""
    has_mask_registers: bool = False
    register_tiles: int = 0
    fuses: bool = True
    """Whether `MULTIPLY_ADD` rounds once."""
    table: Mapping[Key, Entry] = field(default_factory=dict, compare=False)
    """What it computes in registers of `vector_bits` and in shorter ones of at least 128; `passes/legalise.py` makes all else of
    that."""

    def lanes(self, dtype: str) -> int:
        """Of a register."""
        return self.vector_bits // BITS[dtype]

    def entry(self, operation: str, *dtypes: str) -> Entry | None:
        """Of an operation on lanes of a type; of casts and products of narrower lanes, of all types."""
        return self.table.get((operation, *dtypes))

    def vector(self, dtype: str) -> Type:
        """The type of a register of such lanes."""
        return vector(dtype, self.lanes(dtype))

    def runs_on(self, architecture: str, features: frozenset[str]) -> bool:
        """Whether a machine of that architecture with these features executes it."""
        return self.architecture in ("any", architecture) and self.features <= features
