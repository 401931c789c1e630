"""Formulas as data: programs give the bits of their formulas where guards hold, and are written and read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tilewright.arrays import as_integer, either, is_zero, largest, maximum, minimum, product, surely, surely_not
from tilewright.errors import InternalError
from tilewright.formulas.programs import NotRecordable, Program, apply, evaluated, holds, recorded, tabulated
from tilewright.graph import data_format

SIZES = {"rows": 100, "columns": 37}
TILES = {"row tile": np.arange(1, 120).reshape(-1, 1), "column tile": np.array([1, 3, 8, 37, 64])}


def formula(of: Mapping[str, Any]) -> list[Any]:
    """Every operation of programs, branches on sizes, and shortcuts."""
    rows, tile = of["rows"], minimum(of["row tile"], of["rows"])
    blocks, rest = -(-rows // tile), rows % tile
    seconds = product((blocks, tile, 1.5)) / 3e9 + (0.0 if is_zero(rest) else rest * 1e-9) - blocks * 1e-12
    seconds = seconds if surely(tile <= rows) else either(tile <= rows, seconds, 0.0)
    seconds = seconds if surely_not(rest > rows) else either((rest > rows) | (rest < 0), 1.0, seconds)
    if of["columns"] % 2:
        seconds = seconds * 2
    if largest(of["column tile"]) > 32:
        seconds = seconds + apply("distinct_sums", 4, tile, 2, of["column tile"], 3, as_integer(of["column tile"]))
    return [seconds, maximum(of["column tile"], 8) == 8, np.float64(0.5) * tile, 7]


def equal(found: Any, wanted: Any) -> bool:
    """Whether figures have the same bits, once they are of one shape."""
    both = np.broadcast_arrays(np.asarray(found, np.float64), np.asarray(wanted, np.float64))
    return both[0].tobytes() == both[1].tobytes()


def test_a_program_gives_the_bits_of_its_formula() -> None:
    program = recorded(formula, SIZES, TILES)
    for sizes in (SIZES, {"rows": 12, "columns": 1}):
        assert all(map(equal, evaluated(program, sizes | TILES), formula(sizes | TILES)))
    assert [guard.outcome for guard in program.guards] == [True, True]
    assert len(set(program.operations)) == len(program.operations)


@pytest.mark.parametrize("other", [{"columns": 38}, {"column tile": np.array([1, 8])}])
def test_a_program_is_refused_where_its_formula_branches_otherwise(other: Mapping[str, Any]) -> None:
    program = recorded(formula, SIZES, TILES)
    inputs = SIZES | TILES | other
    assert holds(program, SIZES | TILES)
    assert not holds(program, inputs)
    with pytest.raises(InternalError, match="another branch"):
        evaluated(program, inputs)


def test_programs_are_written_and_read() -> None:
    program = recorded(formula, SIZES, TILES)
    assert data_format.decode(data_format.encode(program, Program), Program) == program


def test_what_no_operation_computes_is_a_table_by_its_operands() -> None:
    def counts(of: Mapping[str, Any]) -> list[Any]:
        (ones,) = tabulated(["ones"], lambda tiles: [np.bitwise_count(tiles)], of["tile"] * 2)
        return [ones + 1]

    inputs = {"tile": np.array([1, 3, 7])}
    program = recorded(counts, {}, inputs)
    assert [operation.name for operation in program.operations] == ["mul", "ones", "add"]
    assert equal(evaluated(program, {**inputs, "ones": np.array([1, 2, 3])})[0], counts(inputs)[0])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda tile: 1 if tile > 3 else 2, "branches on a tile"),
        (lambda tile: max(tile, 3), "branches on a tile"),
        (lambda tile: float(tile), "makes a Python number"),
        (lambda tile: np.sqrt(tile), "sqrt is no operation"),
        (lambda tile: np.sum(tile), "sum is no operation"),
        (lambda tile: tile + np.arange(3), "ndarray that is no input"),
    ],
)
def test_what_no_program_does_is_one_error(wrong: Any, why: str) -> None:
    with pytest.raises(NotRecordable, match=why):
        recorded(lambda of: [wrong(of["tile"])], {}, {"tile": np.array([1, 2])})
