"""What a vector dialect is: the vectors that micro kernels are declared in. Their instructions: `tile/dialects`."""

from __future__ import annotations

from tilewright.records import record


@record
class VectorDialect:
    """The vectors of an instruction set.

    >>> from tilewright.kernels import dialect_for
    >>> dialect = dialect_for("x86_64", frozenset({"avx2", "fma"}))
    >>> dialect.name, dialect.lanes
    ('avx2', 8)
    """

    name: str
    vector_bits: int
    registers: int
    """Vector registers that every machine with these features has."""
    features: frozenset[str] = frozenset()
    """ISA features needed, named as in `Machine.features`."""
    architecture: str = "x86_64"
    """As in `Machine.architecture`, or "any"."""

    @property
    def lanes(self) -> int:
        """Floats per vector."""
        return self.vector_bits // 32

    def runs_on(self, architecture: str, features: frozenset[str]) -> bool:
        """Whether a machine of that architecture with these features can execute the dialect."""
        return self.architecture in ("any", architecture) and self.features <= features
