"""The chains of Table IV compiled by gcc and by ziglang's Clang: the same C in one process, in turns, as shares of the peak.

    python -m benchmarks.studies.compilers [--cases G1,G2,...]

Plain and with softmax, one thread. A share is the median over rounds. Every other round goes in reverse order, and each begins
with a run that does not count: whoever comes first behind the loop that measures the peak is slow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import click
import numpy as np

from tilewright import compiler
from tilewright.runtime import calibration, executable, measurement
from tilewright.runtime.compilation import toolchain
from tilewright.runtime.measurement import Measurer
from tilewright.runtime.memory import new_result
from tilewright.tune.chain_functions import attention, gemm_chain
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.timing import PEAK_SAMPLE_S, TURN_S, Runnable
from tilewright.tune.shapes import TABLE_IV

ROUNDS = 41
SETTLE_S = 3e-3
ZIG = find_spec("ziglang")
COMMANDS = {"gcc": "gcc"} | ({"zig": f"{Path(ZIG.origin).with_name('zig')} cc"} if ZIG and ZIG.origin else {})
"""What TILEWRIGHT_CC says, by the compiler's family."""


def runnables(case: Case) -> dict[str, Runnable]:
    """The planner's choice for a case, compiled by each compiler. `AssertionError` where a result is wrong."""
    artifact = compiler.generate(case.model_plan())
    found = {}
    for name, command in COMMANDS.items():
        os.environ["TILEWRIGHT_CC"] = command
        assert toolchain.find().family == name
        found[name] = Runnable(
            executable.load(artifact, threads=1), case.inputs, new_result(case.reference.shape, np.dtype(np.float32))
        )
        found[name]()
        assert case.error(found[name].result) < 1e-4, f"{case.name} by {name} is wrong"
    del os.environ["TILEWRIGHT_CC"]
    return found


def shares(running: Mapping[str, Runnable], flops: int, measurer: Measurer) -> dict[str, float]:
    """Of the peak beside each round, by compiler."""
    samples: dict[str, list[float]] = {name: [] for name in running}
    for number in range(ROUNDS):
        peak = measurer.peak_flops_per_s("float32", PEAK_SAMPLE_S)
        turns = list(running.items()) if number % 2 else list(running.items())[::-1]
        turns[0][1].seconds(SETTLE_S)
        for name, one in turns:
            samples[name].append(flops / one.seconds(TURN_S) / peak)
    return {name: median(values) for name, values in samples.items()}


def cases(names: str | None) -> Iterator[tuple[Case, int]]:
    """The chains with these names (None: all) and their flops, plain and with softmax."""
    for shape in TABLE_IV:
        if names is None or shape.name in names.split(","):
            yield Case(shape.name, gemm_chain, shape.operands), shape.flops
            yield Case(f"{shape.name} softmax", attention, shape.operands), shape.flops


@click.command()
@click.option("--cases", "names", help="Comma-separated, as G1,G4; all by default.")
def main(names: str | None) -> None:
    """Print a line for each chain, and the largest difference."""
    measurer = measurement.compiled(calibration.ensure())
    differences: list[float] = []
    for case, flops in cases(names):
        found = shares(runnables(case), flops, measurer)
        differences += [found["zig"] - found["gcc"]] if ZIG else []
        print(f"{case.name:14}" + "".join(f"{name} {share:7.1%}   " for name, share in found.items()), flush=True)
    if differences:
        print(f"Clang less gcc: {min(differences):+.1%} to {max(differences):+.1%}")


if __name__ == "__main__":
    main()
