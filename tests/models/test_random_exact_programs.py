"""Random programs of casts and of positions: bit for bit, by every operator's reference, through the rewrites, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("onnx")

from tests.support.random.exact import casts, positions
from tests.support.random.exact.judging import by_reference, compiled, failures, interpreted, shrunk, told
from tests.support.random.exact.meaning import EIGHTS, TYPES
from tests.support.random.exact.program import Program, joined
from tests.support.sweeps import EQUAL, WRONG, Outcome

KINDS = [casts.program, positions.program]
Kind = Callable[[int], Program]


@pytest.mark.parametrize("program", KINDS)
def test_references_and_rewrites_keep_every_bit(program: Kind) -> None:
    """A hundred programs, most of them in one graph each time."""
    programs = [program(seed) for seed in range(50)]
    for judge in (by_reference, interpreted):
        text, count = told(programs, judge)
        assert not count, text


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("program", KINDS)
def test_generated_code_keeps_every_bit(program: Kind) -> None:
    text, count = told([program(seed) for seed in range(100, 115)], compiled("x86-64-v2"))
    assert not count, text


@pytest.mark.ci
def test_programs_reach_every_type_and_operator() -> None:
    many = [program(seed) for program in KINDS for seed in range(150)]
    assert {value.dtype.name for one in many for value in one.values.values()} == {*TYPES, *EIGHTS}
    names = {step.op_type for one in many for step in one.steps}
    assert {"Cast", "Where", "Less", "Equal", "IsInf", "IsNaN", "Add", "Mul", "Div", "Floor", "BitwiseXor"} <= names
    assert {"Trilu", "EyeLike", "OneHot", "Range", "Gather", "GatherElements", "ScatterElements", "ArgMax", "ArgMin"} <= names
    assert len(joined(many).outputs) > len(many)


@pytest.mark.ci
def test_a_failing_program_is_shrunk_to_one_step() -> None:
    """A compiler that takes every Floor for something else."""

    def judge(programs: list[Program]) -> Outcome:
        wrong = any(step.op_type == "Floor" for one in programs for step in one.steps)
        return Outcome(WRONG, "planted") if wrong else Outcome(EQUAL)

    failing = next(one for one in map(casts.program, range(99)) if judge([one]).kind == WRONG and len(one.steps) > 3)
    assert [step.op_type for step in shrunk(failing, WRONG, judge).steps] == ["Floor"]  # type: ignore[arg-type]
    assert len(failures([casts.program(0), failing], judge)) == judge([casts.program(0)]).is_failure + 1  # type: ignore[arg-type]


def test_wrong_elements_are_seen() -> None:
    one = next(one for one in map(positions.program, range(99)) if one.steps[-1].op_type == "Trilu")
    name = one.steps[-1].result
    wrong = replace(one, values={**one.values, name: np.ones_like(one.values[name])}, steps=one.steps[-1:])
    assert interpreted([wrong]).kind == WRONG
