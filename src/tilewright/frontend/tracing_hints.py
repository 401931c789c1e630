"""What to write in place of a function that is not here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.75
"""Of difflib's ratio: `sofmax` is close to `softmax`, `sinh` is not close to `mean`."""
_JOIN = "arrays cannot be joined yet: keep the parts separate, or join them outside of the traced function"
_REMAINDER = "write it as x - floor(x / y) * y"
_ROUND = "write it as floor(x + 0.5), which rounds halves up"
_PRODUCT = "use matmul or einsum"
_VARIANCE = "mean(square(x - mean(x, axis=a, keepdims=True)), axis=a)"
_SHIFT = "multiply by a power of two"

INSTEAD = {
    "ceil": "write it as -floor(-x)",
    "concat": _JOIN,
    "concatenate": _JOIN,
    "cosh": "write it as (exp(x) + exp(-x)) / 2",
    "divmod": "write it as floor(x / y) and x - floor(x / y) * y",
    "dot": _PRODUCT,
    "exp2": "write it as exp(x * math.log(2))",
    "erfc": "write it as 1 - erf(x), which loses digits for large x",
    "expm1": "write it as exp(x) - 1, which loses digits near 0",
    "floor_divide": "write it as x // y",
    "fmod": _REMAINDER,
    "inner": _PRODUCT,
    "leaky_relu": "write it as where(x > 0, x, slope * x)",
    "left_shift": _SHIFT,
    "log10": "write it as log(x) / math.log(10)",
    "log1p": "write it as log(1 + x), which loses digits near 0",
    "log2": "write it as log(x) / math.log(2)",
    "log_softmax": "with m = max(x, axis=a, keepdims=True): x - m - log(sum(exp(x - m), axis=a, keepdims=True))",
    "logsumexp": "with m = max(x, axis=a, keepdims=True): m + log(sum(exp(x - m), axis=a, keepdims=True))",
    "norm": "write it as sqrt(sum(x * x))",
    "outer": "write it as x[:, None] * y",
    "remainder": _REMAINDER,
    "right_shift": _SHIFT,
    "rint": _ROUND,
    "round": _ROUND,
    "rsqrt": "write it as x ** -0.5",
    "sign": "write it as where(x > 0, 1.0, where(x < 0, -1.0, 0.0))",
    "sinh": "write it as (exp(x) - exp(-x)) / 2",
    "stack": _JOIN,
    "std": f"write it as sqrt({_VARIANCE})",
    "tensordot": _PRODUCT,
    "trunc": "write it as where(x > 0, floor(x), -floor(-x))",
    "var": f"write it as {_VARIANCE}",
    "xor": "for truth values, write it as x != y",
}


def instead_of(name: str, known: Iterable[str]) -> str:
    """What to write, or which of the `known` names is close; nothing where neither is there.

    >>> instead_of("sofmax", ["softmax", "exp"]), instead_of("rsqrt", ["sqrt"]), instead_of("inv", ["min"])
    ('did you mean softmax?', 'write it as x ** -0.5', '')
    """
    if name in INSTEAD:
        return INSTEAD[name]
    matches = difflib.get_close_matches(name, sorted(known), n=2, cutoff=CUTOFF)
    return f"did you mean {' or '.join(matches)}?" if matches else ""
