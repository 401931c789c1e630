"""Planning by a named algorithm, whatever it costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from tilewright.plan.algorithms.definition import Algorithm, Problem, applicable
from tilewright.plan.whole_model import algorithm_choice
from tilewright.precision import Precision


@contextmanager
def forced(*names: str) -> Iterator[None]:
    """Inside, operators are offered the first of these algorithms that applies alone; those that none applies to, all."""

    def first(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        found = {algorithm.name: algorithm for algorithm in applicable(problem, precision)}
        return next(((found[name],) for name in names if name in found), tuple(found.values()))

    with patch.object(algorithm_choice, "applicable", first):
        yield
