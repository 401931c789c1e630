"""`tests/support/code_lines.py`: what counts as a line of code."""

from __future__ import annotations

from pathlib import Path

from tests.support.code_lines import by_place, code_lines

TEXT = '''"""A module
of two lines."""

import sys  # one


class C:
    """A class."""

    x = (
        1,  # three

        2,
    )
    """Of a field: a string, and so code."""


async def f():
    "A function."
    return """first

third"""
'''


def test_blanks_comments_and_docstrings_are_no_code() -> None:
    assert code_lines(TEXT) == 10


def test_files_are_counted_by_the_first_parts_of_their_paths(tmp_path: Path) -> None:
    for name in ("a/b/one.py", "a/b/two.py", "c.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    assert by_place(tmp_path, 1) == {"a": 20, "c.py": 10}
    assert by_place(tmp_path, 2) == {"a/b": 20, "c.py": 10}
