"""The operator `tilewright::call`, and how calls of jitted functions become it.

Dynamo traces `recorded` in the place of a call: it takes the arguments apart, and what it must not look into stands behind
`torch.compiler.assume_constant_result` and `torch_internals.traced_loosely`. AOTAutograd, `torch.export` and `make_fx` call with
tensors that stand for others, for which `computed` records the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import torch

from tilewright.api import dynamo
from tilewright.api import torch_internals as internals
from tilewright.api.torch_operators import lowering  # noqa: F401  # declares how Tilewright compiles the operator
from tilewright.api.torch_operators.entries import Jitted, as_tensors, entered, entry_of, traced, with_constants
from tilewright.api.torch_operators.extents import value_of
from tilewright.api.torch_operators.structures import (
    NUMBERS,
    Structure,
    plain,
    put_together,
    taken_apart,
    taken_apart_result,
    without_source,
)
from tilewright.errors import UnsupportedOperation
from tilewright.graph.types import SymbolicExtent
from tilewright.runtime.arrays import differentiates_forward


class Recorded:
    """A call that Dynamo has begun to record; `result` is known once it has computed with fake tensors."""

    def __init__(self, jitted: Jitted, structure: Structure) -> None:
        self.jitted, self.structure = jitted, structure
        self.result: Structure = ()


_calls: dict[int, Recorded] = {}
_numbers = count()


def recorded(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a call of a jitted function; Dynamo traces this. `dynamo.named` has the function."""
    leaves: list[Any] = []
    structure = taken_apart((args, options), leaves)
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return called(name, args, options)
    if torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves if isinstance(leaf, torch.Tensor)):
        return called_with_gradient(name, args, options)
    call = without_source(_begun(name, structure))
    outputs = _outputs(call, leaves)
    return put_together(_result(call), iter(outputs))


@dynamo.opaque
def called(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a call that is no part of a graph."""
    return dynamo.named[name](*args, **options)


@dynamo.opaque
def called_with_gradient(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The same, for a reason that is told; the call raises."""
    return dynamo.named[name](*args, **options)


vars(called_with_gradient)["_torchdynamo_disable_msg"] = (
    "kernels compute no gradients: call a jitted function under torch.no_grad(), or with x.detach()"
)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _begun(name: str, structure: Structure) -> int:
    """The number of a call that is recorded."""
    call = next(_numbers)
    _calls[call] = Recorded(dynamo.named[name], structure)
    return call


@internals.traced_loosely  # type: ignore[untyped-decorator]
def _outputs(call: int, leaves: list[Any]) -> list[Any]:
    """The tensors of the result."""
    found = _calls[call]
    outputs, found.result = _computed(found.jitted, found.structure, leaves)
    return outputs


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _result(call: int) -> Structure:
    """The structure of the result."""
    return _calls[call].result


def computed(jitted: Jitted, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a call whose arguments stand for other tensors; the operator is recorded where torch records."""
    leaves: list[Any] = []
    structure = taken_apart((args, options), leaves)
    outputs, result = _computed(jitted, structure, leaves)
    return put_together(result, iter(outputs))


def stand_for_others(leaves: Sequence[Any]) -> bool:
    """Whether a tensor among the arguments has no values of its own: a fake tensor, or one that is being traced."""
    return any(isinstance(leaf, torch.Tensor) and internals.has_no_elements(leaf) for leaf in leaves)


def _computed(jitted: Jitted, structure: Structure, leaves: Sequence[Any]) -> tuple[list[Any], Structure]:
    """The tensors of a result, and its structure. Raises `UnsupportedOperation` where a gradient would be lost."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise no_gradient(jitted.__name__)
    if not stand_for_others(leaves) and not internals.is_watched():
        args, options = put_together(structure, iter(leaves))
        outputs: list[Any] = []
        return outputs, taken_apart_result(jitted(*args, **options), outputs)
    given = [leaf for leaf in leaves if isinstance(leaf, (torch.Tensor, *NUMBERS))]
    entry = traced(jitted, with_constants(structure, leaves), given)
    outputs = call(entered(entry), as_tensors(given)) if entry.traced.graph.outputs else []
    return outputs, plain(entry.traced.result)


def no_gradient(what: str) -> UnsupportedOperation:
    """The error of a call whose result would need a gradient."""
    return UnsupportedOperation(
        f"{what} was called with a tensor that requires a gradient",
        why="kernels compute no gradients",
        hint="call it under torch.no_grad(), or pass x.detach()",
    )


def check_no_tangents(what: str) -> None:
    """Raise `UnsupportedOperation` where torch records a call while it differentiates forward: which tensors are dual, fakes do
    not tell."""
    if differentiates_forward():
        text, hint = f"{what} is recorded while torch differentiates forward", "call it without torch.compile"
        raise UnsupportedOperation(text, why="kernels compute no derivatives", hint=hint)


@torch.library.custom_op("tilewright::call", mutates_args=(), schema="(str function, Tensor[] tensors) -> Tensor[]")  # type: ignore[untyped-decorator]
def call(function: str, tensors: list[Any]) -> list[Any]:
    """The outputs of a jitted function, by the key of the entry that recording has made. No gradients."""
    args, options = entry_of(function).arguments([tensor.detach() if tensor.requires_grad else tensor for tensor in tensors])
    outputs: list[Any] = []
    taken_apart_result(entry_of(function).jitted(*args, **options), outputs)
    return outputs


@call.register_fake  # type: ignore[untyped-decorator]
def _(function: str, tensors: list[Any]) -> list[Any]:
    """The outputs' shapes and types, from the traced graph."""
    check_no_tangents(function)
    entry = entry_of(function)
    extents = [
        pair for shape, tensor in zip(entry.shapes, tensors, strict=True) for pair in zip(shape, tensor.shape, strict=True)
    ]
    values = {extent.name: value for extent, value in extents if isinstance(extent, SymbolicExtent)}
    graph = entry.traced.graph
    like = next(tensor for tensor, kind in zip(tensors, entry.numbers, strict=True) if kind is None)
    return [
        like.new_empty([value_of(extent, values) for extent in tensor.shape], dtype=getattr(torch, tensor.dtype))
        for tensor in map(graph.tensor, graph.outputs)
    ]
