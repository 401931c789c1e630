"""Samples of operators, as PyTorch has them, exported to ONNX."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from typing import Any

import numpy as np
import onnx
import torch
from torch.utils import _pytree

from tests.support.opinfo.sample import Sample, Skipped

DTYPES = (*[torch.float32] * 6, torch.int64, torch.bool)
"""Of samples: most are of floats."""
OPSET = 18


class Wrapped(torch.nn.Module):
    """An operator as a module of the tensors among its arguments."""

    def __init__(self, operator: Any, arguments: Any) -> None:
        super().__init__()
        self.operator = operator
        self.leaves, self.structure = _pytree.tree_flatten(arguments)
        self.given = tuple(leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor))

    def forward(self, *tensors: torch.Tensor) -> Any:
        rest = iter(tensors)
        leaves = [next(rest) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        arguments, options = _pytree.tree_unflatten(leaves, self.structure)
        return self.operator(*arguments, **options)


@cache
def load_exporters() -> None:
    """What the slow exporter loads, children then inherit."""
    _exported(Wrapped(torch.cartesian_prod, ((torch.ones(1),), {})))


@cache
def operators() -> tuple[Any, ...]:
    """All operators that PyTorch has samples of."""
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    return tuple(op_db)


def operator_name(seed: int) -> str:
    """The operator that the seed draws."""
    return str(operators()[np.random.default_rng(seed).integers(len(operators()))].full_name)


def module(seed: int) -> tuple[str, Wrapped]:
    """The operator of a seed, with one of its samples. Raises `Skipped` where there is none."""
    draws = np.random.default_rng(seed)
    operator = operators()[draws.integers(len(operators()))]
    dtype = DTYPES[draws.integers(len(DTYPES))]
    dtype = dtype if dtype in operator.supported_dtypes("cpu") else torch.float32
    if dtype not in operator.supported_dtypes("cpu"):
        raise Skipped("no samples of these types")
    torch.manual_seed(seed)
    try:
        samples = list(operator.sample_inputs("cpu", dtype))
    except Exception as problem:
        raise Skipped("the samples cannot be made") from problem
    sample = samples[draws.integers(len(samples))]
    wrapped = Wrapped(operator.op, ((sample.input, *sample.args), sample.kwargs))
    return f"{operator.full_name} of {str(dtype).partition('.')[2]}", wrapped.eval()


def exported(seed: int, *, is_quick: bool = False) -> Sample:
    """The sample of a seed as an ONNX model. Raises `Skipped`."""
    name, wrapped = module(seed)
    try:
        with torch.no_grad():
            results, again = (_pytree.tree_leaves(wrapped(*(one.clone() for one in wrapped.given))) for _ in range(2))
    except Exception as problem:
        raise Skipped("torch refuses") from problem
    if not all(isinstance(one, torch.Tensor) and one.layout == torch.strided for one in results):
        raise Skipped("results that are no tensors, or sparse")
    if not all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(results, again, strict=True)):
        raise Skipped("random results")
    model = _exported(wrapped, is_quick=is_quick)
    return Sample(seed, name, model, _feeds(model, wrapped.given))


def _feeds(model: onnx.ModelProto, tensors: tuple[torch.Tensor, ...]) -> dict[str, np.ndarray]:
    """The contents of the model's inputs."""
    declared = model.graph.input
    if len(declared) > len(tensors):
        raise Skipped("inputs that are no tensors")
    feeds = {one.name: tensor.numpy().copy() for one, tensor in zip(declared, tensors, strict=False)}
    shapes = [tuple(one.dim_value for one in each.type.tensor_type.shape.dim) for each in declared]
    if shapes != [one.shape for one in feeds.values()]:
        raise Skipped("inputs that the exporter dropped")
    return feeds


def _exported(wrapped: Wrapped, *, is_quick: bool = False) -> onnx.ModelProto:
    """By the exporter that takes milliseconds, or else, unless `is_quick`, by the one that takes seconds and knows more."""
    buffer = io.BytesIO()
    with silent():
        try:
            torch.onnx.export(wrapped, wrapped.given, buffer, dynamo=False, opset_version=OPSET, do_constant_folding=False)
            return onnx.load_from_string(buffer.getvalue())
        except Exception as problem:
            if is_quick:
                raise Skipped("the exporter refuses") from problem
        try:
            return torch.onnx.export(wrapped, wrapped.given, dynamo=True, opset_version=OPSET, verbose=False).model_proto
        except Exception as problem:
            raise Skipped("the exporters refuse") from problem


@contextmanager
def silent() -> Iterator[None]:
    """Without what the exporters print, some of it from C++."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
