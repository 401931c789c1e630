"""Quantised modules of PT2E graphs: the numbers of torch, and products of bytes."""

from __future__ import annotations

import pytest
import torch
import torch.ao.quantization.fx._decomposed
import torch.nn.functional as F

from tests.support.torch.tracing import arrays_of, eager_reasons, evaluated, outputs_of, recorded, traced
from tilewright.compiler import REWRITES
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.integer_products import IntegerProducts

pytestmark = pytest.mark.ci  # no machine differs in it, and torch's compiler takes its time

Q = torch.ops.quantized_decomposed


def recorded_of(function, *tensors, frozen=1):
    """The recording and the module; all tensors but the first ones are frozen."""
    module = traced(function, *tensors)
    names = [node.name for node in module.graph.nodes if node.op == "placeholder"]
    recording = recorded(module, dict(zip(names[frozen:], tensors[frozen:], strict=True)))
    assert not eager_reasons(recording, module)
    return recording, module


def check(function, *tensors):
    recording, module = recorded_of(function, *tensors)
    for one, other in zip(evaluated(recording, module, tensors), [function(*tensors)], strict=True):
        torch.testing.assert_close(torch.from_numpy(one), torch.from_numpy(arrays_of(other)), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_are_rounded_as_torch_rounds_them(dtype):
    x = torch.cat([torch.arange(-40, 40) / 8, torch.tensor([float("inf"), -float("inf"), 1e30, -0.0])]).to(dtype)
    check(lambda x: Q.quantize_per_tensor(x, 0.25, 7, -128, 127, torch.int8), x)
    check(lambda x: Q.quantize_per_tensor(x, 0.3, 3, 0, 100, torch.uint8), x)
    scales, zeros = torch.tensor([0.1, 0.3]), torch.tensor([0, 5])
    check(lambda x, s, z: Q.quantize_per_channel(x.reshape(42, 2), s, z, 1, -128, 127, torch.int8), x, scales, zeros)


def test_numbers_are_rounded_to_levels_of_quantised_ones():
    x = torch.cat([torch.arange(-40, 38) / 8, torch.tensor([float("nan"), -0.0])])
    zeros, scale, single = torch.tensor([0, 5], dtype=torch.int32), torch.tensor([0.3]), torch.fake_quantize_per_tensor_affine
    check(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 7, -20, 27), x)
    check(lambda x, z: torch.fake_quantize_per_channel_affine(x.view(40, 2), z / 9 + 0.1, z, 1, -8, 7), x, zeros)
    check(lambda x, s, z: single(x, s, z[1:], 0, 255), x, scale, zeros)


def test_bytes_become_numbers():
    x, scales, zeros = torch.arange(-128, 128, dtype=torch.int8), torch.tensor([0.1, 0.3]), torch.tensor([-3, 5])
    check(lambda x: Q.dequantize_per_tensor(x, 0.1, -7, -128, 127, torch.int8), x)
    check(lambda x, s, z: Q.dequantize_per_channel(x.reshape(2, 128), s, z, -2, -128, 127, torch.int8), x, scales, zeros)


@pytest.mark.parametrize("zero", [0, 3])
def test_products_are_those_of_bytes(zero):
    """A convolution and a linear layer, as X86InductorQuantizer writes them, to one step of the results."""

    def network(x, w, ws, wz, v, vs, vz, b):
        x = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, 0.02, 127, 0, 255, torch.uint8), 0.02, 127, 0, 255, torch.uint8)
        y = F.conv2d(x, Q.dequantize_per_channel(w, ws, wz, 0, -128, 127, torch.int8), None, 1, 1)
        y = Q.quantize_per_tensor(F.relu(y), 0.05, 0, 0, 255, torch.uint8)
        y = Q.dequantize_per_tensor(y, 0.05, 0, 0, 255, torch.uint8).mean((2, 3))
        y = Q.dequantize_per_tensor(Q.quantize_per_tensor(y, 0.01, 0, 0, 255, torch.uint8), 0.01, 0, 0, 255, torch.uint8)
        return F.linear(y, Q.dequantize_per_channel(v, vs, vz, 0, -128, 127, torch.int8), b)

    torch.manual_seed(0)
    weights = [torch.randint(-127, 128, shape, dtype=torch.int8) for shape in ((8, 4, 3, 3), (5, 8))]
    scales = [torch.rand(count) / 100 + 0.001 for count in (8, 5)]
    zeros = [torch.full((count,), zero) for count in (8, 5)]
    each = [tensor for three in zip(weights, scales, zeros, strict=True) for tensor in three]
    x, bias = torch.randn(2, 4, 9, 9), torch.randn(5)
    recording, module = recorded_of(network, x, *each, bias)
    graph = recording.program(outputs_of(module)).graph
    for rewrite in REWRITES[: 1 + next(n for n, rewrite in enumerate(REWRITES) if isinstance(rewrite, IntegerProducts))]:
        graph = rewrite.run(graph)
    assert sum(tensor.dtype == "int32" for tensor in graph.tensors) == 2
    found = evaluate(graph, {graph.inputs[0]: x.numpy()})[graph.outputs[0]]
    step = 0.01 * 127 * 0.011
    torch.testing.assert_close(torch.from_numpy(found), network(x, *each, bias), rtol=0, atol=step)
