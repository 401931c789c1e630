"""Content of one C file: kernels, loop nests with their arguments, run-time sizes, constants that are packed ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.codegen.expressions import Value
from tilewright.codegen.loop_nest import LoopNest, Node, PackedConstant
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.element_access import C_TYPES


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
    buffer_tags: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Bytes added to the address of a scratch buffer, by (nest, buffer): traces mark buffers in the upper bits."""
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The smallest and the largest value of every run-time extent."""
    links_kernels: bool = True
    """Whether functions of micro kernels are linked; else all that are C of this dialect stand in the file."""
