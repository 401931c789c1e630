"""The registry of algorithms: every file of this folder, and of those in it, with an `ALGORITHM`, or several as `ALGORITHMS`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from tilewright.errors import InternalError
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.precision import Precision


def applicable(problem: Problem, precision: Precision = Precision.FLOAT32) -> tuple[Algorithm, ...]:
    """The algorithms that may compute an operator with a precision, in the order of their names."""
    allowed = (algorithm for algorithm in registered() if algorithm.is_allowed(problem, precision))
    return tuple(algorithm for algorithm in allowed if algorithm.applies(problem))


@cache
def registered() -> tuple[Algorithm, ...]:
    """All algorithms, in the order of their names.

    >>> [algorithm.name for algorithm in registered() if algorithm.name == "as written"]
    ['as written']
    """
    modules = [import_module(module.name) for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{__package__}.")]
    found = [module.ALGORITHM for module in modules if hasattr(module, "ALGORITHM")]
    found += [algorithm for module in modules for algorithm in getattr(module, "ALGORITHMS", ())]
    found.sort(key=lambda one: one.name)
    if len({algorithm.name for algorithm in found}) < len(found):
        raise InternalError(f"two algorithms have one name: {', '.join(algorithm.name for algorithm in found)}")
    return tuple(found)
