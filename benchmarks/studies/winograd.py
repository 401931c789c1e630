"""Measure Winograd's algorithm beside the best other algorithm and onnxruntime: time and error, layer by layer, in one process.

    python -m benchmarks.studies.winograd [--layers 64x56,512x7] [--rounds 21]

CxN is a layer of C filters of 3 x 3 taps over C channels of N x N points with a border of 1, constant filters, bias and relu. A
line per layer: milliseconds of every contender (the least of all rounds, in turns), the times of others over that of `fast`, and
the largest error of each over the largest result. Prices choose the algorithm of `float32` and `fast`; F2 and F4 are Winograd's,
with tiles of 2 x 2 and 4 x 4 results, whatever they cost.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import numpy as np
import onnxruntime

from tilewright import compiler
from tilewright.backends import loading
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.plan.algorithms.definition import Algorithm, expanded
from tilewright.plan.algorithms.winograd.tiles import F2, F4
from tilewright.precision import Precision
from tilewright.runtime import calibration
from tilewright.tune.timing import seconds_per_call

LAYERS = "64x56,128x28,256x14,512x7,64x224,256x56,512x14"
"""Of ResNets, then of VGG-16."""
FORCED = {"F2": F2, "F4": F4}
Array = np.ndarray[Any, Any]
Call = Callable[[], Array]


def layer(channels: int, size: int) -> tuple[Graph, Array]:
    """relu(conv(x, w) + bias), and x."""
    random, builder = np.random.default_rng(0), Builder("layer")
    x = builder.input("x", (1, channels, size, size), "float32")
    taps = random.standard_normal((channels, channels, 3, 3)) / np.sqrt(9 * channels)
    w = builder.constant(taps.astype(np.float32), "w")
    y = builder.record(convolution, x, w, window_of(x.shape[2:], (3, 3), where="Conv", pads=(1, 1, 1, 1)), 1, kind="conv")
    bias = builder.constant(random.standard_normal((1, channels, 1, 1)).astype(np.float32), "bias")
    y = builder.map("relu", builder.map("add", y, bias))
    return builder.graph((y.name,)), random.standard_normal((1, channels, size, size)).astype(np.float32)


def by_algorithm(graph: Graph, algorithm: Algorithm) -> Graph:
    """The graph with its convolution expanded."""
    constants = frozenset(name for name, _ in graph.constants)
    names = [operator.name for operator in graph.operators if operator.is_product_sum()]
    return expanded(graph, dict.fromkeys(names, algorithm), constants, calibration.ensure())


def compiled(graph: Graph, x: Array, precision: Precision = Precision.FLOAT32) -> Call:
    """A call of the library of a graph, on one thread."""
    machine = calibration.ensure()
    artifact = compiler.generate(compiler.plan(graph, machine, precision=precision))
    executable, constants = loading.load(artifact, graph, machine, threads=1)
    inputs = (x, *constants)
    outputs = executable.new_outputs(inputs)

    def call() -> Array:
        executable.run(inputs, outputs)
        return outputs[0]

    return call


def peer(graph: Graph, x: Array) -> Call:
    """onnxruntime, on one thread."""
    from onnx import TensorProto, helper, numpy_helper

    constants = [numpy_helper.from_array(constant.array, name) for name, constant in graph.constants if name == "w"]
    bias = next(constant.array for name, constant in graph.constants if name == "bias")
    constants.append(numpy_helper.from_array(bias.reshape(-1), "bias"))
    nodes = [helper.make_node("Conv", ["x", "w", "bias"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", ends[:1], ends[1:], constants), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: np.asarray(session.run(None, {"x": x})[0])


def contenders(graph: Graph, x: Array) -> Iterator[tuple[str, Call]]:
    """By name."""
    yield "float32", compiled(graph, x)
    yield "fast", compiled(graph, x, Precision.FAST)
    for name, algorithm in FORCED.items():
        yield name, compiled(by_algorithm(graph, algorithm), x)
    yield "onnxruntime", peer(graph, x)


def line(channels: int, size: int, rounds: int) -> str:
    """The figures of a layer."""
    graph, x = layer(channels, size)
    (exact,) = evaluate(graph, {graph.inputs[0]: x}, dtype="float64").values()
    calls = dict(contenders(graph, x))
    errors = {name: float(np.abs(call() - exact).max() / np.abs(exact).max()) for name, call in calls.items()}
    times = dict.fromkeys(calls, inf)
    for _ in range(rounds):
        times = {name: min(times[name], seconds_per_call(call)) for name, call in calls.items()}
    ratios = ", ".join(f"{name} {times[name] / times['fast']:.2f}x" for name in times if name != "fast")
    shown = "  ".join(f"{name} {seconds * 1e3:.3f}" for name, seconds in times.items())
    wrong = "  ".join(f"{name} {error:.1e}" for name, error in errors.items() if name != "fast")
    return f"{channels}x{size}  ms: {shown}  over fast: {ratios}  errors: {wrong}"


def main() -> None:
    """Print a line for each layer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.winograd", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", default=LAYERS)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    for text in options.layers.split(","):
        channels, size = map(int, text.split("x"))
        print(line(channels, size, options.rounds), flush=True)


if __name__ == "__main__":
    main()
