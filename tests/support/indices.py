"""Index expressions as generated code computes them: by a division that is only right where nothing is negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.graph.expressions.index import FloorDiv, Index


def by_natural_division(index: Index, values: Mapping[str, Any]) -> Any:
    """The value for integers or integer arrays in place of the axes; asserts that nothing negative is divided."""
    total: Any = index.constant
    for atom, coefficient in index.terms:
        if isinstance(atom, str):
            total = total + values[atom] * coefficient
            continue
        dividend = by_natural_division(atom.dividend, values)
        assert np.all(dividend >= 0), f"{atom} divides {np.min(dividend)}"
        quotient, remainder = np.divmod(dividend, atom.divisor)
        total = total + (quotient if isinstance(atom, FloorDiv) else remainder) * coefficient
    return total
