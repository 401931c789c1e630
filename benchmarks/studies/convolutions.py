"""Measure single convolutions by every algorithm that applies, beside onnxruntime and openvino, in turns in one process.

    python -m benchmarks.studies.convolutions [--layers 3x3,64-64,56 7x7,3-64,224,stride=2] [--rounds 21]

A layer is its window, its channels and filters, the size of its image, and optionally `stride=` and `dilation=`. Borders are half
a window wide. Constant filters, bias and relu, batch 1, NCHW in and out, one thread. A line for each contender: the least and the
median milliseconds, GFLOP/s and its share of the peak that calibration measured, and the largest error over onnxruntime's largest
result. `chosen` is what the prices choose; each of the names behind it is the only algorithm that the convolution is offered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import onnxruntime
import openvino
from onnx import helper, numpy_helper

import tilewright.onnx as tilewright_onnx
from tilewright.errors import TilewrightError
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.registry import applicable, registered
from tilewright.plan.whole_model import algorithm_choice
from tilewright.precision import Precision
from tilewright.runtime import artifacts, calibration
from tilewright.tune.timing.turns import seconds_per_call

LAYERS = (
    *("3x3,64-64,56", "3x3,128-128,28", "3x3,256-256,14", "3x3,512-512,7", "1x1,64-256,56", "1x1,256-64,56", "1x1,1024-256,14"),
    *("1x1,2048-512,7", "7x7,3-64,224,stride=2", "3x3,128-128,56,stride=2", "3x3,64-64,224", "3x3,256-256,56"),
    *("3x3,256-256,28,dilation=2", "3x3,32-32,28,dilation=4"),
)
"""Of ResNet-50, VGG-16, and dilated ones of segmentation."""
Array = np.ndarray[Any, Any]
Call = Callable[[], Array]


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution of a square image."""

    window: int
    channels: int
    filters: int
    size: int
    stride: int = 1
    dilation: int = 1

    @classmethod
    def parsed(cls, text: str) -> Layer:
        """The layer that a text names.

        >>> Layer.parsed("3x3,64-128,56,stride=2")
        Layer(window=3, channels=64, filters=128, size=56, stride=2, dilation=1)
        """
        window, channels, size, *options = text.split(",")
        named = {name: int(value) for name, value in (option.split("=") for option in options)}
        inputs, filters = map(int, channels.split("-"))
        return cls(int(window.split("x")[0]), inputs, filters, int(size), **named)

    @property
    def border(self) -> int:
        """Rows of zeros on every side."""
        return self.dilation * (self.window - 1) // 2

    @property
    def outputs(self) -> int:
        """Rows, and columns, of the result."""
        return (self.size + 2 * self.border - self.dilation * (self.window - 1) - 1) // self.stride + 1

    @property
    def flops(self) -> int:
        """A multiplication and an addition for every tap of every output."""
        return 2 * self.filters * self.channels * self.window**2 * self.outputs**2

    def model(self) -> bytes:
        """relu(conv(x, w) + bias) as an ONNX model."""
        random = np.random.default_rng(0)
        taps = random.standard_normal((self.filters, self.channels, self.window, self.window)) / np.sqrt(
            self.channels * self.window**2
        )
        constants = {"w": taps.astype(np.float32), "bias": random.standard_normal(self.filters).astype(np.float32)}
        attributes = {"strides": [self.stride] * 2, "dilations": [self.dilation] * 2, "pads": [self.border] * 4}
        nodes = [helper.make_node("Conv", ["x", "w", "bias"], ["c"], **attributes), helper.make_node("Relu", ["c"], ["y"])]
        shapes = {"x": (1, self.channels, self.size, self.size), "y": (1, self.filters, self.outputs, self.outputs)}
        ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
        graph = helper.make_graph(nodes, "convolution", ends[:1], ends[1:], initializers)
        return bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())


def compiled(model: bytes, x: Array, name: str) -> Call:
    """A call by one algorithm, or by the one that is chosen. Raises `TilewrightError` where it has no plan."""

    def only(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        found = applicable(problem, precision)
        return tuple(algorithm for algorithm in found if algorithm.name == name) or found

    options = tilewright_onnx.SessionOptions()
    options.intra_op_num_threads = 1
    with patch.object(algorithm_choice, "applicable", only), artifacts.ignored():
        session = tilewright_onnx.InferenceSession(model, options)
    return lambda: np.asarray(session.run(None, {"x": x})[0])


def names(model: bytes) -> tuple[str, ...]:
    """The algorithms that apply to the convolution."""
    found: set[str] = set()

    def seen(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        algorithms = applicable(problem, precision)
        found.update(algorithm.name for algorithm in algorithms if problem.operator.is_product_sum())
        return algorithms

    with patch.object(algorithm_choice, "applicable", seen), artifacts.ignored():
        tilewright_onnx.InferenceSession(model)
    return tuple(algorithm.name for algorithm in registered() if algorithm.name in found)


def peers(layer: Layer, model: bytes, x: Array) -> Iterator[tuple[str, Call]]:
    """Other libraries, on one thread, with their arrays made before."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    yield "onnxruntime", lambda: np.asarray(session.run(None, {"x": x})[0])
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(model), "CPU", settings).create_infer_request()
    result = np.empty((1, layer.filters, layer.outputs, layer.outputs), np.float32)
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
    request.set_output_tensor(openvino.Tensor(result, shared_memory=True))

    def infer() -> Array:
        request.infer()
        return result

    yield "openvino", infer


def contenders(layer: Layer, x: Array) -> Iterator[tuple[str, Call]]:
    """By name: libraries, the choice, and every algorithm."""
    model = layer.model()
    yield from peers(layer, model, x)
    for name in ("chosen", *names(model)):
        try:
            yield name, compiled(model, x, name)
        except TilewrightError as problem:
            print(f"  {name}: {problem}")


def lines(layer: Layer, rounds: int) -> Iterator[str]:
    """The figures of a layer, a line for each contender."""
    x = np.random.default_rng(1).standard_normal((1, layer.channels, layer.size, layer.size)).astype(np.float32)
    calls = dict(contenders(layer, x))
    results = {name: call().copy() for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds_per_call(call))
    peak, wanted = calibration.ensure().peak("float32"), results["onnxruntime"]
    yield f"{layer}: {layer.flops / 1e6:.1f} Mflop, floor {layer.flops / peak * 1e3:.3f} ms"
    for name, taken in times.items():
        rate, error = layer.flops / min(taken), float(np.abs(results[name] - wanted).max() / np.abs(wanted).max())
        figures = f"{min(taken) * 1e3:8.3f} {median(taken) * 1e3:8.3f} ms {rate / 1e9:7.1f} GFLOP/s {rate / peak:6.1%}"
        yield f"  {name:20} {figures}  error {error:.1e}"


def main() -> None:
    """Print a block of lines for each layer."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.convolutions", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--layers", nargs="+", default=LAYERS)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    for text in options.layers:
        print("\n".join(lines(Layer.parsed(text), options.rounds)), flush=True)


if __name__ == "__main__":
    main()
