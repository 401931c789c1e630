"""Lines of functions at every point: arithmetic of mixed types, comparisons, choices, casts."""

from __future__ import annotations

from tests.support.random.torch.growing import Growing

OF_FLOATS = (
    *("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "erfc", "expm1", "log1p", "log2", "log10"),
    *("exp2", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "reciprocal", "lgamma", "digamma", "erfinv"),
    *("i0", "sinc", "frac", "trunc", "deg2rad"),
)
LAYERS = (
    *("gelu({})", "gelu({}, approximate='tanh')", "silu({})", "softplus({})", "elu({})", "selu({})", "celu({}, 0.7)"),
    *("leaky_relu({}, 0.2)", "hardswish({})", "hardsigmoid({})", "hardtanh({}, -0.5, 0.5)", "relu6({})", "mish({})"),
    *("softsign({})", "tanhshrink({})", "softshrink({}, 0.3)", "hardshrink({}, 0.5)", "threshold({}, 0.5, 2.0)"),
    *("logsigmoid({})", "relu({})", "softplus({}, 2.0, 1.0)"),
)
OF_ANY = (
    *("torch.abs({})", "-{}", "torch.sign({})", "torch.square({})", "F.relu({})", "{}.clamp(-1, 2)", "{}.clamp(min=0.5)"),
    *("{}.clamp(max=1)", "{}.clamp(min=2, max=-1)", "torch.round({})", "torch.floor({})", "torch.ceil({})", "torch.trunc({})"),
    *("torch.nan_to_num({})", "torch.isnan({})", "torch.isinf({})", "torch.isfinite({})", "torch.signbit({})", "~{}"),
    *("torch.logical_not({})", "{} ** 2", "{} ** 3", "{} ** 0.5", "{} ** -1", "2 ** {}", "{} ** k", "1 / {}", "{} ** 0"),
    *("torch.round({}, decimals=1)", "{}.clone()", "{}.contiguous()", "torch.zeros_like({})", "torch.ones_like({})"),
    *("torch.full_like({}, 3)", "{}.bool()", "{}.int()", "{}.float()", "{}.double()", "{}.half()", "{}.bfloat16()", "{}.long()"),
    *("torch.heaviside({0}, {0})", "{0} + {0}", "{0} * {0} - {0}", "torch.sgn({})", "torch.sigmoid({})", "torch.exp({})"),
    *("torch.isposinf({})", "torch.nan_to_num({}, 1.0, 2.0, -3.0)", "torch.logit({}, 0.1)", "torch.positive({})"),
)
OPERATORS = ("+", "-", "*", "/", "//", "%", ">", "<", ">=", "<=", "==", "!=", "&", "|", "^", "<<", ">>", "**")
OF_TWO = (
    *("maximum", "minimum", "fmax", "fmin", "pow", "atan2", "hypot", "logaddexp", "xlogy", "copysign", "fmod", "remainder"),
    *("eq", "gt", "le", "logical_and", "logical_or", "logical_xor", "floor_divide", "true_divide", "ldexp", "gcd", "lcm"),
    *("nextafter", "logaddexp2", "heaviside", "isclose", "bitwise_and", "bitwise_left_shift", "bitwise_right_shift"),
)
OF_THREE = (
    *("torch.addcmul({0}, {1}, {2}, value=2)", "torch.addcdiv({0}, {1}, {2}, value=0.5)", "torch.lerp({0}, {1}, {2})"),
    *("torch.clamp({0}, {1}, {2})", "{0} * {1} + {2}", "{0} * {1} - {2} * {0}", "torch.where({0} > {1}, {1}, {2})"),
    *("torch.where({0} <= {1}, {2}, 1)", "torch.where({0} == {1}, {2}, {0})", "torch.lerp({0}, {1}, 0.3)"),
)


def unary(g: Growing) -> None:
    """A function of one operand."""
    match g.choose(("float", "layer", "any", "any")):
        case "float":
            g.add(f"torch.{g.choose(OF_FLOATS)}({g.pick('number')})")
        case "layer":
            g.add("F." + g.choose(LAYERS).format(g.pick("float")))
        case _:
            g.add(g.choose(OF_ANY).format(g.pick()))


def cast(g: Growing) -> None:
    """To another type."""
    x = g.pick()
    g.add(
        g.choose(("{0}.to({1})", "{0}.to({1})", "{0}.type_as({2})", "{0}.to({1}).to({0}.dtype)")).format(x, g.dtype(), g.pick())
    )


def with_number(g: Growing) -> None:
    """Arithmetic with a number of Python on either side."""
    x, number, operator = g.pick(), g.number(), g.choose(OPERATORS)
    g.add(f"{x} {operator} {number}" if g.chance(0.7) else f"{number} {operator} {x}")


def binary(g: Growing) -> None:
    """Of two tensors of any types that broadcast, perhaps the same."""
    x = g.pick()
    y = g.beside(x)
    match g.choose(("operator", "operator", "function", "alpha", "rounded")):
        case "operator":
            g.add(f"{x} {g.choose(OPERATORS)} {y}")
        case "function":
            g.add(f"torch.{g.choose(OF_TWO)}({x}, {y})")
        case "alpha":
            g.add(f"torch.{g.choose(('add', 'sub', 'rsub'))}({x}, {y}, alpha={g.choose((2, -1, 0, 0.5))})")
        case _:
            g.add(f"torch.div({x}, {y}, rounding_mode={g.choose(('trunc', 'floor'))!r})")


def divided_integers(g: Growing) -> None:
    """By what is never 0; dividends and divisors of both signs."""
    x = g.pick("integer")
    y = g.beside(x, "integer")
    divide = g.choose(("{} // {}", "{} % {}", "torch.fmod({}, {})", "torch.div({}, {}, rounding_mode='trunc')"))
    g.add(divide.format(x, g.choose((f"({y} | 1)", "3", "-2", "7", f"torch.where({y} == 0, 5, {y})"))))


def ternary(g: Growing) -> None:
    """Of three tensors."""
    x = g.pick()
    g.add(g.choose(OF_THREE).format(x, g.beside(x), g.beside(x)))


def choice(g: Growing) -> None:
    """By a condition, of tensors and numbers."""
    condition = g.pick("truth")
    x, y = g.beside(condition), g.beside(condition)
    texts = (
        "torch.where({0}, {1}, {2})",
        "torch.where({0}, {1}, {3})",
        "torch.where({0}, {3}, {2})",
        "{1}.masked_fill({0}, {3})",
    )
    g.add(g.choose(texts).format(condition, x, y, g.number()))


def at_the_boundary(g: Growing) -> None:
    """Values that are equal, next to each other, or of different zeros, decide."""
    x = g.pick("float")
    texts = (
        *(
            "torch.where({0} >= {0}.flatten()[:1], {0}, -1)",
            "torch.where({0} == {0}.round(), {0}, 0.25)",
            "({0} > 0) == ({0} >= 0)",
        ),
        *("torch.where({0} < torch.nextafter({0}, {0} + 1), 1.5, {0})", "torch.where({0} > 0.5, {0} - 0.5, {0} + 0.5)"),
        *("{0}.clamp(-0.5, 0.5) == 0.5", "{0}.to(torch.bfloat16) == {0}", "torch.where({0} != {0}, 0, {0})", "1 / ({0} * 0)"),
        *("torch.copysign(torch.ones_like({0}), {0} * 0)", "{0} * 2 // 1", "({0} * 2) % 1"),
    )
    g.add(g.choose(texts).format(x))
