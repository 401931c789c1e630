"""Hints: what to write in place of a function that does not trace."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

import numpy as np

MOST_EDITS = 2
"""Letters to insert and delete from a misspelt name to the right one: of `sofmax` one, from `gather` to `greater` three.
A third of the letters of a short name at most."""
_LARGEST = "max(x, axis=a, keepdims=True)"
_VARIANCE = "mean(square(x - mean(x, axis=a, keepdims=True)), axis=a)"

EXPRESSIONS: Mapping[str, str] = {
    "dot": "matmul(x, y)",
    "inner": "matmul(x, y.T)",
    "leaky_relu": "where(x > 0, x, slope * x)",
    "log_softmax": f"x - {_LARGEST} - log(sum(exp(x - {_LARGEST}), axis=a, keepdims=True))",
    "logsumexp": f"max(x, axis=a) + log(sum(exp(x - {_LARGEST}), axis=a))",
    "norm": "sqrt(sum(x * x))",
    "outer": "x.reshape(-1)[:, None] * y.reshape(-1)",
    "rsqrt": "x ** -0.5",
    "std": f"sqrt({_VARIANCE})",
    "var": _VARIANCE,
    "xor": "(x > 0) != (y > 0)",
}
"""Written with functions that are here, of float32 arrays x and y, an axis a and a number slope."""
REMARKS: Mapping[str, str] = {
    "std": "which divides by the number of elements, as numpy.std",
    "var": "which divides by the number of elements, as numpy.var",
    "xor": "for truth values x != y",
}
_JOIN = "arrays cannot be joined yet: keep the parts separate, or join them outside of the traced function"
_POSITIONS = "positions that data gives cannot be read in traced functions yet: gather outside of the function"
_SHIFT = "multiply by a power of two"
ADVICE: Mapping[str, str] = {
    "concat": _JOIN,
    "concatenate": _JOIN,
    "gather": _POSITIONS,
    "left_shift": _SHIFT,
    "right_shift": _SHIFT,
    "stack": _JOIN,
    "take": _POSITIONS,
    "take_along_axis": _POSITIONS,
    "tensordot": "use einsum",
}


def instead_of(name: str, known: Iterable[str]) -> str:
    """What to write, or which of the `known` names is close; nothing where neither is there. What NumPy has is no misspelling.

    >>> instead_of("sofmax", ["softmax", "exp"]), instead_of("rsqrt", ["sqrt"]), instead_of("tan", ["tanh"])
    ('did you mean softmax?', 'write it as x ** -0.5', '')
    """
    if name in EXPRESSIONS:
        return f"write it as {EXPRESSIONS[name]}" + (f", {REMARKS[name]}" if name in REMARKS else "")
    if name in ADVICE or hasattr(np, name):
        return ADVICE.get(name, "")
    close = [candidate for candidate in sorted(known) if _edits(name, candidate) <= min(MOST_EDITS, len(name) // 3)]
    return f"did you mean {' or '.join(close[:2])}?" if close else ""


def _edits(name: str, candidate: str) -> int:
    """How many letters are to be inserted and deleted."""
    kept = sum(block.size for block in difflib.SequenceMatcher(None, name, candidate, autojunk=False).get_matching_blocks())
    return len(name) + len(candidate) - 2 * kept
