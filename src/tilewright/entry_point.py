"""How an entry point is called: its arguments, and what it reports. The runtime knows no more of code that it runs.

`artifact.py` has the ABI.
"""

from __future__ import annotations

from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.positions import NamedLookup
from tilewright.records import record


@record
class Symbol:
    """A run-time extent: every dimension that carries the name must have the same size, within the range."""

    name: str
    low: int
    high: int
    extent: SymbolicExtent | None = None
    """Of an extent with a formula, the extent: its value follows from those of dimensions, which are symbols, too."""


@record
class TensorSlot:
    """One tensor argument: `shape` has integers and symbol names; `unit_stride_dim` must have a stride of one element.

    The elements of a dimension of `joined` (of more than one element) and those of the next must lie in a row: its stride is the
    next one's times the next one's extent.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    unit_stride_dim: int | None = None
    joined: tuple[int, ...] = ()


@record
class PackedSlot:
    """What is packed of a constant, given by its number: `size_bytes` of it, and a digest of the way in which it is packed."""

    constant: int
    size_bytes: int
    layout: str


@record
class Signature:
    """The arguments of an entry point, in order; `constants` are those of its preparation, of integer extents."""

    symbols: tuple[Symbol, ...]
    inputs: tuple[TensorSlot, ...]
    outputs: tuple[TensorSlot, ...]
    constants: tuple[TensorSlot, ...] = ()
    packed: tuple[PackedSlot, ...] = ()


@record
class EntryPoint:
    """A function of a library, to be called."""

    name: str
    signature: Signature
    architecture: str
    features: frozenset[str]
    """Of the CPUs that its code is for."""
    chains: tuple[str, ...] = ()
    """The names of what `chain_done` counts."""
    lookups: tuple[NamedLookup, ...] = ()
    """What `out_of_range` counts."""
    reports_not_finite: bool = False
    """Whether `not_finite` may be called."""

    @property
    def exported(self) -> tuple[str, ...]:
        """The names that its library must export."""
        return (self.name, f"{self.name}_workspace_bytes", *self.preparation)

    @property
    def preparation(self) -> tuple[str, ...]:
        """Those of them that pack constants."""
        return (f"{self.name}_packed_bytes", f"{self.name}_prepare") if self.signature.packed else ()
