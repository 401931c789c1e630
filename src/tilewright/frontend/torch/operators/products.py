"""Products of matrices."""

from __future__ import annotations

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.types import Tensor


@lowers("aten.mm.default", "aten.bmm.default")
def matmul(call: Call) -> Tensor:
    """The product of two matrices, or of two lists of matrices."""
    return _product(call, "self", "mat2")


def _product(call: Call, left: str, right: str) -> Tensor:
    return call.cast(call.builder.matmul(call.tensor(left), call.tensor(right)), call.result.dtype)


@lowers("aten.addmm.default")
def addmm(call: Call) -> Tensor:
    """`beta * self + alpha * mat1 @ mat2`; a beta of 0 ignores NaN in self."""
    dtype, product = call.result.dtype, _product(call, "mat1", "mat2")
    if call["alpha"] != 1:
        product = call.map("multiply", product, call.as_operand(call["alpha"], dtype))
    if call["beta"] == 0:
        return product
    added = call.tensor("self")
    if call["beta"] != 1:
        added = call.map("multiply", added, call.as_operand(call["beta"], dtype))
    return call.map("add", product, added)
