"""One step of an optimizer: tensors, their gradients, and the values accumulated in earlier steps.

Operands are the learning rate, the number of steps done, and then all tensors, all gradients, then all accumulated values;
results are the new tensors and the new accumulated values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.errors import ShapeError

DOMAIN = "ai.onnx.preview.training"


def updated(tensors: tuple[Any, ...], groups: int, update: Callable[..., tuple[Any, ...]]) -> tuple[Any, ...]:
    """The results of `update(tensor, gradient, *accumulated)` for each tensor, group by group, in the first tensor's type.

    `tensors` are `groups` groups of equal length. Raises `ShapeError` for other numbers of tensors.
    """
    if len(tensors) % groups or not tensors:
        raise ShapeError(f"{len(tensors)} tensors in {groups} groups", where=DOMAIN)
    count = len(tensors) // groups
    updates = [update(*tensors[number::count]) for number in range(count)]
    results = [values for group in zip(*updates, strict=True) for values in group]
    return tuple(np.asarray(result, tensors[0].dtype) for result in results)
