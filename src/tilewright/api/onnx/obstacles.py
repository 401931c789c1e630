"""Which operators generated code can compute: a stopgap until planning says so itself."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.types import Operator, Tensor


def obstacle(operator: Operator, tensors: Mapping[str, Tensor]) -> str:
    """Why generated code cannot compute an operator; "" if it can."""
    written = tensors[operator.write.tensor].dtype
    if written != "float32":
        return f"its result is {written}"
    read = {tensors[access.tensor].dtype for access in operator.reads} - {"float32", "bool"}
    return f"it reads {', '.join(sorted(read))}" if read else ""
