"""What kernels for all lengths lose against kernels for the very length.

    python -m benchmarks.studies.lengths [--case decode] [--hint 128,512] [--lengths 197,512]

For every length the specialised kernel and those of all lengths (`tilewright.api.lengths`), planned for each of the hints, are
timed in turns on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.api.kernel import Kernel
from tilewright.api.lengths import PLANNED
from tilewright.api.ranges import LARGEST
from tilewright.tune.schedules.timing import Runnable
from tilewright.tune.timing import ratios

BUDGET_S = 0.5
Shapes = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A function and the shapes of its arguments for a length (an integer or a symbol)."""

    function: Callable[..., Any]
    shapes: Callable[[Any], Shapes]
    lengths: tuple[int, ...]


def attention(q: Any, k: Any, v: Any) -> Any:
    """Softmax over keys (h,l,k)."""
    scores = tw.einsum("hmk,hlk->hml", q, k) * (1.0 / 8.0)
    return tw.softmax(scores, axis=-1) @ v


def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """The same with an additive mask over the keys."""
    scores = tw.einsum("hmk,hlk->hml", q, k) * (1.0 / 8.0) + mask
    return tw.softmax(scores, axis=-1) @ v


@cache
def _weights(rows: int, columns: int) -> Any:
    return _random((rows, columns), rows) / np.float32(np.sqrt(rows))


def mlp(x: Any) -> Any:
    """768-3072-768 with constant weights."""
    return tw.silu(x @ _weights(768, 3072)) @ _weights(3072, 768)


def layers(x: Any) -> Any:
    """Four layers of 64."""
    for _ in range(4):
        x = tw.relu(x @ _weights(64, 64))
    return x


CASES = {
    "decode": Case(
        attention, lambda t: ((32, 1, 128), (32, t, 128), (32, t, 128)), (2, 7, 40, 64, 200, 256, 777, 1024, 3000, 4096)
    ),
    "self": Case(attention, lambda t: ((12, t, 64),) * 3, (8, 16, 31, 64, 128, 197, 256, 384, 512)),
    "masked": Case(masked, lambda t: (*((12, t, 64),) * 3, (1, 1, t)), (128, 197, 512)),
    "cross": Case(attention, lambda t: ((12, 128, 64), (12, t, 64), (12, t, 64)), (50, 197, 512)),
    "mlp": Case(mlp, lambda t: ((t, 768),), (2, 4, 16, 40, 64, 128, 197, 512)),
    "layers": Case(layers, lambda t: ((t, 64),), (16, 100, 1000, 5000, 65536)),
}


def _random(shape: Sequence[int], seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@cache
def kernel(name: str, length: Any) -> Kernel:
    """The kernel of a case for one thread."""
    case = CASES[name]
    return tw.jit(case.function, threads=1).lower(*(tw.spec(shape) for shape in case.shapes(length))).compile()


def runnable(one: Kernel, inputs: Sequence[Any], result: Any) -> Runnable:
    """A kernel with its arguments."""
    return Runnable(one._executable, (*inputs, *one._constants), result)


def compared(name: str, length: int, hints: Sequence[int]) -> list[float]:
    """The time of the kernel of all lengths over that of the specialised one, for every hint."""
    case = CASES[name]
    inputs = [_random(shape, seed) for seed, shape in enumerate(case.shapes(length))]
    static = kernel(name, length)
    result = static(*inputs)
    dims = [tw.Dim("s", 1, LARGEST, hint) for hint in hints]
    symbolic = [kernel(name, dim) for dim in dims]
    for one in symbolic:
        np.testing.assert_allclose(one(*inputs), result, rtol=1e-4, atol=1e-4)
    return ratios(
        runnable(static, inputs, result).seconds, [runnable(one, inputs, result).seconds for one in symbolic], budget_s=BUDGET_S
    )


def rows(name: str, lengths: Sequence[int], hints: Sequence[int]) -> Iterator[str]:
    """A line per length."""
    for length in lengths:
        found = compared(name, length, hints)
        yield f"{name:8}{length:6}  {static_us(name, length):9.1f} us  " + "".join(f"{ratio:8.3f}" for ratio in found)


def static_us(name: str, length: int) -> float:
    """Microseconds of the specialised kernel."""
    inputs = [_random(shape, seed) for seed, shape in enumerate(CASES[name].shapes(length))]
    static = kernel(name, length)
    return min(runnable(static, inputs, static(*inputs)).seconds() for _ in range(5)) * 1e6


def main() -> None:
    """Print a table: the ratios of all hints for every length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--hint", default=str(PLANNED))
    parser.add_argument("--lengths", default="")
    arguments = parser.parse_args()
    hints = [int(hint) for hint in arguments.hint.split(",")]
    for name in arguments.case.split(","):
        lengths = [int(length) for length in arguments.lengths.split(",") if length] or CASES[name].lengths
        for row in rows(name, lengths, hints):
            print(row, flush=True)


if __name__ == "__main__":
    main()
