"""Mutants of the package: one place in one line changed, drawn by seed among all places of a tree.

Operators, `and` and `or`, comparisons, numbers, conditions, `min` and `max`, and returned values are changed, each kind as often
as the others. Nothing is changed in docstrings and messages (`raise`, logging), annotations, decorators, `__all__`, and code for
type checkers. All f-strings are left out, text of C included: Python 3.11 does not know the columns of what is in them.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

PACKAGE = "src/tilewright"
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOGGING = ("_log", "logging", "warnings")


@dataclass(frozen=True)
class Mutant:
    """A line of a file, before and after without indentation; `kind` says what was changed."""

    path: str
    """From the root of the tree."""
    line: int
    before: str
    after: str
    kind: str
    first_line: int
    """Of the statement, or of its head: tests that reach the place have run one of these lines."""
    is_in_function: bool
    """Other lines run when the module is imported."""


def candidates(root: Path) -> list[Mutant]:
    """All mutants of a tree, by place."""
    return [
        mutant
        for path in sorted((root / PACKAGE).rglob("*.py"))
        for mutant in mutants_of(path.read_text(), path.relative_to(root))
    ]


def draw(among: Sequence[Mutant], seed: int, count: int) -> list[Mutant]:
    """That many, each of a kind that is drawn first: numbers are half of all places."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in among:
        kinds[mutant.kind].append(mutant)
    numbers = random.Random(seed)
    for kind in sorted(kinds):
        numbers.shuffle(kinds[kind])
    drawn: list[Mutant] = []
    while len(drawn) < min(count, len(among)):
        left = kinds[numbers.choice([kind for kind in sorted(kinds) if kinds[kind]])]
        drawn.append(left.pop())
    return drawn


def mutants_of(source: str, path: Path) -> Iterator[Mutant]:
    """Of a file."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    yield from (replace(one, path=str(path)) for one in finder.found if one.before != one.after)


def mutated(source: str, mutant: Mutant) -> str:
    """A file with the mutant in it."""
    lines = source.splitlines(keepends=True)
    line = lines[mutant.line - 1]
    lines[mutant.line - 1] = line.replace(mutant.before, mutant.after)
    return "".join(lines)


def found_in(among: Sequence[Mutant], mutant: Mutant) -> Mutant | None:
    """The same mutant among those of another tree: in its file, else where only one file has its line; None where it is gone."""
    same = [one for one in among if (one.before, one.after, one.kind) == (mutant.before, mutant.after, mutant.kind)]
    paths = {one.path for one in same}
    path = mutant.path if mutant.path in paths or len(paths) != 1 else paths.pop()
    return min((one for one in same if one.path == path), key=lambda one: abs(one.line - mutant.line), default=None)


class _Finder(ast.NodeVisitor):
    """Collects the mutants of a file, with the statement and the function that they are in."""

    def __init__(self, source: str) -> None:
        self.lines = [line.encode() for line in source.splitlines()]  # columns count bytes
        self.found: list[Mutant] = []
        self.first_line = 1
        self.is_in_function = False

    def visit(self, node: ast.AST) -> None:
        outer, self.first_line = self.first_line, node.lineno if isinstance(node, ast.stmt) else self.first_line
        super().visit(node)
        self.first_line = outer

    # What is left out

    def visit_Raise(self, node: ast.Raise) -> None:
        """A message."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Columns in it are unknown."""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_all([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        outer, self.is_in_function = self.is_in_function, True
        self._visit_all(node.body)
        self.is_in_function = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and _first_name(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if _first_name(node.targets[0]) != "__all__" and _first_name(node.value) != "TypeVar":
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant) and not _first_name(node.value).startswith(LOGGING):
            self.visit(node.value)

    # What is changed

    def visit_If(self, node: ast.If) -> None:
        if _first_name(node.test) != "TYPE_CHECKING":
            self._condition(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._condition(test)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS:
            self._between("operator", node.left, node.right, *OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self._between("operator", left, right, *words)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            self._between("bound", left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self._replace("number", node, str(not node.value))
            case int():
                self._replace("number", node, str(node.value + 1))
            case float():
                self._replace("number", node, str(2 * node.value or 1.0))

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of `zip`: it says what is always so
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            self._replace("extreme", node.func, CALLS[node.func.id])
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._replace("result", node.value, "None")
            self.generic_visit(node)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _condition(self, test: ast.expr) -> None:
        if test.lineno == test.end_lineno:
            text = self.lines[test.lineno - 1][test.col_offset : test.end_col_offset].decode()
            self._replace("condition", test, f"(not ({text}))")

    def _between(self, kind: str, left: ast.expr, right: ast.expr, before: str, after: str) -> None:
        """Replace an operator, which stands alone between its operands apart from parentheses."""
        if left.end_lineno == right.lineno:
            first, last = left.end_col_offset or 0, right.col_offset
            text = self.lines[right.lineno - 1][first:last].decode()
            self._change(kind, right.lineno, first, last, text.replace(before, after, 1))

    def _replace(self, kind: str, node: ast.expr, text: str) -> None:
        if node.lineno == node.end_lineno:
            self._change(kind, node.lineno, node.col_offset, node.end_col_offset or 0, text)

    def _change(self, kind: str, line: int, first: int, last: int, text: str) -> None:
        before = self.lines[line - 1]
        after = before[:first] + text.encode() + before[last:]
        lines = before.decode().strip(), after.decode().strip()
        self.found.append(Mutant("", line, *lines, kind, self.first_line, self.is_in_function))


def _first_name(node: ast.expr) -> str:
    """`a` of `a`, `a.b` and `a.b(c)`."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
