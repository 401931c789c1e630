"""Matrix tiles: a binding for each micro kernel that computes a contraction, and the reason where none does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import contraction, kernel
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph import data_format
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.kernels import registered
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.saturation import OperandBounds
from tilewright.leaves.declaration import Mismatch, Problem, Refusal
from tilewright.leaves.registry import candidates, constraints_of, refusals, tiles_of
from tilewright.plan.chains import with_axes

EXTENTS = {"m": 9, "k": 5, "n": 7}
FLOATS = ("float32", "float32", "float32")
INTEGERS = ("uint8", "int8", "int32")
ALL = tuple(one for one in registered() if one.reduction_loops == 1)


def problem(spec: str, kernels: tuple[MicroKernel, ...], types: tuple[str, str, str] = FLOATS, pair: int = 510) -> Problem:
    operator = replace(contraction("C", spec, "AB", EXTENTS), accumulator=types[2])
    return Problem(operator, types[:2], types[2], kernels, (OperandBounds(255, 510), OperandBounds(128, pair)))


def refusal(asked: Problem) -> Mismatch:
    """Why micro kernels do not compute it: `tiles_of` goes on to other leaves."""
    from tilewright.leaves.matrix_tiles.leaf import match

    answer = match(asked)
    assert isinstance(answer, Refusal)
    return answer.reason


def test_every_kernel_of_the_types_is_a_binding() -> None:
    found = tiles_of(problem("mk,kn->mn", ALL))
    assert {one.tile.micro_kernel for one in found if one.tile} == {
        one.name for one in ALL if one.element_types == FLOATS and not one.right_by_columns
    }


def test_bindings_are_written_and_read_and_follow_the_names_of_axes() -> None:
    asked, names = problem("mk,kn->mn", ALL), {name: f"other_{name}" for name in EXTENTS}
    renamed = replace(asked, operator=with_axes(asked.operator, names))
    for binding, other in zip(tiles_of(asked), tiles_of(renamed), strict=True):
        assert data_format.decode(data_format.encode(binding, LeafBinding), LeafBinding) == binding
        assert binding.with_axes(names) == other


def test_constraints_are_those_of_the_tile() -> None:
    operator = contraction("C", "mk,kn->mn", "AB", EXTENTS)
    asked = constraints_of(kernel(6, 64).binding(contraction_roles(operator)))
    assert (asked.panels, asked.steps, asked.largest) == ((("n", 64),), (("k", 1),), (("m", 6), ("n", 64)))


def test_a_problem_without_kernels_has_no_tile() -> None:
    assert candidates(problem("mk,kn->mn", ()))[0].tile is None


INT8 = tuple(one for one in ALL if one.element_types == INTEGERS)
SATURATING = tuple(one for one in INT8 if one.saturation is not None)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (problem("mk,kn->mn", ALL, ("float64", "float32", "float64")), Mismatch.MICRO_KERNEL),
        (problem("mk,kn->nm", INT8, INTEGERS), Mismatch.MICRO_KERNEL),
        (problem("mk,kn->mn", SATURATING, INTEGERS), Mismatch.SATURATION),
        (replace(problem("mk,kn->mn", (replace(INT8[0], emit_with=None),), INTEGERS), needs_epilogue=True), Mismatch.EPILOGUE),
        (problem("mk,kn->mn", tuple(one for one in ALL if one.right_by_columns)), Mismatch.LANES),
    ],
)
def test_refusals_say_why(asked: Problem, reason: Mismatch) -> None:
    assert refusal(asked) is reason


def test_other_micro_kernels_say_why() -> None:
    """But for those of another layout."""
    asked = problem("mk,kn->mn", INT8, INTEGERS)
    found = refusals(asked, tiles_of(asked)[0])
    assert {(one.leaf, one.reason) for one in found} == {(one.name, Mismatch.SATURATION) for one in SATURATING}
    assert not refusals(problem("mk,kn->mn", ALL), tiles_of(problem("mk,kn->mn", ALL))[0])


def test_bounds_that_exclude_saturation_are_no_reason() -> None:
    assert tiles_of(problem("mk,kn->mn", SATURATING, INTEGERS, pair=120))
