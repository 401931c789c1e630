"""What a dialect is: the instruction set that a tile program is rendered for."""

from __future__ import annotations

from tilewright.records import record
from tilewright.tile.types import BITS, Type, vector


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
    fuses: bool = True
    """Whether `MULTIPLY_ADD` rounds once."""

    def lanes(self, dtype: str) -> int:
        """Of a register."""
        return self.vector_bits // BITS[dtype]

    def vector(self, dtype: str) -> Type:
        """The type of a register of such lanes."""
        return vector(dtype, self.lanes(dtype))

    def runs_on(self, architecture: str, features: frozenset[str]) -> bool:
        """Whether a machine of that architecture with these features executes it."""
        return self.architecture in ("any", architecture) and self.features <= features
