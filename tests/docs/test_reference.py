"""docs/reference.md is what the source says."""

from __future__ import annotations

from tests.docs.reference import PAGE, page


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.docs.reference`"
