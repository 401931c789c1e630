"""Calls of jitted functions in graphs that Tilewright compiles become the operators of these, fused with their neighbours."""

from __future__ import annotations

from tilewright.api.torch_operators.entries import entry_of
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.graph.types import Tensor


@lowers("tilewright.call.default")
def inlined(call: Call) -> tuple[Tensor, ...]:
    """The operators of the function, traced for the extents that it meets here."""
    entry, tensors = entry_of(call["function"]), call.tensors("tensors")
    if any(kind is not None for kind in entry.numbers):
        raise call.refuse("a number among the arguments is known at run time only")
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors]
    positional, named = entry.arguments(specs)
    return entry.jitted._record_into(call.builder, positional, named, list(zip(specs, tensors, strict=True)))
