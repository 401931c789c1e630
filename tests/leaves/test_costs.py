"""The cost of every leaf is a formula of sizes and tiles: its recorded program gives the same bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.leaves.problems import LANES, MACHINE, PROBLEMS, bound
from tests.test_formulas import equal
from tilewright.coefficients import DEFAULT
from tilewright.formulas.programs import evaluated, holds, recorded
from tilewright.graph.types import planned_extent
from tilewright.leaves.declaration import CostProblem
from tilewright.leaves.registry import leaf_of


@pytest.mark.parametrize("leaf", PROBLEMS)
def test_the_cost_of_a_leaf_is_a_program(leaf: str) -> None:
    for problem, binding in bound(leaf):
        operator = problem.operator
        sizes = {f"size of {axis.name}": planned_extent(axis.extent) for axis in operator.axes}
        tiles = {axis.name: np.unique(np.minimum([1, 3, 16], planned_extent(axis.extent))) for axis in operator.axes}
        tiles = {name: tile.reshape(-1, *(1,) * at) for at, (name, tile) in enumerate(tiles.items())}

        def seconds(of: Mapping[str, Any], binding: Any = binding, operator: Any = operator) -> list[Any]:
            names = [axis.name for axis in operator.axes]
            own, cut = {name: of[f"size of {name}"] for name in names}, {name: of[name] for name in names}
            return [leaf_of(binding).seconds(binding, CostProblem(operator, MACHINE, DEFAULT, own, cut, LANES, 4, 1 << 12))]

        program = recorded(seconds, sizes, tiles)
        for more in (0, 5):
            inputs = {name: size + more for name, size in sizes.items()} | tiles
            assert holds(program, inputs)
            assert equal(evaluated(program, inputs)[0], seconds(inputs)[0]), binding
