"""Damaged models: what becomes of small ones after bit flips, truncations, swapped fields and hostile sizes.

`python -m tests.support.mutated_models START STOP` tries these numbers under limits of memory and time, and prints a line each. A
process that is killed has printed the number that killed it.
"""

from __future__ import annotations

import logging
import random
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tilewright.onnx as ort
from tests.support.onnx_models import info
from tilewright.errors import TilewrightError
from tilewright.plan import supported

MEMORY_BYTES = 6 << 30
SECONDS = 60
HOSTILE = (-1, 0, -(2**63), 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, 10**12, -7, 65537)
MOST_FED = 1 << 20


def perceptron() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=-1),
    ]
    arrays = {"w": rng.standard_normal((5, 4)), "b": rng.standard_normal(5), "v": rng.standard_normal((5, 3))}
    return _model(nodes, [info("x", ["n", 4])], [info("y", ["n", 3])], {k: v.astype(np.float32) for k, v in arrays.items()})


def shapes() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "six"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["a"]),
        helper.make_node("Slice", ["a", "start", "end"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"], perm=[1, 0]),
        helper.make_node("Expand", ["c", "wide"], ["d"]),
        helper.make_node("Tile", ["d", "twice"], ["e"]),
        helper.make_node("ReduceSum", ["e", "six_axes"], ["y"], keepdims=0),
    ]
    constants = {"zero": [0], "six": [6], "start": [1], "end": [5], "wide": [2, 1, 1], "twice": [1, 2, 1], "six_axes": [0]}
    return _model(nodes, [info("x", [2, 2, 3])], [info("y", None)], {k: np.array(v) for k, v in constants.items()})


def picture() -> onnx.ModelProto:
    w = np.random.default_rng(1).standard_normal((3, 2, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[1, 1]),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Pad", ["p", "pads"], ["q"]),
        helper.make_node("GlobalAveragePool", ["q"], ["y"]),
    ]
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    return _model(nodes, [info("x", [1, 2, 6, 6])], [info("y", None)], {"w": w, "pads": pads})


def branches() -> onnx.ModelProto:
    """The loop ends by its condition, too: one hostile number makes none that is endless."""

    def branch(name: str, operator: str) -> Any:
        return helper.make_graph([helper.make_node(operator, ["x", "k"], ["r"])], name, [], [info("r", None)])

    body = helper.make_graph(
        [helper.make_node("Less", ["i", "four"], ["d"]), helper.make_node("Add", ["v", "x"], ["w"])],
        "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("v", None)],
        [info("d", [], TensorProto.BOOL), info("w", None)],
    )
    nodes = [
        helper.make_node("If", ["b"], ["a"], then_branch=branch("t", "Add"), else_branch=branch("e", "Mul")),
        helper.make_node("Loop", ["times", "yes", "a"], ["y"], body=body),
    ]
    inputs = [info("x", [3]), info("b", [], TensorProto.BOOL)]
    return _model(
        nodes,
        inputs,
        [info("y", None)],
        {"k": np.ones(3, np.float32), "times": np.array(3), "four": np.array(4), "yes": np.array(True)},
    )


MODELS: tuple[Callable[[], onnx.ModelProto], ...] = (perceptron, shapes, picture, branches)


def mutated(number: int) -> bytes:
    """The file of that number: always the same."""
    rng = random.Random(number)
    proto = MODELS[number % len(MODELS)]()
    kind = rng.choice((_flipped, _flipped, _truncated, _swapped, _hostile, _hostile))
    return kind(proto, rng)


def _flipped(proto: onnx.ModelProto, rng: random.Random) -> bytes:
    content = bytearray(proto.SerializeToString())
    for _ in range(rng.choice((1, 1, 2, 8))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def _truncated(proto: onnx.ModelProto, rng: random.Random) -> bytes:
    content = proto.SerializeToString()
    return content[: rng.randrange(len(content))]


def _swapped(proto: onnx.ModelProto, rng: random.Random) -> bytes:
    graph = proto.graph
    first, second = rng.choice(graph.node), rng.choice(graph.node)
    match rng.randrange(5):
        case 0:
            first.op_type, second.op_type = second.op_type, first.op_type
        case 1:
            first.input[:], second.input[:] = list(second.input), list(first.input)
        case 2:
            first.output[:], second.output[:] = list(second.output), list(first.output)
        case 3:
            attributes = list(first.attribute)
            del first.attribute[:]
            second.attribute.extend(attributes)
        case 4:
            one, other = rng.choice(graph.initializer), rng.choice(graph.initializer)
            one.name, other.name = other.name, one.name
    return proto.SerializeToString()


def _hostile(proto: onnx.ModelProto, rng: random.Random) -> bytes:
    """A size somewhere is replaced by one that makes no sense, or does."""
    value = rng.choice(HOSTILE)
    graph = proto.graph
    attributes = [a for node in graph.node for a in node.attribute if a.ints or a.HasField("i")]
    whole = [one for one in graph.initializer if one.data_type == TensorProto.INT64]
    match rng.randrange(4):
        case 0 if attributes:
            attribute = rng.choice(attributes)
            if attribute.ints:
                attribute.ints[rng.randrange(len(attribute.ints))] = value
            else:
                attribute.i = value
        case 1 if whole:
            tensor = rng.choice(whole)
            array = numpy_helper.to_array(tensor).copy()
            array.reshape(-1)[rng.randrange(array.size)] = value
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        case 2:
            dims = rng.choice(graph.initializer).dims
            dims[:] = [*dims, value] if not dims or rng.random() < 0.3 else [value, *dims[1:]]
        case _:
            dims = rng.choice(graph.input).type.tensor_type.shape.dim
            (rng.choice(dims) if dims else dims.add()).dim_value = value
    return proto.SerializeToString()


def outcome(content: bytes) -> str:
    """What becomes of a file: the error, or whether its results are those of reference implementations."""
    try:
        session = ort.InferenceSession(content)
        feeds = _feeds(session)
        if feeds is None:
            return "too large to feed"
        results = session.run(None, feeds)
    except TilewrightError as problem:
        return f"{type(problem).__name__}: {problem.message}"
    except MemoryError:
        return "MemoryError"
    return _compared(results, _plain_results(content, feeds))


def _plain_results(content: bytes, feeds: dict[str, Any]) -> list[Any]:
    """The results where every node runs as NumPy."""
    compiles, supported.obstacle = supported.obstacle, lambda operator, tensors: "not here"
    try:
        return ort.InferenceSession(content).run(None, feeds)
    finally:
        supported.obstacle = compiles


def _feeds(session: ort.InferenceSession) -> dict[str, Any] | None:
    rng = np.random.default_rng(0)
    feeds = {}
    for one in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 2 for extent in one.shape]
        if np.prod(shape, dtype=object) > MOST_FED:
            return None
        kind = {"tensor(float)": "f4", "tensor(bool)": "?", "tensor(int64)": "i8", "tensor(double)": "f8"}.get(one.type)
        if kind is None:
            return None
        feeds[one.name] = rng.standard_normal(shape).astype(kind)
    return feeds


def _compared(results: list[Any], expected: list[Any]) -> str:
    for result, right in zip(results, expected, strict=True):
        assert result.shape == right.shape, (result.shape, right.shape)
        assert result.dtype == right.dtype, (result.dtype, right.dtype)
        np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)
    return "right"


def _model(nodes: Any, inputs: Any, outputs: Any, constants: dict[str, Any]) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main() -> None:
    """Try the files of a range of numbers."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    logging.disable(logging.WARNING)
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        print(number, end=" ", flush=True)
        signal.alarm(SECONDS)
        print(outcome(mutated(number)), flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    main()
