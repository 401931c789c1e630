"""Mutants: what is changed, what never is, and the same ones in another tree."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.drawing import Mutant, candidates, draw, found_in, mutants_of, mutated

ROOT = Path(__file__).parents[2]
PATH = Path("src/tilewright/a.py")


def texts(source: str) -> set[str]:
    return {mutant.after for mutant in mutants_of(source, PATH)}


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("x = (a) + b", {"x = (a) - b"}),
        ("x = a // -b", {"x = a * -b"}),
        ("x = a < b <= c", {"x = a <= b <= c", "x = a < b < c"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a and b and c", {"x = a or b and c", "x = a and b or c"}),
        ("x = a[1:]", {"x = a[2:]"}),
        ("x = 0.0, 0.5, True", {"x = 1.0, 0.5, True", "x = 0.0, 1.0, True", "x = 0.0, 0.5, False"}),
        ("x = a if b else c", {"x = a if (not (b)) else c"}),
        ("x = [a for a in b if c]", {"x = [a for a in b if (not (c))]"}),
        ("x = max(a, b)", {"x = min(a, b)"}),
        ("if a: pass", {"if (not (a)): pass"}),
        ("def f(a: int = 1) -> int: return a", {"def f(a: int = 2) -> int: return a", "def f(a: int = 1) -> int: return None"}),
        ("x: Final[int] = 1", {"x: Final[int] = 2"}),
        ('x = "€", 1', {'x = "€", 2'}),
    ],
)
def test_one_place_is_changed(line: str, after: set[str]):
    assert texts(line) == after


@pytest.mark.parametrize(
    "source",
    [
        '"""1 + 1"""',
        "def f():\n  'a < b'\n  raise E(1 + 1)",
        "@a(1)\ndef f(x: A[1]) -> B[2]: ...",
        "_log.info(1 + 1)",
        "x = f'{a + 1}'",
        "X: TypeAlias = A | B",
        "__all__ = [a + b]",
        "if TYPE_CHECKING:\n  import a\n  x = 1",
        "zip(a, b, strict=True)",
    ],
)
def test_what_no_test_should_notice_is_not_changed(source: str):
    assert not texts(source)


def test_places_know_their_statement_and_whether_they_run_at_import():
    first, second = mutants_of("LIMIT = 1\ndef f():\n  x = g(\n    a + b,\n  )", PATH)
    assert (first.line, first.first_line, first.is_in_function) == (1, 1, False)
    assert (second.line, second.first_line, second.is_in_function) == (4, 3, True)


def test_mutants_of_a_file_are_programs():
    path = ROOT / "src/tilewright/graph/expressions/extents.py"
    source = path.read_text()
    found = list(mutants_of(source, path.relative_to(ROOT)))
    assert len(found) > 50
    for mutant in found[::7]:
        assert ast.dump(ast.parse(mutated(source, mutant))) != ast.dump(ast.parse(source))


def test_a_seed_draws_the_same_mutants_of_all_kinds(tmp_path: Path):
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).write_text("x = " + " + ".join(map(str, range(1, 90))) + "\ny = a < b\nz = max(c, d)\n")
    among = candidates(tmp_path)
    drawn = draw(among, 7, 20)
    assert drawn == draw(among, 7, 20) != draw(among, 8, 20)
    assert len(set(drawn)) == 20
    assert {mutant.kind for mutant in drawn} == {"operator", "number", "bound", "extreme"}


def test_a_mutant_is_found_where_its_line_has_gone():
    (mutant,) = mutants_of("\n\nx = a + b", PATH)
    moved, twice = list(mutants_of("x = a + b", PATH)), list(mutants_of("x = a + b\n\n\n  \nx = a + b", PATH))
    elsewhere = [replace(moved[0], path="src/tilewright/b.py")]
    assert found_in(moved, mutant) == moved[0]
    assert found_in(twice, mutant) == twice[0] if abs(twice[0].line - 3) <= abs(twice[1].line - 3) else twice[1]
    assert found_in(elsewhere, mutant) == elsewhere[0]
    assert found_in([*elsewhere, replace(moved[0], path="src/tilewright/c.py")], mutant) is None
    assert found_in([], mutant) is None


def test_the_indentation_stays():
    source = "def f():\n    return a + b\n"
    mutant = next(one for one in mutants_of(source, PATH) if one.kind == "operator")
    assert isinstance(mutant, Mutant)
    assert mutated(source, mutant) == "def f():\n    return a - b\n"
