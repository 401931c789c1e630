"""The lines that programs grow by: one function per kind, each of which adds one line or a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.support.random.jit.growing import Growing, Unfit

UNARY = (
    *("F.exp({} * 0.5)", "F.log(F.abs({}) + 0.5)", "F.sqrt(F.abs({}) + 0.1)", "F.tanh({})", "F.erf({})", "F.sigmoid({})"),
    *("F.silu({})", "F.gelu({})", "F.gelu({}, approximate='tanh')", "F.relu({})", "F.abs({})", "-{}", "F.negative({})"),
    *("F.square({})", "F.reciprocal({} * {} + 0.5)", "F.floor({} * 3)", "F.clip({}, -0.75, 0.5)", "F.clip({}, None, 0.25)"),
    *("{} ** 2", "{} ** 3", "F.pow(F.abs({}) + 0.5, 0.5)", "({} * {} + 1.0) ** -1.5", "1.5 / ({} * {} + 1.0)", "np_exp({})"),
    *(
        "{} / (1 + F.exp(-{}))",
        "0.5 * {} * (1 + F.erf({} / 1.4142135623730951))",
        "{}.clip(-1.0, 1.0)",
        "F.positive({})",
        "F.asarray({}) + 1.0",
        "F.astype({} > 0.25, 'float32')",
        "F.pow(F.abs({}) + 0.5, {})",
        "F.where(F.isnan({}) | F.isinf({}), 0.0, {})",
        "F.where(F.isfinite({}), {}, 1.0)",
    ),
    *("F.exp2({})", "F.expm1({})", "F.log2(F.abs({}) + 0.5)", "F.log10(F.abs({}) + 0.5)", "F.log1p(F.abs({}))", "F.sin({})"),
    *("F.cos({})", "F.tan({} * 0.2)", "F.asin(F.tanh({}) * 0.9)", "F.acos(F.tanh({}) * 0.9)", "F.atan({})", "F.asinh({})"),
    *("F.sinh({} * 0.5)", "F.cosh({} * 0.5)", "F.acosh(F.abs({}) + 1.5)", "F.atanh(F.tanh({}) * 0.9)", "F.erfc({})"),
    *("F.ceil({} * 3)", "F.trunc({} * 3)", "F.round({} * 3)", "F.sign({})"),
)
BINARY = (
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / (F.abs({}) + 0.5)",
    "F.maximum({}, {})",
    "F.minimum({}, {})",
    "F.add({}, {})",
    "F.subtract({}, {})",
    "F.multiply({}, {})",
    "F.divide({}, F.abs({}) + 0.5)",
    "F.atan2({}, F.abs({}) + 0.5)",
    "F.fmod({}, F.abs({}) + 0.5)",
)
NAMED = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
COMPARISONS = ("{} > {}", "{} <= {}", "{} < {}", "{} >= {}", "{} != {}", "{} == {}", *(f"F.{name}({{}}, {{}})" for name in NAMED))
REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def unary(g: Growing) -> None:
    x = g.pick()
    text = g.choose(UNARY).replace("np_exp", "F.exp")
    g.add(text.replace("{}", x), x)


def scalar(g: Growing) -> None:
    x, number = g.pick(), round(float(g.random.uniform(-2, 2)), 2)
    text = g.choose(("{0} * {1}", "{0} + {1}", "{1} - {0}", "{0} / 1.7", "F.maximum({0}, {1})", "{1} * {0} + {0}"))
    g.add(text.format(x, number), x)


def binary(g: Growing) -> None:
    """Of arrays that broadcast, perhaps the same one twice."""
    x = g.pick()
    y = g.pick([name for name in g.numbers() if _broadcasts(g.shape(x), g.shape(name))])
    x, y = (x, y) if g.random.random() < 0.5 else (y, x)
    g.add(g.choose(BINARY).format(x, y), x, y)


def constant(g: Growing) -> None:
    """With an array that the function closes over, of a shape that broadcasts."""
    x = g.pick()
    shape = [extent if g.random.random() < 0.6 else 1 for extent in g.shape(x)]
    c = g.given(g.random.standard_normal(shape[int(g.random.integers(len(shape) + 1)) :]), is_constant=True)
    g.add(g.choose(("{} + {}", "{1} * {0}", "F.maximum({}, {})", "{1} - {0}")).format(x, c), x, c)


def condition(g: Growing) -> None:
    x = g.pick()
    y = g.pick([name for name in g.numbers() if _broadcasts(g.shape(x), g.shape(name))])
    other = g.choose((y, "0.0", "0.5"))
    text = g.choose(COMPARISONS).format(x, other)
    made = g.add(text, x, *([y] if other == y else []))
    _chosen(g, made)


def logic(g: Growing) -> None:
    a = g.pick(g.conditions())
    b = g.pick([name for name in g.conditions() if _broadcasts(g.shape(a), g.shape(name))])
    text = g.choose(
        ("F.logical_and({}, {})", "F.logical_or({}, {})", "F.logical_xor({}, {})", "{} & {}", "~{}", "F.logical_not({})")
    )
    _chosen(g, g.add(text.format(a, b), a, b))


def positions(g: Growing) -> None:
    """A mask of positions along the last two dimensions."""
    x = g.pick(least_rank=2)
    m, n = g.shape(x)[-2:]
    text = g.choose(
        ("F.arange({m})[:, None] >= F.arange({n})", "F.arange({n}) < {k}", "F.arange({m})[:, None] - F.arange({n}) <= 2")
    )
    mask = g.add(text.format(m=m, n=n, k=int(g.random.integers(n + 1))))
    g.add(f"F.where({mask}, {x}, {g.choose(('0.0', '-3.5', x + ' * 0.5'))})", mask, x)


def _chosen(g: Growing, mask: str) -> None:
    x = g.pick([name for name in g.numbers() if _broadcasts(g.shape(mask), g.shape(name))])
    text = g.choose(
        ("F.where({0}, {1}, 0.25)", "F.where({0}, {1} * 2, {1})", "F.where({0}, 1.5, {1})", "F.where({0}, 1.0, 0.0) * {1}")
    )
    g.add(text.format(mask, x), mask, x)


def reduction(g: Growing) -> None:
    x = g.pick(least_rank=1)
    rank = g.rank(x)
    axes = tuple(sorted(int(a) for a in g.random.choice(rank, int(g.random.integers(1, rank + 1)), replace=False)))
    axis = g.choose((None, axes, axes[0], axes[0] - rank))
    name, keep = g.choose(REDUCTIONS), bool(g.random.integers(2))
    operand = f"({x} * 0.3 + 1.0)" if name == "prod" else x
    text = g.choose(("F.{0}({1}, axis={2}, keepdims={3})", "({1}).{0}(axis={2}, keepdims={3})"))
    g.add(text.format(name, operand, axis, keep), x)


def row(g: Growing) -> None:
    """Softmax, norms, and functions of distances from a row's largest, smallest or mean element."""
    x = g.pick(least_rank=1)
    axis = int(g.random.integers(-g.rank(x), g.rank(x)))
    text = g.choose(
        (
            "F.softmax({x}, axis={a})",
            "F.safe_softmax({x} * 2.0, axis={a})",
            "F.layer_norm({x}, axis={a})",
            "F.rms_norm({x}, axis={a}, eps=1e-5)",
            "{x} - F.{r}({x}, axis={a}, keepdims=True)",
            "F.{f}({x} - F.{r}({x}, axis={a}, keepdims=True))",
            "F.{f}(({x} - F.max({x}, axis={a}, keepdims=True)) * 0.5)",
            "({x} - F.mean({x}, axis={a}, keepdims=True)) / F.sqrt(F.mean({x} * {x}, axis={a}, keepdims=True) + 0.1)",
            "F.exp({x}) / F.sum(F.exp({x}), axis={a}, keepdims=True)",
            "F.log(F.sum(F.exp({x} - F.max({x}, axis={a}, keepdims=True)), axis={a}, keepdims=True))",
        )
    )
    function = g.choose(("exp", "tanh", "sigmoid", "erf", "gelu", "silu", "relu", "abs"))
    g.add(text.format(x=x, a=axis, f=function, r=g.choose(("max", "min", "mean"))), x)


def norm_with_weights(g: Growing) -> None:
    x = g.pick(least_rank=1)
    shape = g.shape(x)[-int(g.random.integers(1, g.rank(x) + 1)) :]
    w, b = (g.given(g.random.standard_normal(shape), is_constant=bool(g.random.integers(2))) for _ in range(2))
    b = w if g.random.random() < 0.2 else b
    text = g.choose(("F.layer_norm({0}, {3}, {1}, {2})", "F.rms_norm({0}, {3}, {1}, 1e-5)"))
    g.add(text.format(x, w, b, shape), x, w, b)


def product(g: Growing) -> None:
    """Of two arrays whose last dimensions fit, perhaps after a transposition, or with new weights."""
    x = g.pick(least_rank=1)
    candidates = [n for n in g.numbers() if g.rank(n) >= 2 and g.shape(x)[-1] in g.shape(n)[-2:]]
    if candidates and g.random.random() < 0.6:
        y = g.pick(candidates)
        right = y if g.shape(y)[-2] == g.shape(x)[-1] else f"{y}.mT"
    else:
        weights = g.random.standard_normal((g.shape(x)[-1], int(g.choose((1, 2, 5, 8, 16, 17, 33)))))
        right = y = g.given(weights, is_constant=bool(g.random.integers(2)))
    scale = round(1 / math.sqrt(max(1, g.shape(x)[-1])), 3)
    text = g.choose(("{} @ {} * {}", "F.matmul({}, {}) * {}", "({2} * {0}) @ {1}"))
    g.add(text.format(x, right, scale), x, y)


def einsum(g: Growing) -> None:
    """Two operands that share some letters; letters of one operand alone may be summed."""
    x, y = g.pick(least_rank=1), g.pick(least_rank=1)
    letters = "abcdefgh"
    left = letters[: g.rank(x)]
    right, extents = "", dict(zip(left, g.shape(x), strict=True))
    for extent in g.shape(y):
        known = [one for one in extents if extents[one] == extent and one not in right]
        letter = (
            g.choose(known)
            if known and g.random.random() < 0.7
            else next(one for one in letters[g.rank(x) :] + "ijkl" if one not in right)
        )
        extents[letter] = extent
        right += letter
    kept = [one for one in extents if g.random.random() < 0.6]
    g.random.shuffle(kept)
    summed = math.prod(extents[one] for one in extents if one not in kept)
    if math.prod(extents.values()) > 200_000:
        raise Unfit("large")
    g.add(f"F.einsum('{left},{right}->{''.join(kept)}', {x}, {y}) * {round(1 / math.sqrt(max(1, summed)), 4)}", x, y)


def attention(g: Growing) -> None:
    q = g.pick(least_rank=2)
    *batch, _, width = g.shape(q)
    keys, columns = int(g.choose((1, 3, 8, 17, 33))), int(g.choose((1, 5, 16)))
    k, v = g.given(g.random.standard_normal((*batch, keys, width))), g.given(g.random.standard_normal((*batch, keys, columns)))
    options = g.choose(("", ", is_causal=True", ", scale=0.3"))
    g.add(f"F.scaled_dot_product_attention({q}, {k}, {v}{options})", q, k, v)


def convolution(g: Growing) -> None:
    """With a kernel, steps, dilation and padding of any size, groups, of channels first or last, or of one image."""
    x, is_last, extents = _image(g, may_be_single=True)
    rank, channels = len(extents), g.shape(x)[-1 if is_last else -len(extents) - 1]
    groups = int(g.choose([1, *(n for n in range(1, channels + 1) if channels % n == 0)]))
    kernel, stride, dilation, before, behind = (_sizes(g, rank, *ends) for ends in ((1, 4), (1, 3), (1, 2), (0, 2), (0, 2)))
    filters, terms = int(g.choose((1, 2, 3, 8))), channels // groups * math.prod(kernel)
    is_transposed = g.random.random() < 0.3
    shape = (channels, filters, *kernel) if is_transposed else (groups * filters, channels // groups, *kernel)
    written = [(e - 1) * s + (k - 1) * d + 1 for e, s, k, d in zip(extents, stride, kernel, dilation, strict=True)]
    needed = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    padding = tuple(zip(before, behind, strict=True))
    fits = (
        (size > b + f if is_transposed else e + b + f >= span)
        for e, size, span, (b, f) in zip(extents, written, needed, padding, strict=True)
    )
    if not all(fits):
        raise Unfit("no output")
    w = g.given(g.random.standard_normal(shape) / math.sqrt(terms), is_constant=bool(g.random.integers(2)))
    bias = [g.given(g.random.standard_normal(groups * filters))] if g.random.random() < 0.3 else []
    name = f"F.conv{'_transpose' if is_transposed else ''}{rank}d"
    windows = f"stride={stride}, padding={padding}, dilation={dilation}, groups={groups}{_layout(rank, is_last)}"
    y = g.add(f"{name}({', '.join((x, w, *bias))}, {windows})", x, w, *bias)
    if g.random.random() < 0.5:
        g.add(f"F.relu({y})", y)


def pool(g: Growing) -> None:
    x, is_last, extents = _image(g)
    kernel, stride = (_sizes(g, len(extents), 1, 3) for _ in range(2))
    padding = tuple((int(g.random.integers(k)), int(g.random.integers(k))) for k in kernel)
    if any(e + sum(pads) < k for e, k, pads in zip(extents, kernel, padding, strict=True)):
        raise Unfit("no output")
    name, more = g.choose((("max", ""), ("avg", ""), ("avg", ", count_include_pad=False")))
    more += g.choose(("", ", ceil_mode=True")) + _layout(len(extents), is_last)
    g.add(f"F.{name}_pool({x}, {kernel}, stride={stride}, padding={padding}{more})", x)


def _image(g: Growing, *, may_be_single: bool = False) -> tuple[str, bool, tuple[int, ...]]:
    """(name, whether channels are last, spatial extents) of an array that is a batch of images, or an image."""
    x = g.pick(least_rank=2 if may_be_single else 3)
    if may_be_single and (g.rank(x) == 2 or (g.rank(x) < 5 and g.random.random() < 0.2)):
        return x, False, g.shape(x)[1:]
    if not 3 <= g.rank(x) <= 5:
        raise Unfit("no image")
    is_last = g.random.random() < 0.3
    return x, is_last, g.shape(x)[1:-1] if is_last else g.shape(x)[2:]


def _sizes(g: Growing, rank: int, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(g.random.integers(least, most + 1)) for _ in range(rank))


def _layout(rank: int, is_last: bool) -> str:
    return f", layout='N{'DHW'[-rank:]}C'" if is_last else ""


def slices(g: Growing) -> None:
    """Of any step and sign, single positions, `...` and new dimensions."""
    x = g.pick(least_rank=1)
    parts: list[str] = []
    for extent in g.shape(x):
        kind = g.random.random()
        if kind < 0.15 and extent:
            parts.append(str(int(g.random.integers(-extent, extent))))
        elif kind < 0.4:
            parts.append(":")
        else:
            first, last = (g.choose(("", *range(-extent, extent + 1))) for _ in range(2))
            parts.append(f"{first}:{last}:{g.choose(('', 1, -1, 2, -2, 3))}")
    if g.random.random() < 0.2:
        parts.insert(int(g.random.integers(len(parts) + 1)), "None")
    if g.random.random() < 0.2:
        parts[int(g.random.integers(len(parts))) :] = ["..."]
    made = f"{x}[{', '.join(parts)}]"
    if 0 in _shape_of(g, made, x):
        raise Unfit("empty")
    g.add(made, x)


def reversal(g: Growing) -> None:
    x = g.pick(least_rank=1)
    axis = int(g.random.integers(g.rank(x)))
    g.add(f"{x}[{', '.join([':'] * axis + ['::-1'])}]", x)


def reshape(g: Growing) -> None:
    """Merges neighbours, splits extents, drops and adds ones; perhaps one extent is left open."""
    x = g.pick()
    shape = list(g.shape(x))
    for _ in range(int(g.random.integers(1, 4))):
        place = int(g.random.integers(len(shape) + 1))
        divisors = [d for d in range(2, shape[place]) if shape[place] % d == 0] if place < len(shape) else []
        if place + 1 < len(shape) and g.random.random() < 0.6:
            shape[place : place + 2] = [shape[place] * shape[place + 1]]
        elif divisors and g.random.random() < 0.7:
            divisor = int(g.choose(divisors))
            shape[place : place + 1] = [divisor, shape[place] // divisor]
        elif place < len(shape) and shape[place] == 1:
            del shape[place]
        else:
            shape.insert(place, 1)
    written: list[int] = list(shape)
    if shape and math.prod(shape) and g.random.random() < 0.3:
        written[int(g.random.integers(len(shape)))] = -1
    g.add(g.choose(("{}.reshape({})", "F.reshape({}, {})")).format(x, tuple(written)), x)


def transposition(g: Growing) -> None:
    x = g.pick(least_rank=2)
    order = tuple(int(one) for one in g.random.permutation(g.rank(x)))
    a, b = (int(one) for one in g.random.choice(g.rank(x), 2, replace=False))
    text = g.choose(
        (
            "{x}.T",
            "{x}.mT",
            "{x}.transpose({o})",
            "F.permute_dims({x}, {o})",
            "F.swapaxes({x}, {a}, {b})",
            "F.matrix_transpose({x})",
        )
    )
    g.add(text.format(x=x, o=order, a=a, b=b), x)


def dimensions(g: Growing) -> None:
    """Dimensions of one element come and go; an array is repeated along one."""
    x = g.pick()
    ones = [d for d, extent in enumerate(g.shape(x)) if extent == 1]
    kind = g.random.random()
    if kind < 0.35 and ones:
        g.add(f"F.squeeze({x}, {g.choose(ones)})", x)
    elif kind < 0.6:
        g.add(f"F.expand_dims({x}, {int(g.random.integers(g.rank(x) + 1))})", x)
    else:
        shape = [int(g.choose((2, 3, 5))) if extent == 1 else extent for extent in g.shape(x)]
        g.add(f"F.broadcast_to({x}, {(int(g.choose((1, 2, 3))), *shape)})", x)


def integers(g: Growing) -> None:
    """Compared integers choose between numbers."""
    x = g.pick(least_rank=1)
    array = g.random.integers(-4, 5, g.shape(x)[-1:]).astype(g.choose(("int32", "int64", "int8", "uint8")))
    i = g.given(array)
    g.add(f"F.where({i} {g.choose(('>', '==', '<='))} {int(g.random.integers(-2, 3))}, {x}, {x} * 0.5 + 1.0)", i, x)


KINDS: Sequence[tuple[Callable[[Growing], None], int]] = (
    *((unary, 4), (scalar, 2), (binary, 4), (constant, 2), (condition, 1), (logic, 2), (positions, 1), (reduction, 3), (row, 3)),
    *((norm_with_weights, 1), (product, 4), (einsum, 2), (attention, 1), (convolution, 3), (pool, 2), (slices, 3)),
    *((reversal, 2), (reshape, 4), (transposition, 3), (dimensions, 2), (integers, 1)),
)
"""With how often each of them is tried."""


def _broadcasts(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(one[::-1], other[::-1], strict=False))


def _shape_of(g: Growing, text: str, name: str) -> tuple[int, ...]:
    made: np.ndarray = eval(text, {}, {name: g.values[name].exact})
    return np.shape(made)
