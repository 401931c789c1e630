"""The dialects: every module of this folder that defines `DIALECT`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from tilewright.package_files import modules
from tilewright.tile.dialects.description import Dialect


@cache
def dialects() -> dict[str, Dialect]:
    """All of them, by name.

    >>> dialects()["avx512"].lanes("float32")
    16
    """
    found = (getattr(module, "DIALECT", None) for module in modules(__package__, without=("registry",)))
    return {one.name: one for one in found if isinstance(one, Dialect)}


def best(architecture: str, features: frozenset[str]) -> Dialect:
    """The dialect that uses most of a machine.

    >>> best("x86_64", frozenset({"avx2", "fma", "f16c", "sse4_1"})).name
    'avx2'
    """
    usable = [one for one in dialects().values() if one.runs_on(architecture, features)]
    return _most(usable)


BESIDE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "avx2": frozenset({"f16c"}),
        "avx512_bf16": frozenset({"avx512_vnni"}),
        "avx512f": frozenset({"avx2", "f16c", "fma", "avx512bw", "avx512dq", "avx512vl"}),
    }
)
"""What every CPU has that has a feature, and compiles for it."""


def with_vectors(architecture: str, features: frozenset[str], vector_bits: int) -> Dialect:
    """The same, of those whose vectors have so many bits, for what has these features and all that comes with them."""
    known = features.union(*(BESIDE.get(name, ()) for name in features))
    return _most(one for one in dialects().values() if one.runs_on(architecture, known) and one.vector_bits == vector_bits)


def _most(usable: Iterable[Dialect]) -> Dialect:
    return max(usable, key=lambda one: (one.vector_bits, one.fuses, len(one.features), one.name))
