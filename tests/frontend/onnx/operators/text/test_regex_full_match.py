"""Patterns in the syntax of RE2."""

import numpy as np
import pytest

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.operators.text.strings import RegexFullMatch


def test_patterns_are_those_of_re2():
    words = np.array([["ab1", "ab"], ["é1", "a1\n"]], object)
    assert RegexFullMatch(pattern=r"[[:alpha:]]+\d\z").reference(words).tolist() == [[True, False], [False, False]]
    with pytest.raises(UnsupportedOperation, match="pattern"):
        RegexFullMatch(pattern="(").reference(words)
