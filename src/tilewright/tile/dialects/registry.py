"""The dialects: every module of this folder that defines `DIALECT`."""

from __future__ import annotations

from functools import cache

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
    return max(usable, key=lambda one: (one.vector_bits, one.fuses, len(one.features), one.name))
