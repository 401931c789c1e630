"""How a seed becomes a program of one of the families."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.support.random.extremes.program import Program

MOST_STEPS = 600
MOST_ELEMENTS = 1 << 12
"""Of an operand that is computed with."""
MOST_RANK = 64
"""As many as arrays may have."""

SMALL_STEPS = (
    "x = F.tanh(x)",
    "x = F.maximum(x, -0.25)",
    "x = x * 0.75 + 0.125",
    "x = F.where(x > 0.1, x * 0.5, x)",
    "x = x - xs[k % n]",
    "x = F.minimum(x, xs[k % n])",
    "x = x / (1.0 + x * x)",
    "x = F.abs(x) - 0.25",
)
LARGE_STEPS = (
    "x = (x @ xs[0]) * 0.25",
    "x = F.tanh(x @ xs[k % n])",
    "x = F.matrix_transpose(x)",
    "x = F.reshape(F.reshape(x, (-1,)), x.shape)",
    "x = x[::-1]",
    "x = x - F.max(x, axis=-1, keepdims=True)",
    "x = x + F.sum(x, axis=0, keepdims=True) * 0.125",
    "x = F.softmax(x, axis=-1)",
)
ENDS_OF_WIDE = (
    "x",
    "tuple(F.tanh(one) for one in xs)",
    "tuple(one + x for one in xs)",
    "tuple(F.tanh(xs[k]) - xs[k - 1] for k in range(n))",
    "tuple(x[k % x.shape[0] : k % x.shape[0] + 1] * (k + 1.0) for k in range(n))",
)
STARTS_OF_RANK = (
    "F.permute_dims(xs[0], {order}) + 1.0",
    "F.sum(xs[0], axis={some})",
    "F.max(xs[0], axis={some}, keepdims=True) + xs[0]",
    "xs[0] + F.permute_dims(F.reshape(xs[0], tuple(reversed(xs[0].shape))), {order_back})",
    "xs[0][(slice(None, None, -1),) * {rank}] * 2.0",
    "F.softmax(xs[0], axis={one})",
    "F.mean(xs[0], axis={one}) - 1.0",
    "F.tanh(F.reshape(xs[0], (-1,)))",
    "F.sum(F.permute_dims(xs[0], {order}) @ F.matrix_transpose(F.permute_dims(xs[0], {order})), axis=-1)",
)
LONG = (
    ("xs[0] @ xs[1]", (("a", "b"), ("b", "c"))),
    ("F.tanh(xs[0]) + xs[1]", (("a", "b"), ("b",))),
    ("F.tanh(F.matrix_transpose(xs[0]))", (("a", "b"),)),
    ("F.sum(xs[0], axis=0)", (("a", "b"),)),
    ("F.max(xs[0], axis=1)", (("a", "b"),)),
    ("F.sum(xs[0])", (("a",),)),
    ("F.softmax(xs[0], axis=-1)", (("a", "b"),)),
    ("F.softmax(xs[0] @ xs[1], axis=-1) @ xs[2]", (("a", "b"), ("b", "c"), ("c", "d"))),
    ("F.tanh(xs[0] @ xs[1]) @ xs[2]", (("a", "b"), ("b", "c"), ("c", "d"))),
    ("F.conv2d(xs[0], xs[1])", (("a", "b", "c", "d"), ("e", "b", 3, 3))),
    ("F.max_pool(xs[0], (2, 2))", (("a", "b", "c", "d"),)),
    ("F.global_avg_pool(xs[0])", (("a", "b", "c", "d"),)),
    ("F.reshape(xs[0], (-1,)) * 2.0", (("a", "b"),)),
    ("F.broadcast_to(xs[0], (7, *xs[0].shape)) + 1.0", (("a",),)),
    ("xs[0][xs[0].shape[0] // 2 :, ::-1] + 1.0", (("a", "b"),)),
    ("F.einsum('bij,bjk->bik', xs[0], xs[1])", (("a", "b", "c"), ("a", "c", "d"))),
)


def program(seed: int, most_steps: int = MOST_STEPS) -> Program:
    """The program of a seed: families take turns."""
    choose = random.Random(seed)
    return FAMILIES[seed % len(FAMILIES)](seed, choose, most_steps)


def _deep(seed: int, choose: random.Random, most_steps: int) -> Program:
    steps = choose.sample(SMALL_STEPS, choose.randint(1, 3)) + choose.sample(LARGE_STEPS, choose.choice((0, 0, 1, 2)))
    choose.shuffle(steps)
    side = choose.choice((1, 4, 8))
    return Program(seed, "deep", ((side, side),) * choose.randint(1, 3), "xs[0]", tuple(steps), _many(choose, most_steps))


def _wide(seed: int, choose: random.Random, most_steps: int) -> Program:
    count = _many(choose, most_steps)
    shape = choose.choice(((), (3,), (4, 2), (1, 5)))
    steps = (
        choose.choice(("x = x + xs[k]", "x = F.maximum(x, xs[k])", "x = x * 0.5 - xs[k]", "x = F.where(xs[k] > 0.0, x, xs[k])")),
    )
    end = choose.choice(ENDS_OF_WIDE if shape else ENDS_OF_WIDE[:-1])
    return Program(seed, "wide", (shape,) * count, "xs[0]", steps, count, end)


def _rank(seed: int, choose: random.Random, most_steps: int) -> Program:
    rank = choose.randint(3, MOST_RANK)
    shape = [1] * rank
    for _ in range(choose.randint(1, 12)):
        place = choose.randrange(rank)
        shape[place] = shape[place] * choose.choice((2, 3)) if _size(shape) * 3 <= MOST_ELEMENTS else shape[place]
    order = choose.sample(range(rank), rank)
    text = choose.choice(STARTS_OF_RANK).format(
        rank=rank,
        order=order,
        order_back=list(reversed(range(rank))),
        one=choose.randrange(rank),
        some=tuple(sorted(choose.sample(range(rank), choose.randint(1, rank)))),
    )
    return Program(seed, "rank", (tuple(shape),), text, (), 0)


def _long(seed: int, choose: random.Random, most_steps: int) -> Program:
    text, letters = choose.choice(LONG)
    names = sorted({name for shape in letters for name in shape if isinstance(name, str)})
    extents = {name: choose.choice((3, 4, 17, 64)) for name in names}
    for name in choose.sample(names, choose.choice((1, 1, 1, 2))) if len(names) > 1 else names:
        extents[name] = max(3, (1 << choose.randint(20, 62)) + choose.choice((-1, 0, 1, choose.randrange(1 << 18))))
    shapes = tuple(tuple(extents[name] if isinstance(name, str) else name for name in shape) for shape in letters)
    return Program(seed, "long", shapes, text, (), 0, is_planned_only=True)


def _many(choose: random.Random, most: int) -> int:
    """Small numbers as often as large ones."""
    return max(2, int(most ** choose.random()))


def _size(shape: Sequence[int]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


FAMILIES: tuple[Callable[[int, random.Random, int], Program], ...] = (_deep, _wide, _rank, _long)
