"""Random programs through plan, block program and interpreter: `python -m tests.support.random.planned FIRST LAST`.

Half of the plans have the loops that the search finds, the others any loops at random. Blocks run in any order, on some threads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

import tilewright as tw
from tests.support.block_programs import interpreted
from tests.support.forced_schedules import at_random, scheduled
from tests.support.random import graphs, products, types
from tests.support.random.moves import RandomMoves
from tests.support.random.rows import random_formula
from tests.support.sweeps import EQUAL, WRONG, Outcome, judged, seeds_parser, summary
from tilewright import compiler
from tilewright.frontend.tracing.trace import trace
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.verification import expected_results

Array = np.ndarray[Any, np.dtype[Any]]
Given = tuple[Graph, Mapping[str, Array]]
MACHINES = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "zen5", "sapphirerapids", "power10", "neoverse-v2")
FORCED = (None, True, False)
EXTENTS = (1, 2, 3, 5, 8, 16, 17, 33, 40)


def outcome(seed: int) -> Outcome:
    """Of the program of this seed."""
    return judged(lambda: _compared(seed))


def _compared(seed: int) -> Outcome:
    generator = random.Random(seed)
    graph, inputs = KINDS[seed % len(KINDS)](generator)
    with scheduled(at_random(generator)) if generator.random() < 0.5 else nullcontext():
        plan = compiler.plan(graph, Machine.named(generator.choice(MACHINES)), fuse=generator.choice(FORCED))
    found = interpreted(plan, inputs, lambda blocks: _dealt(blocks, generator))
    for name, wanted in zip(graph.outputs, expected_results(graph, inputs), strict=True):
        result = found[name]
        if result.dtype != wanted.rounded.dtype or (difference := wanted.difference(result)):
            return Outcome(WRONG, f"{name} of {result.dtype} is off by {difference:.3g}, {wanted.tolerance:.3g} are allowed")
    return Outcome(EQUAL)


def _dealt(blocks: int, generator: random.Random) -> Iterable[Iterable[int]]:
    """All blocks in any order, dealt to up to three threads."""
    order, threads = list(range(blocks)), generator.randint(1, 3)
    if generator.random() < 0.5:
        generator.shuffle(order)
    return (order[thread::threads] for thread in range(threads))


def _traced(function: Callable[..., Any], arrays: Iterable[Array]) -> Given:
    given = {f"x{number}": array for number, array in enumerate(arrays)}
    return trace(function, [tw.spec(array.shape) for array in given.values()], name="random"), given


def _functions(generator: random.Random) -> Given:
    seed = generator.randrange(1 << 32)
    return _traced(graphs.random_function(seed), graphs.random_inputs(seed))


def _rows(generator: random.Random) -> Given:
    shape = (generator.choice(EXTENTS), generator.choice((*EXTENTS, 300)))
    return _traced(random_formula(generator.randrange(1 << 32)), [_normal(generator, shape)])


def _attention(generator: random.Random) -> Given:
    """With a mask or without one, of extents that are known, or at run time only."""
    b, m, k, n = generator.randint(1, 2), *(generator.choice(EXTENTS) for _ in range(3))
    length = generator.choice((*EXTENTS, 300))
    shapes = {"x0": (b, m, k), "x1": (b, length, k), "x2": (b, length, n)}
    names = {m: "m", length: "l"} if generator.random() < 0.3 and m != length and not {m, length} & {b, k, n} else {}
    before, causal = length - m, generator.random() < 0.5

    def attention(q: Any, keys: Any, values: Any) -> Any:
        scores = q @ tw.transpose(keys, (0, 2, 1)) * 0.3
        if causal and not names:
            scores = tw.where(np.tril(np.ones((m, length), bool), before), scores, float("-inf")) if before >= 0 else scores
        return tw.softmax(scores) @ values

    specs = [tw.spec(tuple(names.get(extent, extent) for extent in shape)) for shape in shapes.values()]
    return trace(attention, specs, name="attention"), {name: _normal(generator, shape) for name, shape in shapes.items()}


def _moves(generator: random.Random) -> Given:
    moves = RandomMoves(generator)
    return moves.graph(generator.randint(1, 2), generator.randint(2, 8)), moves.inputs


def _products(generator: random.Random) -> Given:
    found = products.random_products(generator.randrange(1 << 32))
    return found.graph(), found.values


def _types(generator: random.Random) -> Given:
    found = types.random_graph(generator.randrange(1 << 32))
    return found.graph(), found.values


def _normal(generator: random.Random, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(generator.randrange(1 << 32)).standard_normal(shape).astype(np.float32)


KINDS: tuple[Callable[[random.Random], Given], ...] = (_functions, _rows, _attention, _moves, _products, _types)


def main() -> None:
    """Judge the programs of a range of seeds; what fails is printed on the way."""
    given, found = seeds_parser(__doc__).parse_args(), []
    for seed in range(given.first, given.last):
        found.append(outcome(seed))
        if found[-1].is_failure:
            print(f"seed {seed} ({KINDS[seed % len(KINDS)].__name__}): {found[-1].kind}: {found[-1].reason}", flush=True)
    print(summary(found))


if __name__ == "__main__":
    main()
