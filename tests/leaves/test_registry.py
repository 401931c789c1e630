"""The registry alone knows which leaf computes an operator; bindings are data that plans keep, rename and write."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import tilewright
from tests.leaves.problems import MACHINE, PROBLEMS, bound
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph import data_format
from tilewright.leaves.declaration import GENERAL, Mismatch, Problem, Refusal
from tilewright.leaves.registry import binding_of, leaf_of, leaves, refusals
from tilewright.plan.chains import with_axes

PACKAGE = Path(tilewright.__file__).parent
IMPORTED = re.compile(r"tilewright\.leaves\.(\w+)|tilewright\.leaves import (\w+)")
ASKED = re.compile(r"leaf\.leaf\b(?!\.)|binding\.leaf\b|\bis_taken\(\"")
"""But for the roles and numbers of a statement's binding, which renderers read."""


def outside() -> dict[str, str]:
    """The text of all modules outside of the package of leaves."""
    return {str(path): path.read_text() for path in PACKAGE.rglob("*.py") if PACKAGE / "leaves" not in path.parents}


def test_nobody_outside_imports_a_leaf() -> None:
    """But backends those of their device, each a package."""
    of_devices = {directory.name for directory in (PACKAGE / "leaves").iterdir() if (directory / "__init__.py").exists()}
    for path, text in outside().items():
        names = {name for found in IMPORTED.findall(text) for name in found if name}
        allowed = of_devices if "/backends/" in path else set()
        assert names <= {"declaration", "registry"} | allowed, path


def test_nobody_outside_asks_for_the_kind_of_a_leaf() -> None:
    """But algorithms, which make operators for one."""
    asking = [path for path, text in outside().items() if ASKED.search(text)]
    assert all("/plan/algorithms/" in path for path in asking), asking


def test_leaves_of_lower_order_say_why_they_do_not_compute_an_operator() -> None:
    problem, binding = problem_for("row-wise reductions")
    found = refusals(problem, binding)
    assert [refusal.leaf for refusal in found] == [leaf.name for leaf in leaves() if leaf.order < GENERAL]
    assert {refusal.reason for refusal in found} == {Mismatch.OPERATION}


def test_leaves_are_asked_in_the_order_that_they_state() -> None:
    assert [leaf.order for leaf in leaves()] == sorted(leaf.order for leaf in leaves())


def problem_for(leaf: str) -> tuple[Problem, LeafBinding]:
    """A problem that a leaf takes, and its binding."""
    return next((problem, binding) for problem, binding in bound(leaf) if binding.leaf == leaf)


@pytest.mark.parametrize("leaf", PROBLEMS)
def test_bindings_are_written_and_read(leaf: str) -> None:
    _, binding = problem_for(leaf)
    assert data_format.decode(data_format.encode(binding, LeafBinding), LeafBinding) == binding


@pytest.mark.parametrize("leaf", PROBLEMS)
def test_bindings_follow_the_names_of_axes(leaf: str) -> None:
    problem, binding = problem_for(leaf)
    names = {axis.name: f"other_{axis.name}" for axis in problem.operator.axes}
    renamed = replace(problem, operator=with_axes(problem.operator, names))
    assert binding_of(renamed, MACHINE) == binding.with_axes(names)


@pytest.mark.parametrize("leaf", PROBLEMS)
def test_refusals_say_why(leaf: str) -> None:
    problem, binding = problem_for(leaf)
    exact = replace(problem, operator=replace(problem.operator, accumulator="float64"))
    answer = leaf_of(binding).match(exact)
    assert answer == Refusal(leaf, Mismatch.ELEMENT_TYPE) or (binding_of(exact, MACHINE),) == answer
