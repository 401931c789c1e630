"""PyTorch's samples of its operators, exported to ONNX.

python -m tests.support.opinfo 0 100        # samples 0 to 99, a summary, and the smallest failing program of each failure
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from torch.utils import _pytree

from tests.support.random_onnx.growing import TWINS, UNIT_ROUNDOFF, plain_options
from tests.support.random_onnx.judging import explained, outcome
from tests.support.random_onnx.program import Program, Value
from tests.support.random_onnx.shrinking import shrunk
from tests.support.sweeps import SKIPPED, Crashed, Outcome, in_child, judged_in_child, swept

DTYPES = (*[torch.float32] * 6, torch.int64, torch.bool)
"""Of samples: most are of floats."""
NOISE = 64 * UNIT_ROUNDOFF
"""Relative change of a twin's inputs, which stands for all roundings on the way to the outputs."""
FLOOR = 16 * UNIT_ROUNDOFF
"""Change of a twin's results, of the largest of them."""
TARGETS = ("x86-64-v2", "x86-64-v3")
MOST_ELEMENTS = 100_000
OPSET = 18


class Skipped(Exception):
    """There is nothing to compare, for this reason."""


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


def program(seed: int, *, is_quick: bool = False) -> Program:
    """The exported program, with onnxruntime's results. Raises `Skipped`."""
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
    return _program(f"{name}, sample {seed}", _exported(wrapped, is_quick=is_quick), wrapped.given, seed)


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


def _program(name: str, model: onnx.ModelProto, tensors: tuple[torch.Tensor, ...], seed: int) -> Program:
    """With the contents of all values by onnxruntime."""
    graph = model.graph
    if len(graph.input) > len(tensors):
        raise Skipped("inputs that are no tensors")
    wanted = tuple(one.name for one in graph.output)
    arrays = {one.name: tensor.numpy().copy() for one, tensor in zip(graph.input, tensors, strict=False)}
    shapes = [tuple(one.dim_value for one in each.type.tensor_type.shape.dim) for each in graph.input]
    if shapes != [one.shape for one in arrays.values()]:
        raise Skipped("inputs that the exporter dropped")
    draws = np.random.default_rng([seed, 1])
    twins = [{n: _shaken(one, draws) for n, one in arrays.items()} for _ in range(TWINS)]
    run = _everything(model)
    own, others = run(arrays), [run(one) for one in twins]
    values = {n: _value(n, own, others, draws) for n in own if all(_is_tensor(one[n]) for one in (own, *others))}
    values |= {one.name: _constant(numpy_helper.to_array(one)) for one in graph.initializer}
    constants = [name for node in graph.node if node.op_type == "Constant" for name in node.output]
    values |= {name: _constant(values[name].arrays[0]) for name in constants if name in values}
    if any(name not in values for name in wanted):
        raise Skipped("results that are no tensors")
    if any(one.size > MOST_ELEMENTS for one in values.values()):
        raise Skipped("large tensors")
    target = TARGETS[seed % len(TARGETS)]
    return Program(name, tuple(graph.node), values, wanted, target, 1, model.opset_import[0].version)


def _everything(model: onnx.ModelProto) -> Any:
    """onnxruntime's function of all values of a model, by name."""
    inspected = onnx.ModelProto()
    inspected.CopyFrom(model)
    made = [name for node in model.graph.node for name in node.output if name]
    inspected.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(made))
    del inspected.graph.output[: len(model.graph.output)]
    inspected.graph.output.extend(one for one in model.graph.output if one.name not in made)
    try:
        session = onnxruntime.InferenceSession(inspected.SerializeToString(), plain_options(), providers=["CPUExecutionProvider"])
    except Exception as problem:
        raise Skipped("onnxruntime refuses") from problem
    names = [one.name for one in session.get_outputs()]

    def run(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        try:
            return {**arrays, **dict(zip(names, session.run(None, arrays), strict=True))}
        except Exception as problem:
            raise Skipped("onnxruntime refuses") from problem

    return run


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.hasobject


def _shaken(array: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    return (array * (1 + NOISE * draws.uniform(-1, 1, array.shape))).astype(array.dtype)


def _value(name: str, own: dict[str, Any], others: list[dict[str, Any]], draws: np.random.Generator) -> Value:
    array = own[name]
    twins = tuple((other[name] if other[name].shape == array.shape else array,) for other in others)
    if array.dtype.kind == "f" and array.size:
        size = FLOOR * float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))
        twins = tuple(((one + draws.choice([-size, size], one.shape)).astype(one.dtype),) for (one,) in twins)
    return Value((array,), twins)


def _constant(array: np.ndarray) -> Value:
    return Value((array,), ((array,),) * TWINS, is_constant=True)


def _program_or_reason(seed: int, *, is_quick: bool) -> Program | str:
    try:
        return program(seed, is_quick=is_quick)
    except Skipped as problem:
        return str(problem)


def _apart(one: Program) -> Outcome:
    return judged_in_child(lambda: outcome(one))


def tried(seed: int, known: Collection[str] = (), *, is_quick: bool = False) -> tuple[Outcome, str]:
    """The outcome of a seed's sample, and if it failed, the text of the smallest program that fails in the same way."""
    operators()
    if not is_quick:
        load_exporters()
    try:
        whole = in_child(lambda: _program_or_reason(seed, is_quick=is_quick))
    except Crashed as problem:
        return Outcome(SKIPPED, f"torch, its exporters or onnxruntime: {problem}"), ""
    if isinstance(whole, str):
        return Outcome(SKIPPED, whole), ""
    if any(whole.values[name].spread and whole.values[name].dtype.kind != "f" for name in whole.outputs):
        return Outcome(SKIPPED, "results without a margin"), ""
    found = _apart(whole)
    if not found.is_failure:
        return found, ""
    smallest = shrunk(whole, found.cause, _apart) if found.cause not in known else whole
    return explained(smallest, _apart(smallest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="exclusive")
    parser.add_argument("--quick", action="store_true", help="only what the exporter takes that takes milliseconds")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    print(swept(range(given.first, given.last), lambda seed, known: tried(seed, known, is_quick=given.quick)))


if __name__ == "__main__":
    main()
