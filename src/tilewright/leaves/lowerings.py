"""The registry of lowerings: which micro kernel computes a replaceable one on a machine (`kernels/replaceable.py`).

Every module of the packages of kernels and leaves that defines `LOWERINGS`, a tuple of `Lowering`, is thereby registered.
Lowerings from elsewhere are added with `register`.
"""

from __future__ import annotations

from functools import cache

import tilewright.kernels
from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.kernels.replaceable import Lowering, Replaceable, check
from tilewright.machine.machine import Machine
from tilewright.package_files import modules

_external: dict[str, Lowering] = {}


def register(lowering: Lowering) -> None:
    """Add a lowering; it comes before the package's.

    A declaration that contradicts itself, or a name in use, raises `TilewrightError`.
    """
    check(lowering)
    if lowering.name in _by_name():
        where, hint = f"lowering {lowering.name}", "choose another name"
        raise TilewrightError("the name is taken by another lowering", where=where, hint=hint)
    _external[lowering.name] = lowering


def unregister(name: str) -> None:
    """Remove a lowering that was registered. Raises `TilewrightError` for other names."""
    if name not in _external:
        known = ", ".join(sorted(_external)) or "none"
        raise TilewrightError("no such lowering was registered", where=f"lowering {name}", why=f"registered are {known}")
    del _external[name]


def registered() -> tuple[Lowering, ...]:
    """Every lowering, those from elsewhere first, then the package's by name."""
    return (*_external.values(), *(own for _, own in sorted(_own().items())))


def named(name: str) -> Lowering:
    """The lowering of a name. Raises `TilewrightError` where there is none.

    >>> named("mad_16x16x16").tiles((16, 17, 1))
    (1, 2, 1)
    """
    if name not in _by_name():
        known = ", ".join(sorted(_by_name()))
        raise TilewrightError("no such lowering", where=f"lowering {name}", why=f"registered are {known}")
    return _by_name()[name]


def for_machine(machine: Machine, replaceable: Replaceable, element_types: tuple[str, str]) -> Lowering:
    """The first lowering of a replaceable micro kernel for a machine and element types of A and B.

    Raises `UnsupportedOperation` where there is none, with what keeps each from it.

    >>> from tilewright.kernels.replaceable import PRODUCT_16X16
    >>> for_machine(Machine.named("x86-64-v4"), PRODUCT_16X16, ("float32", "float32")).tile
    (6, 64, 1)
    """
    refusals = []
    for lowering in (one for one in registered() if one.replaceable == replaceable):
        if not lowering.serves(machine):
            refusals.append(f"{lowering.name} is for other machines")
        elif lowering.element_types[:2] != element_types:
            refusals.append(f"{lowering.name} takes {' and '.join(lowering.element_types[:2])}")
        else:
            return lowering
    raise UnsupportedOperation(
        f"no lowering of {replaceable.name} for {' and '.join(element_types)} on {machine.name}",
        why="; ".join(refusals) or "none is registered",
        hint="register one with tilewright.leaves.lowerings.register",
    )


def _by_name() -> dict[str, Lowering]:
    return _own() | _external


@cache
def _own() -> dict[str, Lowering]:
    found: dict[str, Lowering] = {}
    for module in (*modules(tilewright.kernels.__name__), *modules(__package__)):
        for lowering in getattr(module, "LOWERINGS", ()):
            check(lowering)
            if lowering.name in found:
                raise TilewrightError("two lowerings of this name", where=f"lowering {lowering.name}, {module.__name__}")
            found[lowering.name] = lowering
    return found
