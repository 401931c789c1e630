"""Code lines of Python files: those that are not blank and hold more than comments and docstrings.

`python -m tests.support.code_lines [FOLDER] [--depth N]` prints them by the first N parts of a path, the most first.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/tilewright"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """How many lines of a file's text are code; blank lines inside of a string are none.

    >>> code_lines('# a comment\\ndef f():\\n    \"\"\"A docstring.\"\"\"\\n\\n    return 1\\n')
    2
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    blank = {number for number, line in enumerate(text.split("\n"), 1) if not line.strip()}
    return len(lines - _docstrings(text) - blank)


def _docstrings(text: str) -> set[int]:
    """The lines of the docstrings of a module, and of all classes and functions."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    owners = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    firsts = [owner.body[0] for owner in owners if ast.get_docstring(owner) is not None]
    return {line for first in firsts for line in range(first.lineno, (first.end_lineno or 0) + 1)}


def by_place(folder: Path, depth: int) -> Counter[str]:
    """The code lines of the files of a folder, by the first parts of their paths."""
    counts: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        counts["/".join(path.relative_to(folder).parts[:depth])] += code_lines(path.read_text())
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE, help="default: src/tilewright")
    parser.add_argument("--depth", type=int, default=1, help="parts of a path that stand together")
    arguments = parser.parse_args()
    counts = by_place(arguments.folder, arguments.depth)
    for place, count in counts.most_common():
        print(f"{count:7,}  {place}")
    print(f"{counts.total():7,}  in all")


if __name__ == "__main__":
    main()
