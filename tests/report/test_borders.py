"""Vectors at borders: counts against a walk over all points, and what `explain` prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.algorithms import forced
from tilewright.plan.types import Plan
from tilewright.report.execution import Border, borders

SHAPE, FILTERS = (2, 3, 9, 21), np.ones((5, 3, 3, 3), np.float32)


def plans(algorithm: str, **options: Any) -> tuple[Plan, ...]:
    with forced(algorithm):
        return tw.jit(lambda x: tw.conv2d(x, FILTERS, **options), target="x86-64-v3").lower(tw.spec(SHAPE)).model_plan.plans


def walked(plan: Plan) -> list[Border]:
    """The same, point by point."""
    found = []
    for operator in plan.chain.operators:
        for access in operator.reads:
            if access.guard is None or access.tensor not in plan.chain.inputs:
                continue
            extents = {axis.name: axis.extent for axis in operator.axes}
            names, innermost = list(extents), operator.write.innermost()
            place = names.index(innermost)
            real = np.ones([extents[name] for name in names], bool)
            grid = dict(zip(names, np.indices(real.shape), strict=True))
            for constraint in access.guard.constraints:
                real &= constraint.constant + sum(constraint.coefficient(name) * grid[name] for name in names) >= 0
            counts = [0, 0, 0]
            for row in np.moveaxis(real, place, -1).reshape(-1, extents[innermost]):
                for begin in range(0, len(row), 8):
                    lanes = row[begin : begin + 8]
                    counts[0 if lanes.all() else 1 if lanes.any() else 2] += 1
            found.append(Border(operator.name, access.tensor, *counts))
    return found


@pytest.mark.parametrize("algorithm", ["filter lanes", "windows by columns", "im2col", "shifted rows", "Winograd F(2x2, 3x3)"])
@pytest.mark.parametrize("padding", [0, 1, ((0, 2), (3, 0))])
def test_vectors_are_those_of_a_walk_over_all_points(algorithm: str, padding: Any) -> None:
    for plan in plans(algorithm, padding=padding):
        for counted, by_point in zip(borders(plan), walked(plan), strict=True):
            assert (counted.inside, counted.at_border + counted.outside) == (
                by_point.inside,
                by_point.at_border + by_point.outside,
            )


def test_explain_says_how_many() -> None:
    with forced("windows by columns"):
        text = tw.jit(lambda x: tw.conv2d(x, FILTERS, padding=1), target="x86-64-v3").lower(tw.spec(SHAPE)).explain(full=True)
    assert " vectors inside, " in text
    assert " at the border, " in text
