"""Operators by name: what a name means in NumPy, and how it is recorded as canonical operators.

A file of `graph/operators` defines its operator with one call of `define`. Front ends that import models look names up with
`definition`. An operator without a lowering, or whose lowering refuses its operands, is run as its NumPy meaning.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from tilewright.errors import InternalError

OPERATORS = "tilewright.graph.operators"


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of an operator: it holds from version `since` of its domain until the next one.

    `meaning(*inputs, **attributes)` takes and returns NumPy arrays (lists of arrays for sequences, None for what is left out);
    several results are a tuple. `lower(builder, *inputs, **attributes)` takes and returns tensors of the builder's graph; it
    raises `UnsupportedOperation` for operands that only the meaning can do, and `NotKnown` (through the builder) where it
    needs contents that are not known yet. Attributes are keyword parameters of both, with the operator's defaults; who has a
    parameter `output_count` is told how many results are wanted.
    """

    name: str
    domain: str
    since: int
    meaning: Callable[..., Any]
    lower: Callable[..., Any] | None = None
    is_random: bool = False
    """Whether every call may give other results, so that none is a constant."""

    def attributes(self) -> frozenset[str]:
        """The names of all attributes."""
        return _keywords(self.meaning) - {"output_count"}

    def counts_outputs(self) -> bool:
        """Whether it is told how many results are wanted."""
        return "output_count" in _keywords(self.meaning)


@cache
def _keywords(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters that are given by name."""
    parameters = inspect.signature(function).parameters.values()
    return frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)


_definitions: dict[tuple[str, str], dict[int, Definition]] = {}


def define(
    name: str,
    meaning: Callable[..., Any],
    lower: Callable[..., Any] | None = None,
    *,
    since: int = 1,
    domain: str = "",
    is_random: bool = False,
) -> Definition:
    """Define an operator from version `since` of its domain on. Raises `InternalError` if that is defined already."""
    versions = _definitions.setdefault((domain, name), {})
    if since in versions:
        raise InternalError(f"{domain or 'the standard'} operator {name} is defined twice from version {since} on")
    versions[since] = Definition(name, domain, since, meaning, lower, is_random)
    return versions[since]


def definition(name: str, version: int, domain: str = "") -> Definition | None:
    """The definition of an operator in a version of its domain; None if there is none.

    >>> definition("NoSuchOperator", 21) is None
    True
    """
    _load()
    versions = _definitions.get((domain, name), {})
    return versions.get(max((since for since in versions if since <= version), default=0))


def defined() -> tuple[Definition, ...]:
    """All definitions, by name."""
    _load()
    return tuple(versions[since] for _, versions in sorted(_definitions.items()) for since in sorted(versions))


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(import_module(OPERATORS).__path__):
        import_module(f"{OPERATORS}.{module.name}")
