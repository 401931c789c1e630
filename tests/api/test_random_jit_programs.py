"""Random programs of every traced function and every kind of view, compiled, against NumPy in float64."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.support.random.jit.judging import difference, outcome
from tests.support.random.jit.lines import KINDS
from tests.support.random.jit.program import Program, in_layout
from tests.support.random.jit.shrinking import shrunk
from tests.support.random.jit.styles import LAYOUTS, program
from tests.support.sweeps import EQUAL, WRONG, Outcome
from tilewright.frontend.tracing.functions import FUNCTION_NAMES

MOST_LINES = 10
"""Of the programs that are compiled here."""


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(12, 20))])
def test_results_are_those_of_numpy(seed: int) -> None:
    one = program(seed, MOST_LINES)
    one = replace(one, options={**one.options, "target": "x86-64-v3"})
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"


@pytest.mark.ci
def test_programs_have_every_function_and_many_of_everything() -> None:
    many = [program(seed) for seed in range(400)]
    text = "\n".join(line.text for one in many for line in one.lines)
    windows = (f"conv{transposed}{rank}d" for transposed in ("", "_transpose") for rank in (1, 2, 3))
    names = (*FUNCTION_NAMES, "max_pool", "avg_pool", *windows)
    missing = {name for name in names if not re.search(rf"\bF\.{name}\(|\.{name}\(", text)}
    assert missing == {
        "index",
        "floor_divide",
        "remainder",
    }  # x[...] calls the first; tests/frontend/tracing/test_promotion.py has the others
    assert all(part in text for part in ("::-1", ".T", ".mT", " @ ", " ** ", " & ", "~", "None", "..."))
    assert {layout for one in many for layout in one.layouts.values()} == set(LAYOUTS) - {""}
    assert sum(len(one.outputs) > 1 for one in many) > len(many) // 4
    readers = [sum(line.name in other.reads for other in one.lines) for one in many for line in one.lines]
    assert sum(count > 1 for count in readers) > len(many) // 3
    assert len({kind for kind, _ in KINDS}) == len(KINDS)


def test_a_seed_has_one_program() -> None:
    first, second = program(7), program(7)
    assert first.text() == second.text()
    assert all(np.array_equal(a, b) for a, b in zip(first.arrays(), second.arrays(), strict=True))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (2, 0), (2, 3, 5)])
def test_layouts_keep_elements(layout: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(in_layout(array, layout), array)


@pytest.mark.ci
def test_failing_programs_are_shrunk_to_what_fails() -> None:
    """A compiler that cannot reverse what was reshaped."""

    def reverses_a_reshape(one: Program) -> bool:
        reshaped = {line.name for line in one.lines if "reshape" in line.text}
        return any("::-1" in line.text and reshaped.intersection(line.reads) for line in one.lines)

    def judge(one: Program) -> Outcome:
        return Outcome(WRONG if reverses_a_reshape(one) else EQUAL)

    found = [one for one in (program(seed) for seed in range(100)) if judge(one).kind == WRONG]
    assert found
    for one in found:
        assert len(shrunk(one, WRONG, judge).lines) == 2


def test_wrong_elements_are_seen() -> None:
    one = next(p for p in (program(seed) for seed in range(30)) if p.values[p.outputs[0]].exact.size > 1)
    value = one.values[one.outputs[0]]
    result = value.exact.astype(np.float32)
    assert not difference(result, value)
    result.flat[0] = np.nan
    assert "1 of" in difference(result, value)
    assert "is not float32" in difference(result[None], value)
