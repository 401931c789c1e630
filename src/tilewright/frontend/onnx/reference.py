"""Reference implementations at work: nodes that cannot be compiled, and constant values while a model is imported."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import InternalError, InvalidModel, TilewrightError, bug
from tilewright.frontend.onnx.model import Node
from tilewright.frontend.onnx.sizes import check_bytes

REFUSALS = (ArithmeticError, LookupError, TypeError, ValueError)
"""How NumPy refuses operands and attributes that do not fit each other."""


def run_reference(node: Node, inputs: Sequence[Any], bodies: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """The results of a node, one per output; `bodies` are callables in place of the node's graphs.

    Raises `TilewrightError` with the node as its place for operands and attributes that it cannot compute, and `InvalidModel`
    where the values of operands ask for a result that does not fit into memory.
    """
    if node.definition is None:
        raise InternalError(f"{node.label} has no reference implementation")
    check_bytes(grown_elements(node, inputs) or 0, node.label)
    attributes = {**node.attributes, **(bodies or {})}
    try:
        with np.errstate(all="ignore"):
            results = node.definition.operator(output_count=len(node.outputs), **attributes).reference(*inputs)
    except TilewrightError as problem:
        raise placed(problem, node) from problem
    except REFUSALS as problem:
        why = f"{type(problem).__name__}: {problem}".removesuffix(": ")
        raise InvalidModel(f"{node.label} cannot be computed", where=node.label, why=why) from problem
    except (InternalError, MemoryError):
        raise
    except Exception as problem:
        raise bug(f"the reference implementation of {node.label}", problem, described(node, inputs)) from problem
    values = tuple(_value(value) for value in (results if isinstance(results, tuple) else (results,)))
    if len(values) < len(node.outputs):
        raise InvalidModel(f"{node.label} has {len(values)} results", where=node.label, why=f"{len(node.outputs)} are named")
    return values[: len(node.outputs)]


def placed(problem: TilewrightError, node: Node) -> TilewrightError:
    """The same error, told to be at a node."""
    if not problem.where.startswith(node.label):
        problem.where = f"{node.label}; {problem.where}" if problem.where else node.label
    return problem


def described(node: Node, inputs: Sequence[Any]) -> str:
    """A node with its attributes and the shapes and types of its operands: enough to build it again."""
    operands = ", ".join(_operand_text(value) for value in inputs)
    attributes = ", ".join(f"{name}={value!r}" for name, value in node.attributes.items())
    return f"{node.label} ({node.domain or 'ai.onnx'})\n  operands: {operands}\n  attributes: {attributes}"


def _operand_text(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__


def grown_elements(node: Node, inputs: Sequence[Any]) -> int | None:
    """How many elements a result has whose size the values of operands give; None for other operators.

    >>> from tilewright.frontend.onnx.model import Node
    >>> grown_elements(Node("n", "ConstantOfShape", "", None, ("x",), ("y",)), [np.array([10**9, 10**9])])
    1000000000000000000
    """
    rule = _GROWING.get(node.operator) if node.domain == "" else None
    if rule is None or not inputs:
        return None
    try:
        return int(rule(*inputs))
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError):
        return None  # wrong operands: the reference implementation says what is wrong


def _product(extents: Any) -> int:
    return math.prod(int(extent) for extent in np.asarray(extents).reshape(-1).tolist())


def _expanded(x: Any, shape: Any) -> int:
    wanted = [int(extent) for extent in np.asarray(shape).reshape(-1).tolist()]
    extents = [1] * max(0, len(wanted) - x.ndim) + list(x.shape)
    wanted = [1] * (len(extents) - len(wanted)) + wanted
    return math.prod(max(pair) for pair in zip(extents, wanted, strict=True))


def _range(start: Any, limit: Any, delta: Any) -> int:
    return max(0, math.ceil((float(limit) - float(start)) / float(delta)))


def _padded(x: Any, pads: Any, value: Any = None, axes: Any = None) -> int:
    extents = list(x.shape)
    places = range(x.ndim) if axes is None else [int(axis) for axis in np.asarray(axes).reshape(-1).tolist()]
    begins, ends = np.asarray(pads).reshape(2, -1).tolist()
    for place, begin, end in zip(places, begins, ends, strict=True):
        extents[place] += begin + end
    return math.prod(max(0, extent) for extent in extents)


_GROWING: Mapping[str, Callable[..., int]] = {
    "ConstantOfShape": _product,
    "Expand": _expanded,
    "Tile": lambda x, repeats, *rest: x.size * _product(repeats),
    "Range": _range,
    "OneHot": lambda indices, depth, values: indices.size * int(np.asarray(depth).reshape(-1)[0]),
    "Pad": _padded,
    "BlackmanWindow": lambda size: int(size),
    "HannWindow": lambda size: int(size),
    "HammingWindow": lambda size: int(size),
}


def _value(value: Any) -> Any:
    return value if value is None or isinstance(value, (list, np.ndarray)) else np.asarray(value)
