"""The scalar functions in Triton: a text for each, and a function of the module where the text would repeat its operands.

NVIDIA's library of functions is not there in the interpreter: tanh and others are composed of exp and log by formulas that lose
few digits. What has no text here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

FLOATS: Mapping[str, str] = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "negative": "(-{0})",
    "reciprocal": "(1.0 / {0})",
    "sqrt": "tl.sqrt({0})",
    "exp": "tl.exp({0})",
    "exp2": "tl.exp2({0})",
    "log": "tl.log({0})",
    "log2": "tl.log2({0})",
    "log10": "(tl.log2({0}) * 0.30102999566398120)",
    "abs": "tl.abs({0})",
    "floor": "tl.floor({0})",
    "ceil": "tl.ceil({0})",
    "sin": "tl.sin({0})",
    "cos": "tl.cos({0})",
    "erf": "tl.erf({0})",
    "maximum": "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "minimum": "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
    "where": "tl.where({0}, {1}, {2})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    "logical_and": "({0} & {1})",
    "logical_or": "({0} | {1})",
    "logical_xor": "({0} ^ {1})",
    "logical_not": "({0} == 0)",
    "as_float16": "{0}.to(tl.float16).to(tl.float32)",
    "as_bfloat16": "{0}.to(tl.bfloat16).to(tl.float32)",
    "report_not_finite": "{0}",
    "rounded": "{0}",
}
"""By function of the graph its text of float32 numbers, of the texts of its operands."""

INTEGERS: Mapping[str, str] = {
    **{name: FLOATS[name] for name in ("add", "subtract", "multiply", "negative", "where", "abs", "rounded")},
    **{name: FLOATS[name] for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")},
    **{name: FLOATS[name] for name in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    "maximum": "tl.maximum({0}, {1})",
    "minimum": "tl.minimum({0}, {1})",
    "bitwise_and": "({0} & {1})",
    "bitwise_or": "({0} | {1})",
    "bitwise_xor": "({0} ^ {1})",
    "bitwise_not": "(~{0})",
    "left_shift": "({0} << {1})",
    "right_shift": "({0} >> {1})",
}
"""The same of integers."""

HELPERS: Mapping[str, str] = {
    "square": "(x):\n    return x * x",
    "trunc": "(x):\n    return tl.where(x < 0, tl.ceil(x), tl.floor(x))",
    # Half to even: the unit of 1.5 * 2^23 is 1, so that the sum is rounded to a whole number.
    "round": "(x):\n    return tl.where(tl.abs(x) < 4194304.0, (x + 12582912.0) - 12582912.0, x)",
    "sign": "(x):\n    return tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, x))",
    "floor_divide": "(x, y):\n    return tl.floor(x / y)",
    "mod": "(x, y):\n    return x - tl.floor(x / y) * y",
    "fmod": "(x, y):\n    q = x / y\n    return x - tl.where(q < 0, tl.ceil(q), tl.floor(q)) * y",
    "tan": "(x):\n    return tl.sin(x) / tl.cos(x)",
    # Near 0 the series: 1 - exp(-2x) would lose digits there.
    "tanh": "(x):\n    t = tl.exp(-2.0 * tl.abs(x))\n    y = (1.0 - t) / (1.0 + t)\n    s = x * x\n"
    "    near = x * (1.0 - s * (0.33333333 - s * (0.13333333 - s * 0.053968254)))\n"
    "    return tl.where(tl.abs(x) < 0.2, near, tl.where(x < 0, -y, y))",
    "sigmoid": "(x):\n    t = tl.exp(-tl.abs(x))\n    return tl.where(x < 0, t, 1.0) / (1.0 + t)",
    "silu": "(x):\n    t = tl.exp(-tl.abs(x))\n    return x * (tl.where(x < 0, t, 1.0) / (1.0 + t))",
    "gelu": "(x):\n    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
    "gelu_tanh": "(x):\n    z = 1.5957691216057308 * (x + 0.044715 * x * x * x)\n    t = tl.exp(-tl.abs(z))\n"
    "    return x * (tl.where(z < 0, t, 1.0) / (1.0 + t))",
    # W. Kahan's form: what 1 + x rounds is in both factors.
    "log1p": "(x):\n    u = 1.0 + x\n    return tl.where(u == 1.0, x, tl.log(u) * x / tl.where(u == 1.0, 1.0, u - 1.0))",
    "expm1": "(x):\n    near = x * (1.0 + x * (0.5 + x * (0.16666667 + x * 0.041666667)))\n"
    "    return tl.where(tl.abs(x) < 0.05, near, tl.exp(x) - 1.0)",
    "sinh": "(x):\n    near = x * (1.0 + x * x * (0.16666667 + x * x * 0.0083333333))\n"
    "    return tl.where(tl.abs(x) < 0.2, near, 0.5 * (tl.exp(x) - tl.exp(-x)))",
    "cosh": "(x):\n    return 0.5 * (tl.exp(x) + tl.exp(-x))",
    "isnan": "(x):\n    return x != x",
    "isinf": "(x):\n    return tl.abs(x) == float('inf')",
    "pow": "(x, y):\n    size = tl.exp2(y * tl.log2(tl.abs(x)))\n    is_whole = tl.floor(y) == y\n"
    "    is_odd = tl.floor(y * 0.5) * 2.0 != y\n"
    "    below = tl.where(is_whole, tl.where(is_odd, -size, size), float('nan'))\n"
    "    return tl.where(y == 0, 1.0, tl.where(x < 0, below, size))",
}
"""Functions of float32 numbers whose text is a function of the module: parameters and body."""

WHOLE_HELPERS: Mapping[str, str] = {
    # Triton rounds quotients of integers towards zero, NumPy down.
    "floor_divide": "(x, y):\n    q = x // y\n    return tl.where((q * y != x) & ((x < 0) != (y < 0)), q - 1, q)",
    "mod": "(x, y):\n    r = x % y\n    return tl.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)",
    "fmod": "(x, y):\n    return x % y",
    "square": HELPERS["square"],
    "sign": "(x):\n    return tl.where(x > 0, 1, tl.where(x < 0, -1, 0))",
}
"""The same of integers."""

REDUCED: Mapping[str, tuple[str, str]] = {
    "add": ("tl.sum({0}, {1})", "{0} + {1}"),
    "maximum": ("tl.max({0}, {1})", "tl.maximum({0}, {1})"),
    "minimum": ("tl.min({0}, {1})", "tl.minimum({0}, {1})"),
}
"""By function that combines states: what a tile becomes along a dimension, and what two values become."""


def call_of(function: str, *, is_whole: bool = False) -> str:
    """The name of the module's function of a scalar function, of integers or of floats."""
    return f"tw_whole_{function}" if is_whole else f"tw_{function}"


def definition(function: str, *, is_whole: bool = False) -> str:
    """Its text."""
    table = WHOLE_HELPERS if is_whole else HELPERS
    return f"@triton.jit\ndef {call_of(function, is_whole=is_whole)}{table[function]}"
