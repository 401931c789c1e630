"""Programs grow step by step; a step is made of values that are there, or of new ones with the extremes of their type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.random.exact.meaning import (
    CHOICES,
    CONDITIONS,
    DTYPES,
    EIGHTS,
    FLOATS,
    FUNCTIONS,
    HALVES,
    INTEGERS,
    LOGIC,
    OF_BITS,
    ONNX_NUMBERS,
    PRODUCTS,
    QUOTIENTS,
    ROUNDINGS,
    SUMS,
    TESTS,
    TYPES,
    can_cast,
    cast,
)
from tests.support.random.exact.program import Array, Program, Step

POWERS = (7, 8, 11, 15, 16, 24, 31, 32, 53, 62, 63)
"""Around powers of two with these exponents, types end or begin to round."""
TIES = (1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-24, 2049.0000001, 1 + 2.0**-4)
LARGE = (65504.0, 65519.99, 65520.0, 448.0, 464.0, 57344.0, 61440.0, 3.3895e38, 3.396e38, 3.4028235e38, 3.4028236e38, 1e300)
SMALL = (*(2.0**-power for power in (14, 24, 25, 126, 133, 134, 149, 150)), 2.0**-25 * 1.001, 2.0**-150 * 1.001, 5e-324, 1e-46)
PLAIN = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 255.5)
SPECIAL = (float("inf"), float("nan"))
MOST_ELEMENTS = 4096


class Growing:
    """A program that grows by steps of a random choice."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.name = f"seed {seed}"
        self.values: dict[str, Array] = {}
        self.steps: list[Step] = []
        self.constants: set[str] = set()
        self.products: set[str] = set()
        self.extent = int(self.random.integers(3, 14))
        """Of most dimensions."""

    def program(self) -> Program:
        """What has grown."""
        return Program(self.name, dict(self.values), tuple(self.steps), frozenset(self.constants))

    # Values

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Any of them."""
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        """True so often."""
        return bool(self.random.random() < share)

    def give(self, value: Array, constant: bool | None = None) -> str:
        """A new value from outside."""
        name = f"x{len(self.values)}"
        self.values[name] = value
        if self.chance(0.3) if constant is None else constant:
            self.constants.add(name)
        return name

    def fresh(self, dtype: str, shape: tuple[int, ...] | None = None) -> str:
        """New extremes of a type."""
        return self.give(extremes(self.random, dtype, shape or self.shape()))

    def shape(self) -> tuple[int, ...]:
        """A shape that broadcasts with all others."""
        shapes: list[tuple[int, ...]] = [(self.extent,), (2, self.extent), (2, self.extent), (1,)]
        return shapes[int(self.random.integers(len(shapes)))]

    def any(self, types: Sequence[str] = TYPES) -> str:
        """A value of one of these types, most often what no step has read yet: chains of maps are what rewrites join."""
        able = [name for name, value in self.values.items() if value.dtype.name in types and name not in self.constants]
        read = {name for step in self.steps for name in step.operands}
        loose = [name for name in able if name not in read]
        if loose and self.chance(0.85):
            return loose[-1]
        return str(self.one_of(able)) if able and self.chance(0.5) else self.fresh(str(self.one_of(types)))

    def beside(self, name: str, types: Sequence[str] = ()) -> str:
        """A value of the same type (or of these) that broadcasts with another one."""
        value = self.values[name]
        types = types or (value.dtype.name,)
        able = [other for other, one in self.values.items() if one.dtype.name in types and self.fits(one, value)]
        if able and self.chance(0.6):
            return str(self.one_of(able))
        return self.fresh(str(self.one_of(types)), value.shape if self.chance(0.7) else (1,))

    def fits(self, *values: Array) -> bool:
        """Whether values broadcast to something small."""
        try:
            shape = np.broadcast_shapes(*(value.shape for value in values))
        except ValueError:
            return False
        return int(np.prod(shape)) <= MOST_ELEMENTS

    def add(self, op_type: str, operands: Sequence[str], value: Array, **attributes: Any) -> str:
        """A new step with this result."""
        name = f"y{len(self.values)}"
        self.values[name] = np.asarray(value)
        self.steps.append(Step(op_type, tuple(attributes.items()), tuple(operands), name))
        return name

    def apply(self, op_type: str, *operands: str) -> str:
        """A new step of a function."""
        with np.errstate(all="ignore"):
            return self.add(op_type, operands, FUNCTIONS[op_type](*(self.values[name] for name in operands)))

    # Steps

    def cast(self) -> None:
        """To a type in which the values have a place."""
        x = self.any((*TYPES, *EIGHTS))
        self.cast_of(x, str(self.one_of((*TYPES, *(EIGHTS if self.chance(0.2) else ())))))

    def cast_of(self, x: str, to: str) -> str:
        """To this type, if the values have a place there."""
        value = self.values[x]
        if value.dtype.name == to or not can_cast(value, to):
            return x
        with np.errstate(all="ignore"):
            return self.add("Cast", [x], cast(value, to), to=ONNX_NUMBERS[to])

    def compare(self) -> None:
        """Two values, or one with itself in another type and back."""
        x = self.any(TYPES[1:])
        self.apply(str(self.one_of(tuple(CONDITIONS))), *self.either(x, self.beside(x)))

    def choose(self) -> None:
        """By a condition."""
        x = self.any()
        y = self.beside(x)
        condition = self.any(("bool",))
        if self.fits(*(self.values[name] for name in (condition, x, y))):
            self.apply("Where", condition, *self.either(x, y))

    def test(self) -> None:
        """NaN and infinities."""
        self.apply(str(self.one_of(tuple(TESTS))), self.any(("float16", "float32", "float64")))

    def connect(self) -> None:
        """Conditions."""
        x = self.any(("bool",))
        if self.chance(0.3):
            self.apply("Not", x)
        else:
            self.apply(str(self.one_of(tuple(LOGIC))), x, self.beside(x))

    def compute(self) -> None:
        """In the type of an operand. Products and quotients of floats only where no sum is contracted with them: of halves."""
        x = self.any(TYPES[1:])
        dtype = self.values[x].dtype.name
        functions = [*SUMS, *CHOICES]
        functions += PRODUCTS if dtype in INTEGERS or dtype in HALVES else []
        functions += OF_BITS if dtype in INTEGERS else []
        functions += QUOTIENTS if dtype in HALVES else []
        function = str(self.one_of(functions))
        if function in SUMS and dtype == "int64":
            self.add_whole(function, x, self.beside(x))
        elif function in QUOTIENTS:
            y = self.beside(x)
            if np.all(self.values[y].astype(np.float32) != 0):
                self.apply(function, x, y)
        else:
            self.apply(function, *self.either(x, self.beside(x)))

    def add_whole(self, function: str, x: str, y: str) -> None:
        """A sum of int64 that does not wrap: that is assumed where it is compared with positions."""
        wide = [self.values[name].astype(np.longdouble) for name in (x, y)]
        total = wide[0] + wide[1] if function == "Add" else wide[0] - wide[1]
        if np.all((total >= -(2.0**63)) & (total < 2.0**63)):
            self.apply(function, x, y)

    def change(self) -> None:
        """One value."""
        dtype = self.values[x := self.any(TYPES[1:])].dtype.name
        if dtype in FLOATS:
            self.apply(str(self.one_of(("Neg", "Abs", *ROUNDINGS))), x)
        elif dtype.startswith("int"):
            self.apply(str(self.one_of(("Neg", "Abs", "BitwiseNot"))), x)

    def either(self, x: str, y: str) -> tuple[str, str]:
        """In any order."""
        return (x, y) if self.chance(0.5) else (y, x)


def grown(seed: int, steps: Sequence[tuple[Callable[[Any], None], float]], most: int, begin: type[Growing] = Growing) -> Program:
    """A program of up to so many steps, each of them as likely as it says."""
    growing = begin(seed)
    shares = np.array([share for _, share in steps]) / sum(share for _, share in steps)
    count = int(growing.random.integers(1, most + 1))
    while len(growing.steps) < count:
        steps[int(growing.random.choice(len(steps), p=shares))][0](growing)
    return growing.program()


def extremes(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Elements of a type where it ends, or where it or another one rounds; often small ones among them, or alone."""
    count = int(np.prod(shape))
    if dtype == "bool":
        return np.asarray(random.random(shape) < 0.5)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        around = [sign * 2**power + step for power in POWERS for sign in (1, -1) for step in (-1, 0, 1)]
        large = [number for number in (*around, limits.min, limits.max) if limits.min <= number <= limits.max]
        small = [number for number in range(-5, 9) if number >= limits.min]
        pool = small if random.random() < 0.3 else [*small, *large]
        return np.array([pool[int(n)] for n in random.integers(0, len(pool), count)], dtype).reshape(shape)
    pools: tuple[tuple[float, ...], ...] = (PLAIN, TIES, LARGE, SMALL, tuple(2.0**p + s for p in POWERS for s in (0, 1)))
    pools = (*pools, SPECIAL) if random.random() < 0.5 else pools if random.random() < 0.6 else (PLAIN, TIES)
    chosen = [pools[int(n)] for n in random.integers(0, len(pools), count)]
    numbers = [pool[int(random.integers(len(pool)))] * (1 - 2 * (random.random() < 0.4)) for pool in chosen]
    with np.errstate(all="ignore"):
        wide = np.array(numbers)
        return (wide if dtype in ("float64", "float16") else wide.astype(np.float32)).astype(DTYPES[dtype]).reshape(shape)
