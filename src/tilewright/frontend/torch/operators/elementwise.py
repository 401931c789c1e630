"""Functions at every point: arithmetic, and functions of one operand that graphs have by one name."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.types import Tensor


@lowers("aten.add.Tensor", "aten.add.Scalar")
def add(call: Call) -> Tensor:
    """`self + alpha * other`."""
    return _scaled_sum(call, "self", "other")


def _scaled_sum(call: Call, first: str, second: str) -> Tensor:
    dtype = call.result.dtype
    left, right, alpha = call.operand(first, dtype), call.operand(second, dtype), call["alpha"]
    if dtype == "bool":
        return call.map("logical_or", left, right)
    if alpha != 1:
        right = right * alpha if isinstance(right, float) else call.map("multiply", right, call.as_operand(alpha, dtype))
    return call.map("add", left, right)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def multiply(call: Call) -> Tensor:
    """The product; of truth values, whether both are true."""
    dtype = call.result.dtype
    function = "logical_and" if dtype == "bool" else "multiply"
    return call.map(function, call.operand("self", dtype), call.operand("other", dtype))


@lowers("aten.relu.default")
def relu(call: Call) -> Tensor:
    """The operand where it is positive, else 0."""
    return call.map("relu", call.tensor("self"))
