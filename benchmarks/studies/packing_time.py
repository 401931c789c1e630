"""Time spent copying: im2col and SConv's algorithms, by model (R. Ferrari et al., SConv, Section 6.2: 26% falls to 10%).

    python -m benchmarks.studies.packing_time [--models resnet_50,googlenet] [--rounds 7]

Every layer with copies is compiled twice: as planned, and with every copy made twice in place (windows, packed operands,
results that only move). The difference of both times is that of copying, as far as a repetition finds its data as a first
pass does; it is an estimate from below, as the second pass finds them in caches. Each distinct shape counts as often as it
occurs; one thread, in turns, least times. Prints for each model the milliseconds and the share of copying, of im2col with our
micro kernels and of the direct and pointwise algorithms, and how many times less the latter copy.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import inf

import numpy as np

from benchmarks.studies.convolution_planning import graph_of
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.block.program import Region, mapped
from tilewright.block.statements import Statement, Transfer, VectorLoops
from tilewright.graph.expressions.scalar import Load
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import emit_program, lower_program
from tilewright.runtime import calibration
from tilewright.tune.timing import seconds_per_call
from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.tilewright_contender.conv import VARIANTS, Variant, offering

WAYS: dict[str, Variant] = {variant.name.split()[-1]: variant for variant in VARIANTS if variant.algorithms is not None}
"""Of `tilewright bench conv`: sconv and im2col."""


@dataclass(slots=True)
class Spent:
    """Seconds of the layers of a model."""

    whole_s: float = 0.0
    copying_s: float = 0.0

    def text(self) -> str:
        """For people."""
        return f"{self.copying_s * 1e3:.2f} of {self.whole_s * 1e3:.1f} ms ({self.copying_s / self.whole_s:.0%})"


def is_copy(node: Statement) -> bool:
    """Whether a statement only moves elements to another buffer, so that a repetition changes nothing."""
    match node:
        case Transfer(source=source, target=target):
            return source.buffer != target.buffer
        case VectorLoops(operator=operator):
            read = {operand.buffer for operand in node.reads if hasattr(operand, "buffer")}
            return operator.is_map() and operator.body == Load(0) and node.write.buffer not in read
        case _:
            return False


def twice(nodes: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements with every copy made twice."""
    return mapped(nodes, lambda node: (node, node) if is_copy(node) else (node,))


def with_copies_twice(region: Region) -> Region:
    """A region with every copy made twice."""
    return replace(region, body=twice(region.body))


def artifacts_of(model_plan: ModelPlan) -> tuple[Artifact, Artifact]:
    """The library of a plan, and that in which it copies twice."""
    program = lower_program(model_plan)
    regions = tuple(map(with_copies_twice, program.regions))
    doubled = replace(program, regions=regions, structures=(None,) * len(regions))
    recipe = compiler.generate(model_plan).recipe
    return replace(emit_program(program), recipe=recipe), replace(emit_program(doubled), recipe=recipe)


def calls_of(shape: ConvShape, variant: Variant) -> list[Callable[[], object]]:
    """Calls of both libraries; one, where nothing is copied."""
    graph, machine = graph_of(shape), calibration.ensure()
    with offering(variant.algorithms):
        model_plan = compiler.plan(graph, machine)
    calls: dict[str, Callable[[], object]] = {}
    for artifact in artifacts_of(model_plan):
        executable, constants = loading.load(artifact, graph, machine, threads=1)
        inputs = (np.random.default_rng(0).standard_normal(shape.image_shape, np.float32), *constants)
        calls.setdefault(artifact.key, partial(executable.run, inputs, executable.new_outputs(inputs)))
    return list(calls.values())


def measured(shape: ConvShape, rounds: int) -> dict[str, Spent]:
    """A layer in each way."""
    calls = {way: calls_of(shape, variant) for way, variant in WAYS.items()}
    least = {way: [inf] * len(of_way) for way, of_way in calls.items()}
    for _ in range(rounds):
        for way, of_way in calls.items():
            least[way] = [min(known, seconds_per_call(call)) for known, call in zip(least[way], of_way, strict=True)]
    return {way: Spent(times[0], max(0.0, times[-1] - times[0])) for way, times in least.items()}


def lines(models: list[str], rounds: int, first: int | None = None) -> Iterator[str]:
    """A line for each model, of its first layers or (None) of all."""
    known: dict[ConvShape, dict[str, Spent]] = {}
    for model in models:
        total = {way: Spent() for way in WAYS}
        for shape, count in islice(conv_models.layers(model).items(), first):
            found = known[shape] if shape in known else known.setdefault(shape, measured(shape, rounds))
            for way, spent in found.items():
                total[way].whole_s += count * spent.whole_s
                total[way].copying_s += count * spent.copying_s
        shown = ", ".join(f"{way} {spent.text()}" for way, spent in total.items())
        less = total["im2col"].copying_s / total["sconv"].copying_s if total["sconv"].copying_s else inf
        yield f"{model}: {shown}; {less:.1f} times less"


def main() -> None:
    """Print a line for each model."""
    name = "python -m benchmarks.studies.packing_time"
    parser = argparse.ArgumentParser(prog=name, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default=",".join(conv_models.MODELS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--layers", type=int, help="only the first ones of each model")
    options = parser.parse_args()
    for line in lines(options.models.split(","), options.rounds, options.layers):
        print(line, flush=True)


if __name__ == "__main__":
    main()
