"""Target files with one mistake."""

from __future__ import annotations

import pytest

from tilewright.machine import targets
from tilewright.machine.targets import InvalidTarget


def assert_refused(good: str, old: str, new: str, why: str) -> None:
    """A good file with `new` in the place of `old` is refused, with its name and the reason."""
    assert old in good
    with pytest.raises(InvalidTarget) as caught:
        targets.parse("mine", good.replace(old, new, 1))
    assert caught.value.where == "mine.toml"
    assert why in caught.value.why
