"""How long planning takes: process time of `plan_chain` and `partition`, tracing excluded, prices of unfused operators included.

    python -m benchmarks.studies.planning_time [--repeats N] [--only TEXT] [--target NAME]

Chains: Table IV (Chimera) plain and with softmax, two convolutions of every kind (ten loops), MLPs as partition plans them.
Every figure is the median of several runs in one process; the first run of each is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from string import ascii_letters

from tests.plan.cases import batch_chain, contraction, elementwise
from tests.support.halo_chains import convolution_chain
from tests.support.operators import graph_of
from tests.support.table_iv import TABLE_IV
from tilewright.graph.types import Chain, Extent, Graph, Operator
from tilewright.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.plan.types import Plan
from tilewright.plan.whole_model.partition import partition

Case = tuple[str, Callable[[], object]]

CONVOLUTIONS = {
    "56x56 64-64-64": (56, 56, (64, 64, 64)),
    "56x56 64-128-256": (56, 56, (64, 128, 256)),
    "28x28 128-256-64": (28, 28, (128, 256, 64)),
    "112x112 192-128-192": (112, 112, (192, 128, 192)),
}
"""Height and width of the result, channels."""
KERNELS = {"1x1+1x1": (1, 1), "3x3+1x1": (3, 1), "1x1+3x3": (1, 3), "3x3+3x3": (3, 3)}
LAYERS = {
    "65536 x 64, 4 layers, relu": (65536, (64,) * 5),
    "65536 x 64, 6 layers, relu": (65536, (64,) * 7),
    "262144 x 32, 6 layers, relu": (262144, (32,) * 7),
    "128 x 768-3072, 6 layers, relu": (128, (768, 3072, 768, 3072, 768, 3072, 768)),
    "2048 x 1024-256, 6 layers, relu": (2048, (1024, 512, 256, 256, 512, 1024, 256)),
    "4096 x 128-4096, 6 layers, relu": (4096, (128, 4096, 128, 4096, 128, 4096, 128)),
    "1024 x 128, 10 layers, relu": (1024, (128,) * 11),
    "1024 x 128, 20 layers, relu": (1024, (128,) * 21),
    "1024 x 128, 40 layers, relu": (1024, (128,) * 41),
    "512 x 512, 20 layers, relu": (512, (512,) * 21),
}
"""Rows and widths."""


def main(arguments: list[str]) -> None:
    """Print a line per chain and the median of each family."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="families whose name contains this")
    parser.add_argument("--target", default="", help="a named machine (default: the detected one)")
    options = parser.parse_args(arguments)
    machine = Machine.named(options.target) if options.target else Machine.detect()
    for family, cases in families(machine).items():
        if options.only in family:
            report(family, cases, options.repeats)


def report(family: str, cases: Iterator[Case], repeats: int) -> None:
    """The table of one family."""
    medians = []
    for name, plan in cases:
        plan()
        times = [process_seconds(plan) for _ in range(repeats)]
        medians.append(statistics.median(times))
        print(f"{family:<14} {name:<34} {1e3 * medians[-1]:8.1f} ms")
    print(
        f"{family:<14} {'median':<34} {1e3 * statistics.median(medians):8.1f} ms, most {1e3 * max(medians):.1f} ms\n", flush=True
    )


def process_seconds(work: Callable[[], object]) -> float:
    """The process time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def families(machine: Machine) -> dict[str, Iterator[Case]]:
    """Every family of chains with its cases: a name and what plans it."""
    return {
        "Table IV": table_iv(machine),
        "convolutions": convolutions(machine),
        "MLP": layers(machine),
    }


def table_iv(machine: Machine) -> Iterator[Case]:
    """G1 to G12, plain and with softmax."""
    for with_softmax in (False, True):
        for name, sizes in TABLE_IV.items():
            chain = batch_chain(*sizes, with_softmax=with_softmax)
            yield f"{name} softmax" if with_softmax else name, partial(plan_anew, chain, machine)


def convolutions(machine: Machine) -> Iterator[Case]:
    """Two convolutions of every kind and several sizes."""
    for kind, kernels in KERNELS.items():
        for size, (height, width, channels) in CONVOLUTIONS.items():
            chain = convolution_chain(height, width, channels, kernels)
            yield f"{kind} {size}", partial(plan_anew, chain, machine)


def plan_anew(chain: Chain, machine: Machine) -> Plan:
    """The plan of a chain about which nothing is known from earlier runs."""
    return plan_chain(replace(chain), machine)


def layers(machine: Machine) -> Iterator[Case]:
    """MLPs with relu between the layers, through partition."""
    for name, (rows, widths) in LAYERS.items():
        graph = mlp(rows, widths)
        yield name, partial(partition, graph, machine)


def mlp(rows: int, widths: tuple[int, ...]) -> Graph:
    """Products with relu between them."""
    letters = "".join(letter for letter in ascii_letters if letter != "m")[: len(widths)]
    extents: dict[str, Extent] = {"m": rows, **dict(zip(letters, widths, strict=True))}
    operators: list[Operator] = []
    read = "X"
    for i, (inner, outer) in enumerate(pairwise(letters)):
        operators.append(contraction(f"Y{i}", f"m{inner},{inner}{outer}->m{outer}", (read, f"W{i}"), extents))
        read = f"Y{i}"
        if i < len(widths) - 2:
            operators.append(elementwise(f"R{i}", f"m{outer}", [(read, f"m{outer}")], extents))
            read = f"R{i}"
    return graph_of(operators)


if __name__ == "__main__":
    main(sys.argv[1:])
