"""asin, acos, atan and atan2."""

from __future__ import annotations

import math

import numpy as np

from tilewright.tile.builder import Builder
from tilewright.tile.functions import coefficients as c
from tilewright.tile.functions.declaration import Declared
from tilewright.tile.functions.steps import flipped, is_nan, polynomial, sign_of, size_of, square_root, with_sign
from tilewright.tile.program import Value

EIGHTH, THREE_EIGHTHS = math.tan(math.pi / 8), math.tan(3 * math.pi / 8)


def atan(b: Builder, x: Value) -> Value:
    """pi / 2 - atan(1 / a), pi / 4 + atan((a - 1) / (a + 1)), or a polynomial of a = |x|: that of at most tan(pi / 8)."""
    a = size_of(b, x)
    is_far, is_middle = a > THREE_EIGHTHS, a > EIGHTH
    above = b.select(is_far, -1.0, b.select(is_middle, a - 1.0, a))
    below = b.select(is_far, a, b.select(is_middle, a + 1.0, 1.0))
    half_pi = c.HALF_PI[x.type.dtype]
    base, rest = (b.select(is_far, half, b.select(is_middle, b.constant(half / 2, x.type), 0.0)) for half in half_pi[:2])
    return with_sign(b, _atan_of_quotient(b, above / below, base, rest), x)


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of the point x, y: of the smaller coordinate over the larger, as `atan`; both are made small first."""
    wide, high = size_of(b, x), size_of(b, y)
    is_steep = high > wide
    large, small = b.select(is_steep, high, wide), b.select(is_steep, wide, high)
    large, small = _made_small(b, large, small)
    is_middle = small > large * EIGHTH
    above = b.select(is_middle, small - large, small)
    below = b.select(is_middle, small + large, large)
    t = b.select(below.equals(0.0), 0.0, above / below)
    base, rest = (b.select(is_middle, b.constant(half / 2, x.type), 0.0) for half in c.HALF_PI[x.type.dtype][:2])
    angle = _mirrored(b, _atan_of_quotient(b, t, base, rest), is_steep, c.HALF_PI[x.type.dtype])
    angle = _mirrored(b, angle, sign_of(b, x).differs(0), c.PI[x.type.dtype])
    return b.select(is_nan(x) | is_nan(y), x + y, with_sign(b, angle, y))


def asin(b: Builder, x: Value) -> Value:
    """A polynomial up to 1/2, pi / 2 - 2 asin(sqrt((1 - a) / 2)) beyond."""
    is_far, t, rest = _asin_of_near(b, x)
    high, low, _ = c.HALF_PI[x.type.dtype]
    far = high - (b.multiply_add(rest, t, b.constant(-low * 0.5, x.type)) + t) * 2.0
    return with_sign(b, b.select(is_far, far, b.multiply_add(rest, t, t)), x)


def acos(b: Builder, x: Value) -> Value:
    """pi / 2 - asin x."""
    is_far, t, rest = _asin_of_near(b, x)
    (high, low, _), (whole, whole_low, _) = c.HALF_PI[x.type.dtype], c.PI[x.type.dtype]
    angle = b.multiply_add(rest, t, t)
    near = high - (flipped(b, angle, sign_of(b, x)) - low)
    twice = angle + angle
    return b.select(is_far, b.select(x < 0.0, whole - (twice - whole_low), twice), near)


def _asin_of_near(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    a = size_of(b, x)
    is_far = a > 0.5
    z = b.select(is_far, (1.0 - a) * 0.5, a * a)
    return is_far, b.select(is_far, square_root(b, z), a), polynomial(b, z, c.ASIN) * z


def _atan_of_quotient(b: Builder, t: Value, base: Value, rest: Value) -> Value:
    z = t * t
    return base + (b.multiply_add(polynomial(b, z, c.ATAN) * z, t, rest) + t)


def _made_small(b: Builder, large: Value, small: Value) -> tuple[Value, Value]:
    """Coordinates whose sum is finite; infinite ones are 1, beside which others are 0."""
    factor = b.select(large > 2.0**100, 2.0**-100, b.constant(1.0, large.type))
    is_infinite = large.equals(math.inf)
    both = b.select(small.equals(math.inf), 1.0, b.constant(0.0, small.type))
    return b.select(is_infinite, 1.0, large * factor), b.select(is_infinite, both, small * factor)


def _mirrored(b: Builder, angle: Value, mask: Value, whole: tuple[float, ...]) -> Value:
    return b.select(mask, whole[0] - (angle - whole[1]), angle)


DECLARED = (
    Declared("asin", np.arcsin, asin, "The angle whose sine is x, from -pi/2 to pi/2", 13.0),
    Declared("acos", np.arccos, acos, "The angle whose cosine is x, from 0 to pi", 14.0),
    Declared("atan", np.arctan, atan, "The angle whose tangent is x, from -pi/2 to pi/2", 13.0),
    Declared("atan2", np.arctan2, atan2, "The angle of the point (y, x), from -pi to pi", 18.0, arity=2),
)
