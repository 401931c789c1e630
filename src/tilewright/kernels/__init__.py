"""Replaceable micro kernels: the contract, the registry, the vector dialects, and one file per ISA and type family."""

from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.registry import dialect_for, for_machine, register, registered, unregister

__all__ = [
    "KernelSource",
    "MicroKernel",
    "SourceKind",
    "VectorDialect",
    "dialect_for",
    "for_machine",
    "register",
    "registered",
    "unregister",
]
