"""Planning time of convolutions with all their algorithms: alone, and the shapes of a model one after the other.

    python -m benchmarks.studies.convolution_planning [--models resnet_50,googlenet] [--target NAME]

Milliseconds of CPU time of `compiler.plan`, in one process that has planned another convolution before: every distinct layer of a
model as a graph of its own, with constant filters and nothing known; then all of them again from nothing, with what planning
remembers of the layers before. Prints median, ninth decile and largest of the first, and the mean of the second.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from tilewright import compiler
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.planner import forget_plans
from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape

FIRST = "3x3_24-40_30"
"""Planned before all: its modules are loaded then."""


def graph_of(shape: ConvShape) -> Graph:
    """The convolution as a graph."""
    builder = Builder("convolution")
    x = builder.input("x", shape.image_shape, "float32")
    w = builder.constant(np.zeros(shape.filter_shape, np.float32))
    pads = (*shape.padding, *shape.padding)
    window = window_of(shape.image, shape.kernel, where="Conv", strides=shape.stride, dilations=shape.dilation, pads=pads)
    return builder.graph((builder.record(convolution, x, w, window, shape.groups, kind="conv").name,))


def planning_ms(shape: ConvShape, machine: Machine) -> float:
    """CPU milliseconds of one plan."""
    graph = graph_of(shape)
    begin = time.process_time()
    compiler.plan(graph, machine)
    return (time.process_time() - begin) * 1e3


def main() -> None:
    """Print a line for each model."""
    name = "python -m benchmarks.studies.convolution_planning"
    parser = argparse.ArgumentParser(prog=name, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default="resnet_50,googlenet")
    parser.add_argument("--target", help="a named machine; default: this one")
    parser.add_argument("--layers", type=int, help="only the first ones of each model")
    options = parser.parse_args()
    machine = Machine.named(options.target) if options.target else Machine.detect()
    planning_ms(named_shape(FIRST), machine)
    for model in options.models.split(","):
        shapes = tuple(dict.fromkeys(conv_models.layers(model)))[: options.layers]
        alone = []
        for shape in shapes:
            forget_plans()
            alone.append(planning_ms(shape, machine))
        forget_plans()
        together = [planning_ms(shape, machine) for shape in shapes]
        print(
            f"{model}: {len(shapes)} layers; alone median {np.median(alone):.1f} ms, ninth decile {np.quantile(alone, 0.9):.1f}, "
            f"largest {max(alone):.1f}; together {np.mean(together):.1f} ms each",
            flush=True,
        )


if __name__ == "__main__":
    main()
