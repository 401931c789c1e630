"""sin, cos and tan: x = n pi / 2 + r with |r| at most about pi / 4.

pi / 2 is in three parts (Cody and Waite, "Software Manual for the Elementary Functions", 1980, chapter 8). Large numbers
are taken lane by lane, with as many digits of 2 / pi as matter.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.functions.steps import at_least, bits, flipped, nearest, polynomial, product_rest, size_of, two_sum
from tilewright.tile.operations import IntegerOperation, Operation
from tilewright.tile.program import TileProgram, Value
from tilewright.tile.types import Type, vector

FAR = {"float32": 2.0**17, "float64": 2.0**29}
"""From here on the three parts are not enough."""
DIGIT_BITS = 24
DIGITS = 9
"""That matter: of 53 bits of the number, 53 of the result, and as many as a number next to a multiple of pi / 2 cancels."""


def sine(b: Builder, r: Value, low: Value) -> Value:
    """sin(r + low)."""
    z = r * r
    return r + b.multiply_add(polynomial(b, z, c.SIN) * z, r, b.multiply_add(z * -0.5, low, low))


def cosine(b: Builder, r: Value, low: Value) -> Value:
    """cos(r + low); 1 - z / 2 is rounded, and what that lost is added."""
    z = r * r
    half = z * 0.5
    whole = 1.0 - half
    return whole + b.multiply_add(polynomial(b, z, c.COS), z * z, ((1.0 - whole) - half) - r * low)


def reduced(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """r, what it has lost, and an integer whose low bits are those of n."""
    n, whole = nearest(b, x, c.TWO_OVER_PI_ROUNDED[x.type.dtype][0])
    one, two, three = c.HALF_PI[x.type.dtype]
    product = n * -two
    r, lost = two_sum(b.fma(n, -one, x), product)
    return r, b.fma(n, -three, lost + b.fma(n, -two, -product)), whole


def sine_of_quadrant(b: Builder, r: Value, low: Value, quadrant: Value) -> Value:
    """sin(r + low + quadrant pi / 2)."""
    is_odd = (quadrant & 1).differs(0)
    value = b.select(is_odd, cosine(b, r, low), sine(b, r, low))
    return flipped(b, value, (quadrant & 2) << r.type.bits - 2)


def tangent_of_quadrant(b: Builder, r: Value, low: Value, quadrant: Value) -> Value:
    """tan(r + low + quadrant pi / 2)."""
    is_odd = (quadrant & 1).differs(0)
    above, below = sine(b, r, low), cosine(b, r, low)
    return flipped(b, b.select(is_odd, below, above) / b.select(is_odd, above, below), quadrant << r.type.bits - 1)


def sin(b: Builder, x: Value) -> Value:
    """Of an angle in radians."""
    return _near_and_far(b, x, "sin")


def cos(b: Builder, x: Value) -> Value:
    """Of an angle in radians."""
    return _near_and_far(b, x, "cos")


def tan(b: Builder, x: Value) -> Value:
    """Of an angle in radians."""
    return _near_and_far(b, x, "tan")


def _near_and_far(b: Builder, x: Value, name: str) -> Value:
    value = _of_quadrant(b, name, *reduced(b, x))
    if name != "cos":
        value = b.select(x.equals(0.0), x, value)
    size = size_of(b, x)
    is_far = (size >= FAR[x.type.dtype]) & (size < float("inf"))
    return b.per_lane(far(name, x.type.dtype), (x,), value, is_far)


def _of_quadrant(b: Builder, name: str, r: Value, low: Value, quadrant: Value) -> Value:
    if name == "tan":
        return tangent_of_quadrant(b, r, low, quadrant)
    return sine_of_quadrant(b, r, low, quadrant + 1 if name == "cos" else quadrant)


@cache
def far(name: str, dtype: str) -> TileProgram:
    """Of one large number, in float64."""
    b = Builder()
    x = b.argument("x", vector(dtype))
    value = _of_quadrant(b, name, *far_reduced(b, b.cast(x, "float64")))
    return b.program(f"far_{name}_{dtype}", b.cast(value, dtype))


def far_reduced(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """As `reduced`: x times digits of 2 / pi (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).

    Products of halves of x and digits are exact, multiples of four are left out, and the rest is a sum of three numbers.
    """
    double = x.type
    exponent = ((bits(b, x) >> 52) & 0x7FF) - 1023
    skip = b.define(IntegerOperation.FLOOR_DIVIDE, b.define(IntegerOperation.VALUE, at_least(b, 0, exponent - 54)), DIGIT_BITS)
    scale = b.variable(_power_of_two(b, exponent - b.index_value((skip + 1) * DIGIT_BITS), double))
    significand = b.bitcast((bits(b, x) & ((1 << 52) - 1 | -1 << 63)) | 1023 << 52, double)
    upper = b.bitcast(bits(b, significand) & -1 << 27, double)
    table = b.table("two_over_pi", "float64", c.TWO_OVER_PI)
    total, middle, low = (b.variable(b.constant(0.0, double)) for _ in range(3))
    with b.loop("digit", 0, DIGITS) as place:
        digit = b.load(table, skip + place, double) * scale
        for part in (upper, significand - upper):
            product = part * digit
            added, lost = two_sum(total, product - b.apply(Operation.ROUND, product * 0.25) * 4.0)
            b.assign(total, added)
            added, lost = two_sum(middle, lost)
            b.assign(middle, added)
            b.assign(low, low + lost)
        b.assign(scale, scale * 2.0**-DIGIT_BITS)
    return _quarters(b, total, middle, low)


def _power_of_two(b: Builder, exponent: Value, value_type: Type) -> Value:
    return b.bitcast((exponent + 1023) << 52, value_type)


def _quarters(b: Builder, high: Value, middle: Value, low: Value) -> tuple[Value, Value, Value]:
    """r, what it has lost, and n, of a sum of three numbers in units of pi / 2."""
    n, whole = nearest(b, high, 1.0)
    first, second = two_sum(high - n, middle)
    second = second + low
    total = first + second
    rest = second - (total - first)
    one, two, _ = (b.constant(part, high.type) for part in c.HALF_PI["float64"])
    r = total * one
    return r, product_rest(b, total, one, r) + (total * two + rest * one), whole


DECLARED = (
    Declared("sin", np.sin, sin, "The sine of radians, however large", 28.0),
    Declared("cos", np.cos, cos, "The cosine of radians, however large", 27.0),
    Declared("tan", np.tan, tan, "The tangent of radians, however large", 29.0),
)
