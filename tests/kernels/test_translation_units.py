"""Translation units that are joined: what they share stands once, and nothing means two things."""

from __future__ import annotations

import pytest

from tilewright.errors import InternalError
from tilewright.kernels.translation_units import joinable, joined

HELPER = "static int scaled(int x) {\n  return x * FACTOR;\n}\n"


def unit(name: str, factor: int) -> str:
    return f"#define FACTOR {factor}\n{HELPER}int {name}(int x) {{ return scaled(x); }}\n#undef FACTOR\n"


def test_shared_definitions_stand_once() -> None:
    text = joined([unit("first", 2), unit("second", 2)])
    assert text.count("scaled(int x)") == 1
    assert text.count("int first(") == text.count("int second(") == 1


def test_macros_of_two_meanings_are_refused() -> None:
    """The helper's text is equal, but would multiply by 2 in both."""
    with pytest.raises(InternalError, match="define the macro FACTOR in different ways"):
        joined([unit("first", 2), unit("second", 3)])


def test_texts_of_two_dialects_are_not_joined() -> None:
    """A plan may have a kernel of narrow vectors beside one of wide vectors."""
    texts = [unit("first", 2), unit("second", 3), unit("third", 2), "int fourth(void) { return 4; }\n"]
    assert joinable(texts) == [[0, 2, 3], [1]]
    for group in joinable(texts):
        joined([texts[place] for place in group])
