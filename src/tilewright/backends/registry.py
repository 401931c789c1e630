"""The registry of backends.

A module of this package, or a package in it, that defines `BACKEND` is thereby registered. It is imported when a machine is met
that none before it serves. Backends from elsewhere are added with `register`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from tilewright.backends.backend import Backend
from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.machine.machine import Machine
from tilewright.package_files import module_names
from tilewright.precision import Precision

AnyBackend: TypeAlias = Backend[Any]
"""Whatever its programs are: only the backend itself looks into them."""

NO_BACKENDS = ("backend", "checked", "loading", "registry", "saving")
"""Modules of this package that are not looked at."""
_external: dict[str, AnyBackend] = {}


def register(backend: AnyBackend) -> None:
    """Add a backend; it comes before the package's. A name that is taken raises `TilewrightError`."""
    if backend.name in {known.name for known in registered()}:
        raise TilewrightError("the name is taken by another backend", where=f"backend {backend.name}", hint="choose another name")
    _external[backend.name] = backend


def unregister(name: str) -> None:
    """Remove a backend that was registered. Raises `TilewrightError` for other names."""
    if name not in _external:
        raise TilewrightError(
            "no such backend was registered",
            where=f"backend {name}",
            why=f"registered are {', '.join(sorted(_external)) or 'none'}",
            hint="backends of the package stay",
        )
    del _external[name]


def registered() -> tuple[AnyBackend, ...]:
    """Every backend: those from elsewhere first, then the package's by the names of their files."""
    return tuple(_each())


def is_external(machine: Machine) -> bool:
    """Whether the backend of a machine is not the package's: nothing then tells whether its code has changed."""
    return any(backend.serves(machine) for backend in _external.values())


def for_machine(machine: Machine) -> AnyBackend:
    """The first backend that serves a machine. Raises `UnsupportedOperation` where there is none.

    >>> for_machine(Machine.named("zen4")).name
    'c_cpu'
    """
    for backend in _each():
        if backend.serves(machine):
            return backend
    raise UnsupportedOperation(
        f"no backend makes code for {machine.name}",
        why=f"its device is {machine.device!r}; backends are {', '.join(backend.name for backend in registered())}",
        hint="add a backend: see docs/how-to/add-a-backend.md",
    )


def check_precision(machine: Machine, precision: Precision) -> None:
    """Raise `UnsupportedOperation` where the backend of a machine does not compute in a precision."""
    backend = for_machine(machine)
    if precision not in backend.precisions:
        raise UnsupportedOperation(
            f"precision={str(precision)!r} is not available for {machine.name}",
            why=f"the backend {backend.name} computes in {', '.join(backend.precisions)}",
            hint="use one of these, or name another machine: target=",
        )


def _each() -> Iterator[AnyBackend]:
    yield from tuple(_external.values())
    found = (_own(name) for name in module_names(__package__) if name not in NO_BACKENDS)
    yield from (backend for backend in found if backend is not None)


@cache
def _own(name: str) -> AnyBackend | None:
    """The backend of a module of this package, which is imported for it."""
    backend: AnyBackend | None = getattr(import_module(f"{__package__}.{name}"), "BACKEND", None)
    return backend
