"""Copies, and elements in another type. An output of a program has memory of its own in any case."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.types import Tensor


@lowers(
    "aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.lift_fresh_copy.default", "aten.alias_copy.default"
)
def copy(call: Call) -> Tensor:
    """The operand as it is."""
    return call.tensor("self")


@lowers("aten._to_copy.default")
def converted(call: Call) -> Tensor:
    """The elements in the result's type."""
    return call.tensor("self", call.result.dtype)


@lowers("prims.convert_element_type.default")
def converted_element_type(call: Call) -> Tensor:
    """The elements in the result's type."""
    return call.tensor("a", call.result.dtype)
