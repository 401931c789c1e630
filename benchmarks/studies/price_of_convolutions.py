"""The price of convolutions by each algorithm, beside measured times: errors, and what the choice of an algorithm loses.

    python -m benchmarks.studies.price_of_convolutions measure FILE [--slice 1/4]     # writes FILE, for this machine
    python -m benchmarks.studies.price_of_convolutions report FILE ... [--publish]

The sample is fixed: layers of the seven models of the SConv paper, a layer of each in turn, and the first of the drawn set
(`tilewright_bench.cases.conv_drawn`). `measure` compiles each by every algorithm that keeps float32's accuracy, compares the
results with each other, and lets all take turns on one thread; it needs a machine of measured rates. `report` prices every
kernel twice: by the coefficients of the machine's family, which were fitted on another CPU, and, held out, by a fit to the
sample without the networks that the layer occurs in (`tilewright.tune.fit`; networks of one name and other sizes count as the
same). A choice, marked by a star, is the algorithm of the least price; its regret is its time over that of the fastest, minus
1. `--publish` writes the tables into benchmarks/results.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.studies.parts.publishing import RESULTS, slug
from tilewright.coefficients import family_coefficients
from tilewright.graph.types import Graph
from tilewright.machine.machine import Machine
from tilewright.report.layout import columns
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright.tune.fit.convolutions import measure_graph
from tilewright.tune.fit.fitting import NAMES, FloatArray, Kernel, OperatorRow, crosswise, prices, quality, values_of
from tilewright.tune.fit.session import check_measured
from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_drawn import drawn, layer_lists
from tilewright_bench.cases.conv_sets import SEED
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.provenance import commit

OF_MODELS, OF_DRAWN = 42, 30
MODELS, DRAWN = "seven models", "drawn"
METHOD = """\
Every kernel is priced twice: by the coefficients of the machine's family, fitted on another CPU; and held out, by those of a fit
to the kernels of this table that share no network with it. A star marks the algorithm of the least price, the first of equals;
its regret is its time over that of the fastest, minus 1. Algorithms without features (scalar loops, split sums) are left out."""


def sample() -> list[tuple[str, ConvShape]]:
    """(kind, layer), each once: the same in every run.

    >>> len(sample()), len({shape for _, shape in sample()})
    (72, 72)
    """
    generator = random.Random(SEED)
    lists = [sorted(set(conv_models.layers(model)), key=lambda shape: shape.name) for model in conv_models.MODELS]
    shuffled = [generator.sample(shapes, len(shapes)) for shapes in lists]
    turns = dict.fromkeys(shape for turn in zip_longest(*shuffled) for shape in turn if shape is not None)
    return [(MODELS, shape) for shape in [*turns][:OF_MODELS]] + [(DRAWN, shape) for shape in drawn(SEED, OF_DRAWN)]


def networks(shape: ConvShape) -> frozenset[str]:
    """The networks that have such a layer, those of several sizes by one name.

    >>> sorted(networks(sample()[0][1]))
    ['googlenet']
    """
    layers = {**{model: set(conv_models.layers(model)) for model in conv_models.MODELS}, **layer_lists()}
    return frozenset(model.split("_")[0] for model, shapes in layers.items() if shape in shapes)


def graph(shape: ConvShape) -> Graph:
    """A layer as it is written, with constant filters."""
    filters = np.random.default_rng(0).standard_normal(shape.filter_shape, np.float32)
    filters /= np.float32(np.sqrt(np.prod(shape.filter_shape[1:])))
    function = (tw.conv1d, tw.conv2d, tw.conv3d)[len(shape.image) - 1]

    def convolution(x: Any) -> Any:
        return function(x, filters, stride=shape.stride, padding=shape.padding, dilation=shape.dilation, groups=shape.groups)

    return tw.jit(convolution).lower(tw.spec(shape.image_shape)).traced.graph


def measured(machine: Machine, part: int, parts: int) -> Iterator[Kernel]:
    """The kernels of a part of the sample."""
    for kind, shape in sample()[part - 1 :: parts]:
        for kernel in measure_graph(shape.name, graph(shape), machine, networks(shape)):
            yield Kernel(kernel.case, kernel.measured_s, kernel.operators, kind, kernel.networks, kernel.name)
        print(shape.name, flush=True)


def document(kernel: Kernel) -> dict[str, Any]:
    """A kernel, ready for JSON: of every operator the figures that are not 0."""
    rows = [
        {
            "computing": {name: float(unit) for name, unit in zip(NAMES, row.computing, strict=True) if unit},
            "paid": {name: float(unit) for name, unit in zip(NAMES, row.paid, strict=True) if unit},
            "rest": [float(row.longest_traffic_s), float(row.computing_s), float(row.paid_s)],
        }
        for row in kernel.operators
    ]
    return {
        "case": kernel.case,
        "kind": kernel.kind,
        "networks": sorted(kernel.networks),
        "algorithm": kernel.name,
        "measured_s": kernel.measured_s,
        "operators": rows,
    }


def kernel_of(found: dict[str, Any]) -> Kernel:
    """The inverse of `document`."""

    def units(part: dict[str, float]) -> FloatArray:
        return np.array([part.get(name, 0.0) for name in NAMES])

    rows = tuple(OperatorRow(units(row["computing"]), units(row["paid"]), *row["rest"]) for row in found["operators"])
    return Kernel(found["case"], found["measured_s"], rows, found["kind"], frozenset(found["networks"]), found["algorithm"])


def predictions(kernels: Sequence[Kernel], machine: Machine) -> dict[str, FloatArray]:
    """Seconds of every kernel, by the coefficients of the machine's family and by those fitted without its networks."""
    family = family_coefficients(machine)
    start = values_of(family)
    return {"family": prices(kernels, start, family.call_s), "held out": crosswise(kernels, start, family.call_s)}


def report(kernels: Sequence[Kernel], predicted: dict[str, FloatArray]) -> str:
    """All tables."""
    lines = []
    for kind in ("", *dict.fromkeys(kernel.kind for kernel in kernels)):
        of_kind = np.array([kind in ("", kernel.kind) for kernel in kernels])
        some = [kernel for kernel, is_of in zip(kernels, of_kind, strict=True) if is_of]
        lines.append(f"{kind or 'all'}: {len({kernel.case for kernel in some})} layers, {len(some)} kernels")
        lines += [f"  {name:9}{quality(some, figures[of_kind])}" for name, figures in predicted.items()]
    tables = [columns([*rows]) for rows in (by_algorithm(kernels, predicted), by_layer(kernels, predicted))]
    return "\n".join([*lines, "", *tables[0], "", *tables[1]])


def by_algorithm(kernels: Sequence[Kernel], predicted: dict[str, FloatArray]) -> Iterator[list[str]]:
    """Relative errors of prices, by algorithm: the median of their sizes, and the median with their signs."""
    yield ["algorithm", "kernels", *(f"{what}, {name}" for name in predicted for what in ("error", "signed"))]
    seconds = np.array([kernel.measured_s for kernel in kernels])
    for algorithm in sorted({kernel.name for kernel in kernels}):
        own = np.array([kernel.name == algorithm for kernel in kernels])
        errors = [(figures[own] / seconds[own] - 1) for figures in predicted.values()]
        shown = (f"{np.median(part):.1%}" for error in errors for part in (np.abs(error), error))
        yield [algorithm, str(own.sum()), *shown]


def by_layer(kernels: Sequence[Kernel], predicted: dict[str, FloatArray]) -> Iterator[list[str]]:
    """Of every layer the fastest algorithm, milliseconds predicted beside measured, and the choices that are another."""
    yield ["layer", "networks", "algorithm", "ms", *(f"{name} ms" for name in predicted), "over fastest"]
    for case in dict.fromkeys(kernel.case for kernel in kernels):
        of_case = [i for i, kernel in enumerate(kernels) if kernel.case == case]
        rows = sorted(of_case, key=lambda i: kernels[i].measured_s)
        chosen = {name: min(of_case, key=lambda i: figures[i]) for name, figures in predicted.items()}
        for i in rows:
            kernel = kernels[i]
            head = [case, " ".join(sorted(kernel.networks))] if i == rows[0] else ["", ""]
            figures_ms = (f"{figures[i] * 1e3:.3f}" + " *" * (chosen[name] == i) for name, figures in predicted.items())
            ratio = kernel.measured_s / kernels[rows[0]].measured_s
            yield [*head, kernel.name, f"{kernel.measured_s * 1e3:.3f}", *figures_ms, f"{ratio:.2f}"]


def publish(kernels: Sequence[Kernel], predicted: dict[str, FloatArray], machine: Machine) -> None:
    """Write the tables, and the figures of every kernel, into the results."""
    stem = f"{datetime.date.today().isoformat()}-price-of-convolutions-{slug(machine.name)}"
    tree = commit(Path(tw.__file__).parent)
    head = f"{machine.name}, one thread, {toolchain.find().version}, commit {tree}.\n\n{METHOD}"
    text = f"# Price of convolutions\n\n{head}\n\n```text\n{report(kernels, predicted)}\n```\n"
    (RESULTS / f"{stem}.md").write_text(text)
    figures = [
        {
            "layer": kernel.case,
            "algorithm": kernel.name,
            "measured_s": kernel.measured_s,
            **{name: float(seconds[i]) for name, seconds in predicted.items()},
        }
        for i, kernel in enumerate(kernels)
    ]
    (RESULTS / f"{stem}.json").write_text(json.dumps(figures, indent=0) + "\n")


def main() -> None:
    """Measure, or print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.price_of_convolutions", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("what", choices=("measure", "report"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--slice", default="1/1")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    machine = calibration.ensure()
    if options.what == "measure":
        check_measured(machine)
        part, parts = map(int, options.slice.split("/"))
        found = [document(kernel) for kernel in measured(machine, part, parts)]
        options.files[0].write_text(json.dumps(found))
        return
    kernels = [kernel_of(one) for file in options.files for one in json.loads(file.read_text())]
    predicted = predictions(kernels, machine)
    print(report(kernels, predicted))
    if options.publish:
        publish(kernels, predicted, machine)


if __name__ == "__main__":
    main()
